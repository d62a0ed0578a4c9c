"""Pages for owners and auditors: approvals, people, ledgers, domains, audits."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from discreto.errors import DomainError, ParameterError
from discreto.service.api import Name
from discreto.service.browser_sessions import SignedIn, form_of
from discreto.service.errors import Refusal, refusal_of
from discreto.service.pages import Somebody, file_reply, go_to, here, with_point
from discreto.service.plots import burn_down
from discreto.service.questions import model_kinds
from discreto.service.rendering import page

router = APIRouter(include_in_schema=False)


def _only(session: SignedIn, *roles: str) -> None:
    if session.person.role not in roles:
        raise Refusal("forbidden")


@router.post("/requests/{table}/{analyst}/{id_}")
async def decide(
    request: Request, session: Somebody, table: Name, analyst: Name, id_: Name
) -> Response:
    """Approve or refuse."""
    fields = await form_of(request, session)
    _only(session, "owner")
    await run_in_threadpool(
        lambda: here(request).door.decide(
            session.person,
            table,
            analyst,
            id_,
            approved=fields.get("do") == "approve",
            comment=fields.get("comment", ""),
        )
    )
    return go_to("/requests")


@router.get("/people")
async def people(request: Request, session: Somebody) -> Response:
    """Return all people who may sign in."""
    _only(session, "owner")
    found = await run_in_threadpool(here(request).people)
    return page(request, "people.html", session, people=found)


@router.post("/people")
async def add_person(request: Request, session: Somebody) -> Response:
    """Add a person and show the first token; analysts need a budget next."""
    fields, service = await form_of(request, session), here(request)
    _only(session, "owner")
    name, role = fields.get("name", ""), fields.get("role", "")

    def invite() -> str:
        service.add_person(name, role, fields.get("email", ""))
        return str(service.add_token(name)["token"])

    try:
        told = {"token": await run_in_threadpool(invite), "whose": name}
        told["invited"] = role if role == "analyst" else ""
        status = 200
    except (ParameterError, Refusal) as error:
        refusal = refusal_of(error)
        told, status = {"error": refusal.message}, refusal.status
    found = await run_in_threadpool(service.people)
    return page(request, "people.html", session, status, people=found, **told)


@router.post("/people/{name}")
async def change_person(request: Request, session: Somebody, name: Name) -> Response:
    """Return a new token, the end of one or of all; removing takes a second press."""
    fields, service = await form_of(request, session), here(request)
    _only(session, "owner")
    what = fields.get("do")
    told: dict[str, Any] = {"whose": name}
    if what == "restore":
        await run_in_threadpool(service.restore_person, name)
    if what in ("token", "restore"):
        told["token"] = (await run_in_threadpool(service.add_token, name))["token"]
    elif what == "revoke":
        await run_in_threadpool(service.revoke, fields.get("token", ""))
    elif what == "remove":
        told["leaving"] = name
    elif what == "remove-now":
        await run_in_threadpool(service.remove_person, session.person, name)
    told["people"] = await run_in_threadpool(service.people)
    return page(request, "people.html", session, **told)


async def _ledger(
    request: Request, session: SignedIn, name: str, status: int = 200, **facts: Any
) -> Response:
    service = here(request)

    def read() -> dict[str, Any]:
        found = service.ledger_facts(name)
        burn = {
            account: burn_down(
                service.charges(name, account), budget["limit"], account or name
            )
            for account, budget in found["budgets"].items()
        }
        known = [p.name for p in service.state.people() if p.role == "analyst"]
        newcomers = [one for one in known if one not in found["budgets"]]
        return {"ledger": found, "burn": burn, "newcomers": newcomers}

    told = await run_in_threadpool(read)
    return page(request, "ledger.html", session, status, **(told | facts))


@router.get("/ledgers/{name}")
async def ledger(request: Request, session: Somebody, name: Name) -> Response:
    """Show the budgets of a ledger as burn-down pictures."""
    _only(session, "owner", "auditor")
    return await _ledger(request, session, name)


@router.post("/ledgers/{name}")
async def change_ledger(request: Request, session: Somebody, name: Name) -> Response:
    """Verify, change a budget, or reopen."""
    fields, service = await form_of(request, session), here(request)
    _only(session, "owner", "auditor")
    what = fields.get("do")
    if what == "verify":
        checked = await run_in_threadpool(service.verify, name)
        return await _ledger(request, session, name, checked=checked)
    _only(session, "owner")
    try:
        if what == "allow":
            account, amount = fields.get("account", ""), fields.get("epsilon", "")
            amount = with_point(amount)
            await run_in_threadpool(service.allow, name, account, amount)
        elif what == "reopen":
            comment = fields.get("comment", "")
            await run_in_threadpool(service.reopen, name, comment)
        else:
            raise Refusal("bad_request")
    except ParameterError as error:
        return await _ledger(request, session, name, 422, error=str(error))
    return go_to(f"/ledgers/{name}")


@router.get("/ledgers/{name}/proof.json")
async def proof(request: Request, session: Somebody, name: Name) -> Response:
    """Return the chain, which any user can check."""
    _only(session, "owner", "auditor")
    found = await run_in_threadpool(here(request).proof, name)
    return file_reply(json.dumps(found), f"{name}-proof.json", "application/json")


# Domains


@router.get("/domains/{table}")
async def domain_page(request: Request, session: Somebody, table: Name) -> Response:
    """Return the domain that the owner is working on."""
    _only(session, "owner")
    text = await run_in_threadpool(here(request).draft, session.person, table)
    return page(request, "domain.html", session, table=table, text=text)


@router.post("/domains/{table}")
async def change_domain(request: Request, session: Somebody, table: Name) -> Response:
    """Draft, check or keep a domain."""
    fields, service = await form_of(request, session), here(request)
    _only(session, "owner")
    what, text = fields.get("do", ""), fields.get("text", "").replace("\r\n", "\n")
    if what not in ("draft", "check", "save"):
        raise Refusal("bad_request")
    done = await run_in_threadpool(
        service.work_on_draft, session.person, table, what, text
    )
    told = {"table": table, "text": done["text"], "checked": done}
    return page(request, "domain.html", session, **told)


@router.get("/domains/{table}/domain.json")
async def domain_file(request: Request, session: Somebody, table: Name) -> Response:
    """Return the draft as a file."""
    _only(session, "owner")
    text = await run_in_threadpool(here(request).draft, session.person, table)
    return file_reply(text + "\n", f"{table}.domain.json", "application/json")


# Audits


async def _audits(
    request: Request, session: SignedIn, status: int = 200, **facts: Any
) -> Response:
    service = here(request)
    found = await run_in_threadpool(service.audits.all)
    open_ = any(one["status"] == "running" for one in found)
    shown = {"audits": found, "tables": list(service.door.tables), "form": {}}
    told = shown | {"models": list(model_kinds()), "refresh": open_} | facts
    return page(request, "audits.html", session, status, **told)


@router.get("/audits")
async def audits(request: Request, session: Somebody) -> Response:
    """Return audits and their results."""
    _only(session, "owner", "auditor")
    return await _audits(request, session)


@router.post("/audits")
async def start_audit(request: Request, session: Somebody) -> Response:
    """Try to break a claim."""
    fields, service = await form_of(request, session), here(request)
    _only(session, "owner", "auditor")
    runs = fields.get("runs", "")
    try:
        await run_in_threadpool(
            service.audits.start,
            session.person,
            fields.get("table", ""),
            fields.get("subject", "").strip(),
            with_point(fields.get("epsilon", "")),
            int(runs) if runs.isdecimal() and len(runs) < 8 else -1,
        )
    except (ParameterError, DomainError) as error:
        told = {"error": str(error), "form": fields}
        return await _audits(request, session, 422, **told)
    return go_to("/audits")
