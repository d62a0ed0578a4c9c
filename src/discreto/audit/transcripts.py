"""The transcript audit: record on one table, replay the answers on its neighbour.

A private algorithm sees rows through noisy answers only. So if it gets the *same*
answers on a neighbouring table it must ask the same questions, charge the same, and
show the same result, warnings and errors included; and the exact values behind the
answers may have moved only as far as was declared. All of this is checked without
statistics. The sum of what was really lost must not exceed what was charged.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from discreto.audit.findings import Finding
from discreto.audit.losses import PrivacyLoss
from discreto.audit.neighbours import Data, Pair
from discreto.audit.neighbours import pairs as hostile_pairs
from discreto.audit.outputs import shown_as
from discreto.audit.recorded import Diverged, judge
from discreto.audit.recorder import Recorder
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError

Work = Callable[[Data, Recorder], Any]
_SLIP = 1 + 1e-9  # exact losses are compared as floats


@dataclass(frozen=True)
class PairComparison:
    """The result of replaying one pair: the loss, the charge, and complaints.

    Parameters
    ----------
    pair
        The two tables.
    loss
        What was really lost between them.
    charged
        What was paid.
    complaints
        Whatever else depends on rows.
    error
        What the work raised on the first table.
    """

    pair: Pair
    loss: PrivacyLoss
    charged: Cost
    complaints: tuple[str, ...]
    error: str = ""  # what the work raised on the first table

    @property
    def used(self) -> float:
        """The part of the charge that was really lost; above 1 is a violation."""
        if self.complaints or self.charged.infinite:
            return math.inf
        parts = (
            (self.loss.epsilon, float(self.charged.epsilon)),
            (self.loss.rho, float(self.charged.rho)),
        )
        return max(
            (lost / paid if paid else math.inf for lost, paid in parts if lost),
            default=0.0,
        )


def transcript(
    work: Work,
    domain: Domain,
    *,
    name: str = "",
    pairs: Iterable[Pair] | None = None,
    seed: int = 0,
) -> Finding:
    """Audit ``work(data, recorder)`` on hostile neighbours of a domain.

    Parameters
    ----------
    work
        Gets a dict of columns and a :class:`Recorder`; whatever it returns is taken as
        published. :func:`work_of` makes one of a model or a statistic.
    pairs
        Neighbouring tables; by default :func:`discreto.audit.pairs` of the domain.
        Every pair is replayed both ways.
    domain
        The public description of the columns.
    name
        What the finding calls the subject.
    seed
        Seeds the noise of the first table, which the second one hears again.

    Examples
    --------
    >>> from discreto import Domain, Number
    >>> from discreto.audit import transcript, work_of
    >>> from discreto.stats import Mean
    >>> domain = Domain({"age": Number(0, 120)})
    >>> finding = transcript(work_of(Mean("age"), epsilon=1), domain)
    >>> finding.verdict, finding.shown <= finding.claimed
    ('holds', True)
    """
    start, tried, failed = time.perf_counter(), 0, 0
    worst: PairComparison | None = None
    told: Record | None = None
    for pair in pairs if pairs is not None else hostile_pairs(domain):
        if worst is None:
            _check_repeatable(work, pair, seed)
        if told is None or told.data is not pair.first:
            told = record(work, pair.first, pair.domain, seed)
        for one in (pair, pair.swapped()):
            tried += 1
            result = compare(work, one, seed, told if one is pair else None)
            failed += bool(result.error)
            if worst is None or result.used > worst.used:
                worst = result
        if worst is not None and worst.complaints:
            break
    if worst is None:
        raise ParameterError("there is no pair of tables to compare.")
    if failed == tried and not worst.complaints:
        raise ParameterError(f"this work fails on every table: {worst.error}")
    return _finding(worst, name, tried, time.perf_counter() - start)


@dataclass(frozen=True)
class Record:
    """A run on one table: what was recorded, and what everybody saw."""

    data: Data
    recorder: Recorder
    seen: dict[str, Any]


def record(work: Work, data: Data, domain: Domain, seed: int = 0) -> Record:
    """Run the work on a table, with simulated noise."""
    recorder = Recorder(domain, seed)
    return Record(data, recorder, _run(work, data, recorder))


def compare(
    work: Work, pair: Pair, seed: int = 0, told_before: Record | None = None
) -> PairComparison:
    """Record on the first table (unless that was done before), replay on the second.

    Parameters
    ----------
    work
        Gets a dict of columns and a :class:`Recorder`; see :func:`work_of`.
    pair
        The two tables.
    seed
        Seeds the noise.
    told_before
        The record of the first table, if there is one.
    """
    base = told_before or record(work, pair.first, pair.domain, seed)
    told, first = base.recorder, base.seen
    replayed = Recorder(pair.domain, seed, told.releases)
    complaints = [f"{label!r} left before it was paid for" for label in told.early]
    try:
        second = _run(work, pair.second, replayed)
        replayed.finish()
    except Diverged as gap:
        return PairComparison(
            pair, PrivacyLoss(), told.ledger.spent(), (*complaints, str(gap))
        )
    if first != second:
        complaints.append(_first_difference(first, second))
    if told.ledger.spent() != replayed.ledger.spent():
        complaints.append("what is charged depends on rows")
    loss = PrivacyLoss()
    for one, two in zip(told.releases, replayed.releases, strict=True):
        lost, complaint = judge(one, two)
        loss += lost
        if complaint:
            complaints.append(complaint)
    if pair.same and any(release.door == "randomise" for release in told.releases):
        # Rows that answer one by one stand where their people stand: no neighbours.
        return PairComparison(pair, PrivacyLoss(), told.ledger.spent(), ())
    if pair.same and loss != PrivacyLoss():
        complaints.append("exact values depend on the order of rows")
    error = first.get("error", "")
    return PairComparison(pair, loss, told.ledger.spent(), tuple(complaints), error)


def _run(work: Work, data: Data, recorder: Recorder) -> dict[str, Any]:
    """Return everything that an outside observer would see."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            out = {"result": shown_as(work(_copy(data), recorder))}
        except Diverged:
            raise
        except Exception as error:
            out = {"error": f"{type(error).__name__}: {error}"}
    return out | {"warnings": sorted(str(warning.message) for warning in seen)}


def _copy(data: Data) -> Data:
    return {name: column.copy() for name, column in data.items()}


def _check_repeatable(work: Work, pair: Pair, seed: int) -> None:
    same = Pair("the same table twice", pair.first, pair.first, pair.domain)
    result = compare(work, same, seed)
    left_early = [c for c in result.complaints if c.endswith("before it was paid for")]
    if len(result.complaints) > len(left_early):
        raise ParameterError(
            "this work is not repeatable: with the same answers on the same table, "
            f"{result.complaints[-1]}. Fix its public random numbers (random_state=0)."
        )


def _first_difference(one: dict[str, Any], two: dict[str, Any]) -> str:
    for kind in ("error", "warnings"):
        if one.get(kind) != two.get(kind):
            return f"{kind}: {one.get(kind) or 'none'!s} or {two.get(kind) or 'none'!s}"
    place = _path(one["result"], two["result"])
    return f"with the same answers the result differs{place}: it bypasses the noise"


def _path(one: Any, two: Any) -> str:
    """Where two shown results first differ."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        for key in one:
            if one[key] != two[key]:
                return f" at {key}{_path(one[key], two[key])}"
    return ""


def _finding(worst: PairComparison, name: str, tried: int, seconds: float) -> Finding:
    charged, loss = worst.charged, worst.loss
    rho = bool(charged.rho) and not charged.epsilon
    pure = charged.epsilon + charged.block_epsilon
    claimed = float(charged.rho if rho else pure)
    shown = loss.rho if rho else loss.epsilon
    broken = worst.used > _SLIP
    # A loss in a currency that was not paid, or something that no noise covers.
    if broken and (shown <= claimed * _SLIP):
        shown = math.inf
    event = "; ".join(worst.complaints) or (
        f"{shown:.6g} of {claimed:.6g} was really lost"
    )
    return Finding(
        name or "this work",
        "transcript",
        violation=broken,
        claimed=math.inf if charged.infinite else claimed,
        shown=shown,
        event=event,
        pair=worst.pair.name,
        pairs=tried,
        relation=worst.pair.domain.neighbours,
        unit="ρ" if rho else "ε",
        seconds=seconds,
    )
