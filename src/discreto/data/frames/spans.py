"""Row groups of files as spans: a line for a file, however many groups it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from discreto.data.frames.file_states import FileState

# A file and one of its row groups or batches; text files are read whole (None).
Unit = tuple[str, int | None]


class Span(NamedTuple):
    """Some parts of a file, one after the other, and about how many bytes they take."""

    path: str
    start: int
    stop: int
    size: int
    whole: bool = False  # a file without parts, which is read from end to end
    state: FileState | None = None  # of the file, when its table was opened

    @property
    def groups(self) -> Sequence[int | None]:
        """The numbers of the parts, or None for a file that is read whole."""
        return (None,) if self.whole else range(self.start, self.stop)

    def some(self, start: int, stop: int) -> Span:
        """Return the parts from one to another, counted from the first of the span."""
        many = self.stop - self.start
        size = self.size * stop // many - self.size * start // many
        first, last = self.start + start, self.start + stop
        return self._replace(start=first, stop=last, size=size)


def span_of(path: str, parts: Sequence[int | None], state: FileState) -> Span:
    """Return all parts of a file."""
    whole = list(parts[:1]) == [None]
    return Span(path, 0, len(parts), max(state.size, 1), whole, state)


def lone_span(unit: Unit, state: FileState | None = None) -> Span:
    """Return one part of a file by itself."""
    path, group = unit
    return Span(path, group or 0, (group or 0) + 1, 1, group is None, state)


def units_of(spans: Sequence[Span]) -> Iterator[Unit]:
    """Yield the parts of all spans, one by one."""
    return ((span.path, group) for span in spans for group in span.groups)


def cut(spans: Sequence[Span], parts: int) -> list[tuple[int, list[Span]]]:
    """Return at most ``parts`` lists of spans of about equal size, none of them empty.

    Each comes with the number of its first unit.
    """
    ends = sorted({0, *_ends(spans, parts)})
    return [(a, _between(spans, a, b)) for a, b in pairwise(ends)]


def _ends(spans: Sequence[Span], parts: int) -> Iterator[int]:
    """Yield the numbers of units at which parts of the same size end."""
    total, part, bytes_before, units_before = sum(s.size for s in spans), 1, 0, 0
    for span in spans:
        many = span.stop - span.start
        while part < parts and total * part // parts < bytes_before + span.size:
            inside = total * part // parts - bytes_before
            yield units_before + (2 * inside * many + span.size) // (2 * span.size)
            part += 1
        bytes_before, units_before = bytes_before + span.size, units_before + many
    yield units_before


def _between(spans: Sequence[Span], start: int, stop: int) -> list[Span]:
    """Return the units from one number to another."""
    out, before = [], 0
    for span in spans:
        many = span.stop - span.start
        low, high = max(start - before, 0), min(stop - before, many)
        if low < high:
            out.append(span.some(low, high))
        before += many
    return out
