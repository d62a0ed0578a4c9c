"""Forks and SQLite: no connection may be carried across one.

SQLite keeps its locks per process and cannot know that a fork made them void: a child
that inherits a connection, or only its traces, can lose charges. So every store closes
its connection just before a fork, when no transaction is under way.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Pausing(Protocol):
    """Something that must be at rest while the process forks."""

    def pause(self) -> None: ...
    def resume(self, *, child: bool) -> None: ...


# Python calls the functions below around every os.fork. They must find every store.
_stores: weakref.WeakSet[Pausing] = weakref.WeakSet()
_forking = threading.Lock()
_paused: list[Pausing] = []


def watch(store: Pausing) -> None:
    """Pause ``store`` around every fork from now on."""
    with _forking:
        _stores.add(store)


def _before_fork() -> None:
    _forking.acquire()
    _paused[:] = _stores
    for store in _paused:
        store.pause()


def _after_fork(*, child: bool) -> None:
    for store in _paused:
        store.resume(child=child)
    _paused.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
