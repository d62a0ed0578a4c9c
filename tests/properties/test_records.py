"""No record of a text file changes how another is read, whatever bytes there are."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from discreto.data.frames import records
from discreto.data.frames.records import Layout, header, tables

QUIET = settings(deadline=None, max_examples=200)
Row = tuple[str, ...]


@contextmanager
def blocks_of(size: int) -> Iterator[None]:
    before, records.BLOCK = records.BLOCK, size
    try:
        yield
    finally:
        records.BLOCK = before


def read(
    data: bytes, width: int, block: int = 1 << 22, most: int = 1 << 24
) -> list[Row]:
    """The records that the package finds."""
    with blocks_of(block):
        form, wanted = Layout(record=most), list(range(width))
        parts = list(tables(io.BytesIO(data), form, width, wanted))
    return [
        row for part in parts for row in zip(*part.to_pydict().values(), strict=True)
    ]


# The public rule again, in the plainest words

FIELD = rb'(?:"(?:[^"]|"")*"|[^",\r\n]*)'
WELL_FORMED = re.compile(FIELD + rb"(?:," + FIELD + rb")*")


def fields(record: bytes, *, strict: bool) -> list[bytes] | None:
    out, at = [], 0
    if strict and not WELL_FORMED.fullmatch(record):
        return None
    while at <= len(record):
        field = b""
        if record[at : at + 1] == b'"':
            end = re.compile(rb'(?:[^"]|"")*').match(record, at + 1).end()
            field, at = record[at + 1 : end].replace(b'""', b'"'), end + 1
        stop = record.find(b",", at)
        stop = len(record) if stop < 0 else stop
        out.append(field + record[at:stop])
        at = max(stop, at) + 1
    return out


def lines_of(data: bytes, most: int) -> list[tuple[bytes, bytes]]:
    parts = [*re.split(rb"(\r\n|\r|\n)", data), b""]
    return [(a[:most], b) for a, b in zip(parts[::2], parts[1::2], strict=True)]


def spanning(lines: list[tuple[bytes, bytes]], i: int, j: int) -> bytes:
    return b"".join(a + b for a, b in lines[i:j]) + lines[j][0]


def edges(data: bytes, width: int, most: int) -> list[tuple[int, int, bool]]:
    """Neighbouring lines with odd numbers of quotes; can they be one record?"""
    lines = lines_of(data, most)
    odd = [i for i, (line, _) in enumerate(lines) if line.count(b'"') % 2]
    out = []
    for i, j in pairwise(odd):
        record = spanning(lines, i, j)
        found = fields(record, strict=True)
        out.append(
            (i, j, found is not None and len(found) == width and len(record) <= most)
        )
    return out


def by_the_rule(data: bytes, width: int, most: int = 1 << 24) -> list[Row]:
    lines = lines_of(data, most)
    ends = {i: j for i, j, fits in edges(data, width, most) if fits}
    out, i = [], 0
    while i < len(lines):
        j = ends.get(i, i)
        record = spanning(lines, i, j)
        if record:
            found = (fields(record, strict=False) + [b""] * width)[:width]
            out.append(tuple(field.decode("utf-8", "replace") for field in found))
        i = j + 1
    return out


# Small alphabets, so that the same few signs meet in every way
HOSTILE = st.one_of(
    st.text('",\n\rab', max_size=60).map(str.encode),
    st.lists(
        st.sampled_from(
            [b'"', b'""', b",", b"\n", b"\r\n", b'\n"', b'",', b',"', b"a", b'\n",b',
             b'"\n', b"\xff", b"\x00", b"\xef\xbb\xbf", "ü€".encode(), b"\xe2\x82"]
        ),
        max_size=40,
    ).map(b"".join),
    st.lists(  # lines that may open a record or end one
        st.sampled_from([b'",a', b'a,"', b'"', b'",', b',"b', b"a,b", b'",,"']),
        max_size=9,
    ).map(b"\n".join),
    st.binary(max_size=40),
)  # fmt: skip
WIDTH = st.integers(1, 3)
BLOCK = st.sampled_from([1, 2, 3, 7, 16, 1 << 22])
LINE = st.text('",ab', max_size=8).map(str.encode)


@QUIET
@given(HOSTILE, WIDTH, BLOCK, st.sampled_from([4, 9, 20, 1 << 24]))
def test_any_bytes_are_read_by_the_public_rule(
    data: bytes, width: int, block: int, most: int
) -> None:
    assert read(data, width, block, most) == by_the_rule(data, width, most)


TEXT = st.one_of(
    st.text(max_size=12).filter(lambda text: text.isprintable()),
    st.text('",\n\rab', max_size=12),
    st.sampled_from(
        ["x" * 50, "line\n" * 12, '"' * 9, "\ufeff", "\n,", ',\n"', "", "ü\r\n"]
    ),
)


def encodable(row: list[str]) -> bool:
    return all(text.encode("utf-8", "ignore").decode() == text for text in row)


ROWS = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(TEXT, min_size=width, max_size=width).filter(encodable), max_size=8
    ).map(lambda rows: (width, rows))
)


def written(rows: list[list[str]], quoting: int = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=quoting).writerows(rows)
    return text.getvalue().encode()


@QUIET
@given(ROWS, BLOCK, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_well_formed_files_are_read_as_csv_reader_does(
    table: tuple[int, list[list[str]]], block: int, quoting: int
) -> None:
    width, rows = table
    data = written(rows, quoting)
    found = read(data, width, block)
    assert found == [tuple(row) for row in rows]
    reader = csv.reader(io.StringIO(data.decode(), newline=""))
    assert found == [tuple(row) for row in reader if row]


@QUIET
@given(ROWS, BLOCK, st.data())
def test_one_record_more_is_that_record_and_nothing_else(
    table: tuple[int, list[list[str]]], block: int, data: st.DataObject
) -> None:
    width, rows = table
    new = data.draw(st.lists(TEXT, min_size=width, max_size=width).filter(encodable))
    place = data.draw(st.integers(0, len(rows)))
    longer = [*rows[:place], new, *rows[place:]]
    expected = read(written(rows), width, block)
    expected.insert(place, tuple(new))
    assert read(written(longer), width, block) == expected


PLAIN_START = st.one_of(
    st.text('",\n\rab', max_size=12).map(lambda text: "a" + text),
    st.text('",\n\rab', max_size=12).map(lambda text: '""a' + text),
    st.text('",ab', max_size=5),
)


@QUIET
@given(
    st.lists(st.tuples(PLAIN_START, PLAIN_START), max_size=8), LINE, BLOCK, st.data()
)
def test_any_line_among_ordinary_texts_is_one_record_more(
    rows: list[tuple[str, str]], line: bytes, block: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(rows)))
    before, after = written(rows[:place]), written(rows[place:])  # type: ignore[arg-type]
    whole = read(before + after, 2, block)
    more = read(before + line + b"\n" + after, 2, block)
    assert more[:place] + more[place + bool(line) :] == whole
    assert len(more) == len(whole) + bool(line)


def touched(data: bytes, width: int, line: int) -> int:
    """How many lines the runs at a place of a file have."""
    found, runs = edges(data, width, 1 << 24), []
    for i, j, fits in found:
        if fits and runs and runs[-1][1] == i:
            runs[-1] = (runs[-1][0], j)
        elif fits:
            runs.append((i, j))
    odd = sorted({i for i, _, _ in found} | {j for _, j, _ in found})
    near = [i for i in odd if i < line][-1:] + [i for i in odd if i >= line][:2]
    hit = [run for run in runs if any(run[0] <= i <= run[1] for i in near)]
    return sum(j - i + 1 for i, j in hit)


@QUIET
@given(HOSTILE, LINE, WIDTH, st.data())
def test_a_line_more_moves_no_record_beyond_the_runs_it_touches(
    data: bytes, line: bytes, width: int, draw: st.DataObject
) -> None:
    # The lines with one sort of break, so that a new one joins no half breaks.
    lines = [part for part, _ in lines_of(data, 1 << 24)]
    place = draw.draw(st.integers(0, len(lines)))
    longer = b"\n".join([*lines[:place], line, *lines[place:]])
    data = b"\n".join(lines)
    one, two = Counter(read(data, width)), Counter(read(longer, width))
    moved = ((one - two) + (two - one)).total()
    # Two lines or more are a record of a run; each is one by itself where it is broken.
    runs = touched(data, width, place) + touched(longer, width, place)
    assert 2 * moved <= 3 * runs + 2


def test_a_line_inside_of_a_record_breaks_it_into_lines() -> None:
    whole, broken = b'"\n"', b'"\n"a"\n"'
    assert read(whole, 1) == [("\n",)]
    assert read(broken, 1) == [("",), ("a",), ("",)]
    assert (touched(whole, 1, 1), touched(broken, 1, 1)) == (2, 0)


@QUIET
@given(HOSTILE, BLOCK)
def test_any_bytes_have_a_header_or_none(data: bytes, block: int) -> None:
    with blocks_of(block):
        found = header(io.BytesIO(data), Layout(record=1 << 10))
    if found is not None:
        names, start = found
        assert len(names) >= 1
        assert start <= len(data) + 1
        assert data[:start].count(b'"') % 2 == 0


def test_a_header_may_hold_line_breaks_and_a_mark() -> None:
    for block in (1, 2, 3, 1 << 22):
        with blocks_of(block):
            file = io.BytesIO(b'\xef\xbb\xbf"a\r\nb",c\r\n1,2\r\n')
            assert header(file, Layout()) == (["a\r\nb", "c"], 13)
            assert header(io.BytesIO(b'a,"b\n1,2\n'), Layout()) is None
