"""Rows that are perturbed one by one, each on its own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core import aggregate
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain
from discreto.core.noise.sampler import Sampler, check_scale
from discreto.core.query import Ints, Randomise, Shape
from discreto.errors import ParameterError

ROW_STEPS = 1 << 20  # grid steps of half a column's range


def check_randomise(query: Randomise, cost: Cost, domain: Domain, label: str) -> None:
    """Refuse what no perturbation of this column can be, before it is paid."""
    if cost.rho:
        raise ParameterError("rows are randomised with pure epsilon: delta=0.")
    if (query.mechanism == "response") != isinstance(domain[query.column], Category):
        raise ParameterError(
            f"{query.column!r}: 'response' is for Category columns, 'laplace' and "
            "'staircase' are for Number columns."
        )
    if query.mechanism == "laplace":
        check_scale(2 * ROW_STEPS / cost.epsilon)
    elif cost.epsilon > 256:
        raise ParameterError(f"{label!r} needs an epsilon of at most 256.")


def perturbed(
    values: Any,
    column: Any,
    mechanism: str,
    epsilon: Fraction,
    sampler: Sampler | None,
) -> Ints:
    """Codes or grid steps of each row with noise; without, where there is no sampler.

    What a row becomes depends on its own value alone.
    """
    if isinstance(column, Category):
        choices = len(column.categories) + column.missing
        codes: Ints = np.where(values < 0, choices - 1, values).astype(np.int64)
        return codes if sampler is None else sampler.respond(codes, choices, epsilon)
    with np.errstate(all="ignore"):
        steps = (values - column.centre) * (ROW_STEPS / column.half)
        exact: Ints = aggregate.clamp(steps[None, :], Shape(1, ROW_STEPS))[0].astype(
            np.int64
        )
    if sampler is None:
        return exact
    width = 2 * ROW_STEPS
    if mechanism == "laplace":
        return exact + sampler.laplace(width / epsilon, exact.size)
    best = round(width / (1 + math.exp(float(epsilon) / 2)))
    step = min(max(best, 1), width)
    return exact + sampler.staircase(epsilon, width, step, exact.size)
