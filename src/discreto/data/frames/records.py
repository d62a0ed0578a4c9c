"""Text files cut into records, so that no record can change how another is read.

The public rule, whatever bytes a file holds:

* CR, LF and CRLF end a line. Of a line longer than ``Layout.record`` bytes the rest is
  left out. A line without any byte is no record.
* A line is a record. The only exception: a quoted field may hold line breaks if the
  whole record is well formed (RFC 4180), that is, if every quote opens or closes a
  field or is doubled inside of one, if there are as many fields as the header has, and
  if the record is no longer than ``Layout.record`` bytes. In any other record the
  first line break ends whatever is open.
* In a line that is not well formed a quote opens a field only as its first sign, and
  what follows the closing quote belongs to the field as it stands. Fields that lack are
  empty, those beyond the header's are left out. Bytes that are no UTF-8 become
  replacement signs.

Nothing here raises or warns because of a row. What one more record does to the others
is in ``docs/proofs/files.md``: nothing at all in well formed files.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 22  # bytes read at once
_QUOTE, _LF, _CR = 0x22, 0x0A, 0x0D
_BOM = b"\xef\xbb\xbf"
_TRIES = 64  # line breaks inside quotes that the quick way looks at, from the end

T = TypeVar("T")
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the bytes of a text file say where records and fields end; all public.

    In every encoding that is read, quotes, line breaks and separators are the bytes
    that they are in ASCII, and these bytes are nothing else.
    """

    separator: str = ","
    record: int = 1 << 24  # bytes of the longest record that is read whole
    encoding: str = "utf-8"

    @property
    def comma(self) -> bytes:
        """The separator as a byte."""
        return self.separator.encode("ascii")

    @property
    def borders(self) -> NDArray[np.bool_]:
        """The bytes that may stand outside of a quote that opens or closes."""
        table = np.zeros(256, dtype=np.bool_)
        table[[_QUOTE, _LF, _CR, self.comma[0]]] = True
        return table


def header(file: BinaryIO, layout: Layout) -> tuple[list[str], int] | None:
    """The names in the first record, and where the next begins; None if there is none.

    The header is the owner's, and public: its quotes have to close.
    """
    data = file.read(max(BLOCK, len(_BOM)))
    first = len(_BOM) if data.startswith(_BOM) and layout.encoding == "utf-8" else 0
    at, quotes = first, 0
    while True:
        stop = _first_break(data, at)
        # A break at the very end may be half of one.
        short = stop + 1 >= len(data) and stop - first <= layout.record
        if short and (more := file.read(BLOCK)):
            data += more
            continue
        quotes += data.count(b'"', at, stop)
        at = stop + (2 if data.startswith(b"\r\n", stop) else 1)
        if quotes % 2 == 0 or stop == len(data) or at - first > layout.record:
            break
    if quotes % 2 or stop - first > layout.record:
        return None
    line = data[first:stop]
    fields = split_line(line, layout.comma, line.count(layout.comma) + 1)
    return [field.decode(layout.encoding, "replace") for field in fields], at


def blocks(file: BinaryIO, layout: Layout) -> Iterator[bytes]:
    """The bytes of a file, of which no line is longer than the layout allows."""
    length = 0  # of the line that the blocks before left open
    # Only the first line of a block can be too long then.
    while data := file.read(min(BLOCK, layout.record)):
        stop, room = _first_break(data, 0), layout.record - length
        if stop > room:
            data = data[: max(room, 0)] + data[stop:]
        last = max(data.rfind(b"\n"), data.rfind(b"\r"))
        length = len(data) - last - 1 + (length if last < 0 else 0)
        yield data


def _first_break(data: bytes, start: int) -> int:
    """The place of the first line break, or the length of the data."""
    lf = data.find(b"\n", start)
    lf = len(data) if lf < 0 else lf
    cr = data.find(b"\r", start, lf)
    return lf if cr < 0 else cr


def _after_break(data: bytes, stop: int, over: bool) -> int:
    """Where the line of ``data[stop]`` begins; a last CR may be half a break."""
    if not over and stop == len(data) and data.endswith(b"\r"):
        stop -= 1
    lf = data.rfind(b"\n", 0, stop)
    return max(lf, data.rfind(b"\r", lf + 1, stop)) + 1


def quick_end(data: bytes, layout: Layout, over: bool) -> int | None:
    """The end of the whole records at the start of ``data``, if their quotes are right.

    Fields are not counted here; None if a quote is out of place.
    """
    stop = len(data) if over else _after_break(data, len(data), over)
    if b'"' not in data:
        return stop
    signs = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    for _ in range(_TRIES):
        count = int(np.searchsorted(quotes, stop))
        if count % 2 == 0:
            break
        if over:
            return None
        stop = _after_break(data, int(quotes[count - 1]), over)
    else:
        return None
    borders = layout.borders
    opening, closing = quotes[:count:2], quotes[1:count:2]
    opening = opening[1:] if count and opening[0] == 0 else opening
    closing = closing[:-1] if count and closing[-1] == len(data) - 1 else closing
    right = borders[signs[opening - 1]].all() and borders[signs[closing + 1]].all()
    return stop if right else None


def repair(data: bytes, layout: Layout, width: int, over: bool) -> tuple[bytes, int]:
    """Well formed records of ``width`` fields, and how much of ``data`` they stand for.

    What is left out at the end needs more data, unless the file is ``over``.
    """
    if over and data and data[-1] not in (_LF, _CR):
        data += b"\n"
    page = _Page(data, layout, over)
    odd = np.flatnonzero(page.quotes[1:] - page.quotes[:-1] & 1)
    joined = _joined(page, odd, width)
    lines = page.starts.size - 1
    if odd.size and not (joined.size and joined[-1]) and not over:
        open_since = int(page.starts[odd[-1]])
        if int(page.starts[-1]) - open_since <= layout.record:
            lines = int(odd[-1])  # its end may be yet to come
    # Lines of records that go over several lines are well formed, as are empty ones.
    change = np.zeros(page.starts.size + 1, dtype=np.int64)
    change[odd[:-1][joined]] += 1
    change[odd[1:][joined] + 1] -= 1
    alone = (np.cumsum(change)[:-2] == 0) & (page.stops > page.starts[:-1])
    first = np.arange(page.starts.size - 1)
    wrong = alone & ~page.right(first, first, width)
    out, done = [], 0
    for line in np.flatnonzero(wrong[:lines]).tolist():
        start, stop = int(page.starts[line]), int(page.stops[line])
        fields = split_line(data[start:stop], layout.comma, width)
        fields += [b""] * (width - len(fields))
        out.append(data[done:start])
        out.append(layout.comma.join(_quoted(field) for field in fields))
        done = stop
    end = int(page.starts[lines])
    return b"".join([*out, data[done:end]]), end


def _joined(page: _Page, odd: Places, width: int) -> NDArray[np.bool_]:
    """Which lines with an odd number of quotes end in the next such line.

    From the first to the last: a line that ends a record opens no other.
    """
    fits = page.right(odd[:-1], odd[1:], width)
    each = np.arange(fits.size)
    before = np.maximum.accumulate(np.where(fits, -1, each))
    out: NDArray[np.bool_] = fits & ((each - before) % 2 == 1)
    return out


class _Page:
    """Where lines, quotes and separators are in some bytes that begin a record."""

    def __init__(self, data: bytes, layout: Layout, over: bool) -> None:
        signs = np.frombuffer(data, dtype=np.uint8)
        breaks = np.flatnonzero((signs == _LF) | (signs == _CR))
        if breaks.size and not over and data.endswith(b"\r"):
            breaks = breaks[:-1]
        half = np.zeros(breaks.size, dtype=np.bool_)  # CR before LF
        half[:-1] = (signs[breaks[:-1]] == _CR) & (signs[breaks[:-1] + 1] == _LF)
        whole = breaks[~half]
        after = np.roll(half, 1)[~half]  # LF after CR
        self.starts = np.concatenate([[0], whole + 1])
        self.stops = whole - after
        self._record = layout.record
        signs = signs[: self.starts[-1]]
        quotes = np.flatnonzero(signs == _QUOTE)
        self.quotes = np.searchsorted(quotes, self.starts)
        commas = np.flatnonzero(signs == layout.comma[0])
        self._commas = np.searchsorted(commas, self.starts)
        inside = (np.searchsorted(quotes, commas) & 1).astype(np.bool_)
        self._outside = _sums(~inside), _sums(inside)
        borders = layout.borders
        opens = np.ones(quotes.size, dtype=np.bool_)
        opens[quotes > 0] = borders[signs[quotes[quotes > 0] - 1]]
        closes = borders[signs[quotes + 1]]  # a line break is the last of all signs
        even = np.arange(quotes.size) % 2 == 0
        self._faults = (
            _sums(~np.where(even, opens, closes)),
            _sums(~np.where(even, closes, opens)),
        )

    def right(self, first: Places, last: Places, width: int) -> NDArray[np.bool_]:
        """Whether lines up to others are well formed records of ``width`` fields."""
        start, stop = self.quotes[first], self.quotes[last + 1]
        begin, end = self._commas[first], self._commas[last + 1]
        even = start % 2 == 0
        faults = [sums[stop] - sums[start] for sums in self._faults]
        commas = [sums[end] - sums[begin] for sums in self._outside]
        out: NDArray[np.bool_] = (
            ((stop - start) % 2 == 0)
            & (np.where(even, *faults) == 0)
            & (np.where(even, *commas) == width - 1)
            & (self.stops[last] - self.starts[first] <= self._record)
        )
        return out


def _sums(flags: NDArray[np.bool_]) -> NDArray[np.int32]:
    out = np.zeros(flags.size + 1, dtype=np.int32)
    np.cumsum(flags, out=out[1:])
    return out


def _quoted(field: bytes) -> bytes:
    return b'"' + field.replace(b'"', b'""') + b'"'


def split_line(line: bytes, comma: bytes, most: int) -> list[bytes]:
    """The first fields of a line, whatever is in it."""
    fields: list[bytes] = []
    at = 0
    while len(fields) < most and at <= len(line):
        parts = []
        if line.startswith(b'"', at):
            at, opened = at + 1, True
            while opened:
                stop = line.find(b'"', at)
                opened = line.startswith(b'""', stop) and stop >= 0
                stop = len(line) if stop < 0 else stop
                parts.append(line[at : stop + opened])
                at = min(stop + 1 + opened, len(line))
        stop = line.find(comma, at)
        stop = len(line) if stop < 0 else stop
        fields.append(b"".join([*parts, line[at:stop]]))
        at = stop + 1
    return fields


def clean(data: bytes, encoding: str = "utf-8") -> bytes:
    """The same text in valid UTF-8: other bytes become replacement signs."""
    if data.isascii():
        return data
    if encoding != "utf-8":  # each byte is a letter
        return data.decode(encoding, "replace").encode()
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def tables(
    file: BinaryIO, layout: Layout, width: int, wanted: list[int]
) -> Iterator[Any]:
    """Arrow tables of texts: some fields of all records, a block at a time."""
    left = b""
    for data in chain(blocks(file, layout), [None]):
        left += data or b""
        table, left = _take(left, layout, width, wanted, over=data is None)
        if table is not None:
            yield table


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same things, each made while the one before is in use."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def _take(
    data: bytes, layout: Layout, width: int, wanted: list[int], over: bool
) -> tuple[Any, bytes]:
    """A table of the records that are whole, and the bytes of the others."""
    end = quick_end(data, layout, over) if len(data) <= layout.record else None
    if end is not None:
        table, right = _parse(data[:end], layout, width, wanted)
        if right:
            return table, data[end:]
    text, end = repair(data, layout, width, over)
    return _parse(text, layout, width, wanted)[0], data[end:]


def _parse(
    data: bytes, layout: Layout, width: int, wanted: list[int]
) -> tuple[Any, bool]:
    """A table of records, and whether all of them have ``width`` fields."""
    import pyarrow as pa
    from pyarrow import csv

    if not data:
        return None, True
    data = clean(data, layout.encoding)
    if data.startswith(_BOM):  # pyarrow would take a record's first sign for a mark
        data = b"\n" + data
    wrong: list[None] = []

    def pass_over(row: Any) -> str:
        wrong.append(None)
        return "skip"

    names = [str(place) for place in range(width)]
    table = csv.read_csv(
        pa.py_buffer(data),
        read_options=csv.ReadOptions(
            column_names=names, block_size=len(data) + 1, use_threads=False
        ),
        parse_options=csv.ParseOptions(
            delimiter=layout.separator,
            newlines_in_values=True,
            invalid_row_handler=pass_over,
        ),
        # Everything is read as text: a type guessed from rows would depend on rows.
        convert_options=csv.ConvertOptions(
            include_columns=[names[place] for place in wanted],
            column_types={names[place]: pa.string() for place in wanted},
            strings_can_be_null=False,
        ),
    )
    return table, not wrong
