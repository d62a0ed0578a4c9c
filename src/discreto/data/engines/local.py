"""The local engine: this process, its threads, and files read as streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from discreto.core.fold import Folded, fold_all, fold_together, keeps, merge, nothing
from discreto.core.query import Bound
from discreto.data.engines.blas_threads import one_thread
from discreto.data.frames import Frame
from discreto.errors import KernelFault, StalledError

T = TypeVar("T")


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

    def fold(self, asked: Bound, frame: Frame) -> Folded:
        """Return the exact sums over all rows.

        Parameters
        ----------
        asked
            What is summed, bound to its domain.
        frame
            The rows.
        """
        return quietly(lambda: self._fold(asked, frame))

    def _fold(self, asked: Bound, frame: Frame) -> Folded:
        parts = [frame] if self.threads == 1 else frame.split(self.threads)
        with one_thread:
            if len(parts) == 1:
                return fold_all(asked, frame)
            total = nothing(asked)
            for part in self._workers().map(partial(fold_all, asked), parts):
                total = merge(asked, total, part)
            return total

    def fold_several(
        self, several: Sequence[Bound], frame: Frame
    ) -> list[Folded | None]:
        """Return the exact sums of several questions, from one pass over all rows.

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

    def _fold_several(self, several: Sequence[Bound], frame: Frame) -> list[Folded]:
        parts = [frame] if self.threads == 1 else frame.split(self.threads)
        total = [nothing(asked) for asked in several]
        with one_thread:
            for some in self._workers().map(partial(fold_together, several), parts):
                total = merged(several, total, some)
        return total

    def _workers(self) -> ThreadPoolExecutor:
        """Return the threads, started once; a forked child starts its own."""
        if self._pool is None or self._pid != os.getpid():
            self._pool, self._pid = ThreadPoolExecutor(self.threads), os.getpid()
        return self._pool


def merged(
    several: Sequence[Bound], first: Sequence[Folded], second: Sequence[Folded]
) -> list[Folded]:
    """Return the sums of several questions over two parts of a table together."""
    return [merge(*one) for one in zip(several, first, second, strict=True)]


def quietly(work: Callable[[], T]) -> T:
    """Return what ``work`` gives; if it fails, raise a fault that names no row.

    Native code has failures that Python does not count as exceptions.
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
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
