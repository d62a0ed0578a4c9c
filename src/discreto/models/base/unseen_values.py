"""Words in rows to predict that no Category declares: a warning names them.

Such rows are somebody's own, who asks for a prediction, so they may be looked at. Rows
behind the gate never come here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from discreto.data.frames.convert import UNKNOWN
from discreto.models.base.features import Array, Space, columns_of

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
