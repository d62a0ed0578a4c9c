"""What a row map keeps in the memory of a batch, so as not to compute it again.

Batches of a table in memory have one (``frames.memory``). Without, all is computed
again, bit for bit the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from discreto.core.query import Batch, Ints

T = TypeVar("T")


class Fleeting(dict[str, Any]):
    """A batch with a memory that lasts as long as the batch."""

    def __init__(self, columns: Batch) -> None:
        super().__init__(columns)
        self.memory: dict[str, Any] = {}


class Chosen(Mapping[str, Any]):
    """Some rows of a batch, each column taken when asked for, with a memory."""

    def __init__(self, whole: Batch, rows: Ints) -> None:
        self.whole, self.rows = whole, rows
        self.memory: dict[str, Any] = {}
        self._taken: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._taken:
            self._taken[name] = self.whole[name][self.rows]
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def remember(batch: Batch, name: str, key: tuple[Any, ...], make: Callable[[], T]) -> T:
    """What ``make`` gives, kept in the batch's memory (if it has one) under a name.

    Only the last two things under each name are kept, so a memory stays small: the
    leaves of the tree before, and of the one that is asked about.
    """
    kept = recall(batch, name, key)
    if kept is not None:
        return kept
    made = make()
    memory = getattr(batch, "memory", None)
    if memory is not None:
        # A new tuple, not a changed one: another thread may be reading it.
        memory[name] = (*memory.get(name, ())[-1:], (key, made))
    return made


def share(batch: Batch, name: str, key: tuple[Any, ...], make: Callable[[], T]) -> T:
    """What ``make`` gives, for the other maps of the same question about these rows.

    It is gone with the batch, so it may be as large as the batch.
    """
    kept: dict[str, Any] | None = getattr(batch, "shared", None)
    if kept is None:
        return make()
    if name not in kept or not same(kept[name][0], key):
        kept[name] = (key, make())
    thing: T = kept[name][1]
    return thing


def recall(batch: Batch, name: str, key: tuple[Any, ...]) -> Any:
    """What is in the batch's memory under a name and a key, or None."""
    for old, thing in getattr(batch, "memory", {}).get(name, ()):
        if old == key:
            return thing if type(thing) is np.ndarray else loaded(thing)
    return None


def keep(batch: Batch, name: str, key: tuple[Any, ...], thing: Any) -> None:
    """Keep one thing alone under a name, if the batch has a memory."""
    memory = getattr(batch, "memory", None)
    if memory is not None:
        memory[name] = ((key, thing),)


def last_key(batch: Batch, name: str) -> tuple[Any, ...] | None:
    """The key of what was kept last under a name."""
    pairs = getattr(batch, "memory", {}).get(name, ())
    return pairs[-1][0] if pairs else None


def loaded(thing: Any) -> Any:
    """A kept thing; what was put away is read back."""
    if isinstance(thing, list):
        return [loaded(part) for part in thing]
    return thing.load() if hasattr(thing, "load") else thing


def same(one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
    """Whether two tuples hold the same things, quick where they are identical."""
    return one == two  # of tuples, Python asks for identity before equality
