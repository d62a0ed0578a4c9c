"""The features and the target of a model: names, bounds, categories, classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Domain, Number
from discreto.data.frames import convert
from discreto.data.frames.convert import listed
from discreto.data.native_frames import frame_of
from discreto.errors import DomainError, ParameterError
from discreto.table.table import Table

Array = NDArray[Any]


class Ready(NamedTuple):
    """Rows that are in the terms of a domain already, on their way to the gate."""

    batch: dict[str, Array]
    rows: int


@dataclass(frozen=True)
class Space:
    """The features and the target of a model, in the terms of a domain."""

    domain: Domain
    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None  # the column with the weights of rows

    def names(self) -> tuple[Any, ...]:
        """Return the features, the target and the weight."""
        return self.features, self.target, self.weight

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that are Number columns."""
        return self._kind(Number)

    @property
    def categories(self) -> tuple[str, ...]:
        """The features that are Category columns."""
        return self._kind(Category)

    def _kind(self, kind: type) -> tuple[str, ...]:
        return tuple(n for n in self.features if isinstance(self.domain[n], kind))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The declared classes of the target."""
        return self.domain.category(self.goal).categories

    @property
    def goal(self) -> str:
        """The name of the target, which must be there."""
        if self.target is None:
            raise ParameterError("this model needs a target column.")
        return self.target

    def only_numbers(self, model: str) -> Space:
        """This space, if a model that takes Number features alone can use it."""
        if self.categories:
            raise DomainError(
                f"{model} takes Number columns. {self.categories[0]!r} is a Category: "
                "leave it out, or describe it as numbers."
            )
        return self

    def centres(self) -> Array:
        """Return the middles of the Number features."""
        return np.array([self.domain.number(n).centre for n in self.numbers])

    def halves(self) -> Array:
        """Half the widths of the Number features."""
        return np.array([self.domain.number(n).half for n in self.numbers])

    def batch(self, X: Any) -> tuple[dict[str, Array], int]:
        """Return rows to predict, as arrays in the terms of the domain.

        A frame or a dict is read by its column names, an array by the order of the
        features.
        """
        if isinstance(X, Ready):
            return X.batch, X.rows
        columns = columns_of(X, self.features, mapping=True)
        own = self.domain
        ready = {n: convert(columns[n], own[n], own.dialect) for n in columns}
        return ready, len(next(iter(ready.values())))

    def matrix(self, X: Any) -> Array:
        """Return the Number features of rows to predict, on [-1, 1], missing at 0."""
        batch, rows = self.batch(X)
        if not self.numbers:
            return np.empty((rows, 0))
        values = np.column_stack([batch[name] for name in self.numbers])
        unit = np.clip((values - self.centres()) / self.halves(), -1, 1)
        return np.where(np.isnan(unit), 0.0, unit)

    def unscale(self, unit: Array) -> Array:
        """Return points on [-1, 1] in the units of the columns."""
        return self.centres() + self.halves() * unit


def check_same(before: Space, now: Space) -> None:
    """Refuse a batch of other columns, from public facts."""
    same = (before.features, before.target) == (now.features, now.target)
    names = (*before.features, before.goal)
    if not same or any(before.domain[n] != now.domain[n] for n in names):
        raise DomainError("partial_fit: the columns are not those of earlier batches.")


def columns_of(
    X: Any, names: Sequence[str], *, mapping: bool = False
) -> dict[str, Any]:
    """Return the named columns of a frame, or the columns of an array in this order.

    With ``mapping`` a dict of columns is read as well.
    """
    if mapping and is_dict(X):
        return _columns_of_dict(X, names)
    frame = frame_of(X)
    if frame is not None:
        known = {str(name): name for name in frame.columns}
        _need(names, known)
        return {name: frame.get_column(known[name]) for name in names}
    array = as_matrix(X)
    if array.shape[1] != len(names):
        raise ParameterError(
            f"X has {array.shape[1]} features, but {len(names)} are expected: "
            f"{', '.join(names)}."
        )
    return {name: array[:, i] for i, name in enumerate(names)}


def is_dict(X: Any) -> bool:
    """Return True for a dict of columns (some sparse matrices are dicts as well)."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def _need(names: Sequence[str], known: Collection[str]) -> None:
    absent = [name for name in names if name not in known]
    if absent:
        raise DomainError(f"the table lacks the column {absent[0]!r}.")


def _columns_of_dict(X: Mapping[Any, Any], names: Sequence[str]) -> dict[str, Array]:
    known = {str(name): values for name, values in X.items()}
    _need(names, known)
    for name in names:
        if isinstance(known[name], str) or not hasattr(known[name], "__len__"):
            raise ParameterError(
                f"column {name!r} must be a list of values, one for each row: "
                f"{{{name!r}: [...]}}."
            )
    if len({len(known[name]) for name in names}) > 1:
        raise ParameterError("the columns of X must have as many values as each other.")
    return {name: listed(known[name]) for name in names}


def as_matrix(X: Any) -> Array:
    """Return a 2-d array, refused by shape and kind only."""
    if is_dict(X):
        raise ParameterError(
            "X is a dict. Give a data frame, such as pandas.DataFrame(X), or an array."
        )
    if hasattr(X, "tocsr") or hasattr(X, "todense"):
        raise TypeError(
            "Sparse data was passed, but this model needs a dense array: X.toarray()."
        )
    if isinstance(X, Table):
        raise ParameterError(
            "what a model says about a Table's rows is private. Give rows of your own, "
            "such as a data frame; evaluate(model, table, epsilon=0.5) measures it."
        )
    try:
        array = np.asarray(X)
    except (ValueError, TypeError, OverflowError):  # lines of different lengths
        raise ParameterError(
            "X must be a 2-d array: a list of rows that have as many values as each "
            f"other. Got a {type(X).__name__}."
        ) from None
    if array.ndim != 2:
        raise ParameterError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data "
            "using array.reshape(-1, 1) if it has one feature, or array.reshape(1, -1) "
            "if it is one row."
        )
    if array.dtype.kind == "c":
        raise ParameterError("Complex data not supported.")
    if array.shape[1] == 0:
        raise ParameterError(
            "0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
        )
    return array
