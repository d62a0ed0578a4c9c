"""The pages: rendered here, usable without scripts, for analysts, owners, auditors."""

from __future__ import annotations

import json
import keyword
import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response

from discreto.client import releases_from
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Select, view_to_json
from discreto.errors import DiscretoError
from discreto.models import Evaluation
from discreto.models.interop import json as persist
from discreto.report import model_page
from discreto.service.api import Name, timed
from discreto.service.browser_sessions import SignedIn, begin, end, form_of, session_of
from discreto.service.errors import Refusal, refusal_of
from discreto.service.questions import model_kinds
from discreto.service.rendering import LANGUAGES, csv_of, page, spoken, static
from discreto.service.service import Service
from discreto.session.dry_run import assumption
from discreto.stats.text import KINDS as STATISTICS
from discreto.text.error_messages import error_in_words
from discreto.text.language import number as written
from discreto.text.language import speaking

router = APIRouter(include_in_schema=False)
_PATH = re.compile(r"/(?!/)[\w/.-]*", re.ASCII)  # of this service: no host, no query
_COMMA = re.compile(r"\s*\d*,\d+\s*", re.ASCII)
Somebody = Annotated[SignedIn, Depends(session_of)]
_TYPES = {"service.css": "text/css", "service.js": "text/javascript"}
_REPORT = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; sandbox"
)


def here(request: Request) -> Service:
    """Return the service of this process."""
    return request.app.state.service


def go_to(path: str) -> RedirectResponse:
    """Return a redirect to another page, after a form was sent."""
    return RedirectResponse(path, status_code=303)


@router.get("/static/{name}")
async def asset(name: Name) -> Response:
    """Return a style sheet or script."""
    if name not in _TYPES:
        raise Refusal("not_found")
    return Response(static(name), media_type=_TYPES[name])


@router.get("/language")
async def language(to: str = "en", back: str = "/") -> Response:
    """Choose a language, and go back to the page on which it was chosen."""
    local = _PATH.fullmatch(back) is not None
    reply = go_to(back if local else "/")
    if to in LANGUAGES:
        reply.set_cookie("language", to, httponly=True, samesite="lax")
    return reply


# Signing in and out


@router.get("/login")
async def login_page(request: Request) -> Response:
    """Show the page on which tokens are typed in."""
    sign_on = here(request).config.oidc
    label = sign_on.label if sign_on else ""
    return page(request, "login.html", None, sign_on=label)


@router.get("/login/{code}")
async def link_page(request: Request, code: Name) -> Response:
    """Show a button for a link that signs in once; browsers prefetch links."""
    return page(request, "login.html", None, code=code)


@router.post("/login")
async def login(request: Request) -> Response:
    """Sign in with a token."""
    fields = await form_of(request, None)
    return await _sign_in(request, fields.get("token", "").strip(), "token")


@router.post("/login/{code}")
async def login_by_link(request: Request, code: Name) -> Response:
    """Sign in with a link, once."""
    await form_of(request, None)
    return await _sign_in(request, code, "link")


async def _sign_in(request: Request, text: str, kind: str) -> Response:
    service = here(request)
    service.strangers.check(request.client.host if request.client else "")
    reply = go_to("/")

    def sign_in() -> None:
        secret, person = service.credentials.check(text, kind)
        if kind == "link" and not service.state.revoke(secret.id):
            raise Refusal("unauthorised")
        begin(service, reply, person)

    try:
        await run_in_threadpool(sign_in)
    except Refusal as refusal:
        told = {"used": True} if kind == "link" else {"error": refusal.message}
        return page(request, "login.html", None, refusal.status, **told)
    return reply


@router.post("/logout")
async def logout(request: Request, session: Somebody) -> Response:
    """Sign out."""
    await form_of(request, session)
    reply = go_to("/login")
    await run_in_threadpool(end, here(request), reply, session)
    return reply


# Asking


@router.get("/")
async def home(request: Request, session: Somebody) -> Response:
    """Show the tables that a person may know of."""
    service = here(request)

    def facts() -> list[dict[str, Any]]:
        found = service.tables(session.person)
        return [service.table_facts(session.person, one["name"]) for one in found]

    return page(request, "home.html", session, tables=await run_in_threadpool(facts))


async def _table(
    request: Request, session: SignedIn, table: str, status: int = 200, **facts: Any
) -> Response:
    service = here(request)
    found = await run_in_threadpool(service.table_facts, session.person, table)
    columns = found["domain"]["columns"]
    groups = [name for name, column in columns.items() if column.get("categories")]
    shown = {"form": {}, "statistics": list(STATISTICS), "models": list(model_kinds())}
    shown["book"] = Domain.from_dict(found["domain"]).columns
    told = {"table": found, "groups": groups} | shown | facts
    return page(request, "table.html", session, status, **told)


@router.get("/tables/{table}")
async def table_page(request: Request, session: Somebody, table: Name) -> Response:
    """Return a table's code book, and the forms to ask."""
    return await _table(request, session, table)


def sentence_of(fields: dict[str, str]) -> str:
    """Return the sentence that a form stands for.

    >>> sentence_of({"statistic": "mean", "column": "age", "by": "sex"})
    'mean(age) by sex'
    >>> sentence_of({"statistic": "mean", "column": "Weight kg"})
    "mean(col('Weight kg'))"
    """
    if fields.get("sentence", "").strip():
        return fields["sentence"].strip()
    inside = [_named(fields.get("column", "")), fields.get("second", "").strip()]
    text = f"{fields.get('statistic', 'count')}({', '.join(filter(None, inside))})"
    clauses = {"where": fields.get("where", "").strip()}
    clauses["by"] = _named(fields.get("by", ""))
    for word, value in clauses.items():
        text += f" {word} {value}" if value else ""
    return text


def _named(column: str) -> str:
    """Return a column as expressions write it: ``col('...')`` if it has signs."""
    name = column.strip()
    own = keyword.iskeyword(name) or name.lower() in ("where", "by")
    quoted = len(name) > 2 and name[0] == name[-1] == "`"
    plain = quoted or (name.isidentifier() and not own)
    return name if plain or not name else f"col({column!r})"


def with_point(amount: str) -> str:
    """Return an amount as programs write it; people write 0,1 as well.

    >>> with_point("0,1"), with_point("1/2"), with_point("0.5, 1")
    ('0.1', '1/2', '0.5, 1')
    """
    return amount.replace(",", ".") if _COMMA.fullmatch(amount) else amount


def body_of(fields: dict[str, str]) -> dict[str, Any]:
    """Return the question that a form stands for, as the JSON interface takes it."""
    what, costs = fields.get("do"), {"epsilon": with_point(fields.get("epsilon", ""))}
    if what == "evaluate":
        return {"evaluate": fields.get("evaluate", "")} | costs
    if what == "compare":
        prices = [one.strip() for one in fields.get("epsilon", "").split(",")]
        rows = fields.get("rows", "")
        asked: dict[str, Any] = {"target": fields.get("target"), "epsilons": prices}
        asked["rows"] = int(rows) if rows.isdecimal() and len(rows) < 9 else -1
        return {"compare": asked, "epsilon": prices[0]}
    if what == "fit":
        names = [n.strip() for n in fields.get("columns", "").split(",") if n.strip()]
        target = fields.get("target") or None
        if names and target and target not in names:
            names.append(target)
        view = view_to_json((Select(tuple(names)),)) if names else []
        model = {"model": fields.get("model", "")}
        return {"fit": model, "target": target, "view": view} | costs
    return {"ask": sentence_of(fields)} | costs


@router.post("/tables/{table}/preview")
async def preview(request: Request, session: Somebody, table: Name) -> Response:
    """Return what a question would cost, for the script of the page."""
    fields = await form_of(request, session)
    try:
        found = await run_in_threadpool(_plan, request, session, table, fields)
    except (Refusal, DiscretoError) as error:
        with speaking(spoken(request)):
            return JSONResponse({"text": error_in_words(refusal_of(error).message)})
    with speaking(spoken(request)):
        errors = [
            f"± {written(one['error'], '.4g')} {one['unit']}".strip()
            for one in found["plan"]["expected"]
        ]
        rest = f"(95 %), {assumption(found['plan']['rows'])}"
    return JSONResponse({"text": f"{found['label']}: {', '.join(errors)} {rest}"})


def _plan(
    request: Request, session: SignedIn, table: str, fields: dict[str, str]
) -> dict[str, Any]:
    rows = fields.get("rows", "").strip()
    number = int(rows) if rows.isdecimal() and len(rows) < 12 else None
    body = body_of(fields)
    found = here(request).door.plan(session.person, table, body, number or None)
    with speaking(spoken(request)):
        return found | {"cost": written(f"ε {body['epsilon']}")}


@router.post("/tables/{table}")
async def ask(request: Request, session: Somebody, table: Name) -> Response:
    """Plan, ask, fit, or ask the owner; show a refusal above the form."""
    service, fields = here(request), await form_of(request, session)
    what = fields.get("do", "")
    if what not in ("plan", "ask", "fit", "evaluate", "compare", "request"):
        raise Refusal("bad_request")
    try:
        body = body_of(fields)
        if what == "plan":
            plan = await run_in_threadpool(_plan, request, session, table, fields)
            return await _table(request, session, table, form=fields, plan=plan)
        if what == "request":
            comment = fields.get("comment", "")
            await run_in_threadpool(
                service.request, session.person, table, body, comment
            )
            return go_to("/requests")
        if what in ("fit", "compare"):
            job = await run_in_threadpool(service.start, session.person, table, body)
            return go_to(f"/jobs/{job['job']}")
        found = await timed(service, service.ask, session.person, table, body)
    except (Refusal, DiscretoError) as error:
        refusal = refusal_of(error)
        facts = {"form": fields, "error": refusal.message}
        return await _table(request, session, table, refusal.status, **facts)
    return go_to(f"/tables/{table}/answers/{found['id']}")


@router.get("/tables/{table}/answers/{answer}")
async def answer_page(
    request: Request, session: Somebody, table: Name, answer: Name
) -> Response:
    """Return an answer as picture and table, or as a file."""
    name, _, kind = answer.partition(".")
    service = here(request)
    found = await run_in_threadpool(service.door.stored, session.person, table, name)
    if kind == "json":
        return file_reply(json.dumps(found), f"{name}.json", "application/json")
    if kind == "csv" and "releases" in found:
        return file_reply(csv_of(found), f"{name}.csv", "text/csv")
    if kind not in ("", "html"):
        raise Refusal("not_found")
    told: dict[str, Any] = {"answer": found, "table": table}
    if kind == "html":
        shown = page(request, "answer.html", session, **told)
        text = bytes(shown.body).decode()
        return file_reply(text, f"{name}.html", "text/html")
    facts = await run_in_threadpool(service.table_facts, session.person, table)
    return page(request, "answer.html", session, facts=facts, **told)


@router.get("/tables/{table}/answers/{answer}/card")
async def card(
    request: Request, session: Somebody, table: Name, answer: Name
) -> Response:
    """Return the card of a model: what it is, what it cost, what that protects."""
    service = here(request)

    def made() -> str:
        found = service.door.stored(session.person, table, answer)
        if "model" not in found:
            raise Refusal("not_found")
        model = persist.loads(json.dumps(found["model"]))
        paid = service.door.evaluation_of(session.person, table, answer)
        judged = Evaluation(**releases_from(paid["evaluation"])) if paid else None
        return str(model_page(model, evaluation=judged, lang=spoken(request)))

    # A report is one file with its style inside; no script runs in it here.
    headers = {"content-security-policy": _REPORT}
    return Response(
        await run_in_threadpool(made), media_type="text/html", headers=headers
    )


def file_reply(text: str, name: str, kind: str) -> Response:
    """Return a file to save."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)


@router.get("/jobs/{job}")
async def job_page(request: Request, session: Somebody, job: Name) -> Response:
    """Show the state of a job on a page that loads itself again."""
    facts = await run_in_threadpool(here(request).job_facts, session.person, job)
    under_way = facts["status"] in ("waiting", "running")
    return page(request, "job.html", session, job=facts, refresh=under_way)


@router.post("/jobs/{job}/cancel")
async def cancel(request: Request, session: Somebody, job: Name) -> Response:
    """Stop a job; its charge stands."""
    await form_of(request, session)
    await run_in_threadpool(here(request).cancel, session.person, job)
    return go_to(f"/jobs/{job}")


@router.get("/history")
async def history(request: Request, session: Somebody) -> Response:
    """Show entries of the ledgers."""
    entries = await run_in_threadpool(here(request).door.history, session.person)
    return page(request, "history.html", session, entries=entries)


@router.get("/requests")
async def requests(request: Request, session: Somebody) -> Response:
    """Return requests and how they were decided."""
    found = await run_in_threadpool(here(request).door.requests, session.person)
    return page(request, "requests.html", session, requests=found)
