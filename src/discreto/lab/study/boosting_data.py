"""The six sets of S2's figure 1, as its table 2 describes them, in five folds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for
from discreto.core.domain import Category, Domain
from discreto.data import datasets

FOLDS = 5
SONGS = "year_prediction_msd_synthetic"
SETS = ("abalone", "steel_energy", SONGS, "mushroom", "adult", "diabetes_brfss2015")
TITLES = {
    "abalone": "Abalone",
    "steel_energy": "Steel energy",
    SONGS: "Songs (made up)",
    "mushroom": "Mushroom",
    "adult": "Adult",
    "diabetes_brfss2015": "CDC diabetes",
}
ROWS = {SONGS: 20_000}  # of a set that is made up anyway
WITHOUT = {"adult": ("fnlwgt",)}
# Codes that S2 counts as categories and the code book writes as numbers.
CODES = {"diabetes_brfss2015": ("gen_hlth", "education", "income")}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A set with its public domain, and as matrices for the published algorithms."""

    name: str
    domain: Domain
    columns: dict[str, Any]
    codes: Any  # features as numbers; categories as codes
    one_hot: Any
    categorical: tuple[int, ...]

    @property
    def target(self) -> str:
        """The name of the target."""
        return self.domain.target or ""

    @property
    def classifies(self) -> bool:
        """Whether the target has classes."""
        return isinstance(self.domain[self.target], Category)

    @property
    def y(self) -> Any:
        """The target."""
        return self.columns[self.target]

    def train(self, fold: int) -> Any:
        """Which rows are outside of a fold."""
        order = generator_for("folds", self.name).permutation(len(self.y))
        return order % FOLDS != fold

    def score(self, predicted: Any, test: Any) -> float:
        """The accuracy, or the root of the mean squared error."""
        truth = self.y[test]
        if self.classifies:
            return float(np.mean(predicted == truth))
        wrong = np.asarray(predicted, float) - np.asarray(truth, float)
        return float(np.sqrt(np.mean(wrong**2)))


@lru_cache(maxsize=1)
def prepare(name: str) -> Prepared:
    """A set as table 2 of S2 has it: rows with unknown values ("?") left out."""
    raw = datasets.load(name, rows=ROWS.get(name))
    keep = [f for f in raw.domain if f not in WITHOUT.get(name, ())]
    domain = _with_codes(raw.domain.select(keep), CODES.get(name, ()))
    columns = {f: raw.columns[f] for f in keep}
    known = np.ones(raw.rows, dtype=bool)
    for values in columns.values():
        if values.dtype == object:
            known &= values != "?"
    columns = {f: values[known] for f, values in columns.items()}
    domain = replace(domain, rows=int(known.sum()))  # as the owner of the set would
    features = [f for f in domain.features() if f != domain.target]
    categorical, codes, wide = [], [], []
    for j, f in enumerate(features):
        kind = domain[f]
        if isinstance(kind, Category):
            place = {value: i for i, value in enumerate(kind.categories)}
            column = np.array([place.get(v, -1) for v in columns[f].tolist()], float)
            categorical.append(j)
            wide += [(column == i).astype(float) for i in place.values()]
        else:
            column = np.asarray(columns[f], dtype=float)
            wide.append(column)
        codes.append(column)
    return Prepared(
        name,
        domain,
        columns,
        np.column_stack(codes),
        np.column_stack(wide),
        tuple(categorical),
    )


def _with_codes(domain: Domain, names: tuple[str, ...]) -> Domain:
    columns = dict(domain.columns)
    for name in names:
        number = domain.number(name)
        columns[name] = Category(tuple(range(int(number.lower), int(number.upper) + 1)))
    return Domain(columns, target=domain.target)
