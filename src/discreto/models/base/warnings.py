"""Warnings about rows: values that are missing, or that no Category declares.

Rows to predict belong to the caller, so a warning may quote them. Rows of a fit are
never read here: a release says how many of them lack values. The file is short because
warnings about the rows of a fit need its digest (``process_facts``).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from discreto.data.frames.convert import UNKNOWN
from discreto.models.base.features import Array, Space, columns_of
from discreto.models.base.ledgers import callers_level
from discreto.release.labels import label_in_words
from discreto.stats._base import is_warning

_SHOWN, _LOOKED_AT = 5, 1000  # words of a warning, and rows that they are taken from


def warn_of_undeclared(space: Space, X: Any, batch: dict[str, Array]) -> None:
    """Say which values of rows ``X``, read as ``batch``, are no category."""
    for name in space.categories:
        odd = np.flatnonzero(batch[name] == UNKNOWN)
        if not odd.size:
            continue
        column = columns_of(X, space.features, mapping=True)[name]
        array = isinstance(column, np.ndarray)
        values = column.tolist() if array else column.to_list()
        found = list(dict.fromkeys(repr(values[i]) for i in odd[:_LOOKED_AT]))
        known = map(repr, space.domain.category(name).categories[:_SHOWN])
        warnings.warn(
            f"column {name!r} has values that the domain does not declare, such as "
            f"{', '.join(found[:_SHOWN])}; declared are {', '.join(known)}. They are "
            "predicted as unknown.",
            UserWarning,
            stacklevel=4,
        )


def warn_of_gaps(note: str) -> None:
    """Warn if what a fit has paid for says that many rows lack values."""
    for remark in filter(is_warning, note.split("; ")):
        level = callers_level()
        warnings.warn(label_in_words(remark), UserWarning, stacklevel=level)
