"""What is known of each data set: its sheet, with no rows in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from discreto.core.documents import read_json
from discreto.core.domain.domain import Domain, Opaque
from discreto.errors import DomainError


@dataclass(frozen=True)
class Entry:
    """Where a set can be had beside the folder."""

    sklearn: str = ""  # the name of a loader of scikit-learn
    openml: int = 0  # a number of openml.org
    sheet: str = ""  # the file of its domain, if another set's
    made_up: bool = False
    instead: str = ""  # what else to do when it cannot be had


_SONGS = "year_prediction_msd"
CATALOGUE = {
    "abalone": Entry(openml=183),
    "adult": Entry(openml=1590),
    "breast_cancer": Entry("load_breast_cancer"),
    "diabetes": Entry("load_diabetes"),
    "diabetes_brfss2015": Entry(),
    "digits": Entry("load_digits"),
    "fuel_consumption_2000": Entry(),
    "iris": Entry("load_iris"),
    "mushroom": Entry(openml=24),
    "nycflights13": Entry(),
    "pima": Entry(openml=37),
    "steel_energy": Entry(),
    "wine": Entry("load_wine"),
    _SONGS: Entry(
        openml=44027,
        instead=f"load('{_SONGS}_synthetic') makes up rows of its shape.",
    ),
    f"{_SONGS}_head": Entry(sheet=_SONGS),
    f"{_SONGS}_synthetic": Entry(sheet=_SONGS, made_up=True),
}


@dataclass(frozen=True)
class Sheet:
    """The public facts of one set."""

    name: str
    domain: Domain
    target: str
    about: str
    rows: int
    entry: Entry


@cache
def sheet_of(name: str) -> Sheet:
    """The sheet of a set that the catalogue has."""
    entry = CATALOGUE[name]
    file = files("discreto.data.datasets") / "domains" / f"{entry.sheet or name}.json"
    return read_sheet(name, file.read_text(encoding="utf-8"), entry)


def read_sheet(name: str, text: str, entry: Entry) -> Sheet:
    """A sheet from the text of a domain file with a target."""
    data = read_json(text)
    domain = usable(data)
    if domain.target is None:
        raise DomainError(f'the domain file of {name!r} needs "target": COLUMN.')
    rows, about = int(data.get("rows") or 0), str(data.get("source", name))
    return Sheet(name, domain, domain.target, about, rows, entry)


def usable(data: dict[str, Any]) -> Domain:
    """The domain of a data sheet: the columns that can be asked about.

    The row count of a sheet is left out: with the default neighbours it is private.
    """
    whole = Domain.from_dict({k: v for k, v in data.items() if k != "rows"})
    keep = [name for name in whole if not isinstance(whole[name], Opaque)]
    return whole.select(keep)
