"""Arrays that are kept between questions: in memory, or in a file without a name.

What is kept is as private as the rows. The file is taken off its folder as soon as it
is made, so that it is gone with this process, however that ends. Where it cannot be
made or is full, nothing is kept: all is then worked out again.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
IN_MEMORY = 1 << 24  # bytes
LEAST = 1 << 12  # bytes of an array that is worth keeping elsewhere


class Stored:
    """An array that was put away."""

    def __init__(self, spill: Spill, array: Array, place: int | Array) -> None:
        self._spill, self._place = spill, place
        self.shape, self.dtype, self.size = array.shape, array.dtype, array.nbytes

    def load(self) -> Array:
        """The array, not to be written to."""
        if not isinstance(self._place, int):
            return self._place
        data = self._spill.read(self._place, self.size)
        return np.frombuffer(data, dtype=self.dtype).reshape(self.shape)

    def forget(self) -> None:
        """Give the room back; nobody may load it any more."""
        self._spill.free(self._place, self.size)


class Spill:
    """Room for arrays: so many bytes of memory, and a file for all others."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._left, self._end = in_memory, 0
        self._file: int | None = None
        self._free: dict[int, list[int]] = {}
        self._lock = threading.Lock()
        self._full = not hasattr(os, "preadv")

    def put(self, array: Array) -> Stored | None:
        """Keep an array; None if there is no room for it."""
        size = array.nbytes
        with self._lock:
            if self._left >= size:
                self._left -= size
                own = np.array(array)
                own.flags.writeable = False
                return Stored(self, array, own)
            if self._full:
                return None
            try:
                place = self._room(size)
            except OSError:
                self._full = True
                return None
            file = self._file
        try:
            data = np.ascontiguousarray(array).data.cast("B")
            done = 0
            while done < size:
                done += os.pwrite(cast(int, file), data[done:], place + done)
        except OSError:
            self._full = True
            return None
        return Stored(self, array, place)

    def _room(self, size: int) -> int:
        """A place in the file for so many bytes."""
        if self._file is None:
            with tempfile.TemporaryFile(prefix="discreto-") as file:
                self._file = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._file)
        if self._free.get(size):
            return self._free[size].pop()
        self._end += size
        return self._end - size

    def read(self, place: int, size: int) -> bytearray:
        """So many bytes of the file."""
        out = bytearray(size)
        view, done = memoryview(out), 0
        while done < size:
            got = os.preadv(cast(int, self._file), [view[done:]], place + done)
            if not got:
                raise OSError("a private file is shorter than what was written to it.")
            done += got
        return out

    def free(self, place: int | Array, size: int) -> None:
        """Let others have this room."""
        with self._lock:
            if isinstance(place, int):
                self._free.setdefault(size, []).append(place)
            else:
                self._left += size
