"""Views of tables in memory: their columns are made once, when they are first asked."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from discreto.core.domain import Domain
from discreto.core.expressions import Step, ViewFrame, Where
from discreto.data.frames.base import Array, Frame
from discreto.data.frames.memory import MemoryFrame


def view_of(frame: Frame, step: Step, domain: Domain) -> Frame:
    """A view of a frame; ``domain`` is that of the frame."""
    if isinstance(frame, MemoryFrame):
        return MemoryView(frame, step, domain)
    if hasattr(frame, "seen"):  # a database makes the view, too
        view: Frame = frame.seen(step)
        return view
    return ViewFrame(frame, step, domain)


class MemoryView(MemoryFrame):
    """A view of a table in memory."""

    def __init__(self, frame: MemoryFrame, step: Step, domain: Domain) -> None:
        self._view, self._base = ViewFrame(frame, step, domain), frame
        self._step, self._base_domain = step, domain
        self._ready: dict[str, Array] = {}
        self._memories: dict[tuple[int, int], dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._rows: Array | None = None
        self._length = frame.length()
        if isinstance(step, Where):
            batch = {name: frame.column(name) for name in step.needs(())}
            with np.errstate(all="ignore"):
                self._rows = np.flatnonzero(step.chosen(batch, self._length, domain))
            self._length = self._rows.size

    def column(self, name: str) -> Array:
        with self._lock:  # two threads need not make it twice
            if name not in self._ready:
                if self._rows is not None:
                    made = self._base.column(name)[self._rows]
                else:
                    made = self._made(name)
                made.flags.writeable = False
                self._ready[name] = made
            return self._ready[name]

    def _made(self, name: str) -> Array:
        batch = {n: self._base.column(n) for n in self._step.needs((name,))}
        with np.errstate(all="ignore"):
            out, _ = self._step.apply(batch, self._length, (name,), self._base_domain)
        return out[name]

    def raw(self, name: str) -> Array:
        return self._view.raw(name)
