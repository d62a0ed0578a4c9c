"""Audits that owners and auditors start: on synthetic tables, so no row is read.

An audit tries to show that a statistic or a model loses more than it claims. What it
finds is kept with the state of the service, where all workers see it.
"""

from __future__ import annotations

import json
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from discreto.core.cost import Amount, Cost
from discreto.core.domain.domain import Domain
from discreto.errors import DiscretoError
from discreto.service.asking import Door
from discreto.service.errors import Refusal, refusal_of
from discreto.service.questions import make_model, model_kinds, strict
from discreto.service.state import Audit, Person, State
from discreto.session.parameters import whole
from discreto.stats import sentence

MOST_RUNS, MOST_WAITING = 5000, 8
_PATIENCE = 3600.0  # seconds after which an audit without an end counts as died


class Audits:
    """The audits of one worker process, one at a time."""

    def __init__(self, door: Door, state: State) -> None:
        self._door, self._state = door, state
        self._pool = ThreadPoolExecutor(1, "audit")
        self._open: set[str] = set()

    def start(
        self, person: Person, table: str, subject: str, epsilon: Amount, runs: int
    ) -> dict[str, Any]:
        """Begin an audit; what cannot be audited is refused at once."""
        served = self._door.table(person, table)
        whole(runs, "runs", least=0, most=MOST_RUNS)
        if len(subject) > 500 or len(self._open) >= MOST_WAITING:
            raise Refusal("busy" if len(subject) <= 500 else "bad_request")
        Cost.of(epsilon)
        self._subject(subject, epsilon)
        found = Audit(
            id=secrets.token_hex(16),
            table=table,
            subject=subject,
            person=person.name,
            created=time.time(),
            status="running",
            body="[]",
        )
        self._state.add_audit(found)
        self._open.add(found.id)
        domain = served.table.domain
        self._pool.submit(self._run, found, domain, epsilon, runs)
        return told(found)

    def _subject(self, text: str, epsilon: Amount) -> Any:
        if text in model_kinds():
            return make_model(text, {"epsilon": epsilon, "delta": 0})
        return sentence(text)

    def _run(self, audit: Audit, domain: Domain, epsilon: Amount, runs: int) -> None:
        from discreto.audit import examine

        try:
            subject = self._subject(audit.subject, epsilon)
            found = examine(
                subject, domain, epsilon=epsilon, runs=runs, name=audit.subject
            )
            body = json.dumps(strict([one.to_dict() for one in found]))
            status = "done"
        except Exception as error:  # its text may be anything
            body, status = json.dumps(refusal_of(error).message), "refused"
        finally:
            self._open.discard(audit.id)
        with suppress(DiscretoError):
            self._state.end_audit(audit.id, status, body)

    def all(self) -> list[dict[str, Any]]:
        """Return audits, newest first."""
        return [told(one) for one in self._state.audits()]

    def close(self) -> None:
        """Take nothing more; what is under way is left."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def told(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON data."""
    body = json.loads(audit.body)
    late = time.time() - audit.created > _PATIENCE
    return {
        "id": audit.id,
        "table": audit.table,
        "subject": audit.subject,
        "person": audit.person,
        "time": audit.created,
        "status": "died" if audit.status == "running" and late else audit.status,
        "findings": body if isinstance(body, list) else [],
        "message": body if isinstance(body, str) else "",
    }
