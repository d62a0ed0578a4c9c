"""Public data sets with their public domains, for examples, tests and studies.

``load(name)`` looks in the folder that ``DISCRETO_DATA`` names (``NAME.parquet``, and
``NAME.domain.json`` for sets of your own), then in scikit-learn, then at OpenML through
scikit-learn's fetcher, which keeps what it downloads. The domains come with the
package: bounds and categories as a data owner would know them, without a single row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.data.datasets import _sources
from discreto.data.datasets._catalogue import CATALOGUE, Sheet, sheet_of
from discreto.errors import MissingExtraError, ParameterError
from discreto.session.parameters import MANY, whole
from discreto.session.rng import Seed, generator


@dataclass(frozen=True, eq=False)
class Dataset:
    """A public table and what everybody knows about it.

    Parameters
    ----------
    columns
        Arrays by name: numbers, or texts as objects. Only the columns of the domain.
    domain
        Public bounds and categories, with ``target`` set.
    source
        Where the rows came from: a folder, scikit-learn, OpenML, or made up.
    about
        The published source of the set.
    name
        The name that ``load`` knows it by.
    target
        The column to predict.
    """

    name: str
    columns: dict[str, Any]
    domain: Domain
    target: str
    source: str
    about: str

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[self.target])

    @property
    def frame(self) -> Any:
        """All columns as a pandas frame."""
        return self._pandas(list(self.columns))

    @property
    def X(self) -> Any:
        """The features as a pandas frame."""
        return self._pandas(self.domain.features())

    @property
    def y(self) -> Any:
        """The target as an array."""
        return self.columns[self.target]

    @property
    def synthetic(self) -> bool:
        """Whether the rows were made up and mean nothing."""
        return self.source == _sources.MADE_UP

    def _pandas(self, names: list[str]) -> Any:
        pandas = _sources.pandas("a data frame")
        return pandas.DataFrame({name: self.columns[name] for name in names})

    def __repr__(self) -> str:
        wide = len(self.columns) - 1
        return (
            f"Dataset({self.name}: {self.rows} rows, {wide} features, "
            f"target {self.target}; from {self.source})"
        )


def names() -> list[str]:
    """The names that ``load`` knows: our own, and those of the folder."""
    return sorted({*CATALOGUE, *_sources.folder_names()})


def load(
    name: str,
    *,
    rows: int | None = None,
    random_state: Seed = 0,
    download: bool = True,
) -> Dataset:
    """A data set by its name.

    Parameters
    ----------
    name
        One of :func:`names`.
    rows
        At most this many rows, drawn by public coins from ``random_state``. A set that
        is made up has as many.
    download
        Whether OpenML may be asked when the set is neither in the folder nor installed.
    random_state
        Seeds the public coins.

    Returns
    -------
    Dataset
        Its columns, domain and target.

    Raises
    ------
    MissingExtraError
        The set is nowhere to be had; the message says where it was looked for.

    Examples
    --------
    >>> iris = load("iris")
    >>> iris.rows, iris.target, iris.domain["petal_length"].upper
    (150, 'species', 8)
    """
    sheet = _sources.folder_sheet(name)
    if sheet is None and name not in CATALOGUE:
        raise ParameterError(
            f"there is no data set {name!r}. Known: {', '.join(names())}."
        )
    sheet = sheet or sheet_of(name)
    columns, source = _find(sheet, rows, random_state, download=download)
    absent = [column for column in sheet.domain if column not in columns]
    if absent:
        raise ParameterError(f"{name!r} from {source} lacks the column {absent[0]!r}.")
    columns = {column: columns[column] for column in sheet.domain}
    columns = _some(columns, rows, random_state)
    return Dataset(name, columns, sheet.domain, sheet.target, source, sheet.about)


def _find(
    sheet: Sheet, rows: int | None, seed: Seed, *, download: bool
) -> tuple[dict[str, Any], str]:
    """The columns from the first place that has them; all reasons if none has."""
    if sheet.entry.made_up:
        columns = _sources.made_up(sheet, rows or sheet.rows, generator(seed))
        return columns, _sources.MADE_UP
    why = []
    for place in (_sources.from_folder, _sources.from_sklearn):
        found = place(sheet)
        if not isinstance(found, str):
            return found
        why.append(found)
    found = _sources.from_openml(sheet) if download else "downloading was not wanted"
    if not isinstance(found, str):
        return found
    raise MissingExtraError(
        f"the data set {sheet.name!r} cannot be had: {'; '.join([*why, found])}. Put "
        f"{sheet.name}.parquet into a folder and set DISCRETO_DATA to it."
        + (f" {sheet.entry.instead}" if sheet.entry.instead else "")
    )


def _some(columns: dict[str, Any], rows: int | None, seed: Seed) -> dict[str, Any]:
    have = len(next(iter(columns.values())))
    if rows is None or whole(rows, "rows", most=MANY) >= have:
        return columns
    kept = np.sort(generator(seed).permutation(have)[:rows])
    return {name: values[kept] for name, values in columns.items()}


__all__ = ["Dataset", "load", "names"]
