"""Memory for the store of rows: so many bytes, and an unlinked temporary file.

What is kept is as private as the rows. The file is taken off its folder as soon as it
is made, so it is gone with this process, however the process ends. Where the file
cannot be made or is full, arrays are not kept: they are worked out again.

A stored array gives its memory back when the last reference to it is gone. A thread
that still reads it therefore never meets what another thread has put in its place.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import deque
from typing import cast

import numpy as np

from discreto.core.frame import Array

IN_MEMORY = 1 << 24  # bytes
LEAST = 1 << 12  # bytes of an array that is worth a place in a file


class SpilledArray:
    """An array in a file."""

    def __init__(self, spill: Spill, array: Array, place: int) -> None:
        self._spill, self._place = spill, place
        self._shape, self._dtype, self._size = array.shape, array.dtype, array.nbytes

    def load(self) -> Array:
        """Return the array, not to be written to."""
        data = self._spill.read(self._place, self._size)
        out = np.frombuffer(data, dtype=self._dtype).reshape(self._shape)
        out.flags.writeable = False
        return out

    def __del__(self) -> None:
        self._spill.returned.append((self._place, self._size))


class MemoryArray:
    """An array in memory."""

    def __init__(self, spill: Spill, array: Array) -> None:
        self._spill = spill
        # A part of a larger array would keep all of it in memory.
        self._array = array if array.base is None else np.array(array)
        self._array.flags.writeable = False

    def load(self) -> Array:
        """Return the array, not to be written to."""
        return self._array

    def __del__(self) -> None:
        self._spill.returned.append((None, self._array.nbytes))


class Spill:
    """Limited memory for arrays, and a file for all others.

    Parameters
    ----------
    in_memory
        How many bytes stay in memory.
    file
        Whether other arrays go into a file. If not, they are not kept.
    """

    def __init__(self, in_memory: int = IN_MEMORY, *, file: bool = True) -> None:
        self._left, self._end = in_memory, 0
        self._file: int | None = None
        self._free: dict[int, list[int]] = {}
        self._lock = threading.Lock()
        self._full = not file or not hasattr(os, "preadv")
        # Arrays may be deleted at any line, also while the lock is held: what they
        # give back waits here for the next call.
        self.returned: deque[tuple[int | None, int]] = deque()

    def put(self, array: Array) -> SpilledArray | MemoryArray | None:
        """Keep an array; return None if there is no memory for it."""
        size = array.nbytes
        with self._lock:
            self._settle()
            if self._left >= size or (size < LEAST and not self._full):
                self._left -= size
                return MemoryArray(self, array)
            if self._full:
                return None
            try:
                place = self._place_of(size)
            except OSError:
                self._full = True
                return None
            file = cast(int, self._file)
        try:
            data = np.ascontiguousarray(array).data.cast("B")
            done = 0
            while done < size:
                done += os.pwrite(file, data[done:], place + done)
        except OSError:
            self._full = True
            return None
        return SpilledArray(self, array, place)

    def _settle(self) -> None:
        """Take back what deleted arrays have returned."""
        while self.returned:
            place, size = self.returned.popleft()
            if place is None:
                self._left += size
            else:
                self._free.setdefault(size, []).append(place)

    def _place_of(self, size: int) -> int:
        """Return a place in the file for so many bytes."""
        if self._file is None:
            with tempfile.TemporaryFile(prefix="discreto-") as file:
                self._file = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._file)
        if self._free.get(size):
            return self._free[size].pop()
        self._end += size
        return self._end - size

    def read(self, place: int, size: int) -> bytearray:
        """Return so many bytes of the file."""
        out = bytearray(size)
        view, done = memoryview(out), 0
        while done < size:
            got = os.preadv(cast(int, self._file), [view[done:]], place + done)
            if not got:
                raise OSError("a private file is shorter than what was written to it.")
            done += got
        return out
