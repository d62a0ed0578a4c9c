"""The functions of a service, which the JSON interface and the pages call."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from discreto.core.cost import Amount, Cost
from discreto.core.ledger import Ledger
from discreto.errors import LedgerError, ParameterError
from discreto.models.interop import json as persist
from discreto.service import domains
from discreto.service.asking import Door
from discreto.service.audits import Audits
from discreto.service.config import ROLES, ServiceConfig
from discreto.service.credentials import Credentials
from discreto.service.errors import Refusal
from discreto.service.jobs import Jobs
from discreto.service.questions import strict
from discreto.service.rate import RateLimit
from discreto.service.state import Job, Person, Secret, State

MOST_PREDICTIONS = 10_000


class Service:
    """A service: its tables, its people, and its running jobs."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        self.state = State(config.state)
        for name, settings in config.people.items():
            self.state.add_person(Person(name, settings.role, settings.email))
        self.credentials = Credentials(self.state)
        self.door = Door(config)
        limits = config.limits
        self.jobs = Jobs(self.door, self.state, limits.jobs, limits.patience)
        self.audits = Audits(self.door, self.state)
        self.known = RateLimit(limits.per_second)
        self.strangers = RateLimit(limits.per_second * 5)  # for each address

    def close(self) -> None:
        """Finish requests that are running, and close all files."""
        self.jobs.close()
        self.audits.close()
        self.door.close()
        self.state.close()

    def ready(self) -> bool:
        """Return True if the state and every ledger can be reached."""
        try:
            self.state.people()
            return all(ledger.spent() is not None for ledger in self._ledgers())
        except LedgerError:
            return False

    def _ledgers(self) -> list[Ledger]:
        return list(self.door.ledgers.values())

    # Who is it?

    def by_token(self, token: str) -> Person:
        """Return the person who has this token."""
        return self.credentials.check(token, "token")[1]

    # For analysts

    def me(self, person: Person) -> dict[str, Any]:
        """Return the role and the tables of a person."""
        shown = [facts["name"] for facts in self.tables(person)]
        return {"name": person.name, "role": person.role, "tables": shown}

    def tables(self, person: Person) -> list[dict[str, Any]]:
        """Return the tables that a person may know of."""
        seen = [s for s in self.door.tables.values() if s.opens_for(person)]
        return [
            {"name": one.name, "description": one.settings.description} for one in seen
        ]

    def table_facts(self, person: Person, name: str) -> dict[str, Any]:
        """Return the facts of a table that a person may know."""
        served = self.door.table(person, name)
        return {
            "name": name,
            "description": served.settings.description,
            "domain": served.table.domain.to_dict(),
            "left": self.door.left(person, served),
        }

    def ask(self, person: Person, table: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask a question, and charge it."""
        return self.door.ask(self.door.question(person, table, body))

    def request(
        self, person: Person, table: str, body: dict[str, Any], comment: str
    ) -> dict[str, Any]:
        """Ask the owner for a question above the ceiling."""
        question = self.door.question(person, table, body)
        return self.door.request(question, body, comment)

    def start(self, person: Person, table: str, body: dict[str, Any]) -> dict[str, Any]:
        """Begin long work."""
        question = self.door.question(person, table, body)
        return _told(self.jobs.start(question))

    def job(self, person: Person, id_: str) -> Job:
        """Return a job of this person."""
        job = self.state.job(id_) if len(id_) <= 64 else None
        if job is None or job.person != person.name:
            raise Refusal("not_found")
        return job

    def job_facts(self, person: Person, id_: str) -> dict[str, Any]:
        """Return the state of a job."""
        return _told(self.job(person, id_))

    def cancel(self, person: Person, id_: str) -> dict[str, Any]:
        """Stop a job; its charge stands."""
        self.jobs.cancel(self.job(person, id_))
        return self.job_facts(person, id_)

    def predict(
        self, person: Person, table: str, answer: str, columns: dict[str, list[Any]]
    ) -> dict[str, Any]:
        """Return a model's predictions for rows that the analyst sends."""
        found = self.door.stored(person, table, answer)
        if "model" not in found:
            raise Refusal("not_found")
        model = _model(json.dumps(found["model"]))
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1 or max(lengths) > MOST_PREDICTIONS:
            raise ParameterError(
                f"columns need one length, of at most {MOST_PREDICTIONS} rows."
            )
        try:
            rows = pa.table(columns)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise ParameterError("a column holds numbers or texts.") from None
        return {"predictions": strict(np.asarray(model.predict(rows)).tolist())}

    # For owners and auditors

    def ledger(self, name: str) -> Ledger:
        """Return a ledger by its name."""
        found = self.door.ledgers.get(name)
        if found is None:
            raise Refusal("not_found")
        return found

    def ledger_facts(self, name: str) -> dict[str, Any]:
        """Return the budgets and the state of a ledger."""
        ledger = self.ledger(name)
        return {
            "name": name,
            "id": ledger.id,
            "delta": str(ledger.delta),
            "budgets": self.door.budgets(name),
            "shut": ledger.shut,
            "faults": ledger.faults,
        }

    def charges(self, name: str, account: str) -> list[float]:
        """Return the epsilon of each charge to an account, oldest first."""
        ledger = self.ledger(name)
        out = []
        for entry in ledger.entries(2000):
            falls_on = ("", entry["analyst"], *entry.get("accounts", ()))
            if entry["cost"] and account in falls_on:
                cost = Cost.from_dict(entry["cost"])
                out.append(float(cost.total(ledger.delta)))
        return out

    def allow(self, name: str, account: str, epsilon: Amount) -> dict[str, Any]:
        """Change a budget. It is an entry."""
        self.ledger(name).allow(account, epsilon)
        return self.ledger_facts(name)

    def verify(self, name: str) -> dict[str, Any]:
        """Check the whole chain."""
        ledger = self.ledger(name)
        try:
            return {"intact": True, "entries": ledger.verify()}
        except LedgerError:
            return {"intact": False, "entries": 0}

    def reopen(self, name: str, comment: str) -> dict[str, Any]:
        """Go on after a failure. It is an entry."""
        self.ledger(name).reopen(comment[:500])
        return self.ledger_facts(name)

    def proof(self, name: str) -> dict[str, Any]:
        """Return the chain and its last hash: each proves the other."""
        return self.ledger(name).proof()

    def draft(self, owner: Person, table: str) -> str:
        """Return the domain that an owner is editing; at first the current one."""
        served = self.door.table(owner, table)
        return self.state.draft(table) or domains.current(served)

    def work_on_draft(
        self, owner: Person, table: str, what: str, text: str
    ) -> dict[str, Any]:
        """Draft, check or keep a domain. No value of a row is read."""
        served = self.door.table(owner, table)
        if what == "draft":
            text = domains.drafted(served)
        checked = domains.check(served, text)
        kept = what == "save" and len(text) <= domains.LONGEST and "\0" not in text
        if kept:
            self.state.set_draft(table, text)
        return {"text": text, "kept": kept} | checked

    def people(self) -> list[dict[str, Any]]:
        """Return all people, with their tokens."""
        tokens = self.state.secrets()
        return [
            {"name": p.name, "role": p.role, "email": p.email, "active": p.active}
            | {"tokens": [_shown(t) for t in tokens if t.person == p.name]}
            for p in self.state.people()
        ]

    def add_person(self, name: str, role: str, email: str = "") -> dict[str, Any]:
        """Invite a person."""
        plain = name.isascii() and name.replace("-", "a").replace("_", "a").isalnum()
        if not plain or len(name) > 60 or role not in ROLES or len(email) > 200:
            raise ParameterError(
                f"a person has a name of letters and digits, and one role of "
                f"{', '.join(ROLES)}."
            )
        if self.state.person(name) is not None:
            raise Refusal("conflict")
        self.state.add_person(Person(name, role, email))
        return {"name": name, "role": role}

    def remove_person(self, owner: Person, name: str) -> dict[str, Any]:
        """Remove a person; their tokens and sessions end."""
        if self.state.person(name) is None:
            raise Refusal("not_found")
        if name == owner.name:
            raise Refusal("conflict")
        self.state.set_active(name, active=False)
        return {"name": name, "active": False}

    def restore_person(self, name: str) -> dict[str, Any]:
        """Admit a removed person again; the old tokens stay revoked."""
        if self.state.person(name) is None:
            raise Refusal("not_found")
        self.state.set_active(name, active=True)
        return {"name": name, "active": True}

    def add_token(self, name: str) -> dict[str, Any]:
        """Return a new token of a person; it can only be read now."""
        person = self.state.person(name)
        if person is None or not person.active:
            raise Refusal("not_found")
        days = self.config.limits.token_days
        token, secret = self.credentials.make("token", name, days * 86400)
        return {"token": token} | _shown(secret)

    def revoke(self, id_: str) -> dict[str, Any]:
        """End a token."""
        found = self.state.secret(id_) if len(id_) <= 64 else None
        if found is None or found.kind != "token":
            raise Refusal("not_found")
        self.state.revoke(id_)
        return {"id": id_, "revoked": True}

    def link(self, name: str, seconds: float = 900) -> str:
        """Return a path for signing in once, without a token."""
        return f"/login/{self.credentials.make('link', name, seconds)[0]}"


def _shown(secret: Secret) -> dict[str, Any]:
    return {
        "id": secret.id,
        "created": secret.created,
        "expires": secret.expires,
        "revoked": bool(secret.revoked),
        "expired": time.time() >= secret.expires,
    }


def _told(job: Job) -> dict[str, Any]:
    return {
        "job": job.id,
        "table": job.table,
        "label": job.label,
        "status": job.status,
        "message": job.message,
        "progress": {"done": job.done, "of": job.total},
        "answer": job.answer.rpartition(" ")[2],
    }


@lru_cache(maxsize=16)
def _model(text: str) -> Any:
    return persist.loads(text)
