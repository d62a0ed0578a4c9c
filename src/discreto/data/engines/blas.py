"""One thread of BLAS for each of ours.

Rows are folded in batches that fit the cache, on threads of our own. Were the products
of each batch shared out among threads of BLAS once more, these would mostly wait for
each other: a logistic regression took fifteen times the processor's time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS has one thread.

    For the thread that starts the others. Where several of them fold at once, the first
    decides for the whole process.
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController  # slow to import

    return ThreadpoolController()
