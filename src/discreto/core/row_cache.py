"""One store for what is worked out from rows and needed again by a later question.

A boosted ensemble asks about the same rows hundreds of times, and ten rounds of k-means
need the same rows on [-1, 1]. An entry belongs to rows of one table, from one number to
another, and to a key: everything else that the entry follows from. That is the domain
of the question, which ``core.fold.fold_all`` puts in, and the fields of the map, which
the map names. Keys are compared by value; there is no digest that two maps could share.
An entry that met other rows or another question would let one row move an answer beyond
its bound.

Entries are as private as the rows. They live with their table and never leave it.
Without a store everything is worked out again, bit for bit the same. An entry that
finds no memory is not kept: an answer that was paid for does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreto.core.query import Batch, Floats, Ints

T = TypeVar("T")
Key = tuple[Any, ...]
Array = NDArray[Any]
Rows = tuple[int, ...]  # from which row to which, and of which part of a file


class Stored(Protocol):
    """An array that a store keeps; its memory is given back with the last reference."""

    def load(self) -> Array:
        """Return the array, not to be written to."""


class Memory(Protocol):
    """A limited amount of memory for arrays."""

    def put(self, array: Array) -> Stored | None:
        """Keep an array; return None if there is no memory left for it."""


class RowCache:
    """Entries about the rows of one table, kept between questions.

    Parameters
    ----------
    small
        Memory for a few numbers a row: codes, leaves, scores. None has no limit, for
        stores that last as long as one batch.
    whole
        Memory for numbers made of whole rows, which are as large as the rows; None
        keeps none of them.
    """

    def __init__(
        self, small: Memory | None = None, whole: Memory | None = None
    ) -> None:
        self._small, self._whole = small, whole
        self.forget()

    def forget(self) -> None:
        """Give everything back."""
        # By rows and by name; tuples are replaced, because another thread may read.
        self._entries: dict[Rows, dict[str, tuple[tuple[Key, Any], ...]]]
        self._entries, self._newest = {}, dict[str, Key]()

    def keeps_whole_rows(self) -> bool:
        """Return True if there is memory for numbers made of whole rows."""
        return self._whole is not None

    def find(self, rows: Rows, name: str, key: Key) -> Any:
        """Return what is kept for these rows under a name and a key, or None."""
        for old, thing in self._entries.get(rows, {}).get(name, ()):
            if old == key:  # parts that are identical are not compared any further
                return _loaded(thing)
        return None

    def last_key(self, rows: Rows, name: str) -> Key | None:
        """Return the key of what was kept last for these rows under a name."""
        pairs = self._entries.get(rows, {}).get(name, ())
        return pairs[-1][0] if pairs else None

    def keep(
        self,
        rows: Rows,
        name: str,
        key: Key,
        thing: Any,
        most: int,
        whole: bool = False,
    ) -> None:
        """Keep a thing, and of those before under the same name the last ``most`` - 1.

        If memory is short, things of the same name and of older keys are given back
        for all rows. If it is still short, this one is not kept.
        """
        memory = self._whole if whole else self._small
        here = self._entries.setdefault(rows, {})
        here[name] = before = here.get(name, ())[-1:] if most > 1 else ()
        stored = _stored(thing, memory)
        if stored is None and self._newest.get(name) != key:
            for other in list(self._entries.values()):
                other[name] = tuple([p for p in other.get(name, ()) if p[0] == key])
            before, stored = (), _stored(thing, memory)
        self._newest[name] = key
        if stored is not None:
            here[name] = (*before, (key, stored))


def _stored(thing: Any, memory: Memory | None) -> Any:
    """Return a thing with its arrays put away; None if memory is short."""
    if memory is None:
        return thing
    if not isinstance(thing, list):
        return memory.put(thing)
    stored = [memory.put(part) for part in thing]
    return None if any(part is None for part in stored) else stored


def _loaded(thing: Any) -> Any:
    if isinstance(thing, list):
        return [_loaded(part) for part in thing]
    return thing if isinstance(thing, np.ndarray) else thing.load()


class CachedRows:
    """The entries about the rows of one batch.

    ``facts`` are a part of every key: the domain that the rows are asked in, and which
    of the rows are meant. ``shared`` is for the maps of one question; it is gone with
    the batch, so it may be as large as the batch.
    """

    def __init__(self, cache: RowCache, rows: Rows, facts: Key = ()) -> None:
        self._cache, self._rows, self.facts = cache, rows, facts
        self.shared: dict[str, tuple[Key, Any]] = {}

    def keeps_whole_rows(self) -> bool:
        """Return True if numbers made of whole rows may be kept."""
        return self._cache.keeps_whole_rows()

    def find(self, name: str, key: Key) -> Any:
        """Return what is kept under a name and a key, or None."""
        return self._cache.find(self._rows, name, (self.facts, key))

    def last_key(self, name: str) -> Key | None:
        """Return the key of what was kept last under a name."""
        found = self._cache.last_key(self._rows, name)
        return None if found is None or found[0] != self.facts else found[1]

    def some(self, which: Key) -> CachedRows:
        """Return the entries about some of the rows."""
        # In a place of their own, or they would push out what all rows have.
        return CachedRows(self._cache, (*self._rows, -1), (*self.facts, *which))

    def keep(
        self, name: str, key: Key, thing: Any, most: int = 2, whole: bool = False
    ) -> None:
        """Keep a thing under a name and a key."""
        self._cache.keep(self._rows, name, (self.facts, key), thing, most, whole)


class WithCache:
    """A batch that has a store for its rows."""

    cache: CachedRows


class Fleeting(WithCache, dict[str, Any]):
    """A batch whose store lasts as long as the batch."""

    def __init__(self, columns: Batch) -> None:
        super().__init__(columns)
        self.cache = CachedRows(RowCache(), ())


class Chosen(WithCache, Mapping[str, Any]):
    """Some rows of a batch, each column taken when asked for.

    ``which`` says everything that the choice of rows follows from, beside the rows.
    """

    def __init__(self, whole: Batch, rows: Ints, which: Key) -> None:
        self.whole, self.rows = whole, rows
        above = whole.cache if isinstance(whole, WithCache) else Fleeting({}).cache
        self.cache = above.some(which)
        self._taken: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._taken:
            self._taken[name] = self.whole[name][self.rows]
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def ask_within(batch: Batch, domain: object) -> None:
    """Let every key of a batch hold the domain that its rows are asked in."""
    if isinstance(batch, WithCache):
        batch.cache.facts = (domain,)


def remember(batch: Batch, name: str, key: Key, make: Callable[[], T]) -> T:
    """Return what ``make`` gives, kept under a name and a key if there is a store.

    The last two things under a name are kept for each batch: the leaves of the tree
    before, and of the one that is asked about.
    """
    kept = recall(batch, name, key)
    if kept is not None:
        return kept
    made = make()
    if isinstance(batch, WithCache):
        batch.cache.keep(name, key, made)
    return made


def share(batch: Batch, name: str, key: Key, make: Callable[[], T]) -> T:
    """Return what ``make`` gives, for the other maps of the same question."""
    if not isinstance(batch, WithCache):
        return make()
    kept = batch.cache.shared
    if name not in kept or kept[name][0] != key:
        kept[name] = (key, make())
    thing: T = kept[name][1]
    return thing


def recall(batch: Batch, name: str, key: Key) -> Any:
    """Return what is kept under a name and a key, or None."""
    return batch.cache.find(name, key) if isinstance(batch, WithCache) else None


def keep(batch: Batch, name: str, key: Key, thing: Any) -> None:
    """Keep one thing alone under a name, if there is a store."""
    if isinstance(batch, WithCache):
        batch.cache.keep(name, key, thing, most=1)


def last_key(batch: Batch, name: str) -> Key | None:
    """Return the key of what was kept last under a name."""
    return batch.cache.last_key(name) if isinstance(batch, WithCache) else None


def held(
    batch: Batch,
    key: Key,
    shapes: Sequence[tuple[int, ...]],
    fill: Callable[..., None],
) -> list[Floats]:
    """Return arrays made of whole rows, not to be changed: kept ones, or new ones.

    One kind is kept at a time, until the fit is over. ``fill`` writes new arrays.
    """
    found: list[Floats] | None = recall(batch, _WHOLE, key)
    if found is not None:
        return found
    arrays = [np.empty(shape) for shape in shapes]
    fill(*arrays)
    if isinstance(batch, WithCache):
        batch.cache.keep(_WHOLE, key, arrays, most=1, whole=True)
    return arrays


_WHOLE = "whole rows"
