"""The gate: the only three ways in which a private value leaves a table.

``measure`` releases exact sums with noise, ``select`` the index of a noisy largest
score, ``randomise`` rows that were perturbed one by one. Each first decides everything
from public facts (scale, cost, refusals), then charges, and only then lets the source
touch a row. Nothing else in the package returns a value that depends on rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreto.errors import DomainError, KernelFault, ParameterError
from discreto.kernel import clamp
from discreto.kernel.charge import Charger, Event, Receipt
from discreto.kernel.cost import Cost
from discreto.kernel.domain import Category, Domain
from discreto.kernel.entropy import Entropy
from discreto.kernel.gaussian import GRID_PART, fine_bits, log_tail, range_of
from discreto.kernel.query import (
    Choice,
    Floats,
    Ints,
    Query,
    Randomise,
    Shape,
    Sum,
    Tally,
    digest,
)
from discreto.kernel.sampler import Sampler, check_scale
from discreto.kernel.validation import validate

T = TypeVar("T")
Keep = Callable[[int], NDArray[np.bool_]]  # which of so many rows a sample takes
ROW_STEPS = 1 << 20  # grid steps of half a column's range in randomised rows


class Source(Protocol):
    """Rows behind the gate: exact folds and plain columns, for the gate only."""

    def fold(self, query: Sum | Tally, keep: Keep | None = None) -> list[Ints]: ...
    def column(self, name: str) -> Floats | Ints: ...


@dataclass(frozen=True, slots=True)
class Noise:
    """The law of the noise on one block: a scale, or for Gauss a variance.

    ``width`` is how many numbers of a cell share one draw of a ``cube``. Gaussian noise
    is drawn in steps of 2^-``bits`` and rounded.
    """

    law: Literal["laplace", "gaussian", "cube"]
    amount: Fraction
    width: int = 1
    bits: int = 0

    @property
    def variance(self) -> float:
        """The variance of each number, in squared grid steps."""
        amount = float(self.amount)
        if self.law == "cube":
            return amount**2 * (self.width + 1) * (self.width + 2) / 3
        if self.law == "gaussian":
            return _rounded_variance(amount) if self.bits else amount
        return 2 * math.exp(-1 / amount) / math.expm1(-1 / amount) ** 2

    def draw(self, sampler: Sampler, count: int) -> Ints:
        """Fresh noise."""
        if self.law == "cube":
            return sampler.cube(self.amount, count // self.width, self.width).ravel()
        if self.law == "gaussian":
            fine = sampler.gaussian(self.amount * 4**self.bits, count)
            return (fine + (1 << self.bits >> 1)) >> self.bits
        return sampler.laplace(self.amount, count)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Noisy sums: one (cells x width) integer table and one noise law per block."""

    tables: tuple[Ints, ...]
    noises: tuple[Noise, ...]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidate of each group, and the scale of the noise on scores."""

    indices: Ints
    scale: Fraction
    receipt: Receipt


def noises_for(query: Sum, cost: Cost, domain: Domain) -> tuple[Noise, ...]:
    """The least noise that makes ``query`` cost no more than ``cost``."""
    cells = query.cells.count(domain)
    out = []
    for block in query.blocks:
        if cost.rho:
            reach = block.square_sensitivity(domain)
            rho = cost.rho * block.share
            variance = Fraction(reach) / (2 * rho)
            bits = fine_bits(variance, block.touched(domain), rho * GRID_PART)
            out.append(Noise("gaussian", variance, bits=bits))
        elif block.noise == "cube":
            scale = Fraction(block.reach(domain)) / (cost.epsilon * block.share)
            size = block.width(domain)
            check_scale(scale * (size + 1))
            out.append(Noise("cube", check_scale(scale), size))
        else:
            width = Fraction(block.sensitivity(domain, cells))
            scale = check_scale(width / (cost.epsilon * block.share))
            out.append(Noise("laplace", scale))
    return tuple(out)


def _rounded_variance(variance: float) -> float:
    """The variance of a Gaussian number that was rounded to a whole one."""
    if variance > 4:
        return variance + 1 / 12
    places = [k - 0.5 for k in range(1, 30)]
    return sum(4 * k * math.exp(log_tail(k / math.sqrt(variance))) for k in places)


def scale_for(query: Choice, cost: Cost, domain: Domain) -> Fraction:
    """The noise scale on scores; under rho, that of the range it is worth."""
    epsilon = cost.epsilon
    if cost.rho:
        worth = range_of(float(cost.rho))
        if worth < 1e-12:
            raise ParameterError("this epsilon is too small for a choice.")
        # Rounded down to short fractions, so that the scale need not be rounded up.
        digits = 10 ** max(0, 6 - math.floor(math.log10(worth)))
        epsilon = Fraction(math.floor(worth * digits), digits)
    return check_scale(Fraction(query.width(domain)) / epsilon)


class Gate:
    """A source of rows, its domain, and the ledger that pays for what leaves."""

    part: tuple[str, int] | None = None  # of a table, if it leads to one only

    def __init__(self, domain: Domain, ledger: Charger, source: Source) -> None:
        self.domain, self.ledger = domain, ledger
        self._source = source
        self._system = Sampler(Entropy())

    def measure(
        self, query: Sum, cost: Cost, label: str, key: str | None = None
    ) -> Measurement:
        """Exact sums plus noise."""
        self._check(query, cost, label)
        clamp.check(query, self.domain)
        noises = noises_for(query, cost, self.domain)
        law = [{"law": n.law, "amount": str(n.amount)} for n in noises]
        receipt = self._charge("measure", query, cost, label, {"noise": law}, key)
        if receipt.answer is not None:
            return Measurement(_tables(receipt.answer), noises, receipt)
        tables = self._noisy(query, noises)
        if key is not None:
            text = json.dumps([table.tolist() for table in tables])
            tables = _tables(self.ledger.keep(receipt, text))
        return Measurement(tables, noises, receipt)

    def select(
        self, query: Choice, cost: Cost, label: str, key: str | None = None
    ) -> Selection:
        """The index of the largest noisy score in each group, and nothing else."""
        self._check(query, cost, label)
        clamp.check(query.tally, self.domain)
        if isinstance(query.tally, Sum):
            count = query.tally.cells.count(self.domain)
            if count % query.score.groups():
                raise ParameterError("the cells do not divide into the groups.")
        scale = scale_for(query, cost, self.domain)
        receipt = self._charge("select", query, cost, label, {"scale": str(scale)}, key)
        if receipt.answer is not None:
            return Selection(_tables(receipt.answer)[0], scale, receipt)
        scores = self._scores(query)
        simulation = self.ledger.simulation
        if simulation is None or simulation.noise:
            # Gumbel noise has a bounded range, which is what rho pays for.
            sampler = self._sampler()
            draw = sampler.gumbel_max if cost.rho else sampler.noisy_max
            indices = draw(scores, scale)
        else:
            indices = scores.argmax(axis=1)
        if key is not None:
            text = json.dumps([indices.tolist()])
            indices = _tables(self.ledger.keep(receipt, text))[0]
        return Selection(indices, scale, receipt)

    def randomise(self, query: Randomise, cost: Cost, label: str) -> Ints:
        """Every row's value, perturbed on its own.

        A Category comes back as codes (the last one is "missing" where that is
        allowed), a Number in steps of 2^-20 of half its range around its centre.
        """
        self._check(query, cost, label)
        if self.domain.neighbours != "replace":
            raise DomainError(
                f"{label!r} would show how many rows there are. Declare that number "
                "public: Domain(..., neighbours='replace', rows=...)."
            )
        if cost.rho:
            raise ParameterError("rows are randomised with pure epsilon: delta=0.")
        column = self.domain[query.column]
        if (query.mechanism == "response") != isinstance(column, Category):
            raise ParameterError(
                f"{query.column!r}: 'response' is for Category columns, 'laplace' and "
                "'staircase' are for Number columns."
            )
        if query.mechanism == "laplace":
            check_scale(2 * ROW_STEPS / cost.epsilon)
        elif cost.epsilon > 256:
            raise ParameterError(f"{label!r} needs an epsilon of at most 256.")
        self._charge("randomise", query, cost, label, {}, None)
        values = _quietly(lambda: self._source.column(query.column))
        with np.errstate(all="ignore"):
            return self._perturb(values, column, query.mechanism, cost.epsilon)

    def _perturb(
        self, values: Any, column: Any, mechanism: str, epsilon: Fraction
    ) -> Ints:
        simulation = self.ledger.simulation
        silent = simulation is not None and not simulation.noise
        if isinstance(column, Category):
            choices = len(column.categories) + column.missing
            codes = np.where(values < 0, choices - 1, values).astype(np.int64)
            return codes if silent else self._sampler().respond(codes, choices, epsilon)
        steps = (values - column.centre) * (ROW_STEPS / column.half)
        exact: Ints = clamp.clamp(steps[None, :], Shape(1, ROW_STEPS))[0].astype(
            np.int64
        )
        if silent:
            return exact
        width = 2 * ROW_STEPS
        if mechanism == "laplace":
            return exact + self._sampler().laplace(width / epsilon, exact.size)
        best = round(width / (1 + math.exp(float(epsilon) / 2)))
        step = min(max(best, 1), width)
        return exact + self._sampler().staircase(epsilon, width, step, exact.size)

    # What stands between a question and the rows

    def _check(self, query: Query, cost: Cost, label: str) -> None:
        self._check_columns(query, label)
        if cost.infinite or bool(cost.epsilon) == bool(cost.rho) or cost.block_epsilon:
            raise ParameterError(f"{label!r} needs a cost of one kind. Got {cost}.")

    def _check_columns(self, query: Query, label: str) -> None:
        validate(query, self.domain)

    def _charge(
        self,
        door: str,
        query: Query,
        cost: Cost,
        label: str,
        facts: Event,
        key: str | None,
    ) -> Receipt:
        if not getattr(self.ledger, "wants_events", True):
            return self.ledger.charge(cost, label, None, key)
        event = {
            "door": door,
            "query": digest(query),
            "domain": self.domain.fingerprint,
            "neighbours": self.domain.neighbours,
            **facts,
        }
        return self.ledger.charge(cost, label, event, key)

    def _fold(self, query: Sum | Tally, keep: Keep | None = None) -> list[Ints]:
        return _quietly(lambda: self._source.fold(query, keep))

    def _noisy(
        self, query: Sum, noises: tuple[Noise, ...], keep: Keep | None = None
    ) -> tuple[Ints, ...]:
        # Should a sum ever leave the 64 bits, it wraps: a function of the noisy sum.
        return tuple(
            exact + self._noise(noise, exact.size).reshape(exact.shape)
            for exact, noise in zip(self._fold(query, keep), noises, strict=True)
        )

    def _scores(self, query: Choice) -> Ints:
        sums = self._fold(query.tally)[0]
        return _quietly(lambda: query.score.scores(sums, self.domain))

    def _sampler(self) -> Sampler:
        simulation = self.ledger.simulation
        return self._system if simulation is None else simulation.sampler

    def _noise(self, noise: Noise, count: int) -> Ints:
        simulation = self.ledger.simulation
        if simulation is not None and not simulation.noise:
            return np.zeros(count, dtype=np.int64)
        return noise.draw(self._sampler(), count)


def _quietly(work: Callable[[], T]) -> T:
    with suppress(Exception):
        return work()
    # Raised out here, so that the cause, which may quote a row, is not its context.
    raise KernelFault(_FAULT)


_FAULT = "the answer could not be computed; the charge stands."


def _tables(text: str) -> tuple[Ints, ...]:
    return tuple(np.array(table, dtype=np.int64) for table in json.loads(text))


__all__ = [
    "Gate",
    "Keep",
    "Measurement",
    "Noise",
    "Selection",
    "Source",
    "noises_for",
    "scale_for",
]
