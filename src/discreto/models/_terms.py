"""Features as numbers on [-1, 1]: Number columns, and an indicator a category."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreto.core.domain import Category, Domain
from discreto.core.maps.cells import MISSING
from discreto.core.maps.columns import Indicator, Term, unit_rows
from discreto.core.maps.regression import WIDEST
from discreto.errors import DomainError
from discreto.models._features import Array, Space

INDICATOR = 0.5  # what a category is in distances, beside Numbers on [-1, 1]


@dataclass(frozen=True)
class Encoding:
    """The terms of a space; an indicator is ``size`` for rows of its category."""

    space: Space
    size: float = 1.0

    @cached_property
    def names(self) -> tuple[Term, ...]:
        """What a question calls them."""
        out: list[Term] = []
        for name in self.space.features:
            column = self.space.domain[name]
            if isinstance(column, Category):
                codes = range(len(column.categories) + column.missing)
                out += [Indicator(name, code, self.size) for code in codes]
            else:
                out.append(name)
        if len(out) >= WIDEST:
            raise DomainError(
                f"the features have {len(out)} numbers and categories in all, more "
                f"than the {WIDEST - 1} that distances and linear models take. Leave "
                "a long list of categories out, or declare a shorter one."
            )
        return tuple(out)

    @property
    def domain(self) -> Domain:
        """What is public about their columns."""
        return self.space.domain

    @cached_property
    def labels(self) -> list[str]:
        """What people call them: ``column``, or ``column=category``."""
        out = []
        for term in self.names:
            if isinstance(term, Indicator):
                values = (*self.domain.category(term.column).categories, MISSING)
                out.append(f"{term.column}={values[term.code]}")
            else:
                out.append(term)
        return out

    @cached_property
    def numbers(self) -> Array:
        """Which of them are Number columns."""
        return np.array([isinstance(term, str) for term in self.names], dtype=bool)

    @property
    def columns(self) -> int:
        """How many columns they are made of."""
        return len(self.space.features)

    @cached_property
    def centres(self) -> Array:
        """Where they are 0, in the units of the columns."""
        return np.array(
            [
                0.0 if isinstance(term, Indicator) else self.domain.number(term).centre
                for term in self.names
            ]
        )

    @cached_property
    def halves(self) -> Array:
        """How far a 1 is from there; an indicator's unit is 1 for its rows."""
        return np.array(
            [
                1 / self.size
                if isinstance(term, Indicator)
                else self.domain.number(term).half
                for term in self.names
            ]
        )

    def matrix(self, X: Any, fill: Array | None = None) -> Array:
        """Rows to predict; missing numbers are at 0, or at ``fill``."""
        batch, rows = self.space.batch(X)
        if not self.names:
            return np.empty((rows, 0))
        if fill is None:
            return unit_rows(self.names, batch, self.domain).T
        origins = tuple(fill.tolist())
        return unit_rows(self.names, batch, self.domain, origins).T + fill

    def unscale(self, unit: Array) -> Array:
        """Points on [-1, 1] in the units of the columns."""
        return self.centres + self.halves * unit


def affordable(space: Space, room: float, each: float) -> Space:
    """The space with all Numbers and as many Categories as rows can tell apart.

    ``room`` is the number of rows over the noise on a sum of them, ``each`` what one
    more term needs of it. Short lists come first; without Numbers the shortest stays.
    """
    sizes = {
        name: len(space.domain.category(name).categories) for name in space.categories
    }
    left, kept = room / each - len(space.numbers), set(space.numbers)
    for name in sorted(sizes, key=lambda name: sizes[name]):
        left -= sizes[name]
        if left >= 0 or not kept:
            kept.add(name)
    return replace(space, features=tuple(n for n in space.features if n in kept))


def spread_out(values: Array, part: Encoding, whole: Encoding) -> Array:
    """Numbers of the terms of a part, with 0 for the terms that it lacks."""
    place = {term: i for i, term in enumerate(whole.names)}
    out = np.zeros((*values.shape[:-1], len(whole.names)))
    out[..., [place[term] for term in part.names]] = values
    return out
