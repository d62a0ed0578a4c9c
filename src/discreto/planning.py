"""Conversations with the gate, and what they would cost before they are held.

A statistic or a model is a function of ``ask``. The same function runs against the
gate (and spends) or against a plan (and does not): a plan answers from public, made-up
rows spread evenly over the domain, without noise, and writes down every question.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from discreto.core import aggregate
from discreto.core.charge import Event, Receipt, Simulation
from discreto.core.cost import Amount, Cost, read_amount, show
from discreto.core.domain import Category, Domain, Number
from discreto.core.gate import (
    Gate,
    Keep,
    Measurement,
    Partition,
    Selection,
    Source,
)
from discreto.core.noise.calibration import noises_for, scale_for
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.core.query import Choice, Derived, Floats, Ints, Sum, Tally
from discreto.errors import ParameterError, UnsafeError
from discreto.release import Release

TYPICAL_ROWS = 1000
_SAMPLE = 2048  # made-up rows behind a plan


class Ask(Protocol):
    """What a statistic or model talks to."""

    domain: Domain
    cost: Cost

    def measure(
        self, query: Sum | Derived, label: str, share: Fraction = Fraction(1)
    ) -> Measurement: ...

    def select(
        self, query: Choice, label: str, share: Fraction = Fraction(1)
    ) -> Selection: ...


class Statistic(Protocol):
    """Anything that can be asked of a table and planned before."""

    @property
    def label(self) -> str: ...
    def learn(self, ask: Ask) -> Release: ...


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a plan."""

    door: str
    label: str
    cost: Cost
    sensitivity: tuple[int, ...]
    noise: tuple[float, ...]
    sums: bool = True  # whether it is made from sums, which add up over silos

    def ratios(self) -> list[float]:
        """The noise of each block against how far one row can move it."""
        root = bool(self.cost.rho) and self.door == "measure"  # squares, under rho
        reach = [math.sqrt(s) if root else float(s) for s in self.sensitivity]
        return [n / max(r, 1e-300) for n, r in zip(self.noise, reach, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "door": self.door,
            "label": self.label,
            "cost": self.cost.to_dict(),
            "sensitivity": list(self.sensitivity),
            "noise": list(self.noise),
        } | ({} if self.sums else {"sums": False})


class Conversation:
    """Questions that share one cost; with a plan, no question outside of it."""

    def __init__(
        self, gate: Gate, cost: Cost, plan: Iterable[Question] | None = None
    ) -> None:
        self.domain = gate.domain
        self._gate, self.cost = gate, cost
        self._plan = None if plan is None else iter(plan)
        self.asked: list[Question] = []

    def measure(
        self, query: Sum | Derived, label: str, share: Fraction = Fraction(1)
    ) -> Measurement:
        """Noisy sums, or a function of sums, for a share of the cost."""
        cost = self.cost * share
        self._note(question_of(query, label, cost, self.domain))
        return self._gate.measure(query, cost, label)

    def select(
        self, query: Choice, label: str, share: Fraction = Fraction(1)
    ) -> Selection:
        """A noisy choice for a share of the cost."""
        cost = self.cost * share
        whole = self._gate.part is None
        self._note(question_of(query, label, cost, self.domain, whole=whole))
        return self._gate.select(query, cost, label)

    def split(
        self, partition: Partition, label: str, share: Fraction = Fraction(1)
    ) -> list[Conversation]:
        """A conversation with each part; each may spend a share of the cost."""
        cost = self.cost * share
        self._note(Question("parts", label, cost, (), ()))
        gates = self._gate.parts(partition, cost, label)
        return [_Branch(gate, cost, self) for gate in gates]

    def _note(self, question: Question) -> None:
        if self._plan is not None and next(self._plan, None) != question:
            raise UnsafeError(
                f"{question.label!r} is not the next question of the plan that was "
                "paid for. A conversation may depend on releases, not change its form."
            )
        self.asked.append(question)


class _Branch(Conversation):
    """A conversation with a part, whose questions are lines of the whole's plan."""

    def __init__(self, gate: Gate, cost: Cost, trunk: Conversation) -> None:
        super().__init__(gate, cost)
        self._trunk = trunk

    def _note(self, question: Question) -> None:
        self._trunk._note(question)


def question_of(
    query: Sum | Derived | Choice,
    label: str,
    cost: Cost,
    domain: Domain,
    *,
    whole: bool = True,
) -> Question:
    """The public facts of a question: its door, cost, sensitivity and noise."""
    if isinstance(query, Choice):
        scale = scale_for(query, cost, domain, whole=whole)
        width = (query.width(domain, whole=whole),)
        sums = isinstance(query.tally, Sum)
        return Question("select", label, cost, width, (float(scale),), sums)
    noises = noises_for(query, cost, domain)
    if cost.rho:
        reach = [block.square_sensitivity(domain) for block in query.blocks]
    else:
        cells = query.cells.count(domain)
        reach = [
            b.reach(domain) if b.noise == "cube" else b.sensitivity(domain, cells)
            for b in query.blocks
        ]
    spread = tuple(math.sqrt(noise.variance) for noise in noises)
    sums = isinstance(query, Sum)
    return Question("measure", label, cost, tuple(reach), spread, sums)


@dataclass(frozen=True)
class Plan:
    """What a request would ask and spend; nothing has been spent yet."""

    questions: tuple[Question, ...]
    total: Cost
    rows: int
    expected: tuple[Release, ...] = ()

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "total": self.total.to_dict(),
            "rows": self.rows,
            "questions": [question.to_dict() for question in self.questions],
            "expected": [
                {"label": r.label, "error": np.max(r.error).item(), "unit": r.unit}
                for r in self.expected
            ],
        }

    def __str__(self) -> str:
        lines = [f"plan: {self.total} in {len(self.questions)} question(s)"]
        for question in self.questions:
            noise = ", ".join(f"{ratio:.3g}" for ratio in question.ratios())
            lines.append(
                f"  {question.door:<8} {question.label:<32} {question.cost}, "
                f"noise {noise} x a row's reach"
            )
        for release in self.expected:
            unit = f" {release.unit}" if release.unit else ""
            error = float(np.max(release.error))
            lines.append(
                f"  expected error of {release.label}: ± {error:.3g}{unit} (95 %) for "
                f"{self.rows} rows spread evenly over the domain"
            )
        return "\n".join(lines)


def statistics(
    domain: Domain,
    wanted: Statistic | Iterable[Statistic],
    *,
    epsilon: Amount,
    delta: Amount = 0,
    rows: int | None = None,
) -> Plan:
    """The plan for a statistic, or for several that share the cost equally.

    ``rows`` is a guess of how many rows there are; it moves expected errors only.
    """
    several = list(wanted) if isinstance(wanted, Iterable) else [wanted]
    number = domain.rows or TYPICAL_ROWS if rows is None else rows
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ParameterError(f"rows must be a whole number from 1 up. Got {rows!r}.")
    return plan_of(domain, several, Cost.of(epsilon, delta), number)


def plan_of(
    domain: Domain, several: Sequence[Statistic], cost: Cost, rows: int
) -> Plan:
    """The plan for statistics that share ``cost`` equally.

    With ``rows=0`` the questions are right but expected errors mean nothing.
    """
    if not several:
        raise ParameterError("there is nothing to ask.")
    gate = paper_gate(domain, rows)
    share = cost * Fraction(1, len(several)) if len(several) > 1 else cost
    asked: list[Question] = []
    expected = []
    for statistic in several:
        ask = Conversation(gate, share)
        expected.append(statistic.learn(ask))
        asked += ask.asked
    return Plan(tuple(asked), cost, rows, tuple(expected))


def epsilon_for(
    domain: Domain,
    wanted: Statistic,
    *,
    error: float,
    rows: int | None = None,
    delta: Amount = 0,
) -> Fraction:
    """The smallest epsilon (to 1 %) whose expected 95 % error is at most ``error``.

    >>> from discreto import Domain, Number
    >>> from discreto.stats import Count, Mean
    >>> domain = Domain({"age": Number(0, 120)})
    >>> float(epsilon_for(domain, Mean("age"), error=1, rows=10_000)) < 0.05
    True
    """
    goal = float(read_amount(error, "error"))
    # Whatever is wrong with the request itself shows here, not as "not enough".
    trial = statistics(domain, wanted, epsilon=1, delta=delta, rows=rows)
    if not np.any(trial.expected[0].error):
        raise ParameterError(f"{wanted.label!r} has no error bar to plan for.")

    def enough(epsilon: Fraction) -> bool:
        try:
            plan = statistics(domain, wanted, epsilon=epsilon, delta=delta, rows=rows)
        except ParameterError:
            return False
        return bool(np.max(plan.expected[0].error) <= goal)

    tries = [Fraction(10) ** power for power in range(-6, 5)]
    low = Fraction(0)
    for high in tries:
        if enough(high):
            break
        low = high
    else:
        raise ParameterError(
            f"{wanted.label!r} cannot reach an error of {show(goal)} with epsilon up "
            "to 10000: its grid or the number of rows does not allow it."
        )
    while high - low > high / 100:
        middle = _short((low + high) / 2)
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _short(value: Fraction) -> Fraction:
    """Three digits are enough for an epsilon to be typed."""
    return Fraction(f"{float(value):.3g}")


def paper_gate(domain: Domain, rows: int) -> Gate:
    """A gate to made-up rows (or to none) that charges nobody and adds no noise."""
    source: Source = MadeUpRows(domain, rows) if rows else NoRows(domain)
    return Gate(domain, _Paper(), source)


class NoRows:
    """A table without rows: enough to learn which questions will be asked."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def fold(self, query: Sum | Tally, keep: Keep | None = None) -> list[Ints]:
        """Zeros."""
        return aggregate.empty(query, self._domain)

    def column(self, name: str) -> Floats | Ints:
        """Nothing."""
        return np.empty(0)


class MadeUpRows:
    """Public rows spread evenly over a domain, weighted to ``rows`` in all."""

    def __init__(self, domain: Domain, rows: int) -> None:
        self._domain, self._rows = domain, rows

    def fold(self, query: Sum | Tally, keep: Keep | None = None) -> list[Ints]:
        """What the sums would be, to the nearest step."""
        batch = {name: self.column(name) for name in query.columns()}
        exact = aggregate.fold(query, batch, _SAMPLE, self._domain)
        if not isinstance(query, Sum):
            return exact
        share = self._rows / _SAMPLE
        out = []
        for part in exact:
            # Running totals are rounded, not cells: many small cells must add up.
            whole = np.rint(np.cumsum(part * share, axis=0))
            out.append(np.diff(whole, axis=0, prepend=0.0).astype(np.int64))
        return out

    def column(self, name: str) -> Floats | Ints:
        """A made-up column."""
        # Fractional parts of k * sqrt(prime) fill the cube evenly.
        prime = _prime(list(self._domain).index(name))
        spread = (np.arange(1, _SAMPLE + 1) * math.sqrt(prime)) % 1.0
        column = self._domain[name]
        if isinstance(column, Category):
            return (spread * len(column.categories)).astype(np.int64)
        if isinstance(column, Number):
            spread = column.lower + spread * (column.upper - column.lower)
            spread = np.round(spread) if column.integer else spread
        return spread.astype(np.float64)


@lru_cache
def _prime(index: int) -> int:
    """The prime number with this index; plans do not need more than a few."""
    found: list[int] = []
    number = 1
    while len(found) <= index:
        number += 1
        if all(number % p for p in found if p * p <= number):
            found.append(number)
    return found[index]


Coins = np.random.Generator


def coins(seed: Any = None) -> Coins:
    """Public coins (starting points, random splits); noise never comes from here."""
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31))
    return np.random.default_rng(seed)


class _Paper:
    """A ledger of a plan: writes nothing, adds no noise."""

    wants_events = False
    simulation: Simulation | None = Simulation(Sampler(Entropy()), noise=False)

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        return Receipt(0, label, cost, "plan", simulated=True)

    def keep(self, receipt: Receipt, answer: str) -> str:
        return answer

    def fault(self, label: str) -> None:
        """There is nothing to shut."""


__all__ = [
    "Ask",
    "Coins",
    "Conversation",
    "Plan",
    "Question",
    "Statistic",
    "coins",
    "epsilon_for",
    "statistics",
]
