"""How well rows fit a domain, exactly: for the owner of the data, and nobody else.

Nothing here is private and nothing of it is charged; it never leaves through the gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.dialect import Dialect
from discreto.core.domain import Category, Domain, Number
from discreto.core.frame import BATCH
from discreto.data.frames import StreamFrame, open_frame
from discreto.data.frames.convert import MISSING, UNKNOWN, convert

_SHOWN = 5  # spellings of unknown values
_KEPT = 1 << 16  # different spellings that are counted at most


@dataclass(frozen=True)
class Shares:
    """How many values of a column are missing, or outside of what is declared."""

    rows: int
    missing: int  # no value, or a text that is no number or date
    outside: int  # clipped numbers, unknown categories
    unknown: tuple[tuple[str, int], ...] = ()  # texts that are nothing declared


def exact_shares(data: str | Path, domain: Domain) -> dict[str, Shares]:
    """Exact counts for each column that can be asked about."""
    frame = open_frame(data, domain)
    names = [n for n, c in domain.columns.items() if isinstance(c, Number | Category)]
    counts = {name: np.zeros(3, dtype=np.int64) for name in names}
    seen: dict[str, Counter[str]] = {name: Counter() for name in names}
    dialect = domain.dialect or Dialect()
    for batch, rows, raw in _pieces(frame, domain, names):
        for name in names:
            missing, outside = _odd(batch[name], domain[name])
            counts[name] += (rows, missing.sum(), outside.sum())
            if raw is not None and len(seen[name]) < _KEPT:
                number = isinstance(domain[name], Number)
                odd = np.flatnonzero(missing if number else outside)
                cells = raw[name].take(odd)
                texts = map(str, cells.to_pylist())
                seen[name].update(
                    _not_read(cells, domain[name], dialect) if number else texts
                )
    out = {}
    for name in names:
        rows, missing, outside = counts[name].tolist()
        unknown = tuple(seen[name].most_common(_SHOWN))
        out[name] = Shares(rows, missing, outside, unknown)
    return out


def _pieces(
    frame: Any, domain: Domain, names: list[str]
) -> Iterator[tuple[dict[str, Any], int, Any]]:
    """Columns as the domain reads them, the number of rows, and columns as stored."""
    if hasattr(frame, "query"):  # of a database
        for part in frame.tables(names):
            stored = {name: part.column(name) for name in names}
            read = {n: convert(stored[n], domain[n], domain.dialect) for n in names}
            yield read, part.num_rows, stored
        return
    texts = frame.texts(names) if isinstance(frame, StreamFrame) else iter(())
    for batch, rows in frame.batches(names, BATCH):
        yield batch, rows, next(texts, None)


def _not_read(cells: Any, column: object, dialect: Dialect) -> Iterator[str]:
    """Texts that should be a number or a date, and are no word for a gap either."""
    # A word that spells a number is read once no word stands for a gap.
    read = convert(cells, column, replace(dialect, missing=()))
    for value, found in zip(cells.to_pylist(), read.tolist(), strict=True):
        unread = isinstance(value, str) and found != found
        if unread and value.strip() not in dialect.missing:
            yield value


def _odd(values: Any, column: object) -> tuple[Any, Any]:
    """Which values are missing, and which are clipped or unknown."""
    if isinstance(column, Number):
        outside = (values < column.lower) | (values > column.upper)
        return np.isnan(values), outside
    return values == MISSING, values == UNKNOWN
