"""Whose row it is, and that a person moves no more rows than the domain says."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date
from decimal import Decimal
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreto as dp
from discreto.core.people import name_of
from discreto.data.frames import PersonFrame, open_frame
from discreto.data.frames.convert import people_of

BIG = 2**60
NAMES = [
    (1, "1"),
    (1.0, "1"),
    ("1", "1"),
    (True, "1"),
    (np.True_, "1"),
    (Decimal("1.0"), "1"),
    (np.int8(1), "1"),
    (np.float32(1), "1"),
    (b"1", "1"),
    (np.str_("1"), "1"),
    ("01", "01"),
    ("1.0", "1.0"),
    (" 1", " 1"),
    (False, "0"),
    (-0.0, "0"),
    (1.5, "1.5"),
    (Decimal("1.50"), "1.5"),
    ("1.5", "1.5"),
    (BIG + 1, str(BIG + 1)),
    (math.inf, "inf"),
    (Decimal("1e999999"), "1E+999999"),
    (date(2020, 1, 2), "2020-01-02"),
    (UUID(int=7), str(UUID(int=7))),
    (b"\xff", "\udcff"),
    ("nan", "nan"),
    ("NA", "NA"),
    (None, None),
    (math.nan, None),
    (pd.NA, None),
    (pd.NaT, None),
    ("", None),
    (b"", None),
    (Decimal("NaN"), None),
    (np.datetime64("NaT", "s"), None),
    ([1], None),
    ((1,), None),
    ({}, None),
    (1j, None),
    (object(), None),
]


@pytest.mark.parametrize(("value", "name"), NAMES, ids=lambda value: repr(value)[:20])
def test_identifiers_have_one_form(value: Any, name: str | None) -> None:
    assert name_of(value) == name


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([BIG, None, BIG + 1], dtype="Int64"),
        pl.Series([BIG, None, BIG + 1]),
        pa.array([BIG, None, BIG + 1]),
        [BIG, None, BIG + 1],
        [str(BIG), "", str(BIG + 1)],
    ],
    ids=["pandas", "polars", "pyarrow", "list", "texts"],
)
def test_an_id_that_lacks_does_not_round_the_others(column: Any) -> None:
    domain = dp.Domain({"id": dp.Opaque()}, person="id")
    for data in ({"id": column}, pa.table({"id": pa.array(column)})):
        found = open_frame(data, domain).raw("id").tolist()
        assert found == [str(BIG), None, str(BIG + 1)]


def test_numbers_are_numbers() -> None:
    assert people_of(np.array([3, 1])).tolist() == [3, 1]
    assert people_of(np.array([1.0, np.nan, 2.5])).tolist() == ["1", None, "2.5"]
    times = np.array(["2020-01-01", "NaT"], dtype="datetime64[s]")
    assert people_of(times).tolist() == ["2020-01-01T00:00:00", None]


def test_files_of_other_types_name_the_same_people(tmp_path: Path) -> None:
    domain = dp.Domain({"id": dp.Opaque(), "x": dp.Number(0, 9)}, person="id")
    (tmp_path / "a.csv").write_text("id,x\n1,1\n,2\n3,3\n")
    pq.write_table(pa.table({"id": [1, 2], "x": [1.0, 2]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": [1.0, None], "x": [1, 2]}), tmp_path / "c.parquet")
    paths = [tmp_path / name for name in ("a.csv", "b.parquet", "c.parquet")]
    frame = open_frame([str(path) for path in paths], domain)
    assert frame.raw("id").tolist() == ["1", None, "3", "1", "2", "1", None]
    kept = PersonFrame(frame, domain, bytes(range(24)))
    assert Counter(kept.raw("id").tolist()) == {"1": 1, "2": 1, "3": 1}


# Brute force: all small tables, each with and without each of its people

IDS = [None, 1, 1.0, "1", True, "b", math.nan, ""]


def counts(rows: tuple[Any, ...], most: int, key: bytes) -> np.ndarray:
    columns = {"id": dp.Opaque(), "x": dp.Category(["a", "b"])}
    domain = dp.Domain(columns, person="id", rows_per_person=most)
    ids = np.fromiter((row[0] for row in rows), dtype=object, count=len(rows))
    data = {"id": ids, "x": np.array([row[1] for row in rows], dtype=object)}
    codes = PersonFrame(open_frame(data, domain), domain, key).column("x")
    return np.bincount(codes, minlength=2)


@pytest.mark.parametrize("most", [1, 2])
def test_a_person_moves_at_most_her_rows(most: int) -> None:
    cells = list(product(IDS, "ab"))
    tables = list(combinations_with_replacement(cells, 3))
    for number, rows in enumerate(tables):
        key = number.to_bytes(8, "little") * 3
        whole = counts(rows, most, key)
        for person in {name_of(who) for who, _ in rows}:
            without = tuple(row for row in rows if name_of(row[0]) != person)
            moved = np.abs(whole - counts(without, most, key)).sum()
            assert moved <= (0 if person is None else most)
        # Whoever has no id: also one such row less moves nothing.
        for place, (who, _) in enumerate(rows):
            if name_of(who) is None:
                without = rows[:place] + rows[place + 1 :]
                assert np.array_equal(counts(without, most, key), whole)


def test_which_rows_of_a_person_stay_does_not_depend_on_their_order() -> None:
    """Rows that differ in any one column only, in every order."""
    numbers = {name: dp.Number(0, 9) for name in "xyz"}
    domain = dp.Domain({"id": dp.Opaque()} | numbers, person="id")
    for name in "xyz":
        rows = [dict.fromkeys("xyz", 5.0) | {name: float(i)} for i in range(4)]
        stay = set()
        for order in permutations(rows):
            data = {n: np.array([row[n] for row in order]) for n in "xyz"}
            frame = open_frame({"id": ["ana"] * 4} | data, domain)
            stay.add(
                float(PersonFrame(frame, domain, bytes(range(24))).column(name)[0])
            )
        assert len(stay) == 1
