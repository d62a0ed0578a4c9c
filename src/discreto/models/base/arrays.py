"""From arrays and frames to a table: names, bounds, classes, and who pays.

Bounds and classes that were not given are read from the data in simulations only. That
is a leak, and a real ledger refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d, validate_data

from discreto.core.cost import Cost
from discreto.core.domain.columns import of_python
from discreto.core.domain.domain import Category, Domain, Number
from discreto.data.native_frames import frame_of
from discreto.errors import DomainError, ParameterError, UnsafeError
from discreto.models.base.features import as_matrix, columns_of
from discreto.models.base.ledgers import own_ledger
from discreto.models.base.process_facts import keep_rows
from discreto.models.interop.pipelines import warn_of_leaks
from discreto.session.parameters import number, refuse
from discreto.table.table import Table

_FOR_ARRAYS = ("bounds", "classes", "target_bounds", "n_categories")
_WEIGHT = "sample_weight"  # what the weights of arrays are called


# Two numbers for all columns, or two lists with a number for each of them.
Bounds = Sequence[ArrayLike] | NDArray[Any]


class TakesArrays:
    """A model that is fitted to a Table, or to arrays and frames as if to one."""

    _needs_target: ClassVar[bool] = True
    domain: Domain | None
    ledger: Any
    bounds: Bounds | None
    epsilon: Any
    delta: Any

    def _weighted_table(
        self, X: Any, y: Any, weights: Any, most: Any
    ) -> tuple[Table, str | None, str | None]:
        """Return the table, its target, and the column of weights if there is one."""
        table, target = self._table(X, y, None if weights is None else (weights, most))
        if weights is None:
            return table, target, None
        return table, target, of_python(weights) if isinstance(X, Table) else _WEIGHT

    def _table(
        self, X: Any, y: Any, weights: tuple[Any, Any] | None = None
    ) -> tuple[Table, str | None]:
        self._refuse_what_the_domain_says(X)
        if isinstance(X, Table):
            if weights is not None and not (
                isinstance(weights[0], str) and weights[1] is None
            ):
                raise ParameterError(
                    "with a Table, sample_weight is the name of a Number column, which "
                    "has bounds: max_weight is for arrays."
                )
            if y is not None and not isinstance(y, str):
                raise ParameterError(
                    "with a Table, y is the name of the target column."
                )
            return X, of_python(y)
        if self._needs_target and y is None:
            raise ParameterError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        if not hasattr(X, "columns"):
            as_matrix(X)  # which refuses what is not a matrix
        validate_data(self, X, skip_check_array=True)
        domain, columns, target = self._describe(X, y)
        unweighted = dict(columns)
        if weights is not None:
            domain = self._with_weights(domain, columns, *weights)
        ledger = self._payer()
        table = Table(columns, domain, ledger)
        if ledger.simulation is None:
            warn_of_leaks()
            keep_rows(self, domain, unweighted)
        return table, target

    def _refuse_what_the_domain_says(self, X: Any) -> None:
        """Refuse bounds and classes next to a domain, which has its own."""
        if isinstance(X, Table):
            where = "the domain of this Table"
            remedy = "table.with_columns(age='clip(age, 18, 65)')"
        elif self.domain is not None:
            where, remedy = "domain=", "domain=Domain({'age': Number(18, 65), ...})"
        else:
            return
        for name in _FOR_ARRAYS:
            given = vars(self).get(name)
            if given is not None:
                raise refuse(
                    given,
                    name,
                    f"left out, because {where} already says it (to narrow a column: "
                    f"{remedy})",
                    type(self).__name__,
                )

    def _with_weights(
        self, domain: Domain, columns: dict[str, Any], weights: Any, most: Any
    ) -> Domain:
        """Return the domain with a column of weights, which is added to ``columns``."""
        rows = len(next(iter(columns.values())))
        values = np.asarray(weights)
        if values.dtype.kind not in "biuf" or values.shape != (rows,):
            raise ParameterError(
                "sample_weight should be a 1d array with a number for each row of X."
            )
        if _WEIGHT in domain:
            raise ParameterError(f"another column is called {_WEIGHT!r} already.")
        wanted = "a public number above 0"
        upper = 1.0 if most is None else most
        upper = number(upper, "max_weight", 1e-9, 1e9, wanted=wanted)
        columns[_WEIGHT] = values.astype(float)
        made = {name: domain[name] for name in domain}
        made[_WEIGHT] = Number(0.0, upper)
        return domain.with_(columns=made)

    def _payer(self) -> Any:
        if self.ledger is not None:
            return self.ledger
        return own_ledger(self, self.epsilon, self.delta)

    def _describe(self, X: Any, y: Any) -> tuple[Domain, dict[str, Any], str | None]:
        """Return the domain of arrays or frames, their columns, the target's name."""
        if self.domain is not None:
            target = self.domain.target
            names = [n for n in self.domain.features() if n != target]
            domain = self.domain.select([*names, *([target] if target else [])])
        else:
            names, target = self._names(X), "y"
            while target in names:
                target += "_"
            domain = self._guess_domain(X, y, names, target)
        columns = columns_of(X, names)
        if not self._needs_target:
            return domain.select(names), columns, None
        if target is None:
            raise DomainError("the domain needs target='COLUMN' for this model.")
        columns[target] = self._target_values(y, len(next(iter(columns.values()))))
        return domain, columns, target

    def _names(self, X: Any) -> list[str]:
        frame = frame_of(X)
        if frame is not None:
            return [str(name) for name in frame.columns]
        return [f"x{i}" for i in range(as_matrix(X).shape[1])]

    def _target_values(self, y: Any, rows: int) -> Any:
        try:
            values = column_or_1d(y, warn=True)
        except (ValueError, TypeError, OverflowError):  # its text may show values
            shape = np.shape(y) if hasattr(y, "dtype") or np.isscalar(y) else "other"
            raise ParameterError(
                "y should be a 1d array of numbers or texts, got an array of shape "
                f"{shape} instead. (Complex data not supported.)"
            ) from None
        if len(values) != rows:
            raise ParameterError(
                "y should be a 1d array with one value for each row of X."
            )
        return values

    def _guess_domain(self, X: Any, y: Any, names: list[str], target: str) -> Domain:
        low, high = self._read_bounds(X, names)
        columns: dict[str, Any] = {
            name: Number(float(a), float(b))
            for name, a, b in zip(names, low, high, strict=True)
        }
        if self._needs_target:
            columns[target] = self._target_column(y)
        return Domain(columns, target=target if self._needs_target else None)

    def _read_bounds(self, X: Any, names: list[str]) -> tuple[Any, Any]:
        if self.bounds is None:
            self._leak("bounds", 'bounds=(0, 100) or domain=Domain({"age": ...})')
            values = [np.asarray(c, dtype=float) for c in columns_of(X, names).values()]
            return spans(values)
        try:
            low, high = self.bounds
            low, high = (
                np.broadcast_to(np.asarray(e, float), len(names)) for e in (low, high)
            )
        except (TypeError, ValueError, OverflowError):
            wanted = (
                "(low, high): two numbers, or two lists with one number for each of "
                f"the {len(names)} features"
            )
            raise refuse(self.bounds, "bounds", wanted) from None
        return low, high

    def _target_column(self, y: Any) -> Number | Category:
        raise NotImplementedError

    def _leak(self, what: str, remedy: str) -> None:
        """Record that something is read from private data, or refuse to read it."""
        label = f"{what} read from the data"
        try:
            if self.ledger is None:
                raise UnsafeError(label)
            self.ledger.charge(Cost.leak(), label)
        except UnsafeError:
            raise DomainError(
                f"{type(self).__name__} needs public {what}. Reading them from the "
                f"data would leak it: give {remedy}."
            ) from None


def spans(columns: list[Any]) -> tuple[Any, Any]:
    """Return smallest and largest finite values; never equal. Only for simulations."""
    ends = []
    for values in columns:
        finite = values[np.isfinite(values)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        ends.append((low, high) if low < high else (low - 0.5, high + 0.5))
    lows, highs = np.array(ends, dtype=float).T
    return lows, highs
