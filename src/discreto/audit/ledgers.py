"""The ledger check: is everything paid for, before it leaves, and for good?"""

from __future__ import annotations

import time

from discreto.audit.findings import Finding
from discreto.audit.neighbours import Data, bases, table_of
from discreto.audit.recorder import Recorder
from discreto.audit.transcripts import Work
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.errors import BudgetError


def ledger(
    work: Work, domain: Domain, *, name: str = "", data: Data | None = None
) -> Finding:
    """Check what some work charges, on one table.

    Rows may be read only when they are paid for; all that was released must be on the
    ledger at the end; nothing may be given back; and a ledger that is used up must
    stop the work before anything is released.

    Parameters
    ----------
    work
        Gets a dict of columns and a :class:`Recorder`; see :func:`work_of`.
    domain
        The public description of the columns.
    name
        What the finding calls the subject.
    data
        A dict of columns; by default typical rows of the domain.
    """
    start = time.perf_counter()
    rows = data or table_of(bases(domain)["typical rows"], domain)
    sized = domain
    if domain.neighbours == "replace":
        sized = domain.with_(rows=len(next(iter(rows.values()))))
    recorder = Recorder(sized)
    work(rows, recorder)
    asked = sum((release.cost for release in recorder.releases), Cost())
    charged = recorder.ledger.spent()
    complaints = [f"{label!r} left before it was paid for" for label in recorder.early]
    if not charged.covers(asked):
        complaints.append(f"{asked} was released, {charged} was charged")
    if not charged.covers(recorder.peak):
        complaints.append(f"{recorder.peak} had been charged, {charged} is left of it")
    complaints += _when_used_up(work, rows, sized)
    return Finding(
        name or "this work",
        "ledger",
        violation=bool(complaints),
        claimed=float(charged.epsilon),
        shown=float(asked.epsilon),
        event="; ".join(complaints) or "all of it was paid for first",
        pair="one table, and a ledger that is used up",
        pairs=1,
        relation=domain.neighbours,
        seconds=time.perf_counter() - start,
    )


def _when_used_up(work: Work, rows: Data, domain: Domain) -> list[str]:
    recorder = Recorder(domain, limit="1e-9")
    try:
        work(rows, recorder)
    except BudgetError:
        if recorder.releases:
            return [f"{recorder.releases[0].label!r} left although the ledger refused"]
        return []
    return ["a ledger that was used up did not stop it"]
