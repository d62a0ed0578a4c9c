"""The one way from rows to perturbed rows (the gate's third door), and its laws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.query import Randomise
from discreto.core.randomise import ROW_STEPS
from discreto.errors import DomainError, ParameterError
from discreto.table.table import Table

Plan = Mapping[str, tuple[str, Fraction]]  # column: mechanism and epsilon
# What one column can use: beyond it the noise is far below the grid.
MOST_EPSILON = 256


def perturb(table: Table, plan: Plan, label: str) -> dict[str, Any]:
    """Every column of the plan with every row perturbed, in the columns' own terms.

    All of it is paid before a row is touched.
    """
    if table.domain.neighbours != "replace":
        raise DomainError(
            f"{label!r} shows how many rows there are. Declare that number public: "
            "Domain(..., neighbours='replace', rows=...)."
        )
    total = Cost(epsilon=sum((e for _, e in plan.values()), Fraction(0)))
    facts = {"columns": {n: [m, str(e)] for n, (m, e) in plan.items()}}
    gate = table.gate(table.reserve(total, label, facts))
    out = {}
    for name, (mechanism, epsilon) in plan.items():
        query = Randomise(name, mechanism)  # type: ignore[arg-type]
        steps = gate.randomise(query, Cost(epsilon=epsilon), f"rows of {name}")
        out[name] = _in_terms_of(table.domain[name], steps)
    return out


def _in_terms_of(column: object, steps: Any) -> Any:
    if isinstance(column, Category):
        return np.array(answers(column), dtype=object)[steps]
    if not isinstance(column, Number):
        raise ParameterError("only Number and Category columns can be perturbed.")
    return column.centre + steps * (column.half / ROW_STEPS)


def answers(column: Category) -> list[Any]:
    """Return the possible responses: categories, and None where missing is allowed."""
    return [*column.categories, *([None] if column.missing else [])]


def mechanism_for(domain: Domain, name: str, wanted: str) -> str:
    """The mechanism of a column: responses for categories, ``wanted`` for numbers."""
    if isinstance(domain[name], Category):
        return "response"
    if wanted not in ("staircase", "laplace"):
        raise ParameterError(
            f"{name!r}: a Number is perturbed by 'staircase' or 'laplace' noise. "
            f"Got {wanted!r}."
        )
    return wanted


@dataclass(frozen=True, slots=True)
class Response:
    """Probabilities of randomised response: of the truth, and of each lie."""

    truth: float
    lie: float

    @classmethod
    def of(cls, epsilon: Fraction, choices: int) -> Response:
        """k-ary: odds e^epsilon for the truth against each lie."""
        lie = 1 / (math.exp(float(epsilon)) + choices - 1)
        return cls(1 - (choices - 1) * lie, lie)


@dataclass(frozen=True, slots=True)
class NoiseSpread:
    """The variance and excess kurtosis of noise for a range of 1."""

    variance: float
    tails: float

    @classmethod
    def of(cls, mechanism: str, epsilon: Fraction) -> NoiseSpread:
        """Return the gate's noise distribution; its grid is too fine to matter."""
        rate = float(epsilon)
        if mechanism == "laplace":
            return cls(2 / rate**2, 3.0)
        # A block [b, b+1) has weight e^(-rate b) up to b + tread, then e^(-rate (b+1)).
        tread = 1 / (1 + math.exp(rate / 2))
        blocks = np.arange(min(math.ceil(60 / rate) + 2, 1 << 20), dtype=float)
        high = np.exp(-rate * blocks)

        def moment(power: int) -> float:
            ends = [(blocks + at) ** (power + 1) for at in (0.0, tread, 1.0)]
            first, second = ends[1] - ends[0], ends[2] - ends[1]
            parts = high * (first + math.exp(-rate) * second)
            return float(parts.sum()) / (power + 1)

        mass, second, fourth = moment(0), moment(2), moment(4)
        variance = second / mass
        return cls(variance, fourth / mass / variance**2 - 3)
