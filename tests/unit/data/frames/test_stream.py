"""What is in a file's rows never decides whether an answer comes."""

from __future__ import annotations

import csv
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreto as dp
from discreto.data.frames import open_frame
from discreto.errors import DomainError
from discreto.testing import simulate

DOMAIN = dp.Domain({"x": dp.Number(0, 1), "note": dp.Opaque()})


def count(path: Any) -> int:
    table = dp.Table(path, DOMAIN, simulate(noise=False))
    return int(dp.stats.count(table, epsilon=1).value)


def write(path: Path, rows: list[Any]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "note"])
        writer.writerows(rows)
    return path


def test_the_length_of_a_row_changes_nothing(tmp_path: Path) -> None:
    rows = [(0.5, "first line\nsecond " + "z" * 80)] * 45_000  # over two blocks
    for letters in (0, 45, 60):
        path = write(tmp_path / "a.csv", [(0.25, "x" * letters), *rows])
        assert count(path) == 45_001


@pytest.mark.parametrize("size", [1 << 20, 5 << 20, 9 << 20, 17 << 20])
def test_a_long_text_is_one_record(tmp_path: Path, size: int) -> None:
    rows: list[Any] = [(0.5, "hi")] * 100
    path = write(tmp_path / "a.csv", [*rows, (0.5, "y" * size), *rows])
    assert count(path) == 201
    if size < 16 << 20:
        lines = "y" * 60 + "\n"
        path = write(tmp_path / "a.csv", [*rows, (0.5, lines * (size // 61)), *rows])
        assert count(path) == 201


@pytest.mark.parametrize(
    "line", ['0.5,"oops', '"', '0.5,10"', ',"', '0.5,"a"b"', '""",']
)
def test_a_quote_out_of_place_is_one_record(tmp_path: Path, line: str) -> None:
    clean = ["0.5,hello"] * 500
    other = ['0.5,"hello, you"', '0.5,"two', 'lines"'] * 100
    for lines, rows in ((clean, 500), (other, 200), (clean * 2000, 1_000_000)):
        path = tmp_path / "a.csv"
        half = len(lines) // 6 * 3
        text = "\n".join(["x,note", *lines[:half], line, *lines[half:]])
        path.write_text(text)
        assert count(path) == rows + 1


def test_files_that_begin_with_somebodys_mark(tmp_path: Path) -> None:
    # A mark in the middle of a file is a sign like others, wherever a block ends.
    domain = dp.Domain({"c": dp.Category(["a", "\ufeffa"])})
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfc\n" + b"\xef\xbb\xbfa\n" * 3)
    assert open_frame(tmp_path / "a.csv", domain).column("c").tolist() == [1, 1, 1]


def test_every_file_of_a_pattern_may_hold_anything(tmp_path: Path) -> None:
    contents = [
        b"",
        b"\n\n",
        b'"',
        b"\xff\xfe\x00",
        b"0.5",
        b"1,2,3,4",
        b'"a\n',
        b"\r\r\n",
    ]
    for number, content in enumerate(contents):
        (tmp_path / f"{number}.csv").write_bytes(b"x,note\r\n" + content)
    assert count(str(tmp_path / "*.csv")) == 5


def test_a_header_must_name_each_column_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text in ("x,x,note\n1,2,3\n", 'x,"note\n1,2\n', "", "\nx,note\n"):
        path.write_text(text)
        with pytest.raises(DomainError):
            open_frame(path, DOMAIN)
    pair = pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    pq.write_table(pair, tmp_path / "a.parquet")
    with pytest.raises(DomainError, match="two columns 'x'"):
        open_frame(tmp_path / "a.parquet", dp.Domain({"x": dp.Number(0, 1)}))


def no_text(kind: Any) -> pa.Array:
    """The texts a, two bytes that are no UTF-8, and 2."""
    width = np.int64 if kind == pa.large_string() else np.int32
    places = pa.py_buffer(np.array([0, 1, 3, 4], dtype=width))
    return pa.Array.from_buffers(kind, 3, [None, places, pa.py_buffer(b"a\xff\xfe2")])


def coded(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), values)


nan = np.nan
COLUMNS: dict[str, tuple[pa.Array, list[float], list[int]]] = {
    "no UTF-8": (no_text(pa.string()), [nan, nan, 2], [0, -2, 1]),
    "large": (no_text(pa.large_string()), [nan, nan, 2], [0, -2, 1]),
    "coded": (coded(no_text(pa.string())), [nan, nan, 2], [0, -2, 1]),
    "coded numbers": (
        pa.array([1, None, 2]).dictionary_encode(),
        [1, nan, 2],
        [-2, -1, 1],
    ),
    "nothing": (pa.nulls(3), [nan] * 3, [-1] * 3),
    "truths": (pa.array([True, None, False]), [1, nan, 0], [-2, -1, -2]),
    "whole": (pa.array([1, None, 2], pa.uint64()), [1, nan, 2], [-2, -1, 1]),
    "half": (pa.array(np.array([1, nan, 2], np.float16)), [1, nan, 2], [-2, -1, 1]),
    "decimals": (
        pa.array([Decimal("1.5"), None, Decimal(2)]),
        [1.5, nan, 2],
        [-2, -1, 1],
    ),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("place", ["file", "table", "dict"])
def test_no_value_of_an_arrow_column_raises(
    kind: str, place: str, tmp_path: Path
) -> None:
    column, numbers, codes = COLUMNS[kind]
    data: Any = pa.table({"x": column})
    if place == "file":
        pq.write_table(data, tmp_path / "a.parquet", row_group_size=2)
        data = tmp_path / "a.parquet"
    elif place == "dict":
        data = {"x": column}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts = dp.Dialect()  # texts that stand for numbers
        domain = dp.Domain({"x": dp.Number(0, 3)}, dialect=texts)
        as_number = open_frame(data, domain).column("x")
        one = open_frame(data, dp.Domain({"x": dp.Category(["a", "2"])})).column("x")
        two = open_frame(data, dp.Domain({"x": dp.Category(["a", 2])})).column("x")
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            days = dp.Domain({"x": dp.Date("1990-01-01", "2030-12-31")})
            assert np.isnan(open_frame(data, days).column("x")).all()
    np.testing.assert_array_equal(as_number, numbers)
    assert one.tolist() == codes
    assert two.tolist() == codes


ODD = {
    "list": pa.array([[1]]),
    "bytes": pa.array([b"a"]),
    "large bytes": pa.array([b"a"], pa.large_binary()),
    "fixed bytes": pa.array([b"a"], pa.binary(1)),
    "date": pa.array([1], pa.date32()),
    "coded dates": coded(pa.array([1, 2, 3], pa.timestamp("s"))),
}


@pytest.mark.parametrize("kind", ODD)
def test_types_that_are_no_values_are_refused_with_or_without_rows(
    kind: str, tmp_path: Path
) -> None:
    for rows in (0, 1):
        table = pa.table({"x": ODD[kind].slice(0, rows)})
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(
            DomainError, match="'x' is a Number in the domain but holds"
        ):
            open_frame(tmp_path / "a.parquet", dp.Domain({"x": dp.Number(0, 3)}))
