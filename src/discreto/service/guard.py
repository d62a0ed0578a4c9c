"""Checks around every request: sizes, times, headers, the log, the metrics.

A plain ASGI layer. It knows nothing of tables; what it writes down are public facts:
method, route, status, a number of bytes, and a time rounded up to a bucket.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

from discreto.service.config import ServiceLimits
from discreto.service.errors import Refusal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("discreto.service")
# Nothing is loaded from elsewhere, no script is inline, and no site may frame a page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
_STRICT = "max-age=31536000; includeSubDomains"


def bucketed(seconds: float, bucket: float) -> float:
    """Return the least of one, two, four, ... buckets that is not shorter.

    >>> bucketed(0.03, 0.1), bucketed(0.15, 0.1), bucketed(0.21, 0.1)
    (0.1, 0.2, 0.4)
    """
    if seconds <= bucket:
        return bucket
    return bucket * 2.0 ** math.ceil(math.log2(seconds / bucket))


class Metrics:
    """Counts of requests and their bucketed times, by route, method and status."""

    def __init__(self, registry: CollectorRegistry) -> None:
        names = ["route", "method", "status"]
        self.requests = Counter(
            "discreto_requests", "Requests.", names, registry=registry
        )
        self.seconds = Histogram(
            "discreto_request_seconds",
            "Seconds of a request, rounded up to its time bucket.",
            ["route"],
            buckets=(0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8),
            registry=registry,
        )


class Guard:
    """ServiceLimits, headers, log and metrics around an application."""

    def __init__(self, app: App, limits: ServiceLimits, metrics: Metrics, *, tls: bool):
        self._app, self._limits, self._metrics = app, limits, metrics
        extra = {"strict-transport-security": _STRICT} if tls else {}
        self._headers = [(k.encode(), v.encode()) for k, v in (HEADERS | extra).items()]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, within its limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, name = time.monotonic(), secrets.token_hex(8)
        told = {"status": 0, "bytes": 0}
        reply = self._reply(send, name, told)
        try:
            body = await self._body(scope, receive)
            await self._app(scope, _replay(body, receive), reply)
        except Refusal as refusal:
            await _refuse(reply, refusal)
        except Exception:  # no text of it leaves: it may quote a row
            LOG.error(json.dumps({"id": name, "event": "failed"}))
            if not told["status"]:
                await _refuse(reply, Refusal("failed"))
        self._note(scope, told, start, name)

    async def _body(self, scope: Message, receive: Receive) -> bytes:
        """Return the whole request, if it is small enough and comes soon enough."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                parts, size = [], 0
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal("slow")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._limits.body:
                        raise Refusal("too_large")
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal("slow") from None

    def _reply(self, send: Send, name: str, told: dict[str, int]) -> Send:
        async def reply(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
                set_here = {key for key, _ in message.get("headers", ())}
                own = [h for h in self._headers if h[0] not in set_here]
                own.append((b"x-request-id", name.encode()))
                headers = [*message.get("headers", ()), *own]
                message = {**message, "headers": headers}
            else:
                told["bytes"] += len(message.get("body", b""))
            await send(message)

        return reply

    def _note(
        self, scope: Message, told: dict[str, int], start: float, name: str
    ) -> None:
        route = getattr(scope.get("route"), "path", "other")  # never what was typed
        method = scope["method"] if scope["method"] in _METHODS else "other"
        spent = bucketed(time.monotonic() - start, self._limits.time_bucket)
        self._metrics.requests.labels(route, method, str(told["status"])).inc()
        self._metrics.seconds.labels(route).observe(spent)
        person = scope.get("discreto_person", "")
        line = {"id": name, "method": method, "route": route, "person": person}
        LOG.info(json.dumps(line | told | {"seconds": round(spent, 3)}))


_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Send, refusal: Refusal) -> None:
    body = json.dumps(refusal.to_dict()).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    status = refusal.status
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
