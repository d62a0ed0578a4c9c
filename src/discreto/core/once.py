"""What is worked out once and asked for again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class MadeOnce(Generic[T]):
    """What follows from public facts alone, worked out once for all batches.

    Facts are told apart by identity, which is quick; they are kept, so that no other
    one can take their place.
    """

    def __init__(self, make: Callable[..., T], size: int = 32) -> None:
        self._make, self._size = make, size
        self._made: dict[tuple[int, ...], tuple[tuple[Any, ...], T]] = {}

    def __call__(self, *facts: Any) -> T:
        key = tuple(map(id, facts))
        kept = self._made.get(key)
        if kept is None:
            if len(self._made) >= self._size:
                self._made.clear()
            kept = self._made[key] = (facts, self._make(*facts))
        return kept[1]
