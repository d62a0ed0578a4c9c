"""A minimal OpenID Connect provider on loopback: signs in whoever it is told to.

Real keys, real signatures, real HTTP. It can be told to lie, one claim at a time.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "discreto", "provider's secret"


class Provider:
    """A provider; ``email`` is who signs in next, ``lies`` replaces claims."""

    def __init__(self) -> None:
        self.email, self.lies = "ana@example.org", {}
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.other = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.sign_with_other = False
        self._codes: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None: ...

            def do_GET(self) -> None:
                provider._get(self)

            def do_POST(self) -> None:
                provider._token(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _get(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        if parts.path == "/.well-known/openid-configuration":
            names = {"authorization": "authorize", "token": "token"}
            facts = {f"{n}_endpoint": f"{self.issuer}/{p}" for n, p in names.items()}
            keys = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}
            _answer(request, facts | keys)
        elif parts.path == "/keys":
            _answer(request, {"keys": [self.key.as_dict(private=False)]})
        else:  # the page where somebody would sign in
            asked = {k: v[0] for k, v in parse_qs(parts.query).items()}
            code = secrets.token_urlsafe(16)
            self._codes[code] = asked
            back = urlencode({"code": code, "state": asked["state"]})
            request.send_response(302)
            request.send_header("location", f"{asked['redirect_uri']}?{back}")
            request.end_headers()

    def _token(self, request: BaseHTTPRequestHandler) -> None:
        size = int(request.headers["content-length"])
        sent = {k: v[0] for k, v in parse_qs(request.rfile.read(size).decode()).items()}
        asked = self._codes.pop(sent.get("code", ""), {})
        proof = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).rstrip(b"=").decode()
        known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        good = request.headers.get("authorization") == f"Basic {known}"
        if not good or challenge != asked.get("code_challenge"):
            _answer(request, {"error": "invalid_grant"}, 400)
            return
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "1",
            "exp": int(time.time()) + 60,
            "nonce": asked.get("nonce"),
            "email": self.email,
            "email_verified": True,
        } | self.lies
        key = self.other if self.sign_with_other else self.key
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)
        _answer(
            request, {"access_token": "x", "token_type": "Bearer", "id_token": token}
        )

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()


def _answer(request: BaseHTTPRequestHandler, data: Any, status: int = 200) -> None:
    body = json.dumps(data).encode()
    request.send_response(status)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
