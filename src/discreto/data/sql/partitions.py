"""Rows as they come from a database, where Arrow cannot hold what is in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.frame import Array


class PandasPart:
    """Some rows of a pandas frame; objects stay objects, whatever they are."""

    def __init__(self, frame: Any) -> None:
        self.frame, self.num_rows = frame, len(frame)

    def column(self, name: str) -> Any:
        """One column."""
        return nw.from_native(self.frame, eager_only=True).get_column(name)


class DecimalPart:
    """Some rows whose decimals came as texts.

    Arrow has one number of digits for a column: a decimal with more, or one that is no
    number, would make all of it fail.
    """

    def __init__(self, batch: Any, decimals: Collection[str]) -> None:
        self._batch, self._decimals = batch, decimals
        self.num_rows = batch.num_rows

    def column(self, name: str) -> Any:
        """One column."""
        found = self._batch.column(name)
        if name not in self._decimals:
            return found
        several = [None if t is None else Decimal(t) for t in found.to_pylist()]
        return np.fromiter(several, dtype=object, count=len(several))


def gathered(parts: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """The columns of such parts, or of Arrow's tables, one after the other."""
    return {name: _joined([part.column(name) for part in parts]) for name in names}


def _joined(columns: list[Any]) -> Any:
    import pyarrow as pa

    if isinstance(columns[0], np.ndarray):
        joined: Array = np.concatenate(columns)
        return joined
    if isinstance(columns[0], nw.Series):
        import pandas as pd

        native = [column.to_native() for column in columns]
        return nw.from_native(pd.concat(native, ignore_index=True), series_only=True)
    tables = [pa.table({"c": column}) for column in columns]
    return pa.concat_tables(tables, promote_options="permissive").column("c")
