"""The JSON interface, as OpenAPI describes it: ``/api/v1``."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from discreto.service.errors import Refusal
from discreto.service.guard import bucketed
from discreto.service.questions import strict
from discreto.service.service import Service
from discreto.service.state import Person
from discreto.service.strict_body import StrictRoute
from discreto.text import meaning

T = TypeVar("T")
Amount = StrictInt | StrictFloat | StrictStr
Name = Annotated[str, Path(max_length=100)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QuestionBody(_Body):
    """A question: one of ``ask``, ``statistic``, ``statistics``, ``fit``,
    ``evaluate``, ``compare``."""

    ask: StrictStr | list[StrictStr] | None = Field(
        None, description="In words: 'mean(age) where sex == \"f\" by region'."
    )
    statistic: dict[str, Any] | None = Field(
        None, description="In data: {'kind': 'Mean', 'column': 'age'}."
    )
    statistics: list[dict[str, Any]] | None = Field(
        None, description="Several that share the cost equally, in one charge."
    )
    fit: dict[str, Any] | None = Field(
        None, description="{'model': 'NaiveBayes', 'params': {...}}"
    )
    evaluate: StrictStr | None = Field(None, description="The id of a model's answer.")
    compare: dict[str, Any] | None = Field(
        None,
        description="Models on simulated rows, free, as a job: {'rows': 1000, "
        "'target': 'readmitted', 'epsilons': ['0.5', '1']}; 'columns' are rows of "
        "your own.",
    )
    target: StrictStr | None = Field(None, description="The column a model predicts.")
    view: list[dict[str, Any]] = Field([], description="Derived columns and filters.")
    history: dict[str, Any] | None = Field(
        None, description="Columns from a person's earlier rows, made before the view."
    )
    epsilon: Amount = Field(description="What it costs: '0.1', 0.1 or '1/10'.")
    delta: Amount = Field(0, description="Above 0 the noise is Gaussian.")
    again: StrictInt = Field(0, description="Another number asks (and pays) anew.")


class PlanBody(QuestionBody):
    """A question, and a guess of how many rows there are."""

    rows: StrictInt | None = None


class RequestBody(QuestionBody):
    """A question above the ceiling, and why it should be answered."""

    comment: StrictStr = ""


class PredictBody(_Body):
    """Rows of your own, column by column."""

    columns: dict[str, list[Any]]


class DecisionBody(_Body):
    """The owner's answer to a request."""

    approved: StrictBool
    comment: StrictStr = ""


class BudgetBody(_Body):
    """A budget from now on: of an analyst, of ``table NAME``, or ``""`` for all."""

    account: StrictStr
    epsilon: Amount


class PersonBody(_Body):
    """A new person."""

    name: StrictStr
    role: StrictStr
    email: StrictStr = ""


class AuditBody(_Body):
    """A claim to try to break: ``"mean(age)"``, or the name of a model."""

    subject: StrictStr
    epsilon: Amount
    runs: StrictInt = Field(
        0, description="Runs of the black box; 0: answers are replayed only."
    )


class DomainBody(_Body):
    """A domain file to check."""

    domain: dict[str, Any]


class ReopenBody(_Body):
    """The owner's comment on a failure."""

    comment: StrictStr


def service_of(request: Request) -> Service:
    """Return the service of this process."""
    return request.app.state.service


async def caller(request: Request) -> Person:
    """Return the person whose token a request has."""
    service = service_of(request)
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    address = request.client.host if request.client else ""
    if kind.lower() != "bearer":
        raise Refusal("unauthorised")
    service.strangers.check(address)
    person = await run_in_threadpool(service.by_token, token.strip())
    service.strangers.forgive(address)
    service.known.check(person.name)
    request.scope["discreto_person"] = person.name
    return person


def only(*roles: str) -> Callable[..., Any]:
    """Return a dependency that refuses all other roles."""

    async def check(person: Annotated[Person, Depends(caller)]) -> Person:
        if person.role not in roles:
            raise Refusal("forbidden")
        return person

    return check


Anybody = Annotated[Person, Depends(caller)]
Owner = Annotated[Person, Depends(only("owner"))]
Analyst = Annotated[Person, Depends(only("analyst"))]
Reviewer = Annotated[Person, Depends(only("owner", "auditor"))]
Here = Annotated[Service, Depends(service_of)]
router = APIRouter(prefix="/api/v1", route_class=StrictRoute)


async def timed(service: Service, work: Callable[..., T], *args: Any) -> T:
    """Run the work in a thread, and reply at the end of a time bucket."""
    start, bucket = time.monotonic(), service.config.limits.time_bucket
    try:
        return await run_in_threadpool(work, *args)
    finally:
        spent = time.monotonic() - start
        await asyncio.sleep(bucketed(spent, bucket) - spent)


@router.get("/me", summary="Who you are and what you have left")
async def me(person: Anybody, service: Here) -> dict[str, Any]:
    """Return who you are and what you have left."""
    return await run_in_threadpool(service.me, person)


@router.get("/explain", summary="What an ε means for one person; free")
async def explain(
    person: Anybody, epsilon: str, delta: str = "0", prior: str = "0.5"
) -> dict[str, Any]:
    """Return odds, beliefs and an attacker's success; no table is asked."""
    found = meaning.explain(epsilon, delta, prior=prior)
    others = [asdict(one) for one in meaning.DEPLOYMENTS]
    return strict(found.to_dict()) | {"deployments": others}


@router.get("/tables", summary="The tables that you may know of")
async def tables(person: Anybody, service: Here) -> list[dict[str, Any]]:
    """Return the tables that you may know of."""
    return await run_in_threadpool(service.tables, person)


@router.get("/tables/{table}", summary="A table's domain, limits and budgets")
async def table(person: Anybody, service: Here, table: Name) -> dict[str, Any]:
    """Return a table's domain, limits and budgets."""
    return await run_in_threadpool(service.table_facts, person, table)


@router.post("/tables/{table}/plan", summary="What a question would cost; free")
async def plan(
    person: Analyst, service: Here, table: Name, body: PlanBody
) -> dict[str, Any]:
    """Return what a question would cost. Free."""
    data = body.model_dump()
    rows = data.pop("rows")
    return await run_in_threadpool(service.door.plan, person, table, data, rows)


@router.post("/tables/{table}/ask", summary="Ask, and pay; the same again is free")
async def ask(
    person: Analyst, service: Here, table: Name, body: QuestionBody
) -> dict[str, Any]:
    """Ask, and pay; the same question again is free."""
    return await timed(service, service.ask, person, table, body.model_dump())


@router.post("/tables/{table}/jobs", summary="The same as long work")
async def start_job(
    person: Analyst, service: Here, table: Name, body: QuestionBody
) -> dict[str, Any]:
    """Return the same as long work."""
    return await run_in_threadpool(service.start, person, table, body.model_dump())


@router.get("/jobs/{job}", summary="How far a job is")
async def job(person: Analyst, service: Here, job: Name) -> dict[str, Any]:
    """Return the state of a job."""
    return await timed(service, service.job_facts, person, job)


@router.post("/jobs/{job}/cancel", summary="Stop a job; its charge stands")
async def cancel(person: Analyst, service: Here, job: Name) -> dict[str, Any]:
    """Stop a job; its charge stands."""
    return await run_in_threadpool(service.cancel, person, job)


@router.get("/tables/{table}/answers/{answer}", summary="A stored answer, for free")
async def answer(
    person: Analyst, service: Here, table: Name, answer: Name
) -> dict[str, Any]:
    """Return a stored answer, for free."""
    return await run_in_threadpool(service.door.stored, person, table, answer)


@router.post("/tables/{table}/answers/{answer}/predict", summary="Predict; free")
async def predict(
    person: Analyst, service: Here, table: Name, answer: Name, body: PredictBody
) -> dict[str, Any]:
    """Predict. Free."""
    return await run_in_threadpool(service.predict, person, table, answer, body.columns)


@router.get("/history", summary="Entries of the chain; analysts see their own")
async def history(person: Anybody, service: Here) -> list[dict[str, Any]]:
    """Return entries of the chain; analysts see their own."""
    return await run_in_threadpool(service.door.history, person)


@router.post("/tables/{table}/requests", summary="Ask the owner for more")
async def request_more(
    person: Analyst, service: Here, table: Name, body: RequestBody
) -> dict[str, Any]:
    """Ask the owner for more."""
    data = body.model_dump()
    comment = data.pop("comment")
    return await run_in_threadpool(service.request, person, table, data, comment)


@router.get("/requests", summary="Requests and how they were decided")
async def requests(person: Anybody, service: Here) -> list[dict[str, Any]]:
    """Return requests and how they were decided."""
    return await run_in_threadpool(service.door.requests, person)


@router.post("/tables/{table}/requests/{analyst}/{request}", summary="Decide")
async def decide(
    person: Owner,
    service: Here,
    table: Name,
    analyst: Name,
    request: Name,
    body: DecisionBody,
) -> dict[str, Any]:
    """Approve or refuse a request."""
    return await run_in_threadpool(
        lambda: service.door.decide(
            person,
            table,
            analyst,
            request,
            approved=body.approved,
            comment=body.comment,
        )
    )


@router.get("/ledgers/{ledger}", summary="Budgets of a ledger")
async def budgets(person: Reviewer, service: Here, ledger: Name) -> dict[str, Any]:
    """Return the budgets of a ledger."""
    return await run_in_threadpool(service.ledger_facts, ledger)


@router.put("/ledgers/{ledger}/budgets", summary="Change a budget; it is an entry")
async def set_budget(
    person: Owner, service: Here, ledger: Name, body: BudgetBody
) -> dict[str, Any]:
    """Change a budget; it is an entry."""
    return await run_in_threadpool(service.allow, ledger, body.account, body.epsilon)


@router.post("/ledgers/{ledger}/verify", summary="Check the whole chain")
async def verify(person: Reviewer, service: Here, ledger: Name) -> dict[str, Any]:
    """Check the whole chain."""
    return await run_in_threadpool(service.verify, ledger)


@router.post("/ledgers/{ledger}/reopen", summary="Go on after a failure")
async def reopen(
    person: Owner, service: Here, ledger: Name, body: ReopenBody
) -> dict[str, Any]:
    """Go on after a failure."""
    return await run_in_threadpool(service.reopen, ledger, body.comment)


@router.get("/ledgers/{ledger}/proof", summary="The chain, which any user can check")
async def proof(person: Reviewer, service: Here, ledger: Name) -> dict[str, Any]:
    """Return the chain, which any user can check."""
    return await run_in_threadpool(service.proof, ledger)


@router.get("/people", summary="Everybody who may sign in")
async def people(person: Owner, service: Here) -> list[dict[str, Any]]:
    """Return all people who may sign in."""
    return await run_in_threadpool(service.people)


@router.post("/people", summary="Invite a person")
async def add_person(person: Owner, service: Here, body: PersonBody) -> dict[str, Any]:
    """Invite a person."""
    return await run_in_threadpool(service.add_person, body.name, body.role, body.email)


@router.post("/people/{name}/tokens", summary="A new token; it is shown once")
async def add_token(person: Owner, service: Here, name: Name) -> dict[str, Any]:
    """Return a new token; it is shown once."""
    return await run_in_threadpool(service.add_token, name)


@router.delete("/people/{name}", summary="Remove a person")
async def remove_person(person: Owner, service: Here, name: Name) -> dict[str, Any]:
    """Remove a person."""
    return await run_in_threadpool(service.remove_person, person, name)


@router.delete("/tokens/{token}", summary="End a token")
async def revoke(person: Owner, service: Here, token: Name) -> dict[str, Any]:
    """End a token."""
    return await run_in_threadpool(service.revoke, token)


@router.post("/tables/{table}/domain/check", summary="Whether a domain would fit")
async def check_domain(
    person: Owner, service: Here, table: Name, body: DomainBody
) -> dict[str, Any]:
    """Return True if a domain would fit; no value of a row is read."""
    text = json.dumps(body.domain)
    return await run_in_threadpool(service.work_on_draft, person, table, "check", text)


@router.get("/audits", summary="What was audited, and what came of it")
async def audits(person: Reviewer, service: Here) -> list[dict[str, Any]]:
    """Return audits and their results."""
    return await run_in_threadpool(service.audits.all)


@router.post("/tables/{table}/audits", summary="Try to break a claim; no row is read")
async def start_audit(
    person: Reviewer, service: Here, table: Name, body: AuditBody
) -> dict[str, Any]:
    """Try to break a claim; no row is read."""
    return await run_in_threadpool(
        service.audits.start, person, table, body.subject, body.epsilon, body.runs
    )
