"""Every kind of table gives the same exact sums."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import discreto as dp
from discreto.core.domain.domain import Category, Number
from discreto.core.maps import Categories, Values
from discreto.core.query import Block, Everyone, Ones, Sum, inside
from discreto.data.engines import LocalEngine
from discreto.data.frames import PersonFrame, convert, open_frame
from discreto.errors import DomainError

ROWS = 60
COINS = np.random.default_rng(1)
X = np.round(COINS.uniform(-3, 13, ROWS), 3)
K = COINS.integers(-2, 8, ROWS)
C = COINS.choice(["a", "b", "ü", "?"], ROWS)
B = COINS.random(ROWS) < 0.4
ABSENT = np.arange(ROWS) % 7 == 0
DOMAIN = dp.Domain(
    {
        "x": Number(0, 10, missing=True),
        "k": Number(0, 5, integer=True),
        "c": Category(("a", "b", "ü"), missing=True),
        "b": dp.Boolean(),
    }
)
QUERY = Sum(
    Categories(("c", "b")),
    (
        Block(Values(("x", "k")), share=Fraction(1, 3)),
        Block(Ones(), share=Fraction(1, 3)),
        Block(Values(("x",)), "pair", Fraction(1, 3)),
    ),
)


def lists() -> dict[str, list[Any]]:
    return {
        "x": [None if gone else float(x) for x, gone in zip(X, ABSENT, strict=True)],
        "k": K.tolist(),
        "c": [None if gone else str(c) for c, gone in zip(C, ABSENT, strict=True)],
        "b": B.tolist(),
    }


def fold(data: Any, domain: dp.Domain = DOMAIN, query: Sum = QUERY) -> list[np.ndarray]:
    return LocalEngine().fold(inside(query, domain), open_frame(data, domain))


def reference() -> list[np.ndarray]:
    x = np.where(ABSENT, np.nan, X)
    return fold({"x": x, "k": K, "c": lists()["c"], "b": B})


def write_csv(path: Path, comma: str = ",") -> Path:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=comma)
    names = list(DOMAIN)
    writer.writerow([*names, "extra"])
    for row in zip(*(lists()[name] for name in names), strict=True):
        writer.writerow(["" if part is None else part for part in (*row, "more")])
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def in_memory() -> dict[str, Any]:
    raw = lists()
    frame, arrow = pd.DataFrame(raw), pa.table(raw)
    codes = {"a": 0, "b": 1, "ü": 2}
    return {
        "dict of lists": raw,
        "dict of tuples": {name: tuple(part) for name, part in raw.items()},
        "dict of series": {name: pd.Series(part) for name, part in raw.items()},
        "dict of polars": {name: pl.Series(part) for name, part in raw.items()},
        "dict of arrow": {name: pa.array(part) for name, part in raw.items()},
        "dict of objects": {n: np.array(p, dtype=object) for n, p in raw.items()},
        "pandas": frame,
        "pandas numpy": frame.astype({"x": "float64", "c": "object"}),
        "pandas nullable": frame.convert_dtypes(),
        "pandas objects": frame.astype(object),
        "pandas categories": frame.astype({"c": "category", "k": "category"}),
        "pandas pyarrow": frame.convert_dtypes(dtype_backend="pyarrow"),
        "pandas float32 ints": frame.astype({"k": "float32"}),
        "polars": pl.DataFrame(raw),
        "polars categories": pl.DataFrame(raw).with_columns(
            pl.col("c").cast(pl.Categorical)
        ),
        "pyarrow": arrow,
        "pyarrow chunks": pa.concat_tables([arrow.slice(0, 7), arrow.slice(7)]),
        "pyarrow dictionary": arrow.set_column(
            2, "c", arrow["c"].combine_chunks().dictionary_encode()
        ),
        "decimals": arrow.to_pandas().assign(
            k=[Decimal(int(k)) for k in K],
            b=[int(b) for b in B],
        ),
        "texts": {name: [_text(part) for part in parts] for name, parts in raw.items()},
        "coded": raw | {"c": [codes.get(c, "none") for c in raw["c"]]},
    }


def _text(part: Any) -> str:
    return "" if part is None else str(part)


@pytest.mark.parametrize("kind", in_memory())
def test_same_sums_in_memory(kind: str) -> None:
    data, domain = in_memory()[kind], DOMAIN
    if kind == "coded":  # the same categories under other names
        columns = dict(DOMAIN.columns) | {"c": Category((0, 1, 2), missing=True)}
        domain = dp.Domain(columns)
    if kind in ("pandas objects", "decimals"):  # objects may be texts
        with pytest.raises(DomainError, match="holds texts"):
            open_frame(data, domain)
        domain = domain.with_(dialect=dp.Dialect())
    for found, expected in zip(fold(data, domain), reference(), strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_same_sums_of_arrays(order: Any) -> None:
    domain = dp.Domain({"x": DOMAIN["x"], "k": DOMAIN["k"], "b": DOMAIN["b"]})
    query = Sum(Categories(("b",)), (Block(Values(("x", "k"))),))
    columns = [np.where(ABSENT, np.nan, X), K, B]
    array = np.array(np.column_stack(columns), order=order)
    expected = fold(dict(zip("xkb", columns, strict=True)), domain, query)
    assert np.array_equal(fold(array, domain, query)[0], expected[0])
    objects = array.astype(object)
    assert np.array_equal(fold(objects, domain, query)[0], expected[0])
    with pytest.raises(DomainError, match="3 columns"):
        open_frame(array[:, :2], domain)


def test_same_sums_of_files(tmp_path: Path) -> None:
    arrow = pa.table(lists())
    pq.write_table(arrow, tmp_path / "all.parquet", row_group_size=11)
    pq.write_table(arrow.slice(0, 20), tmp_path / "part-1.parquet")
    pq.write_table(arrow.slice(20), tmp_path / "part-2.pq")
    (tmp_path / "part-2.pq").rename(tmp_path / "part-2.parquet")
    sources: list[Any] = [
        tmp_path / "all.parquet",
        str(tmp_path / "all.parquet"),
        str(tmp_path / "part-*.parquet"),
        [tmp_path / "part-1.parquet", str(tmp_path / "part-2.parquet")],
        write_csv(tmp_path / "all.csv"),
        write_csv(tmp_path / "all.tsv", "\t"),
    ]
    (tmp_path / "packed").mkdir()
    sources.append(tmp_path / "packed")
    with pa.ipc.new_file(tmp_path / "packed" / "1.arrow", arrow.schema) as file:
        file.write_table(arrow.slice(0, 20), max_chunksize=7)
    with pa.ipc.new_stream(tmp_path / "packed" / "2.feather", arrow.schema) as stream:
        stream.write_table(arrow.slice(20, 10))
    whole = (tmp_path / "all.csv").read_bytes().splitlines(keepends=True)
    with gzip.open(tmp_path / "packed" / "3.csv.gz", "wb") as packed:
        packed.write(b"".join([whole[0], *whole[31:51]]))
    with pa.output_stream(tmp_path / "packed" / "4.csv.zst", compression="zstd") as out:
        out.write(b"".join([whole[0], *whole[51:]]))
    for source in sources:
        for found, expected in zip(fold(source), reference(), strict=True):
            assert np.array_equal(found, expected)
        frame = open_frame(source, DOMAIN)
        assert frame.length() == ROWS
        assert np.array_equal(
            np.nan_to_num(frame.column("x"), nan=-1), np.where(ABSENT, -1, X)
        )


def test_broken_files_are_refused(tmp_path: Path) -> None:
    for path in ("nothing.csv", str(tmp_path / "*.parquet"), [], [3], tmp_path):
        with pytest.raises(DomainError):
            open_frame(path, DOMAIN)
    (tmp_path / "text.sav").write_text("x\n1\n")
    with pytest.raises(DomainError, match="no table that can be read"):
        open_frame(tmp_path / "text.sav", DOMAIN)
    with pytest.raises(DomainError, match="no table that can be read"):
        open_frame([tmp_path / "text.sav"], DOMAIN)
    (tmp_path / "bad.parquet").write_text("x\n1\n")
    with pytest.raises(DomainError, match="cannot be read"):
        open_frame(tmp_path / "bad.parquet", DOMAIN)
    (tmp_path / "less.csv").write_text("x,k\n1,2\n")
    with pytest.raises(DomainError, match="lacks the columns 'c', 'b'"):
        open_frame(tmp_path / "less.csv", DOMAIN)
    dates = pa.table(lists() | {"x": pa.array([None] * ROWS, pa.timestamp("s"))})
    pq.write_table(dates, tmp_path / "dates.parquet")
    nested = pa.table(lists() | {"x": [[1]] * ROWS})
    for odd in (tmp_path / "dates.parquet", dates, nested, dates.to_pandas()):
        with pytest.raises(
            DomainError, match="'x' is a Number in the domain but holds"
        ):
            open_frame(odd, DOMAIN)
    with pytest.raises(DomainError, match="cannot read a object"):
        open_frame(object(), DOMAIN)


def test_malformed_csv_lines_are_one_record_each(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    lines = [
        b"x,c",
        b"1,a",
        b"2",
        b"3,a,b,c",
        b"\xff\xfe,\xff",
        b"4,b",
        b"abc,a",
        b",b",
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    domain = dp.Domain({"x": Number(0, 10), "c": Category(("a", "b"))})
    frame = open_frame(path, domain)
    np.testing.assert_array_equal(
        frame.column("x"), [1, 2, 3, np.nan, 4, np.nan, np.nan]
    )
    np.testing.assert_array_equal(frame.column("c"), [0, -1, 0, -2, 1, 0, 1])
    assert frame.length() == 7
    path.write_text("x,c\n")
    assert open_frame(path, domain).length() == 0
    assert open_frame(path, domain).column("x").size == 0


KINDS: list[tuple[tuple[Any, ...], list[Any], list[int]]] = [
    ((1, 2), [1, 2, 3, 1], [0, 1, -2, 0]),
    ((1, 2), [1.0, 2.5, math.nan, 2.0], [0, -2, -1, 1]),
    ((1, 2), ["1", "2.0", "1e0", "x", " 2 "], [0, 1, 0, -2, 1]),
    ((1.5, 2.0), ["1.5", "2", "2.0", 2, 1.5], [0, 1, 1, 1, 0]),
    (("1", "2"), [1, 2, 3], [0, 1, -2]),
    (("1", "2"), [1, 2, None], [0, 1, -1]),
    (("1", "2"), ["1", "1.0", "2"], [0, -2, 1]),
    (("01", "1"), [1, "01", "1"], [0, 0, 1]),
    (("1", 1), [1, "1"], [1, 0]),
    ((False, True), [True, False, 1, 0, 2], [1, 0, 1, 0, -2]),
    ((False, True), ["true", "False", "TRUE", "1", "0", "no"], [1, 0, 1, 1, 0, -2]),
    (("a", "b"), [b"a", "b", None, 3, ["a"], ""], [0, 1, -1, -2, -2, -1]),
    (("x", 3, True), ["x", 3, "3", True, "true", 1.0], [0, 1, 1, 2, 2, 2]),
]


@pytest.mark.parametrize(("kinds", "values", "codes"), KINDS)
def test_categories(
    kinds: tuple[Any, ...], values: list[Any], codes: list[int], tmp_path: Path
) -> None:
    column = Category(kinds)
    domain = dp.Domain({"c": column})
    assert open_frame({"c": values}, domain).column("c").tolist() == codes
    # Each value alone gets the code that it gets in company.
    for value, code in zip(values, codes, strict=True):
        assert open_frame({"c": [value]}, domain).column("c").tolist() == [code]
    one = np.fromiter(values, dtype=object, count=len(values))
    assert convert(one, column).tolist() == codes
    if all(isinstance(value, str) for value in values):
        path = tmp_path / "c.csv"
        path.write_text("c,d\n" + "".join(f"{value},\n" for value in values))
        assert open_frame(path, domain).column("c").tolist() == codes


PEOPLE: list[list[Any]] = [
    [3, 3, 1, 3, 2, 1, 3],
    ["u", "u", "v", "u", "w", "v", "u"],
    [None, None, 1, None, 2, 1, None],
    [math.nan, math.nan, 1.5, math.nan, 2.5, 1.5, math.nan],
    [pd.NA, pd.NA, [1], pd.NA, "w", [1], pd.NA],
]


@pytest.mark.parametrize("ids", PEOPLE, ids=["int", "text", "None", "NaN", "odd"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_person_has_too_many_rows(ids: list[Any], most: int) -> None:
    domain = dp.Domain(
        {"id": dp.Opaque(), "x": Number(0, 10)}, person="id", rows_per_person=most
    )
    # Rows without an id, or with one that is no value, are left out.
    who = ["none" if str(i) in ("None", "nan", "<NA>", "[1]") else str(i) for i in ids]
    values = [1.0, 2, 3, 4, 5, 6, 7]

    def kept(order: list[int]) -> set[float]:
        data = {"id": [ids[i] for i in order], "x": [values[i] for i in order]}
        frame = PersonFrame(open_frame(data, domain), domain, bytes(range(24)))
        assert frame.length() == len(frame.column("x"))
        assert len(frame.raw("id")) == frame.length()
        return set(frame.column("x").tolist())

    first = kept(list(range(7)))
    counts = dict.fromkeys(who, 0)
    for name, value in zip(who, values, strict=True):
        counts[name] += value in first
    for name, count in counts.items():
        assert count == (0 if name == "none" else min(most, who.count(name)))
    for seed in range(8):  # the order of rows does not matter
        order = np.random.default_rng(seed).permutation(7).tolist()
        assert kept(order) == first
    for name in set(who):  # nor do other people
        without = [i for i in range(7) if who[i] != name]
        gone = {values[i] for i in range(7) if who[i] == name}
        assert first - kept(without) <= gone
        assert kept(without) <= first


def test_people_in_files(tmp_path: Path) -> None:
    ids = COINS.integers(0, 9, 500)
    table = pa.table({"id": ids, "x": np.arange(500) % 11.0, "c": C.repeat(9)[:500]})
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=64)
    from pyarrow import csv as arrow_csv

    arrow_csv.write_csv(table, tmp_path / "p.csv")
    columns = {"id": dp.Opaque(), "x": Number(0, 10), "c": Category(("a", "b", "ü"))}
    domain = dp.Domain(columns, person="id", rows_per_person=4)
    half = Fraction(1, 2)
    blocks = (Block(Ones(), share=half), Block(Values(("x",)), share=half))
    query = Sum(Everyone(), blocks)
    sums = []
    for source in (table, tmp_path / "p.parquet", tmp_path / "p.csv"):
        frame = PersonFrame(open_frame(source, domain), domain, b"k" * 24)
        sums.append(
            [part.tolist() for part in LocalEngine().fold(inside(query, domain), frame)]
        )
    assert sums[0] == sums[1] == sums[2]
    assert sums[0][0] == [[9 * 4]]


def test_threads_and_batches_do_not_matter() -> None:
    rows = 300_001
    data = {"x": np.linspace(-1, 11, rows), "c": np.resize(["a", "b"], rows)}
    domain = dp.Domain({"x": Number(0, 10), "c": Category(("a", "b"))})
    query = Sum(Categories(("c",)), (Block(Values(("x",)), "pair"),))
    frame = open_frame(data, domain)
    one = LocalEngine(1).fold(inside(query, domain), frame)
    for threads in (2, 3, 7):
        many = LocalEngine(threads).fold(inside(query, domain), frame)
        assert np.array_equal(one[0], many[0])


_STREAM = """
import resource, sys
import discreto as dp
from discreto.testing import simulate
table = dp.Table.scan(sys.argv[1], dp.Domain({"x": dp.Number(0, 1)}), simulate())
dp.stats.mean(table, "x", epsilon=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for part in sys.argv[2:]:
    table = dp.Table.scan(part, dp.Domain({"x": dp.Number(0, 1)}), simulate())
    dp.stats.mean(table, "x", epsilon=1)
    dp.stats.histogram(table, "x", epsilon=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_files_are_read_in_bounded_memory(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random(1 << 18)
    part = pa.table({"x": values})
    pq.write_table(part, tmp_path / "small.parquet")
    with pq.ParquetWriter(tmp_path / "large.parquet", part.schema) as writer:
        for _ in range(24):  # 48 MB of numbers
            writer.write_table(part)
    with open(tmp_path / "large.csv", "w") as text:
        text.write("x\n")
        for _ in range(8):
            text.writelines(f"{value:.17f}\n" for value in values)
    names = [str(tmp_path / name) for name in ("small.parquet", "large.parquet")]
    names.append(str(tmp_path / "large.csv"))
    done = subprocess.run(
        [sys.executable, "-c", _STREAM, *names],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert int(done.stdout) < 30_000  # kilobytes beyond a small table


ODD_NUMBERS = [
    *(
        "1",
        "-1",
        "0.5",
        "007",
        "1e5",
        "1E-05",
        "-0",
        "2.50",
        "9" * 30,
        "1e99",
        "12.5e-3",
    ),
    *(
        "",
        " 1",
        "1 ",
        "+1",
        "1.",
        ".5",
        "1e",
        "1.2.3",
        "--1",
        "1-2",
        "1e400",
        "9" * 400,
    ),
    *("nan", "inf", "-Infinity", "NA", "1_000", "1,5", "٣", "0x10", "1\n", "e5", None),
]


@given(st.lists(st.sampled_from(ODD_NUMBERS) | st.text(max_size=6), max_size=40))
def test_texts_are_read_as_python_reads_each(texts: list[str | None]) -> None:
    """Except for digits of other scripts and underscores, which are no numbers."""

    def alone(text: str | None) -> float:
        try:
            if text is None or "_" in text or not text.strip().isascii():
                return math.nan
            return float(text)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return math.nan

    found = convert(pa.array(texts, pa.string()), dp.Number(0, 1))
    assert_array_equal(found, [alone(text) for text in texts])


@pytest.mark.parametrize("value", [0.1, 1 / 3, 5e-12, 123456.789, 1e22, 2.0**-30])
def test_every_bit_of_a_number_in_a_text_counts(value: float) -> None:
    texts = pa.chunked_array([[repr(value), "x"], [repr(-value)]])
    assert_array_equal(
        convert(texts, dp.Number(0, 1)), np.array([value, math.nan, -value])
    )
