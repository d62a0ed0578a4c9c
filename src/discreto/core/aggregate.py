"""The exact fold: rows become bounded integers, and only then are added.

Whatever a feature map returns (NaN, infinities, nonsense), the clamp makes integers
that keep the promises of its ``Shape``. All arithmetic is on whole numbers below 2^53
held in float64, or in int64, so sums are exact and do not depend on the order of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreto.core import compiled
from discreto.core.domain.domain import Domain
from discreto.core.query import (
    Batch,
    Bound,
    BoundBlock,
    Everyone,
    Floats,
    Form,
    Ints,
    Ones,
    Shape,
    Sum,
)
from discreto.core.rounding import make_whole

BATCH_ROWS = 1 << 19  # the most rows folded at once; their codes add up exactly


def clamp(rows: Floats, shape: Shape) -> Floats:
    """Integers within ``shape``, in place: round, then clip, then shrink norms."""
    low, limit, total, reach = _bounds(shape)
    np.copyto(rows, 0.0, where=np.isnan(rows))
    make_whole(rows)
    np.clip(rows, low, limit, out=rows)
    if total >= 0:
        sizes = add_up(np.abs(rows) if shape.signed else rows)
        _shrink(rows, sizes, total, shape.width)
    if reach >= 0:
        _shrink(rows, np.sqrt(add_up(rows * rows)), reach, shape.width)
    return rows


def _bounds(shape: Shape) -> tuple[float, float, float, float]:
    """The least and largest number, and the largest l1 and l2 norm of a row.

    A norm that the limit alone bounds is -1: there is nothing to be done about it.
    """
    total = reach = -1.0
    if shape.total < shape.width * shape.limit:
        total = float(shape.total)
    if shape.square < min(shape.width * shape.limit**2, shape.total * shape.limit):
        reach = float(int(np.sqrt(np.float64(shape.square)) * (1 - 2.0**-40)))
    limit = float(shape.limit)
    return -limit if shape.signed else 0.0, limit, total, reach


def add_up(numbers: Floats) -> Floats:
    """Each row's numbers added up in a fixed order.

    ``sum(axis=0)`` takes another order for a single row than for several, so a row's
    sum could depend, in the last bit, on whether another row is there.
    """
    total = numbers[0].copy()
    for part in numbers[1:]:
        total += part
    return total


def _shrink(rows: Floats, norms: Floats, bound: float, width: int) -> None:
    """Scale rows of too large a norm down, toward zero; ``width`` covers rounding."""
    over = norms > bound
    if not over.any():
        return
    np.multiply(rows, max(bound - width, 0), out=rows, where=over)
    np.divide(rows, norms, out=rows, where=over)
    np.trunc(rows, out=rows, where=over)


def empty(asked: Bound) -> list[Ints]:
    """The answer for a table without rows, or one of its form."""
    if not asked.blocks:
        return [asked.query.empty(asked.domain)]
    return [np.zeros((asked.cells, b.width), dtype=np.int64) for b in asked.blocks]


def merge(asked: Bound, first: list[Ints], second: list[Ints]) -> list[Ints]:
    """The answer for two parts of a table together."""
    combine = add if asked.blocks else asked.query.merge
    return [combine(a, b) for a, b in zip(first, second, strict=True)]


def add(first: Ints, second: Ints) -> Ints:
    """Whole numbers added up, however large: past 64 bits they are Python's own."""
    if first.dtype == object or second.dtype == object:
        return first.astype(object) + second.astype(object)
    total = first + second
    if (((first ^ total) & (second ^ total)) < 0).any():  # one of them has wrapped
        return first.astype(object) + second.astype(object)
    return total


def checked(asked: Bound, found: list[Ints]) -> list[Ints]:
    """What an engine found, if it has the form of an answer; else a failure.

    Noise fits whole numbers in a table of a known size. Where the number of rows is
    public, no sum can be larger than so many rows make it.
    """
    rows = asked.domain.rows if asked.domain.neighbours == "replace" else None
    if not asked.blocks:
        return [_whole_table(table) for table in found]
    for part, table in zip(asked.blocks, found, strict=True):
        if _whole_table(table).shape != (asked.cells, part.width):
            raise ValueError("an engine returned a table of another size.")
        if rows is not None and isinstance(asked.query, Sum):
            most = _largest(part) * rows * asked.domain.rows_per_person
            if table.size and (table.max() > most or table.min() < -most):
                raise ValueError("an engine returned more than the rows add up to.")
    return found


def _whole_table(table: Ints) -> Ints:
    whole = isinstance(table, np.ndarray) and table.dtype in (np.int64, object)
    if not whole or (
        table.dtype == object and not all(isinstance(one, int) for one in table.flat)
    ):
        raise ValueError("an engine returned something other than whole numbers.")
    return table


def _largest(part: BoundBlock) -> int:
    """The largest number that one row can be in a sum."""
    limit, form = part.shape.limit, part.block.form
    return limit**2 if form == "gram" else 2 * limit if form == "pair" else limit


def narrowed(sums: Ints) -> Ints:
    """Whole numbers of any size in 64 bits, if all of them fit."""
    fits = all(-(1 << 63) <= number < 1 << 63 for number in sums.flat)
    return sums.astype(np.int64) if fits else sums


def bounded(sums: Ints) -> Ints:
    """Sums cut to 63 bits: no two tables' sums come farther apart by that."""
    if sums.dtype != object:
        return sums
    return np.clip(sums, -(1 << 62), 1 << 62).astype(np.int64)


def shown(noisy: Ints) -> Ints:
    """Noisy sums as they leave: in 64 bits, or as floats where they are too large."""
    if noisy.dtype != object:
        return noisy
    narrow = narrowed(noisy)
    return narrow.astype(np.float64) if narrow.dtype == object else narrow


def fold(asked: Bound, batch: Batch, length: int) -> list[Ints]:
    """The exact sums of one batch, one (cells x width) table for each block."""
    with np.errstate(all="ignore"):  # a warning would tell what is in the rows
        return _fold(asked, batch, length)


def _fold(asked: Bound, batch: Batch, length: int) -> list[Ints]:
    query, count, domain = asked.query, asked.cells, asked.domain
    if not asked.blocks:
        return [query.fold(batch, length, domain)]
    width = sum([part.shape.width for part in asked.blocks])
    fast = compiled.loops(length * width)
    if isinstance(query.cells, Everyone):
        place = None
    else:
        place = query.cells.codes(batch, domain)
        if fast is None:
            place = routed(place, count)
    cells = _Cells(place, count, length, fast)
    ways = _ways(asked)
    return [_block(way, batch, domain, cells) for way in ways]


def routed(place: Ints, count: int) -> Ints:
    """Cells of rows; whatever is none of ``count`` cells is one more."""
    return np.where((place >= 0) & (place < count), place, count)


class _Cells:
    """The cells of a batch: sums and counts by them, compiled or not."""

    def __init__(self, place: Ints | None, count: int, length: int, fast: Any) -> None:
        self.place, self.count, self.fast = place, count, fast
        self._length = length
        self._tally: Ints | None = None
        if fast is not None and place is not None:
            self.place = compiled.plain(place.astype(np.int64, copy=False), length)

    def tally(self) -> Ints:
        """How many rows each cell has."""
        if self._tally is None:
            self._tally = self._counted()
        return self._tally

    def _counted(self) -> Ints:
        if self.place is None:
            return np.array([self._length], dtype=np.int64)
        if self.fast is None:
            return np.bincount(self.place, minlength=self.count + 1)[: self.count]
        out = np.zeros(self.count + 1, dtype=np.int64)
        self.fast.count_cells(self.place, out)
        return out[: self.count]

    def sums(self, way: _Way, batch: Batch, domain: Domain) -> Ints:
        """The sums of clamped features in each cell."""
        features: Any = way.part.block.features
        shape, bounds = way.part.shape, way.bounds
        if self.fast is None:
            rows = clamp(features.rows(batch, domain), shape)
            if self.place is None:
                return rows.sum(axis=1)[None, :].astype(np.int64)
            return _by_cell(rows, self.place, self.count).astype(np.int64)
        place = _EVERYONE if self.place is None else self.place
        out = np.zeros((shape.width, self.count + 1), dtype=np.int64)
        added = (*bounds, place, out)
        for loop, name, facts, lines in way.loops:
            values = compiled.plain(batch[name], self._length)
            getattr(self.fast, loop)(values, *facts, *bounds, place, out[lines])
        if way.ones:
            codes = features.ones(batch, domain)
            codes = compiled.plain(codes, self._length, len(way.ones))
            self.fast.add_ones(codes, np.cumsum([0, *way.ones]), place, out)
        elif way.fused and features.add_to(batch, domain, self._length, added):
            if not way.checked:  # once for a question
                self._check_loop(way, batch, domain)
                way.checked.append(True)
        elif not way.loops:
            rows = features.rows(batch, domain)
            rows = _fitting(rows, shape.width, self._length)
            self.fast.add_clamped(rows, *added)
        return out[:, : self.count].T

    def _check_loop(self, way: _Way, batch: Batch, domain: Domain) -> None:
        """Raise if a map's own loop adds up other numbers than the clamp leaves.

        The first, middle and last rows of the batch are folded again in both ways.
        """
        features: Any = way.part.block.features
        middle, last = self._length // 2, self._length - 1
        some = np.unique(np.array([0, 1, middle, last])[: self._length])
        rows = {name: np.ascontiguousarray(batch[name][some]) for name in batch}
        place = _EVERYONE if self.place is None else self.place[some]
        out = np.zeros((way.part.shape.width, self.count + 1), dtype=np.int64)
        if not features.add_to(rows, domain, some.size, (*way.bounds, place, out)):
            return
        whole = clamp(features.rows(rows, domain), way.part.shape)
        if self.place is None:
            wanted = whole.sum(axis=1)[:, None]
        else:
            wanted = _by_cell(whole, routed(self.place[some], self.count), self.count).T
        if not np.array_equal(out[:, : self.count], wanted.astype(np.int64)):
            raise ValueError("a compiled loop adds up other numbers than its map.")


class _Way(NamedTuple):
    """How a block is folded: its bounds, and which compiled loops can be taken.

    ``loops`` make, clamp and add up the numbers of one column each: (loop, column,
    facts, lines). ``ones`` are how many codes each column has, where a row is nothing
    but a one for each of them; these are counted. ``fused``: whether the map has a loop
    that makes, clamps and adds up its numbers; ``checked``: whether it was compared.
    """

    part: BoundBlock
    bounds: tuple[float, float, float, float]
    loops: tuple[tuple[str, str, tuple[float, ...], slice], ...]
    ones: tuple[int, ...]
    fused: bool
    checked: list[bool]

    def held(self) -> int:
        """How many numbers of a row are held at once."""
        if self.loops or isinstance(self.part.block.features, Ones):
            return 0
        return len(self.ones) or self.part.shape.width


def _ways(asked: Bound) -> list[_Way]:
    """How each block is folded, worked out once for all batches."""
    if "ways" not in asked.kept:
        asked.kept["ways"] = [_way(part, asked.domain) for part in asked.blocks]
    ways: list[_Way] = asked.kept["ways"]
    return ways


def _way(part: BoundBlock, domain: Domain) -> _Way:
    features: Any = part.block.features
    bounds, loops, ones = _bounds(part.shape), (), ()
    if hasattr(features, "direct"):
        loops = features.direct(domain)
        # Several of them cannot see the norm of a whole row: it must have no bound.
        loops = loops if len(loops) == 1 or max(bounds[2:]) < 0 else ()
    if hasattr(features, "ones"):
        ones, shape = features.sizes(domain), part.shape
        # None of them is above the limit, all together are no more than the total.
        within = len(ones) <= min(shape.total, shape.square) and shape.limit >= 1
        ones = ones if within and sum(ones) == shape.width else ()
    own = type(features).__module__.startswith("discreto.core.maps.")
    fused = own and hasattr(features, "add_to") and not loops
    return _Way(part, bounds, loops, ones, fused, [])


def held(asked: Bound) -> int:
    """How many numbers of a row are held at once; none if loops add them up."""
    numbers = 0 if isinstance(asked.query.cells, Everyone) else 1
    return numbers + sum([way.held() for way in _ways(asked)])


def _fitting(rows: Floats, width: int, length: int) -> Floats:
    """Rows in one piece, to be written over: maps return fresh ones."""
    if rows.shape != (width, length):
        raise ValueError("a map gave numbers of another form than it promised.")
    return np.ascontiguousarray(rows, dtype=np.float64)


_EVERYONE = compiled.plain(np.empty(0, dtype=np.int64), 0)


def _block(way: _Way, batch: Batch, domain: Domain, cells: _Cells) -> Ints:
    block, shape = way.part.block, way.part.shape
    if isinstance(block.features, Ones):
        return _count_form(cells.tally(), block.form)
    if block.form == "gram":
        return _gram(_clamped(way.part, batch, domain, cells.fast), cells)
    whole = cells.sums(way, batch, domain)
    if block.form == "linear":
        return whole
    base = cells.tally()[:, None] * np.int64(shape.limit)
    return np.stack([base + whole, base - whole], axis=2).reshape(cells.count, -1)


def _clamped(part: BoundBlock, batch: Batch, domain: Domain, fast: Any) -> Floats:
    rows = part.block.features.rows(batch, domain)
    if fast is None:
        return clamp(rows, part.shape)
    rows = _fitting(rows, part.shape.width, rows.shape[1])
    fast.clamp(rows, *_bounds(part.shape))
    return rows


def _by_cell(rows: Floats, place: Ints, count: int) -> Floats:
    """Sums of whole numbers by cell; exact either way, so the quicker one is taken."""
    if count <= 32 and len(rows) >= 4:
        member = (place[:, None] == np.arange(count)).astype(np.float64)
        return (rows @ member).T
    parts = [np.bincount(place, weights=r, minlength=count + 1)[:count] for r in rows]
    return np.stack(parts, axis=1)


def _count_form(tally: Ints, form: Form) -> Ints:
    """Sums of forms of the constant 1."""
    tally = tally.astype(np.int64)[:, None]
    return np.hstack([2 * tally, 0 * tally]) if form == "pair" else tally


def _gram(rows: Floats, cells: _Cells) -> Ints:
    upper, count = np.triu_indices(rows.shape[0]), cells.count
    if cells.place is not None and count == 1:  # a row elsewhere adds nothing
        rows = rows if not cells.place.any() else rows * (cells.place == 0)
    if cells.place is None or count == 1:
        return (rows @ rows.T)[upper].astype(np.int64)[None, :]
    place = routed(cells.place, count)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(count + 1))
    rows = rows[:, order]
    out = np.empty((count, upper[0].size), dtype=np.int64)
    for cell in range(count):
        part = rows[:, ends[cell] : ends[cell + 1]]
        out[cell] = (part @ part.T)[upper]
    return out
