"""Single sign-on by OpenID Connect: the authorization code flow with PKCE.

The provider identifies a person by a verified e-mail; the owner says what they may
do. No password is ever seen here. What has to be remembered between leaving for the
provider and coming back is kept in the state, under a secret in a cookie.
"""

from __future__ import annotations

import json
import secrets
import time
import warnings
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from httpx import HTTPError
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from discreto.service.browser_sessions import begin
from discreto.service.config import SignOn
from discreto.service.errors import Refusal
from discreto.service.rendering import page
from discreto.service.service import Service
from discreto.service.state import Person

with warnings.catch_warnings():  # it asks for a successor of httpx that few have yet
    import authlib.deprecate  # noqa: F401 - it turns its warnings on, so it comes first

    warnings.simplefilter("ignore")
    from authlib.integrations.httpx_client import OAuth2Client

router = APIRouter(include_in_schema=False)
_COOKIE, _MINUTES = "discreto_sign_on", 10
_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]


class Provider:
    """An identity provider, from its own description."""

    def __init__(self, settings: SignOn, back: str) -> None:
        self._settings = settings
        secret = Path(settings.secret_file).read_text(encoding="utf-8").strip()
        self._client = OAuth2Client(
            settings.client_id,
            secret,
            scope="openid email",
            redirect_uri=back,
            code_challenge_method="S256",
            timeout=10,
        )
        issuer = settings.issuer.rstrip("/")
        found = self._client.request(
            "GET", f"{issuer}/.well-known/openid-configuration", withhold_token=True
        )
        self._facts: dict[str, Any] = found.json()
        if self._facts.get("issuer", "").rstrip("/") != issuer:
            raise Refusal("failed")

    def address(self, state: str, nonce: str, verifier: str) -> str:
        """Return the address at which the browser signs in."""
        url, _ = self._client.create_authorization_url(
            self._facts["authorization_endpoint"],
            state=state,
            nonce=nonce,
            code_verifier=verifier,
        )
        return str(url)

    def email(self, code: str, nonce: str, verifier: str) -> str:
        """Return the verified e-mail that belongs to this code."""
        token = self._client.fetch_token(
            self._facts["token_endpoint"], code=code, code_verifier=verifier
        )
        keys = self._client.request("GET", self._facts["jwks_uri"], withhold_token=True)
        decoded = jwt.decode(
            token["id_token"],
            KeySet.import_key_set(keys.json()),
            algorithms=_ALGORITHMS,
        )
        claims = jwt.JWTClaimsRegistry(
            now=int(time.time()),
            leeway=30,
            iss={"essential": True, "value": self._facts["issuer"]},
            aud={"essential": True, "value": self._settings.client_id},
            exp={"essential": True},
            nonce={"essential": True, "value": nonce},
            email={"essential": True},
        )
        claims.validate(decoded.claims)
        if decoded.claims.get("email_verified") is not True:
            raise Refusal("unauthorised")
        return str(decoded.claims["email"])


def _provider(service: Service) -> Provider:
    settings = service.config.oidc
    if settings is None or not service.config.url:
        raise Refusal("not_found")
    return Provider(settings, f"{service.config.url.rstrip('/')}/oidc/back")


def _start(service: Service) -> tuple[str, str]:
    nonce, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    state = secrets.token_urlsafe(24)
    kept = json.dumps([state, nonce, verifier])
    text, _ = service.credentials.make("sign-on", "", _MINUTES * 60, extra=kept)
    return text, _provider(service).address(state, nonce, verifier)


def _finish(service: Service, cookie: str, state: str, code: str) -> Person:
    secret = service.credentials.check_alone(cookie, "sign-on")
    kept, nonce, verifier = json.loads(secret.extra)
    if not service.state.revoke(secret.id) or not secrets.compare_digest(
        kept.encode(), state.encode()
    ):
        raise Refusal("unauthorised")
    try:
        email = _provider(service).email(code, nonce, verifier)
    except (HTTPError, JoseError, KeyError, ValueError, TypeError):
        raise Refusal("unauthorised") from None
    except Exception as error:  # Authlib has a tree of its own
        raise Refusal("unauthorised") from error
    person = service.state.by_email(email)
    if person is None or not person.active:
        raise Refusal("unauthorised")
    return person


@router.get("/oidc/start")
async def start(request: Request) -> Response:
    """Leave for the provider."""
    service: Service = request.app.state.service
    service.strangers.check(request.client.host if request.client else "")
    cookie, address = await run_in_threadpool(_start, service)
    reply = RedirectResponse(address, status_code=303)
    secure = service.config.url.startswith("https://")
    reply.set_cookie(
        *(_COOKIE, cookie),
        max_age=_MINUTES * 60,
        httponly=True,
        samesite="lax",
        secure=secure,
        path="/oidc",
    )
    return reply


@router.get("/oidc/back")
async def back(request: Request, code: str = "", state: str = "") -> Response:
    """Sign in a browser that comes back from the provider."""
    service: Service = request.app.state.service
    service.strangers.check(request.client.host if request.client else "")
    cookie = request.cookies.get(_COOKIE, "")
    reply = RedirectResponse("/", status_code=303)
    try:
        person = await run_in_threadpool(_finish, service, cookie, state, code)
        await run_in_threadpool(begin, service, reply, person)
    except Refusal as refusal:
        return page(request, "login.html", None, refusal.status, error=refusal.message)
    return reply
