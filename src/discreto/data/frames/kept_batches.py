"""Batches of a file that remember what was worked out for their rows.

A boosted ensemble asks about the same rows hundreds of times. Their codes, leaves and
scores are small; they are kept between questions (:mod:`discreto.data.frames.spill`),
and columns are read only where a question still needs them. A column that is read for
a second time is kept as well. The first question keeps nothing: it may be the only one
(:meth:`KeptFile.again`). What was kept for a row must not meet another one: a file that
was changed in between is not read (:mod:`discreto.data.frames.file_states`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.frame import Array
from discreto.core.maps._batch_cache import loaded
from discreto.data.frames.parquet import OpenedGroup, facts_of, opened_group
from discreto.data.frames.spans import Span
from discreto.data.frames.spill import LEAST, Spill, Stored

Read = Callable[[str], Array]  # a whole column of a part of a file
Place = tuple[int, int, int]  # a part of a file, and from which row to which


class KeptMemory(dict[str, Any]):
    """What maps keep for a batch, as pairs of keys and things; arrays are put away."""

    def __init__(self, spill: Spill) -> None:
        super().__init__()
        self._spill = spill

    def __setitem__(self, name: str, pairs: tuple[tuple[Any, Any], ...]) -> None:
        old = [part for _, thing in self.get(name, ()) for part in _stored(thing)]
        put = tuple([(key, self._put(thing)) for key, thing in pairs])
        super().__setitem__(name, tuple([pair for pair in put if pair[1] is not None]))
        still = {id(part) for _, thing in put for part in _stored(thing)}
        for part in old:
            if id(part) not in still:
                part.forget()

    def _put(self, thing: Any) -> Any:
        """The thing, or where it is; None without room."""
        if isinstance(thing, list):
            parts = [self._put(part) for part in thing]
            if all(part is not None for part in parts):
                return parts
            for part in _stored(parts):
                part.forget()
            return None
        if isinstance(thing, np.ndarray) and thing.nbytes >= LEAST:
            return self._spill.put(thing)
        return thing

    def forget(self) -> None:
        """Give all room back."""
        for name in list(self):
            self[name] = ()


def _stored(thing: Any) -> Iterator[Stored]:
    parts = thing if isinstance(thing, list) else [thing]
    return (part for part in parts if isinstance(part, Stored))


class KeptBatch(Mapping[str, Array]):
    """Some rows of a part of a file, each column read when it is asked for."""

    def __init__(
        self, names: tuple[str, ...], read: Read, rows: slice, memory: KeptMemory
    ) -> None:
        self._names, self._read, self._rows = names, read, rows
        self.memory = memory
        self._taken: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._taken:
            self._taken[name] = self._column(name)
        return self._taken[name]

    def _column(self, name: str) -> Array:
        key = f"column {name}"
        for _, thing in self.memory.get(key, ()):
            if thing is not _SEEN:
                out: Array = loaded(thing)
                return out
        values = self._read(name)[self._rows]
        again = key in self.memory
        self.memory[key] = (((), values if again else _SEEN),)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


_SEEN = "read once"  # in place of a column that was not kept yet


class KeptFile:
    """The memories of a file's batches, for all frames that read parts of it."""

    def __init__(self) -> None:
        self._spill = Spill()
        self._memories: dict[Place, KeptMemory] = {}
        self._asked: set[int] = set()
        self._facts: dict[str, Any] = {}

    def again(self, number: int) -> bool:
        """Whether a part was asked for before."""
        known = number in self._asked
        self._asked.add(number)
        return known

    def part(self, span: Span, names: Sequence[str], own: Domain) -> OpenedGroup | None:
        """A part of a file by itself; None if it has to be read from end to end."""
        if span.path not in self._facts:
            self._facts[span.path] = facts_of(span.path, span.state)
        return opened_group(span, names, own, self._facts[span.path])

    def memory(self, place: Place) -> KeptMemory:
        """What was kept for exactly these rows."""
        return self._memories.setdefault(place, KeptMemory(self._spill))


__all__ = ["KeptBatch", "KeptFile", "KeptMemory"]
