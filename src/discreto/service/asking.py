"""The door: decode a question, check it, charge it, answer it, and nothing else.

This is the line between people who do not trust each other. What comes in is JSON; what
goes out is JSON made of releases and public facts. Everything that can be refused is
refused before the charge, by the same code as everywhere: a door has no numbers of its
own about privacy, it only says who pays.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreto.core.charge import one_at_a_time
from discreto.core.cost import read_amount
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Domain
from discreto.core.ledger import Ledger
from discreto.data.engines import DatabaseEngine
from discreto.errors import DiscretoError, DomainError, KernelFault, LedgerError
from discreto.service.config import LedgerSettings, ServiceConfig, TableSettings
from discreto.service.errors import Refusal
from discreto.service.payer import Answered, Once, ServedTable
from discreto.service.questions import Work, cost_text, read_work, strict
from discreto.service.state import Person
from discreto.session.plan import Plan
from discreto.session.work_limits import limiting_work
from discreto.text.meaning import explain_cost

ASK, REQUEST, DECISION, DIED = "ask ", "request ", "decision ", "died "
OPENED = "opened "
MOST_ASKED = 100_000  # keys that a worker remembers


@dataclass(frozen=True, slots=True)
class Served:
    """A table, its ledger, and what its owner allows."""

    name: str
    table: ServedTable
    ledger: Ledger
    settings: TableSettings

    @property
    def accounts(self) -> tuple[str, ...]:
        """The budgets that a question about this table falls on, besides two."""
        return () if self.settings.epsilon is None else (f"table {self.name}",)

    @property
    def ceiling(self) -> Fraction | None:
        """The most that one question costs without approval."""
        most = self.settings.ceiling
        return None if most is None else read_amount(most, "ceiling")

    def opens_for(self, person: Person) -> bool:
        """Whether somebody may know of this table."""
        allowed = self.settings.analysts
        return person.role != "analyst" or allowed is None or person.name in allowed


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question of somebody about a table, decoded and named."""

    person: str
    served: Served
    work: Work
    id: str

    @property
    def key(self) -> str:
        """The key of its charge."""
        return f"{ASK}{self.person} {self.id}"


class Door:
    """Tables and ledgers, and the only way to them."""

    def __init__(self, config: ServiceConfig) -> None:
        self.ledgers = {
            name: open_ledger(settings) for name, settings in config.ledgers.items()
        }
        self.tables = {
            name: self._open(name, settings) for name, settings in config.tables.items()
        }
        self._patience = config.limits.patience
        self._work_limits = config.limits.work()
        self._opening = threading.Lock()
        self._asked: set[str] = set()  # keys of questions that were answered here

    def _open(self, name: str, settings: TableSettings) -> Served:
        ledger = self.ledgers[settings.ledger]
        domain = Domain.load(Path(settings.domain))
        engine = None if settings.fetch else DatabaseEngine(fetch=False)
        said = settings.dialect
        table = ServedTable(
            settings.data,
            domain,
            ledger,
            engine=engine,
            name=name,
            dialect=None if said is None else Dialect.from_dict(said),
            another_ledger=settings.another_ledger is True,
            accept_unchecked=settings.accept_unchecked is True,
        )
        if not table.checked:
            raise DomainError(
                f"table {name!r} is text, and its owner has not recorded that it is "
                "read as the domain says: values that are not read count as missing. "
                f"Run discreto domain check {settings.domain} --data {settings.data} "
                "--owner --record, or say accept_unchecked = true in "
                f"[tables.{name}]."
            )
        if settings.epsilon is not None:
            allow(ledger, f"table {name}", read_amount(settings.epsilon, "epsilon"))
        return Served(name, table, ledger, settings)

    def _current(self, name: str) -> Served:
        """Return a table over its files of today; if it is opened anew, note that.

        A nightly export replaces the file of a table that stays open for months.
        """
        with self._opening:
            served = self.tables[name]
            try:
                table = served.table.current()
            except DiscretoError:  # its text may name columns that are not public
                raise Refusal("table") from None
            if table is not served.table:
                label = f"table {name} was changed and is opened anew"
                event = {"service": "opened", "table": name}
                served.ledger.note(label, event, f"{OPENED}{name} {time.time_ns()}")
                served = self.tables[name] = replace(served, table=table)
            return served

    # Questions

    def table(self, person: Person, name: str) -> Served:
        """A table that somebody may know of."""
        served = self.tables.get(name)
        if served is None or not served.opens_for(person):
            raise Refusal("not_found")
        return served

    def question(self, person: Person, table: str, body: Mapping[str, Any]) -> Inquiry:
        """A question, decoded and checked; nothing is charged."""
        if person.role != "analyst":
            raise Refusal("forbidden")
        served = self.table(person, table)

        def model_of(name: str) -> str:
            return json.dumps(self.stored(person, table, name)["model"])

        work = read_work(body, model_of)
        work.domain_of(served.table.domain)  # refuses what does not fit
        id_ = work.id_for(table, served.table.domain)
        return Inquiry(person.name, served, work, id_)

    def plan(
        self, person: Person, table: str, body: Mapping[str, Any], rows: int | None
    ) -> dict[str, Any]:
        """What a question would cost and how exact its answer would be."""
        question = self.question(person, table, body)
        work, plan = question.work, self.plan_of(question, rows)
        entry = question.served.ledger.find(question.key)
        return {
            "id": question.id,
            "label": work.label,
            "plan": strict(plan.to_dict()),
            "text": str(plan),
            "meaning": strict(explain_cost(plan.total).to_dict()),
            "paid": entry is not None and entry["answer"] is not None,
            "needs_approval": self._needs_approval(question),
            "left": self.left(person, question.served),
        }

    def plan_of(self, question: Inquiry, rows: int | None) -> Plan:
        """Return the plan of a question, or refuse more work than the owner allows."""
        domain = question.work.domain_of(question.served.table.domain)
        with limiting_work(self._work_limits):
            return question.work.plan(domain, rows)

    def ask(
        self,
        question: Inquiry,
        watch: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        """Answer a question, charged before a row is read; its answer is stored.

        Asked again the stored answer is free. Without one, because the work was
        cancelled or died, the question is charged again, unless no row was read.
        """
        with one_at_a_time(question.key), limiting_work(self._work_limits):
            return self._ask(question, watch)

    def _ask(
        self, question: Inquiry, watch: Callable[[], None] | None
    ) -> dict[str, Any]:
        # The charge of a new question finds a stored answer too. So only long work, and
        # questions that were asked here before, look for one first.
        if question.key in self._asked or watch is not None:
            stored = self._repeated(question)
            if stored is not None:
                return stored
        try:
            answer = self._answer(question, watch)
        except Exception:
            stored = None
            with suppress(LedgerError):  # the first failure is the one to report
                stored = self._repeated(question)
            if stored is None:
                raise
            return stored  # a refusal before the charge does not hide a paid answer
        if len(self._asked) < MOST_ASKED:
            self._asked.add(question.key)
        return answer

    def _repeated(self, question: Inquiry) -> dict[str, Any] | None:
        """Return the stored answer of a question, if there is one."""
        stored = question.served.ledger.find(question.key)
        if stored is None or stored["answer"] is None:
            return None
        return json.loads(stored["answer"]) | {"id": question.id, "repeated": True}

    def _answer(
        self, question: Inquiry, watch: Callable[[], None] | None
    ) -> dict[str, Any]:
        served, work = question.served, question.work
        if self._needs_approval(question):
            raise Refusal("needs_approval")
        facts: dict[str, Any] = {"service": "ask", "table": served.name}
        facts |= {"id": question.id, "asked": work.asked}
        if work.simulate is not None:
            return self._simulated(question, facts, watch)
        payer = Once(
            served.ledger.analyst(question.person, served.accounts), question.key, facts
        )
        table = self._current(served.name).table.watched(watch).paid_by(payer)
        try:
            answer = work.run(work.seen(table))
        except Answered as earlier:
            return json.loads(earlier.answer) | {"id": question.id, "repeated": True}
        except BaseException:
            payer.give_up()
            raise
        if payer.receipt is None:
            raise KernelFault("an answer that nobody paid for.")
        text = payer.keep(payer.receipt, json.dumps(strict(answer), allow_nan=False))
        return json.loads(text) | {"id": question.id, "repeated": False}

    def _simulated(
        self,
        question: Inquiry,
        facts: Mapping[str, Any],
        watch: Callable[[], None] | None,
    ) -> dict[str, Any]:
        """An answer that reads no row: it costs nothing, and is an entry as well."""
        served, work = question.served, question.work
        if watch is None or work.simulate is None:
            raise Refusal("bad_request", "This takes long: send it to /jobs.")
        payer = served.ledger.analyst(question.person, served.accounts)
        domain = work.domain_of(served.table.domain)
        answer = work.simulate(domain, watch)
        paid = payer.note(work.label, dict(facts), question.key)
        text = payer.keep(paid, json.dumps(strict(answer), allow_nan=False))
        return json.loads(text) | {"id": question.id, "repeated": False}

    def stored(self, person: Person, table: str, id_: str) -> dict[str, Any]:
        """The answer that somebody got before; nobody sees another's."""
        served = self.table(person, table)
        entry = None
        if len(id_) <= 64:
            entry = served.ledger.find(f"{ASK}{person.name} {id_}")
        if entry is None or entry["answer"] is None:
            raise Refusal("not_found")
        told = {"label": entry["label"], "seq": entry["seq"], "time": entry["time"]}
        return json.loads(entry["answer"]) | {"id": id_, "entry": told}

    def evaluation_of(
        self, person: Person, table: str, model: str
    ) -> dict[str, Any] | None:
        """The last evaluation that somebody paid for a model, or None."""
        for entry in reversed(self.table(person, table).ledger.entries()):
            event = entry["event"]
            asked = event.get("asked", {})
            if (
                event.get("service") == "ask"
                and entry["analyst"] == person.name
                and asked.get("evaluate") == model
            ):
                with suppress(Refusal):  # charged, and not answered
                    return self.stored(person, table, event["id"])
        return None

    # Ceilings and approvals: all of it in the chain

    def _needs_approval(self, question: Inquiry) -> bool:
        served, cost = question.served, question.work.cost
        most = served.ceiling
        if most is None or cost.total(served.ledger.delta) <= most:
            return False
        decision = served.ledger.find(f"{DECISION}{question.person} {question.id}")
        return decision is None or not decision["event"]["approved"]

    def request(self, question: Inquiry, body: Any, comment: str) -> dict[str, Any]:
        """Ask the owner for a question above the ceiling. It is an entry."""
        if not self._needs_approval(question):
            raise Refusal("conflict")
        served, work = question.served, question.work
        label = f"request: {work.label} for {cost_text(work.cost)}"
        event = {
            "service": "request",
            "id": question.id,
            "table": served.name,
            "label": work.label,
            "body": body,
            "comment": comment[:1000],
        }
        key = f"{REQUEST}{question.person} {question.id}"
        if served.ledger.find(key) is None:
            served.ledger.note(label, event, key, question.person)
        return {"id": question.id, "status": "waiting"}

    def decide(
        self,
        owner: Person,
        table: str,
        asked_by: str,
        id_: str,
        *,
        approved: bool,
        comment: str,
    ) -> dict[str, Any]:
        """The owner's decision about a request. It is an entry, for good."""
        served = self.table(owner, table)
        name = f"{asked_by} {id_}"[:150]
        request = served.ledger.find(REQUEST + name)
        if request is None:
            raise Refusal("not_found")
        if served.ledger.find(DECISION + name) is not None:
            raise Refusal("conflict")
        word = "approved" if approved else "refused"
        event = {
            "service": "decision",
            "id": id_,
            "table": table,
            "approved": approved,
            "by": owner.name,
            "comment": comment[:1000],
        }
        label = f"{word} by {owner.name}: {request['event']['label']}"
        served.ledger.note(label, event, DECISION + name, asked_by)
        return {"id": id_, "status": word}

    def requests(self, person: Person) -> list[dict[str, Any]]:
        """Requests and how they were decided; analysts see their own."""
        out = []
        for name, ledger in self.ledgers.items():
            entries = ledger.entries()
            decided = {
                (e["analyst"], e["event"]["id"]): e["event"]
                for e in entries
                if e["event"].get("service") == "decision"
            }
            for entry in entries:
                if entry["event"].get("service") != "request":
                    continue
                if person.role == "analyst" and entry["analyst"] != person.name:
                    continue
                event = entry["event"]
                found = decided.get((entry["analyst"], event["id"]))
                status = "waiting"
                if found is not None:
                    status = "approved" if found["approved"] else "refused"
                out.append(
                    {"ledger": name, "person": entry["analyst"], "time": entry["time"]}
                    | {k: event[k] for k in ("id", "table", "label", "comment", "body")}
                    | {"cost": entry["label"].rpartition(" for ")[2], "status": status}
                    | {"answer": "" if found is None else found["comment"]}
                )
        return out

    # Budgets and history

    def left(self, person: Person, served: Served) -> dict[str, Any]:
        """What may still be spent on a table: by all, by somebody, on it alone."""
        names = {"population": "", **{a: a for a in served.accounts}}
        if person.role == "analyst":
            names["analyst"] = person.name
        ceiling = served.ceiling
        return {
            "budgets": {n: self._budget(served.ledger, a) for n, a in names.items()},
            "delta": str(served.ledger.delta),
            "ceiling": None if ceiling is None else str(ceiling),
        }

    @staticmethod
    def _budget(ledger: Ledger, account: str) -> dict[str, float]:
        try:
            limit, left = float(ledger.limit(account)), ledger.remaining(account)
        except LedgerError:
            return {"limit": 0.0, "left": 0.0}
        return {"limit": limit, "left": left, "spent": limit - left}

    def budgets(self, ledger: str) -> dict[str, dict[str, float]]:
        """Every account of a ledger."""
        found = self.ledgers[ledger]
        names = dict.fromkeys(["", *found.accounts()])
        return {name: self._budget(found, name) for name in names}

    def history(self, person: Person, last: int = 500) -> list[dict[str, Any]]:
        """Entries of the chain, newest first; an analyst sees their own."""
        out = []
        for name, ledger in self.ledgers.items():
            for entry in ledger.entries(last):
                if person.role == "analyst" and entry["analyst"] != person.name:
                    continue
                event = entry.pop("event")
                told = {k: event.get(k, "") for k in ("service", "table", "id")}
                # An entry about an analyst's budget is made by an owner.
                made_by = "owner" if "allow" in entry else entry["analyst"]
                told["who"] = event.get("by", made_by)
                out.append({"ledger": name} | entry | told)
        return sorted(out, key=lambda one: -one["time"])

    def sweep(self, alive: set[str]) -> int:
        """Say of every charge without an answer that its work died; how many did."""
        count = 0
        for ledger in self.ledgers.values():
            for key, entry in ledger.unanswered():
                old = time.time() - entry["time"] > self._patience
                if not old or not key.startswith(ASK) or key in alive:
                    continue
                note = f"{DIED}{entry['seq']}"
                if ledger.find(note) is None and not ledger.shut:
                    label = (
                        f"died: no answer to entry {entry['seq']}; the charge stands"
                    )
                    event = {"service": "died", "entry": entry["seq"]}
                    ledger.note(label, event, note, entry["analyst"])
                    count += 1
        return count

    def close(self) -> None:
        """Let go of the ledgers."""
        for ledger in self.ledgers.values():
            ledger.close()


def open_ledger(settings: LedgerSettings) -> Ledger:
    """A ledger as it is described, made if there is none."""
    ledger = Ledger(
        settings.path,
        epsilon=settings.epsilon,
        delta=settings.delta,
        anchor=settings.anchor,
    )
    for name, amount in settings.analysts.items():
        allow(ledger, name, read_amount(amount, f"the epsilon of {name!r}"))
    return ledger


def allow(ledger: Ledger, account: str, amount: Fraction) -> None:
    """Give an account its first budget; later changes are the owner's."""
    try:
        ledger.limit(account)
    except LedgerError:
        ledger.allow(account, amount)
