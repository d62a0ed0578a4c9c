"""In-memory views. A column is computed on first use and kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from discreto.core.capabilities import MakesViews
from discreto.core.domain.domain import Category, Domain
from discreto.core.expressions import Step, ViewFrame, Where, WithColumns
from discreto.core.frame import Array, Frame
from discreto.data.frames.memory import MemoryFrame, new_cache

_CHUNK = 1 << 15


def view_of(frame: Frame, step: Step, domain: Domain) -> Frame:
    """A view of a frame; ``domain`` is that of the frame."""
    if isinstance(frame, MemoryFrame):
        return MemoryView(frame, step, domain)
    if isinstance(frame, MakesViews):
        return frame.seen(step)
    return ViewFrame(frame, step, domain)


class MemoryView(MemoryFrame):
    """A view of a table in memory."""

    def __init__(self, frame: MemoryFrame, step: Step, domain: Domain) -> None:
        self._view, self._base = ViewFrame(frame, step, domain), frame
        self._step, self._base_domain = step, domain
        self._ready: dict[str, Array] = {}
        self._lock = threading.Lock()
        self._rows: Array | None = None
        self._length = frame.length()
        if isinstance(step, Where):
            self._rows = self._chosen(step)
            self._length = self._rows.size
        # No whole rows: the columns that a view has made are as large already.
        self.cache = new_cache(self._length, len(step.domain(domain).columns))

    def _chosen(self, step: Where) -> Array:
        """The places of the rows that are in the view."""
        found = [np.empty(0, dtype=np.int64)]
        for batch, start, stop in self._chunks(step.needs(())):
            with np.errstate(all="ignore"):
                chosen = step.chosen(batch, stop - start, self._base_domain)
            found.append(start + np.flatnonzero(chosen))
        return np.concatenate(found)

    def _chunks(
        self, names: Sequence[str]
    ) -> Iterator[tuple[dict[str, Array], int, int]]:
        """Rows of the table, so few at once that what is made stays in the cache."""
        columns, rows = self._base.columns(names), self._base.length()
        for start in range(0, rows, _CHUNK):
            stop = min(start + _CHUNK, rows)
            yield {n: c[start:stop] for n, c in columns.items()}, start, stop

    def _made(self, name: str) -> Array:
        if self._rows is not None:
            return self._base.column(name)[self._rows]
        step, names = self._step, self._step.needs((name,))
        new = [n.name for n in step.columns] if isinstance(step, WithColumns) else []
        if name not in new:
            return self._base.column(name)
        whole = isinstance(self._step.domain(self._base_domain)[name], Category)
        out = np.empty(self._length, dtype=np.int64 if whole else np.float64)
        for batch, start, stop in self._chunks(names):
            with np.errstate(all="ignore"):
                made, _ = self._step.apply(
                    batch, stop - start, (name,), self._base_domain
                )
            out[start:stop] = made[name]
        return out

    def raw(self, name: str) -> Array:
        return self._view.raw(name)
