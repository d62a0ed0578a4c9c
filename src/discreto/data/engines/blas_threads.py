"""One thread of BLAS for each thread that folds rows. It changes speed, never sums.

Rows are folded in batches that fit the cache, on threads of our own. Were the products
of each batch shared out among threads of BLAS once more, these would mostly wait for
each other: a logistic regression took fifteen times the processor's time.
"""

from __future__ import annotations

import os
import threading
from typing import Any


class _OneThread:
    """A context in which BLAS has one thread, until the last thread leaves it.

    How many threads BLAS has is the same for the whole process. Several of ours may
    fold at once; were each to put back what it found, the last could put back one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._libraries: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._libraries is None:
                from threadpoolctl import ThreadpoolController  # slow to import

                self._libraries = ThreadpoolController()
            if self._inside == 0:
                self._limit = self._libraries.limit(limits=1, user_api="blas")
                self._let_others()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._put_back()

    def _put_back(self) -> None:
        self._limit.restore_original_limits()
        self._let_others()

    def _let_others(self) -> None:
        """Let any thread set the limit: the first to enter is often not the last."""
        for library in self._libraries.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):  # newer versions
                library.clear_controlling_thread()

    def forget(self) -> None:
        """Start anew in a forked child: threads that were inside are not there."""
        self._lock = threading.Lock()
        if self._inside:
            self._inside = 0
            self._put_back()


one_thread = _OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_thread.forget)
