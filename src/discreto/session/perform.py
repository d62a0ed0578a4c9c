"""The one protocol of everything that asks: rehearse, pay, then perform as planned.

A statistic, a fit, an evaluation or a vote is a function of a session. It is first
held with a table without rows, which costs nothing: that gives its plan, and refuses
whatever can be refused. Then the whole plan is paid for, and only then is it held with
the rows, question by question as planned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from discreto.core.capabilities import is_choosy
from discreto.core.charge import Charger, Receipt, Reservation, one_at_a_time
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.gate import Gate
from discreto.core.query import Bound
from discreto.session.dry_run import dry_run_gate
from discreto.session.plan import Plan, rehearse
from discreto.session.rehearsal import DryRun, every_way
from discreto.session.session import Session
from discreto.session.work_limits import check_stored

T = TypeVar("T")


class Payable(Protocol):
    """Rows that can be asked, and who pays for it: a table."""

    domain: Domain
    ledger: Charger

    def gate(self, ledger: Charger | None = None) -> Gate: ...


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The result of a session, its plan and its receipt."""

    result: T
    plan: Plan
    receipt: Receipt
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """A key under which a result is kept with its charge, and how it is written."""

    key: str | None
    write: Callable[[T, Receipt], str]
    read: Callable[[str], T]


def choosy_gate(table: Payable) -> Gate | None:
    """Return the gate of a table whose engine refuses some questions, or None."""
    return table.gate() if is_choosy(table) else None


def perform(
    table: Payable,
    work: Callable[[Session], T],
    cost: Cost,
    label: str,
    *,
    plan: Plan | None = None,
    facts: Mapping[str, Any] | None = None,
    kept: Kept[T] | None = None,
    known: Sequence[Bound] = (),
    ways: Sequence[int] = (),
) -> Done[T]:
    """Pay for ``work`` as a whole, and hold it with the rows of a table.

    Parameters
    ----------
    plan
        What a rehearsal gave, if there was one already.
    facts
        What the ledger's entry says besides the questions.
    kept
        With a key, an answer that was stored under it is read and costs nothing more.
    known
        Sums that the rehearsal has bound, in the order in which they are asked.
    ways
        The way at each fork, for work whose form must not depend on releases.
    """
    ahead: list[Bound] = []
    if plan is None:
        choosy = choosy_gate(table)
        plan, _ = rehearse(table.domain, work, cost, gate=choosy, ahead=ahead)
    questions = [question.to_dict() for question in plan]
    event: dict[str, Any] = {"questions": questions} | dict(facts or {})
    if plan.others:
        event["others"] = list(map(len, plan.others))
    key = None if kept is None else kept.key
    if key is not None:
        check_stored(plan.numbers, label)
    gate = table.gate()
    if isinstance(gate, Gate):  # silos look after their own rows
        gate.check_rows(label)
    with one_at_a_time(key):
        return _performed(
            table, work, cost, label, plan, event, kept, known, ahead, ways
        )


def _performed(
    table: Payable,
    work: Callable[[Session], T],
    cost: Cost,
    label: str,
    plan: Plan,
    event: Mapping[str, Any],
    kept: Kept[T] | None,
    known: Sequence[Bound],
    ahead: Sequence[Bound],
    ways: Sequence[int],
) -> Done[T]:
    key = None if kept is None else kept.key
    receipt = table.ledger.charge(cost, label, event, key)
    if kept is not None and receipt.answer is not None:
        return Done(kept.read(receipt.answer), plan, receipt)
    paid = Reservation(table.ledger, receipt)
    gate = table.gate(paid)  # a table may put another payer around the reservation
    if isinstance(gate, Gate):
        gate = gate.folded_ahead(ahead, label)
        known = known or ahead  # bound in the rehearsal, asked in the same order
    else:  # silos fold what they are asked, one by one
        known = ()
    session = Session(gate, cost, plan.forms, ways, known)
    try:
        result = work(session)
    except BaseException:
        if key is not None:
            paid.give_up()
        raise
    finally:
        if kept is None and isinstance(gate, Gate):  # a fit, not a statistic
            gate.finish()
    if plan.others:  # what was asked in the end is public, like what decided it
        plan = replace(plan, questions=tuple(session.asked), others=())
    if kept is not None and key is not None:
        text = table.ledger.keep(receipt, kept.write(result, receipt))
        result = kept.read(text)
    return Done(result, plan, receipt, tuple(session.remarks))


def longest_form(
    domain: Domain,
    work: Callable[[Session], Any],
    cost: Cost,
    gate: Gate | None = None,
) -> tuple[Plan, tuple[int, ...]]:
    """Return the form of ``work`` with the most questions, and its way at each fork.

    Hidden runs keep to this form: which form a run takes would otherwise depend on
    releases that are never shown, and its duration with it.
    """

    def empty() -> Gate:
        return dry_run_gate(domain, 0, gate)

    every = [session for session, _ in every_way(empty(), empty, work, cost)]
    longest = max(every, key=lambda session: len(session.asked))
    ways = tuple(way for way, _ in longest.forks)
    return Plan(tuple(longest.asked), cost, 0), ways


def has_forks(domain: Domain, work: Callable[[Session], Any], cost: Cost) -> bool:
    """Return True if a release decides how ``work`` goes on."""
    session = DryRun(dry_run_gate(domain, 0), cost)
    work(session)
    return bool(session.forks)
