"""The one source of secret random bits.

AES-256 in counter mode, keyed by the operating system, re-keyed after 2^30 bytes and in
every forked child. A stream with a given key exists for tests only: the gate refuses
to combine it with a real ledger.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

REKEY_BYTES = 1 << 30
_ZEROS = memoryview(bytes(1 << 18))  # making zeros takes longer than hiding them


_streams: weakref.WeakSet[Entropy] = weakref.WeakSet()


def _after_fork() -> None:
    for stream in list(_streams):
        stream._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Entropy:
    """A thread-safe stream of uniform bits; a ``key`` (tests only) makes it repeat."""

    def __init__(self, key: bytes | None = None) -> None:
        self.seeded = key is not None
        self._chain = hashlib.sha256(b"discreto" + key).digest() if key else b""
        self._lock = threading.Lock()
        self._left, self._pid = 0, os.getpid()
        _streams.add(self)

    def _forked(self) -> None:
        """In a forked child: a lock that nobody holds, and a key of its own.

        Forked children of a seeded stream repeat it: tests want that.
        """
        self._lock = threading.Lock()
        if not self.seeded:
            self._left = 0
        self._pid = os.getpid()

    def _rekey(self) -> None:
        if self.seeded:
            key = self._chain
            self._chain = hashlib.sha256(key).digest()
        else:
            key = os.urandom(32)
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._left, self._pid = REKEY_BYTES, os.getpid()

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        parts = []
        with self._lock:
            while count:
                # A fork by other means than Python's is seen by the process's number.
                stranger = self._pid != os.getpid() and not self.seeded
                if stranger or not self._left:
                    self._rekey()
                take = min(count, self._left, len(_ZEROS))
                parts.append(self._stream.update(_ZEROS[:take]))
                self._left -= take
                count -= take
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` uniform 64-bit words."""
        return np.frombuffer(self.bytes(8 * count), dtype="<u8")

    def below(self, limit: int, count: int) -> NDArray[np.int64]:
        """``count`` integers, exactly uniform on ``0 .. limit - 1`` (bit rejection)."""
        if limit == 1:
            return np.zeros(count, dtype=np.int64)
        shift = np.uint64(64 - (limit - 1).bit_length())
        out = self.words(count) >> shift
        wrong = np.flatnonzero(out >= np.uint64(limit))
        while wrong.size:
            out[wrong] = self.words(wrong.size) >> shift
            wrong = wrong[out[wrong] >= np.uint64(limit)]
        return out.astype(np.int64)

    def order(self, count: int) -> NDArray[np.intp]:
        """A uniformly random order of ``count`` things."""
        return np.argsort(self.words(count), kind="stable")


def more_bits(tag: bytes, index: int, block: int) -> int:
    """Bits 64 * block onwards of draw ``index``: a sub-stream of its own for each draw.

    A draw that needs more bits than its first 64 takes them from here, so that the main
    stream never shifts and a seeded run gives the same numbers on every processor.
    """
    text = tag + index.to_bytes(8, "little") + block.to_bytes(8, "little")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")
