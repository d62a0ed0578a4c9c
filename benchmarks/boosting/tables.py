"""The public tables of this benchmark, and the folds that everybody gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

from discreto import Category, Domain
from discreto.datasets import load

FOLDS = 5
# Our name, the name of the data set, its target.
SETS = {
    "adult": ("adult", "income"),
    "abalone": ("abalone", "rings"),
    "mushroom": ("mushroom", "class"),
    "steel": ("steel_energy", "usage_kwh"),
    "diabetes": ("diabetes_brfss2015", "diabetes_binary"),
    "flights": ("nycflights13", "arr_delay"),
}


@dataclass(frozen=True)
class Table:
    """Rows with a target, and the public domain of every column.

    The domain says how many rows the published set has, as its owner would.
    """

    name: str
    X: pd.DataFrame
    y: Any
    domain: Domain

    @property
    def target(self) -> str:
        return SETS[self.name][1]

    @property
    def regression(self) -> bool:
        return not isinstance(self.domain[self.target], Category)

    def folds(self, count: int = FOLDS) -> Iterator[tuple[int, Any, Any]]:
        """The first ``count`` of five folds: number, training rows, test rows."""
        kind = KFold if self.regression else StratifiedKFold
        splits = kind(FOLDS, shuffle=True, random_state=0).split(self.X, self.y)
        for fold, (train, test) in enumerate(splits):
            if fold < count:
                yield fold, train, test

    def codes(self) -> Any:
        """All features as numbers: categories by place, not there as NaN."""
        return np.column_stack([self._numbers(name) for name in self.X.columns])

    def _numbers(self, name: str) -> Any:
        column = self.domain[name]
        if not isinstance(column, Category):
            low, high = self.domain.number(name).lower, self.domain.number(name).upper
            return self.X[name].to_numpy(dtype=float, na_value=np.nan).clip(low, high)
        places = {value: float(i) for i, value in enumerate(column.categories)}
        return self.X[name].map(places).to_numpy(dtype=float)

    def numbers(self) -> Any:
        """The target as numbers: a value within its bounds, or the place of a class."""
        if self.regression:
            column = self.domain.number(self.target)
            return np.asarray(self.y, dtype=float).clip(column.lower, column.upper)
        places = {c: i for i, c in enumerate(self.domain[self.target].categories)}
        return np.array([places[value] for value in self.y])


def read(name: str, most: int | None = None) -> Table:
    """A table by our name, with no more than ``most`` rows (the same ones always)."""
    known, target = SETS[name]
    found = load(known)
    frame = found.frame
    frame = frame[frame[target].notna()]
    if most is not None and len(frame) > most:
        frame = frame.sample(most, random_state=0)
    frame = frame.reset_index(drop=True)
    domain = replace(found.domain, rows=len(frame), target=target)
    return Table(name, frame[domain.features()], frame[target].to_numpy(), domain)
