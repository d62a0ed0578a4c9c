"""Work under a key, one at a time: a second caller waits and finds the answer.

Every attempt without a stored answer is paid for. Two threads that ask the same at the
same moment would pay twice for one answer, so the threads of a process take turns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Turn:
    """The lock of one key, and how many threads have it or wait for it."""

    def __init__(self) -> None:
        self.lock, self.users = threading.RLock(), 0


_turns: dict[str, _Turn] = {}
_guard = threading.Lock()


@contextmanager
def one_at_a_time(key: str | None) -> Iterator[None]:
    """Hold the turn of a key; without a key there is nothing to wait for."""
    if not isinstance(key, str):  # what is not a text is refused by the ledger
        yield
        return
    with _guard:
        turn = _turns.setdefault(key, _Turn())
        turn.users += 1
    try:
        with turn.lock:
            yield
    finally:
        with _guard:
            turn.users -= 1
            if not turn.users and _turns.get(key) is turn:
                del _turns[key]


def _start_anew() -> None:
    """Forget the turns of threads that a fork did not copy."""
    global _guard
    _turns.clear()
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
