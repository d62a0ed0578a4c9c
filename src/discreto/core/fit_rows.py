"""Numbers that maps make of whole rows, held while one fit asks for them again.

Ten rounds of k-means need the same rows on [-1, 1], eight steps of a logistic fit the
same turned ones. They are as large as the table itself, so one kind is held at a time,
in a room of a public size, and all is given back when the fit is over. What has no room
is made again, bit for bit the same.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreto.core.query import Batch, Floats

MOST = 1 << 26  # numbers that are held for one table at most: 512 MB
Place = tuple[int, int]  # from which row to which


class FitRows:
    """A room for so many numbers about the rows of one table."""

    def __init__(self, room: int) -> None:
        self._room = min(room, MOST)
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Give all room back."""
        with self._lock:
            self._clear(None)

    def _clear(self, key: tuple[Any, ...] | None) -> None:
        self._key, self._used = key, 0
        self._slab: Floats | None = None
        self._kept: dict[Place, tuple[tuple[Any, ...], list[Floats]]] = {}

    def find(self, place: Place, key: tuple[Any, ...]) -> list[Floats] | None:
        """What is held for these rows under this key, or None."""
        old, arrays = self._kept.get(place, ((), None))
        return arrays if old == key else None

    def room(
        self, key: tuple[Any, ...], shapes: Sequence[tuple[int, ...]]
    ) -> list[Floats] | None:
        """Arrays to be written, if there is room; what has another key is let go."""
        size = sum(math.prod(shape) for shape in shapes)
        with self._lock:
            if self._key != key:
                self._clear(key)
            start, end = self._used, self._used + size
            slab = self._memory() if end <= self._room else None
            if slab is None:
                return None
            self._used = end
        arrays = []
        for shape in shapes:
            end = start + math.prod(shape)
            arrays.append(slab[start:end].reshape(shape))
            start = end
        return arrays

    def keep(self, place: Place, key: tuple[Any, ...], arrays: list[Floats]) -> None:
        """Hold arrays that were written, and are not to be written again."""
        for array in arrays:
            array.flags.writeable = False
        self._kept[place] = (key, arrays)

    def _memory(self) -> Floats | None:
        """One piece of memory for all, taken when it is first needed; or None."""
        if self._slab is None:
            try:
                self._slab = np.empty(self._room)
            except MemoryError:  # an answer that was paid for does not depend on it
                self._room = 0
        return self._slab


def held(
    batch: Batch,
    key: tuple[Any, ...],
    shapes: Sequence[tuple[int, ...]],
    fill: Callable[..., None],
) -> list[Floats]:
    """Arrays for whole rows, not to be changed: those that are held, or new ones.

    ``key`` holds all that they follow from beside the rows; ``fill`` writes them.
    """
    rows: FitRows | None = getattr(batch, "fit_rows", None)
    if rows is None:
        return _filled([np.empty(shape) for shape in shapes], fill)
    place: Place = batch.place  # type: ignore[attr-defined]
    found = rows.find(place, key)
    if found is not None:
        return found
    room = rows.room(key, shapes)
    if room is None:
        return _filled([np.empty(shape) for shape in shapes], fill)
    rows.keep(place, key, _filled(room, fill))
    return room


def _filled(arrays: list[Floats], fill: Callable[..., None]) -> list[Floats]:
    fill(*arrays)
    return arrays
