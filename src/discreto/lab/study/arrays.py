"""Numeric data sets as plain arrays with their public bounds, and repeated splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for
from discreto.core.domain.domain import Category, Number
from discreto.data.datasets import load


@dataclass(frozen=True)
class Points:
    """Features, targets (codes for classes), and the public bounds of the features."""

    X: Any
    y: Any
    low: Any
    high: Any
    names: tuple[str, ...]
    target: tuple[float, float]  # bounds of the target

    @property
    def bounds(self) -> tuple[Any, Any]:
        """(low, high), as models take it."""
        return self.low, self.high

    def unit(self, X: Any) -> Any:
        """Rows on [0, 1], by the public bounds."""
        return (np.clip(X, self.low, self.high) - self.low) / (self.high - self.low)

    def split(self, *facts: Any, test: float = 0.2) -> tuple[Any, Any, Any, Any]:
        """Train and test rows and targets, by public random numbers from the facts."""
        order = generator_for("split", *facts).permutation(len(self.y))
        cut = round(len(order) * test)
        kept, held = order[cut:], order[:cut]
        return self.X[kept], self.y[kept], self.X[held], self.y[held]


@lru_cache(maxsize=8)
def points(
    name: str, features: tuple[str, ...] | None = None, target: str | None = None
) -> Points:
    """The Number features of a data set, or those that are named."""
    data = load(name)
    domain, aim = data.domain, target or data.target
    chosen: Sequence[str] = features or [
        n for n in domain.features() if isinstance(domain[n], Number) and n != aim
    ]
    columns = [domain[n] for n in chosen]
    low = np.array([float(c.lower) for c in columns if isinstance(c, Number)])
    high = np.array([float(c.upper) for c in columns if isinstance(c, Number)])
    X = np.column_stack([np.asarray(data.columns[n], dtype=float) for n in chosen])
    y, ends = data.columns[aim], domain[aim]
    if isinstance(ends, Category):
        place = {value: code for code, value in enumerate(ends.categories)}
        codes = np.array([place[value] for value in y])
        return Points(X, codes, low, high, tuple(chosen), (0.0, len(place) - 1.0))
    if not isinstance(ends, Number):
        raise TypeError
    bounds = (float(ends.lower), float(ends.upper))
    return Points(X, np.asarray(y, dtype=float), low, high, tuple(chosen), bounds)
