"""The public path under audit: real calls, a real ledger, and the strongest attacker.

``stats.mean(table, ...)``, ``Model(...).fit(table)`` and ``silo.answer(message)`` run
as anybody runs them, with the system's noise. The table is an ordinary one but for one
thing: an auditor knows both neighbouring tables, so what every question would sum
up to on the *other* table is written down beside each answer. The score of a run is
the log-likelihood ratio of all answers under the declared noise. No event can be better
if noise is as declared, and none needs to be learned.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreto.audit.bounds import lower_bound
from discreto.audit.findings import Finding
from discreto.audit.losses import log_probabilities, log_softmax
from discreto.audit.neighbours import Data
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step
from discreto.core.gate import (
    Gate,
    Keep,
    Noise,
    Selection,
    Source,
)
from discreto.core.ledger import Ledger
from discreto.core.query import (
    Block,
    Bound,
    Choice,
    Everyone,
    Floats,
    Ints,
    Ones,
    Sum,
    bind,
)
from discreto.errors import ParameterError
from discreto.table.table import Table

Run = Callable[[Table], Any]
_ROWS = Sum(Everyone(), (Block(Ones()),))
_TRIED = 100  # thresholds of the score


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a real run, and the exact values behind it on both tables."""

    noise: Noise
    door: str  # measure, step, select (pure) or gumbel (rho)
    here: Ints
    there: Ints
    seen: Ints
    rate: float = 1.0  # the probability of each row to be in the sample of a step
    known: bool = True  # whether the answer is ``here`` plus noise: no secret sample


class HeardTable(Table):
    """A table that writes down its answers, and what a neighbour would have summed.

    Give both the same ledger or two; the noise is the system's own.
    """

    def __init__(self, data: Any, domain: Domain, ledger: Any, other: Any) -> None:
        super().__init__(data, domain, ledger)
        self.recorded: list[Answer] = []
        self._rows.twin = Table(other, _sized(domain, other), ledger)._rows  # type: ignore[attr-defined]

    def gate(self, ledger: Any = None) -> Gate:
        """Return the gate, whose answers are recorded."""
        return RecordingGate(
            self.domain, ledger or self.ledger, self._rows, self.recorded
        )


class RecordingGate(Gate):
    """The gate as it is; a copy of what it answers is kept."""

    def __init__(
        self, domain: Domain, ledger: Any, source: Source, recorded: list[Answer]
    ) -> None:
        super().__init__(domain, ledger, source)
        self._recorded = recorded

    def select(
        self, query: Choice | Bound, cost: Cost, label: str, key: str | None = None
    ) -> Selection:
        """As the gate does."""
        bound = self.check(query, label)
        answer = super().select(bound, cost, label, key)
        distribution = Noise("laplace", answer.scale)
        here = self._scores(bound, label)
        there = self._elsewhere()._scores(bound, label)
        door = "gumbel" if cost.rho else "select"
        self._recorded.append(Answer(distribution, door, here, there, answer.indices))
        return answer

    def _noisy(
        self,
        asked: Bound,
        noises: tuple[Noise, ...],
        label: str,
        keep: Keep | None = None,
    ) -> tuple[Ints, ...]:
        out = super()._noisy(asked, noises, label, keep)
        rate = 1.0 if keep is None else float(keep(1 << 16).mean())
        here, there = (g._fold(asked, label) for g in (self, self._elsewhere()))
        known = keep is None or not self._fold(bind(_ROWS, self.domain), label)[0].any()
        for distribution, a, b, seen in zip(noises, here, there, out, strict=True):
            door = "measure" if keep is None else "step"
            self._recorded.append(Answer(distribution, door, a, b, seen, rate, known))
        return out

    def seen(self, step: Step) -> Self:
        """As the gate does; the other table is seen in the same way."""
        out = super().seen(step)
        twin: Source = self._source.twin  # type: ignore[attr-defined]
        out._source.twin = twin.seen(step, self.domain)  # type: ignore[attr-defined]
        return out

    def folded_ahead(self, several: Sequence[Bound], label: str) -> Self:
        """The other table's rows are folded beside these, one question at a time."""
        return self

    def _elsewhere(self) -> Gate:
        """Return the same gate to the other table's rows, without a record."""
        out = copy.copy(self)
        out.__class__ = Gate  # type: ignore[assignment]
        out._source = self._source.twin  # type: ignore[attr-defined]
        return out


def _sized(domain: Domain, data: Data) -> Domain:
    if domain.neighbours != "replace":
        return domain
    return domain.with_(rows=len(next(iter(data.values()))))


def score_of(answers: list[Answer]) -> float:
    """Return the log of these answers' likelihood ratio against the other table."""
    total = 0.0
    for one in answers:
        if one.door in ("select", "gumbel"):
            total += _chosen(one)
            continue
        gain = _gain(one)
        if one.door == "step" and one.rate < 1:
            gain = _sampled(one, gain)
        total += gain
    return total


def _gain(one: Answer) -> float:
    near, far = (
        np.abs((one.seen - part).astype(float)) for part in (one.here, one.there)
    )
    amount = float(one.noise.amount)
    if one.noise.law == "gaussian":
        return float(((far - near) * (far + near)).sum() / (2 * amount))
    if one.noise.law == "cube":
        far, near = (p.reshape(-1, one.noise.width).max(axis=1) for p in (far, near))
    return float((far - near).sum() / amount)


def _sampled(one: Answer, gain: float) -> float:
    """Return a sample has the one row there is with probability ``rate``."""
    if not one.here.any():  # the answer came from the table without the row
        return -math.log1p(one.rate * math.expm1(-gain))
    if one.there.any():
        raise ParameterError("samples are recorded on an empty table and one row only.")
    return math.log1p(one.rate * math.expm1(gain))


def _chosen(one: Answer) -> float:
    probabilities = log_softmax if one.door == "gumbel" else log_probabilities
    total = 0.0
    for a, b, place in zip(one.here, one.there, one.seen, strict=True):
        if not np.array_equal(a, b):
            gain = probabilities(a, one.noise.amount) - probabilities(
                b, one.noise.amount
            )
            total += float(gain[place])
    return total


@dataclass(frozen=True, slots=True)
class Listener:
    """Runs of one subject on two tables.

    Parameters
    ----------
    run
        Takes a Table and asks it, or fits a model on it.
    domain
        The public description of the columns.
    first, second
        Two tables, dicts of columns.
    group
        By how many rows they differ.
    delta
        The δ that the run takes, if it takes one.
    """

    run: Run
    domain: Domain
    first: Data
    second: Data
    group: int = 1
    delta: float = 0.0

    def scores(self, runs: int) -> tuple[Floats, Floats]:
        """The log-likelihood ratios, second against first, of runs on each table.

        Parameters
        ----------
        runs
            How many on each table.
        """
        out = []
        for own, other, sign in (
            (self.first, self.second, -1.0),
            (self.second, self.first, 1.0),
        ):
            found = [score_of(recorded) for recorded in self._runs(own, other, runs)]
            out.append(sign * np.array(found))
        return out[0], out[1]

    def answers(self, runs: int) -> list[Answer]:
        """Everything that was answered in so many runs on the first table.

        Parameters
        ----------
        runs
            How many.
        """
        several = self._runs(self.first, self.second, runs)
        return [one for recorded in several for one in recorded]

    def _runs(self, own: Data, other: Data, runs: int) -> Iterator[list[Answer]]:
        domain = _sized(self.domain, own)
        table = HeardTable(own, domain, self._ledger(), other)
        for place in range(runs):
            if place % 100 == 99:  # a delta is soon used up
                table.ledger = self._ledger()
            table.recorded.clear()
            self.run(table)
            if not table.recorded:
                raise ParameterError("this run asked nothing of the table.")
            yield list(table.recorded)

    def _ledger(self) -> Ledger:
        return Ledger(epsilon=10**6, delta="0.9" if self.delta else None)


def listen(
    run: Run,
    domain: Domain,
    first: Data,
    second: Data,
    *,
    claimed: float,
    delta: float = 0.0,
    runs: int = 1000,
    group: int = 1,
    confidence: float = 0.999,
    name: str = "",
) -> Finding:
    """Bound epsilon from below by real runs on two tables.

    With ``group`` rows between the two tables everything may lose so many times what is
    claimed (group privacy); the bound is divided by it. Many small losses add up in the
    square, what is allowed does not, so groups show more than single rows do.

    Parameters
    ----------
    run
        Takes a Table and asks it, or fits a model on it.
    domain
        The public description of the columns.
    first, second
        Two tables, dicts of columns.
    claimed, delta
        What the run claims.
    runs
        How many on each table.
    group
        By how many rows the tables differ.
    confidence
        The chance that an honest subject is *not* accused.
    name
        What the finding calls the subject.
    """
    start = time.perf_counter()
    listener = Listener(run, domain, first, second, group, delta)
    mine = listener.scores(runs)
    shown, event = score_bound(*mine, group_delta(claimed, delta, group), confidence)
    return Finding(
        name or "this run",
        "public path",
        violation=shown / group > claimed,
        claimed=float(claimed),
        shown=max(shown, 0.0) / group,
        event=event,
        pair=f"two tables that differ by {group} row(s)",
        pairs=1,
        relation=domain.neighbours,
        delta=float(delta),
        runs=runs,
        confidence=confidence,
        seconds=time.perf_counter() - start,
    )


def group_delta(epsilon: float, delta: float, group: int) -> float:
    """The delta that (epsilon, delta) allows between tables ``group`` rows apart."""
    return delta * sum(math.exp(place * epsilon) for place in range(group))


def score_bound(
    first: Floats, second: Floats, delta: float, confidence: float = 0.999
) -> tuple[float, str]:
    """Return a lower bound on epsilon from scores that are high on the second table.

    A quarter of the runs chooses the threshold in each direction, the rest counts.
    """
    part = len(first) // 4
    best = (-math.inf, "nothing was seen")
    alpha = (1 - confidence) / 2  # two directions
    for sign, more, less in ((1, second, first), (-1, first, second)):
        likely, other = sign * more[:part], sign * less[:part]
        edges = np.quantile(np.r_[likely, other], np.linspace(0, 0.995, _TRIED))
        hits = (likely >= edges[:, None]).sum(axis=1)
        misses = (other >= edges[:, None]).sum(axis=1)
        # As if all runs had been counted: the threshold is for as many.
        grow = (len(first) - part) / part
        kept = round(part * grow)
        gains = lower_bound(hits * grow, kept, misses * grow, delta, alpha)
        edge = edges[int(np.argmax(gains))]
        count = int((sign * more[part:] >= edge).sum())
        stray = int((sign * less[part:] >= edge).sum())
        runs = len(more) - part
        bound = float(lower_bound(count, runs, stray, delta, alpha))
        if bound > best[0]:
            words = (
                f"likelihood ratio ≥ e^{edge:.3g}: {count} of {runs} against {stray}"
            )
            best = (bound, words)
    return best
