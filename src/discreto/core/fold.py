"""The loop over rows, and the check that it has seen every row exactly once.

Engines decide where and in which parts rows are folded. The loop itself is here: it
takes batches from a frame and adds up what ``core.aggregate`` makes of them. Sums come
with the places that they cover, and the gate compares these with the places of the
table. A part that was folded twice, or forgotten, is a fault and no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core import aggregate, compiled
from discreto.core.capabilities import KeepsBatches
from discreto.core.frame import BATCH, Frame, Place
from discreto.core.maps.cells import Cross
from discreto.core.query import Bound, Ints, Sum
from discreto.core.row_cache import ask_within
from discreto.errors import UnsafeError

Keep = Callable[[int], NDArray[np.bool_]]  # which of so many rows a sample takes

_CORE = object()  # shows that sums were folded here
_NUMBERS = 1 << 18  # of rows that are folded at once: they stay in the cache
_FEWEST = 1 << 12  # rows that are worth a call
_HELD = 1 << 25  # numbers of rows held at once, however wide they are


@dataclass(frozen=True, slots=True)
class Folded:
    """Exact sums, one table for each block, and the places that they cover."""

    tables: list[Ints]
    places: tuple[Place, ...]
    made_by: InitVar[object] = None

    def __post_init__(self, made_by: object) -> None:
        if made_by is not _CORE:
            raise UnsafeError("sums are folded in the core: use fold_all and merge.")

    def __iter__(self) -> Iterator[Ints]:
        return iter(self.tables)

    def __getitem__(self, number: int) -> Ints:
        return self.tables[number]

    def __len__(self) -> int:
        return len(self.tables)


def nothing(asked: Bound) -> Folded:
    """Return the sums over no rows."""
    return Folded(aggregate.empty(asked), (), _CORE)


def merge(asked: Bound, first: Folded, second: Folded) -> Folded:
    """Return the sums over two parts of a table together."""
    tables = aggregate.merge(asked, first.tables, second.tables)
    return Folded(tables, first.places + second.places, _CORE)


def made_up(tables: list[Ints]) -> Folded:
    """Return sums over public rows, which cover no place of any table."""
    return Folded(tables, (), _CORE)


def check_once(found: Folded, places: tuple[Place, ...]) -> None:
    """Refuse sums that cover another set of rows than ``places``, or one twice."""
    if not isinstance(found, Folded) or _ends(found.places) != _ends(places):
        raise ValueError("a row was not folded exactly once.")


def _ends(places: tuple[Place, ...]) -> dict[tuple[str, int], int]:
    """Return where coverage changes, and by how much: equal for equal coverage."""
    out: Counter[tuple[str, int]] = Counter()
    for name, start, stop in places:
        out[name, start] += 1
        out[name, stop] -= 1
    return {end: change for end, change in out.items() if change}


def fold_all(asked: Bound, frame: Frame, keep: Keep | None = None) -> Folded:
    """Return the exact sums over one frame, or over a sample of its rows, by batches.

    Parameters
    ----------
    asked
        What is summed, bound to its domain.
    frame
        The rows.
    keep
        Which rows of a batch are in the sample; by default all.
    """
    size = _rows_at_once(asked)
    total = aggregate.empty(asked)
    read: Any = frame.batches
    if keep is None and keeps(asked):
        read = frame.kept_batches if isinstance(frame, KeepsBatches) else read
    for batch, rows in read(asked.columns, size):
        ask_within(batch, asked.domain)  # what is kept for rows is kept in its terms
        if keep is not None:
            chosen = keep(rows)
            batch = {name: values[chosen] for name, values in batch.items()}
            rows = int(np.count_nonzero(chosen))
        part = aggregate.fold(asked, batch, rows)
        total = aggregate.merge(asked, total, part)
    return Folded(total, frame.places(), _CORE)


def fold_together(several: Sequence[Bound], frame: Frame) -> list[Folded]:
    """Return the exact sums of several questions over one frame, batch by batch.

    Parameters
    ----------
    several
        What is summed, each bound to its domain.
    frame
        The rows.
    """
    names = tuple(dict.fromkeys(name for asked in several for name in asked.columns))
    total = [aggregate.empty(asked) for asked in several]
    sizes = [_rows_at_once(asked) for asked in several]
    for batch, rows in frame.batches(names, BATCH):
        for i, (asked, size) in enumerate(zip(several, sizes, strict=True)):
            for start in range(0, rows, size):
                stop = min(start + size, rows)
                some = {name: batch[name][start:stop] for name in asked.columns}
                part = aggregate.fold(asked, some, stop - start)
                total[i] = aggregate.merge(asked, total[i], part)
    return [Folded(tables, frame.places(), _CORE) for tables in total]


def _rows_at_once(asked: Bound) -> int:
    """Return how many rows to fold at once; it depends on public facts only."""
    if "rows at once" not in asked.kept:
        asked.kept["rows at once"] = _most_rows(asked)
    rows: int = asked.kept["rows at once"]
    return rows


def _most_rows(asked: Bound) -> int:
    size, width = 1 << 13, 1
    if asked.blocks:
        width = sum([part.shape.width for part in asked.blocks])
        held = aggregate.held(asked) if compiled.loops(0) is not None else width
        size = max(_NUMBERS // held, _FEWEST) if held else aggregate.BATCH_ROWS
    for one in _maps(asked.query):
        if hasattr(one, "batch_rows"):  # it keeps something for the same rows next time
            size = one.batch_rows()
    return max(min(size, _HELD // width), 1)


def keeps(asked: Bound) -> bool:
    """Return True if a question keeps something with its rows for the next one."""
    if "keeps" not in asked.kept:
        found = [hasattr(one, "batch_rows") for one in _maps(asked.query)]
        asked.kept["keeps"] = any(found)
    kept: bool = asked.kept["keeps"]
    return kept


def _maps(query: Any) -> list[Any]:
    """The maps that a question is made of, those of its cells last."""
    found: list[Any] = []
    if isinstance(query, Sum):
        found = [block.features for block in query.blocks]
        query = query.cells
    while isinstance(query, Cross):
        found.append(query.first)
        query = query.second
    return [*found, query]
