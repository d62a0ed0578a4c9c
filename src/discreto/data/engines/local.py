"""The local engine: this process, its threads, and files read as streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np

from discreto.core import aggregate, compiled
from discreto.core.bound import Bound
from discreto.core.frame import BATCH
from discreto.core.gate import Keep
from discreto.core.maps.cells import Cross
from discreto.core.query import Ints, Sum
from discreto.data.engines.blas import one_thread
from discreto.data.frames import Frame
from discreto.errors import KernelFault, StalledError

T = TypeVar("T")
_NUMBERS = 1 << 18  # of rows that are folded at once: they stay in the cache
_FEWEST = 1 << 12  # rows that are worth a call
_HELD = 1 << 25  # numbers of rows held at once, however wide they are


class LocalEngine:
    """Folds batches on ``threads`` threads; the sums do not depend on how many.

    Parameters
    ----------
    threads
        How many threads; by default one for each processor, at most 8.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or min(8, _processors())
        self._pool: ThreadPoolExecutor | None = None
        self._pid = os.getpid()

    def fold(self, asked: Bound, frame: Frame) -> list[Ints]:
        """The exact sums over all rows.

        Parameters
        ----------
        asked
            What is summed, bound to its domain.
        frame
            The rows.
        """
        return quietly(lambda: self._fold(asked, frame))

    def _fold(self, asked: Bound, frame: Frame) -> list[Ints]:
        parts = [frame] if self.threads == 1 else frame.split(self.threads)
        with one_thread:
            if len(parts) == 1:
                return fold_all(asked, frame)
            total = aggregate.empty(asked)
            for part in self._workers().map(partial(fold_all, asked), parts):
                total = aggregate.merge(asked, total, part)
            return total

    def fold_several(
        self, several: Sequence[Bound], frame: Frame
    ) -> list[list[Ints] | None]:
        """The exact sums of several questions, from one pass over all rows.

        Parameters
        ----------
        several
            What is summed, each bound to its domain.
        frame
            The rows.

        Returns
        -------
        list
            The sums of each question; None for one that keeps something with its
            rows, which is better asked by itself.
        """
        alone = [keeps(asked) for asked in several]
        apart = [a for a, own in zip(several, alone, strict=True) if not own]
        found = iter(quietly(lambda: self._fold_several(apart, frame)))
        return [None if own else next(found) for own in alone]

    def _fold_several(self, several: Sequence[Bound], frame: Frame) -> list[list[Ints]]:
        parts = [frame] if self.threads == 1 else frame.split(self.threads)
        total = [aggregate.empty(asked) for asked in several]
        with one_thread:
            for some in self._workers().map(partial(fold_together, several), parts):
                total = [
                    aggregate.merge(asked, one, two)
                    for asked, one, two in zip(several, total, some, strict=True)
                ]
        return total

    def _workers(self) -> ThreadPoolExecutor:
        """The threads, started once; a forked child has none and starts its own."""
        if self._pool is None or self._pid != os.getpid():
            self._pool, self._pid = ThreadPoolExecutor(self.threads), os.getpid()
        return self._pool


def quietly(work: Callable[[], T]) -> T:
    """What ``work`` gives; if it fails, one fault that says nothing about rows.

    Whatever fails: native code has failures that Python does not count as exceptions.
    """
    try:
        return work()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, StalledError):
        raise
    except BaseException:  # noqa: S110 - what a failure says might quote a row
        pass
    # Raised out here, so that the cause is not its context.
    raise KernelFault("the sums could not be folded.")


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _rows_at_once(asked: Bound) -> int:
    """How many rows to fold at once; public, as is how much memory they take."""
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
    """Whether a question keeps something with its rows for the next one."""
    if "keeps" not in asked.kept:
        found = [hasattr(one, "batch_rows") for one in _maps(asked.query)]
        asked.kept["keeps"] = any(found)
    kept: bool = asked.kept["keeps"]
    return kept


def fold_together(several: Sequence[Bound], frame: Frame) -> list[list[Ints]]:
    """The exact sums of several questions over one frame, batch by batch.

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
    return total


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


def fold_all(asked: Bound, frame: Frame, keep: Keep | None = None) -> list[Ints]:
    """The exact sums over one frame, or over a sample of its rows, by batches.

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
    read = frame.batches
    if keep is None and keeps(asked):
        read = getattr(frame, "kept_batches", read)
    for batch, rows in read(asked.columns, size):
        if keep is not None:
            chosen = keep(rows)
            batch = {name: values[chosen] for name, values in batch.items()}
            rows = int(np.count_nonzero(chosen))
        part = aggregate.fold(asked, batch, rows)
        total = aggregate.merge(asked, total, part)
    return total
