"""The local engine: this process, its threads, and files read as streams."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from discreto.frames import Frame
from discreto.kernel import clamp
from discreto.kernel.domain import Domain
from discreto.kernel.query import Batch, Ints, Sum

_ALONE_BELOW = 1 << 17  # a thread pool costs more than it saves on fewer rows


class LocalEngine:
    """Folds batches on ``threads`` threads; the sums do not depend on how many."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or min(8, os.cpu_count() or 1)

    def fold(self, query: Sum, frame: Frame, domain: Domain) -> list[Ints]:
        """The exact sums over all rows."""
        total = clamp.empty(query, domain)
        batches = frame.batches(query.columns(), clamp.BATCH_ROWS)

        def one(job: tuple[Batch, int]) -> list[Ints]:
            return clamp.fold(query, job[0], job[1], domain)

        jobs = _grouped(batches)
        first = next(jobs, [])
        if self.threads == 1 or sum(rows for _, rows in first) < _ALONE_BELOW:
            for group in (first, *jobs):
                _add(total, map(one, group))
            return total

        def many(group: list[tuple[Batch, int]]) -> list[Ints]:
            sums = clamp.empty(query, domain)
            _add(sums, map(one, group))
            return sums

        with ThreadPoolExecutor(self.threads) as pool:
            running: deque[Future[Any]] = deque([pool.submit(many, first)])
            for group in jobs:
                running.append(pool.submit(many, group))
                if len(running) > 2 * self.threads:  # bounds the memory of a stream
                    _add(total, [running.popleft().result()])
            _add(total, (future.result() for future in running))
        return total


def _grouped(
    batches: Iterator[tuple[Batch, int]],
) -> Iterator[list[tuple[Batch, int]]]:
    """Batches in groups that are worth a thread's while."""
    group: list[tuple[Batch, int]] = []
    for batch in batches:
        group.append(batch)
        if len(group) == _ALONE_BELOW // clamp.BATCH_ROWS:
            yield group
            group = []
    if group:
        yield group


def _add(total: list[Ints], parts: Any) -> None:
    for part in parts:
        for mine, theirs in zip(total, part, strict=True):
            mine += theirs
