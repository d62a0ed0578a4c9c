"""Sessions of a browser: a cookie that no script can read, and a proof in each form."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from discreto.service.errors import Refusal
from discreto.service.service import Service
from discreto.service.state import Person

COOKIE = "discreto_session"


class SignInFirst(Exception):
    """A page that only known people see."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person who signed in, and the proof that their forms carry."""

    person: Person
    proof: str
    id: str


async def session_of(request: Request) -> SignedIn:
    """Return the session of a request, or the way to the sign-in page."""
    service: Service = request.app.state.service
    text = request.cookies.get(COOKIE, "")
    if not text:
        raise SignInFirst
    try:
        secret, person = await run_in_threadpool(
            service.credentials.check, text, "session"
        )
    except Refusal:
        raise SignInFirst from None
    service.known.check(person.name)
    request.scope["discreto_person"] = person.name
    return SignedIn(person, secret.extra, secret.id)


async def form_of(request: Request, session: SignedIn | None) -> dict[str, str]:
    """Return the fields of a form; refuse a form of another site."""
    origin = request.headers.get("origin")
    if origin and origin != "null" and urlsplit(origin).netloc != request.url.netloc:
        raise Refusal("forbidden")
    form = await request.form(max_files=0, max_fields=100)
    fields = {key: value for key, value in form.items() if isinstance(value, str)}
    if session is not None:
        given = fields.pop("csrf", "") or request.headers.get("x-csrf", "")
        if not hmac.compare_digest(given.encode(), session.proof.encode()):
            raise Refusal("forbidden")
    return fields


def begin(service: Service, response: Response, person: Person) -> None:
    """Start a session and give its cookie to the browser."""
    hours = service.config.limits.session_hours
    text, _ = service.credentials.make("session", person.name, hours * 3600)
    response.set_cookie(COOKIE, text, max_age=int(hours * 3600), **_flags(service))


def end(service: Service, response: Response, session: SignedIn) -> None:
    """End a session, here and in the browser."""
    service.state.revoke(session.id)
    response.delete_cookie(COOKIE, **_flags(service))


def _flags(service: Service) -> dict[str, Any]:
    secure = service.config.url.startswith("https://")
    return {"httponly": True, "samesite": "lax", "secure": secure, "path": "/"}
