"""Facts about a fitted model that stay in this process: never saved, never pickled.

They are a digest of the rows of a fit, for a warning, and the last paid evaluation, for
the model's card. A model does not hold them: ``vars(model)`` goes into its file.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Domain
from discreto.data.frames import convert
from discreto.errors import DiscretoError, PrivacyWarning
from discreto.models.base.features import columns_of

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator

_ROWS: WeakKeyDictionary[Any, tuple[int, int]] = WeakKeyDictionary()
_EVALUATIONS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_ODD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def forget(model: PrivateEstimator) -> None:
    """Drop what was kept of an earlier fit."""
    _ROWS.pop(model, None)
    _EVALUATIONS.pop(model, None)


def keep_evaluation(model: PrivateEstimator, evaluation: Any) -> None:
    """Keep the last paid evaluation of a model for its card."""
    _EVALUATIONS[model] = evaluation


def last_evaluation(model: PrivateEstimator) -> Any:
    """Return the last paid evaluation of a model in this process, or None."""
    return _EVALUATIONS.get(model)


def keep_rows(model: object, domain: Domain, columns: dict[str, Any]) -> None:
    """Keep a digest of the arrays or frames that a model is fitted to."""
    digest = _digest(domain, columns)
    if digest is not None:
        _ROWS[model] = digest


def warn_of_fitted_rows(model: PrivateEstimator, X: Any, y: Any) -> None:
    """Warn if these are the rows that this model was fitted to, in any order.

    Not seen: a part of the rows, rows of a Table, and a model that was loaded, copied
    or fitted in another process.
    """
    kept = _ROWS.get(model)
    if kept is None:
        return
    space = model.space_
    with suppress(DiscretoError, TypeError, ValueError):  # ``predict`` refuses them
        columns = columns_of(X, space.features, mapping=True)
        if space.target is not None:
            columns[space.target] = np.asarray(y)
        if _digest(space.domain, columns) == kept:
            warnings.warn(
                "these are the rows that the model was fitted to. Their exact score is "
                "not private and looks better than the model is: do not publish it. "
                "Measure other private rows for a price: "
                "discreto.models.evaluate(model, table, epsilon=0.5).",
                PrivacyWarning,
                stacklevel=3,
            )


def _digest(domain: Domain, columns: dict[str, Any]) -> tuple[int, int] | None:
    """Return the row count and the sum of the hashes of rows, in any order."""
    rows: NDArray[np.uint64] | None = None
    try:
        for name in sorted(columns):
            ready = np.asarray(convert(columns[name], domain[name]), dtype=np.float64)
            ready = ready + 0.0  # -0 is 0
            bits = np.ascontiguousarray(ready).view(np.uint64)
            bits = np.where(np.isnan(ready), _ODD, bits)
            before = np.zeros(len(bits), dtype=np.uint64) if rows is None else rows
            mixed = (before * _ODD) ^ bits
            rows = (mixed ^ (mixed >> np.uint64(31))) * _MIX
    except (DiscretoError, TypeError, ValueError, OverflowError):
        return None
    return None if rows is None else (len(rows), int(rows.sum(dtype=np.uint64)))
