"""Rows of which those far out count less, for one release of products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps import Scaled
from discreto.core.maps.features import PRODUCT_BITS
from discreto.core.maps.unit_columns import Indicator, Term
from discreto.core.query import Floats
from discreto.models.base.features import Space

# What a row is before it is weighted, chosen on nine data sets (docs/models/linear.md):
# the constant in front of the features, the factor of the target, and how large a
# part of the largest norm (of its square, for Gaussian noise) has its full weight.
_ONE, _TARGET, _PART, _SQUARE = 0.7, 1.5, 0.3, 0.12


def weighted_rows(
    names: tuple[Term, ...],
    space: Space,
    gaussian: bool,
    row_norm: float | None,
    intercept: bool,
) -> Scaled:
    """Features and target; a row with a norm above ``row_norm`` counts less."""
    width = len(space.features) + 1 + intercept
    reach = math.sqrt(_SQUARE * width) if gaussian else _PART * width
    if row_norm is not None:
        reach = row_norm
    scales = np.ones(len(names))
    origins = np.zeros(len(names))
    if not intercept:
        origins = np.array([_zero(name, space.domain) for name in names])
        scales = 1 + np.abs(origins)
    scales[-1] /= _TARGET
    return Scaled(
        names,
        _plain(origins),
        _plain(scales),
        _ONE if intercept else 0.0,
        reach,
        "l2" if gaussian else "l1",
        bits=PRODUCT_BITS,
        largest=_TARGET,
    )


def column_weights(columns: int, intercept: bool) -> Floats:
    """What the constant, if any, the features and the target were multiplied by."""
    weights = np.array([_ONE] * intercept + [1.0] * columns)
    weights[-1] = _TARGET
    return weights


def _plain(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _zero(term: Term, domain: Domain) -> float:
    """Where a term is 0, on [-1, 1]."""
    if isinstance(term, Indicator):
        return 0.0
    column = domain.number(term)
    return -column.centre / column.half
