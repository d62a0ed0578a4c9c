"""Whatever is in a table, reading it neither raises nor warns, row by row."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core.domain.domain import Category, Number
from discreto.core.maps import Bins, Categories, Cross, Values
from discreto.core.query import Block, Everyone, Sum, inside
from discreto.data.engines import LocalEngine
from discreto.data.frames import PersonFrame, open_frame

QUIET = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Odd:
    """An object that fails at everything."""

    def __float__(self) -> float:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


HOSTILE = st.one_of(
    st.none(),
    st.floats(),
    st.integers(),
    st.booleans(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.sampled_from(
        [
            "1e5", "", "nan", "inf", "-1", "1_0", "٣", "a", "b", "true", "\ud800",
            10**400, -(2**63), 2**64, Decimal("1.5"), Decimal("NaN"), Fraction(1, 3),
            [1], [], {}, (1, 2), {"a": 1}, 1j, pd.NA, pd.NaT, np.float32(0.1), Odd(),
            np.datetime64("2020-01-01"), pd.Timestamp("2020-01-01"), np.array([1.0]),
            np.array(3), float("nan"), -0.0, math.inf,
        ]
    ),
)  # fmt: skip
DOMAIN = dp.Domain(
    {
        "x": Number(-2, 10),
        "k": Number(0, 3, integer=True),
        "c": Category(("a", "b", 1)),
    },
    dialect=dp.Dialect(),  # texts may stand for numbers
)
QUERY = Sum(Cross(Categories(("c",)), Bins("k", 4)), (Block(Values(("x",)), "pair"),))
EVERYONE = Sum(Everyone(), (Block(Values(("x", "k"))),))


def objects(values: list[Any]) -> np.ndarray:
    return np.fromiter(values, dtype=object, count=len(values))


def read(data: Any, domain: dp.Domain = DOMAIN) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = open_frame(data, domain)
        engine = LocalEngine(1)
        engine.fold(inside(EVERYONE, domain), frame)
        engine.fold(inside(QUERY, domain), frame)
        return [frame.column(name) for name in domain]


@QUIET
@given(st.lists(HOSTILE, max_size=12))
def test_hostile_values(values: list[Any]) -> None:
    column = objects(values)
    whole = read(dict.fromkeys(DOMAIN, column))
    frame = pd.DataFrame(dict.fromkeys(DOMAIN, column), dtype=object)
    for one, other in zip(whole, read(frame), strict=True):
        np.testing.assert_array_equal(one, other)
    # A row is read the same whatever its neighbours are.
    for i in range(len(values)):
        alone = read(dict.fromkeys(DOMAIN, column[i : i + 1]))
        for one, other in zip(whole, alone, strict=True):
            np.testing.assert_array_equal(one[i : i + 1], other)


DIALECTS = [
    dp.Dialect(
        separator=";",
        decimal=decimal,
        dates=form,
        missing=["-1", "a", "2020-01-01", "inf", "1,5", "1.5"],
        symbols=["%"],
        brackets=True,
    )
    for decimal, form in [(".", "d.m.yy"), (",", "excel"), (".", "epoch"), (",", "dmy")]
]
SPELT = ["-1.0", "-1,0", "5%", "(1)", "1.2.20", "43831", "1.1.2020", b"-1", b"a"]


@QUIET
@given(
    st.sampled_from(DIALECTS), st.lists(HOSTILE | st.sampled_from(SPELT), max_size=8)
)
def test_hostile_values_in_a_dialect(dialect: dp.Dialect, values: list[Any]) -> None:
    columns = dict(DOMAIN.columns) | {"d": dp.Date("2019-01-01", "2021-01-01")}
    domain = dp.Domain(columns | {"p": dp.Opaque()}, person="p", dialect=dialect)
    names = list(columns)

    def cells(some: np.ndarray) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = open_frame(dict.fromkeys(domain, some), domain)
            return [*(frame.column(name) for name in names), frame.raw("p")]

    whole = cells(objects(values))
    for i in range(len(values)):
        alone = cells(objects(values[i : i + 1]))
        for one, other in zip(whole, alone, strict=True):
            np.testing.assert_array_equal(one[i : i + 1], other)


@QUIET
@given(st.lists(st.one_of(st.none(), st.floats(), st.text(max_size=3)), max_size=8))
def test_lists_are_read_like_objects(values: list[Any]) -> None:
    expected = read(dict.fromkeys(DOMAIN, objects(values)))
    for one, other in zip(read(dict.fromkeys(DOMAIN, values)), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@QUIET
@given(st.lists(st.one_of(st.none(), st.floats(width=32)), max_size=10))
def test_frames_agree_on_numbers(values: list[float | None]) -> None:
    expected = read(dict.fromkeys(DOMAIN, objects(values)))
    typed = pa.array(values, pa.float64())
    tables = [
        pa.table(dict.fromkeys(DOMAIN, typed)),
        pl.DataFrame({n: pl.Series(n, values, dtype=pl.Float64) for n in DOMAIN}),
        pd.DataFrame({n: pd.array(values, dtype="Float64") for n in DOMAIN}),
        pd.DataFrame(
            {n: pd.array(values, dtype=pd.ArrowDtype(pa.float64())) for n in DOMAIN}
        ),
    ]
    for table in tables:
        for one, other in zip(read(table), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@QUIET
@given(st.lists(st.one_of(st.none(), st.text("ab1 .eü", max_size=3)), max_size=10))
def test_frames_agree_on_texts(values: list[str | None]) -> None:
    expected = read(dict.fromkeys(DOMAIN, objects(values)))
    tables = [
        pa.table(dict.fromkeys(DOMAIN, pa.array(values, pa.string()))),
        pl.DataFrame({n: pl.Series(n, values, dtype=pl.String) for n in DOMAIN}),
        pd.DataFrame({n: pd.array(values, dtype="string") for n in DOMAIN}),
        pd.DataFrame({n: pd.Categorical(values) for n in DOMAIN}),
    ]
    for table in tables:
        for one, other in zip(read(table), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@QUIET
@given(st.lists(st.binary(max_size=12), max_size=8))
def test_any_bytes_are_a_csv(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "hostile.csv"
    path.write_bytes(b"x,k,c\n1,1,a\n" + b"\n".join(lines) + b"\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = open_frame(path, DOMAIN)
        LocalEngine(1).fold(inside(QUERY, DOMAIN), frame)
        assert frame.column("x")[0] == 1


PEOPLE = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 3), st.sampled_from("ab")),
              st.sampled_from([0.0, 1.0, 2.5, -0.0, math.nan])),
    max_size=12,
)  # fmt: skip


@QUIET
@given(PEOPLE, PEOPLE, st.integers(1, 3), st.randoms(use_true_random=False))
def test_one_person_moves_few_rows(
    rows: list[Any], more: list[Any], most: int, coins: Any
) -> None:
    columns = {"id": dp.Opaque(), "x": Number(0, 3)}
    domain = dp.Domain(columns, person="id", rows_per_person=most)

    def kept(some: list[Any]) -> list[str]:
        data = {"id": objects([r[0] for r in some]), "x": objects([r[1] for r in some])}
        frame = PersonFrame(open_frame(data, domain), domain, bytes(range(24)))
        pairs = zip(frame.raw("id").tolist(), frame.column("x").tolist(), strict=True)
        return sorted(repr(pair) for pair in pairs)

    new = [("new", value) for _, value in more]
    together = [*rows, *new]
    coins.shuffle(together)
    before, after = kept(rows), kept(together)
    assert len(after) == len(before) + min(most, len(new))
    rest = [text for text in after if not text.startswith("('new'")]
    assert rest == before
