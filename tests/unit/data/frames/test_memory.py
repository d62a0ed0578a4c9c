"""Whatever happens to the caller's data, a table keeps the rows that it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreto as dp
from discreto.data.frames import PersonFrame, open_frame
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "id": dp.Number(0, 9),
        "x": dp.Number(0, 9),
        "k": dp.Number(0, 9, integer=True),
        "c": dp.Category(["a", "b"]),
    },
    person="id",
    rows_per_person=2,
)
ROWS = 6


def arrays() -> dict[str, np.ndarray]:
    return {
        "id": np.array([1, 1, 1, 2, 2, 3]),
        "x": np.arange(6.0),
        "k": np.arange(6, dtype=np.int8),
        "c": np.array(list("ababab"), dtype=object),
    }


def spoil(data: dict[str, np.ndarray]) -> None:
    for name, values in data.items():
        values[:] = "b" if name == "c" else 9


Case = tuple[Any, Callable[[], None]]


def of_dict() -> Case:
    data = arrays()
    return data, lambda: spoil(data)


def of_views() -> Case:
    data = arrays()
    frozen = {name: values[:] for name, values in data.items()}
    for values in frozen.values():
        values.flags.writeable = False  # which does not bind the owner
    return frozen, lambda: spoil(data)


def of_lists() -> Case:
    data = {name: values.tolist() for name, values in arrays().items()}

    def change() -> None:
        for values in data.values():
            values[:] = values[::-1]

    return data, change


def of_pandas() -> Case:
    data = arrays()
    frame = pd.DataFrame(data, copy=False)

    def change() -> None:
        spoil(data)
        frame.loc[:, "x"] = 8.0
        frame.loc[:, "c"] = "b"

    return frame, change


def of_arrow() -> Case:
    data = arrays()
    return pa.table(data), lambda: spoil(data)  # numbers are views of numpy's


def of_polars() -> Case:
    data = arrays()
    numbers = {name: pl.Series(data[name]) for name in ("id", "x", "k")}
    frame = pl.DataFrame(numbers | {"c": data["c"].tolist()})

    def change() -> None:
        spoil(data)
        frame[0, "x"] = 9.0

    return frame, change


def of_buffers() -> Case:
    memory = bytearray(np.arange(6.0).tobytes())
    x = pa.Array.from_buffers(pa.float64(), ROWS, [None, pa.py_buffer(memory)])
    letters = bytearray(b"ababab")
    places = pa.py_buffer(np.arange(7, dtype=np.int32))
    c = pa.Array.from_buffers(pa.string(), ROWS, [None, places, pa.py_buffer(letters)])

    def change() -> None:
        memory[:] = bytes(len(memory))
        letters[:] = b"bbbbbb"

    return pa.table(pa.table(arrays()).to_pydict() | {"x": x, "c": c}), change


CASES = {
    "dict": of_dict,
    "read-only views": of_views,
    "lists": of_lists,
    "pandas": of_pandas,
    "pyarrow": of_arrow,
    "polars": of_polars,
    "buffers": of_buffers,
}


def content(frame: Any) -> list[list[Any]]:
    return [frame.column(name).tolist() for name in DOMAIN]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("asked", [False, True], ids=["before", "after"])
def test_changing_the_data_changes_nothing(
    case: Callable[[], Case], asked: bool
) -> None:
    data, change = case()
    frame = open_frame(data, DOMAIN)
    people = PersonFrame(open_frame(data, DOMAIN), DOMAIN, bytes(range(24)))
    untouched = open_frame(case()[0], DOMAIN)
    if asked:
        content(frame)
    change()
    assert content(frame) == content(untouched)
    assert frame.raw("id").tolist() == untouched.raw("id").tolist()
    whole = PersonFrame(untouched, DOMAIN, bytes(range(24)))
    assert content(people) == content(whole)
    assert people.length() == 5


def test_a_2d_array_is_copied() -> None:
    data = np.arange(8.0).reshape(4, 2)
    frame = open_frame(data, dp.Domain.cube(2))
    data[:] = 0
    assert frame.column("x1").tolist() == [1, 3, 5, 7]


class Fickle:
    """An object that is another number each time it is asked."""

    def __init__(self) -> None:
        self.turn = 0

    def __float__(self) -> float:
        self.turn += 1
        return float(self.turn)


def test_objects_are_asked_once() -> None:
    things = np.array([Fickle(), np.array(3.0)], dtype=object)
    frame = open_frame({"x": things}, dp.Domain({"x": dp.Number(0, 9)}))
    things[1][...] = 7.0
    assert frame.column("x").tolist() == [1.0, 3.0]
    assert things[0].turn == 1


def test_nobody_can_write_into_a_column() -> None:
    frame = open_frame(arrays(), DOMAIN)
    for name in DOMAIN:
        with pytest.raises(ValueError, match="read-only"):
            frame.column(name)[0] = 1
    for batch, _ in frame.batches(["x"], 4):
        with pytest.raises(ValueError, match="read-only"):
            batch["x"][0] = 1


def test_answers_do_not_follow_the_data() -> None:
    data = arrays()
    table = dp.Table(data, DOMAIN, simulate(noise=False))
    before = dp.stats.histogram(table, "c", epsilon=1).value
    spoil(data)
    assert np.array_equal(dp.stats.histogram(table, "c", epsilon=1).value, before)
