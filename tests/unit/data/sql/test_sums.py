"""The clamp of queries holds for whatever a translation returns."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.core import aggregate
from discreto.core.query import Shape
from discreto.data.frames import open_frame

pl = pytest.importorskip("polars")
pytest.importorskip("narwhals")

import narwhals as nw  # noqa: E402

from discreto.data.sql.columns import Columns  # noqa: E402
from discreto.data.sql.row_language import real  # noqa: E402
from discreto.data.sql.sums import clamp  # noqa: E402

DOMAIN = dp.Domain({"x": dp.Number(-20, 20), "y": dp.Number(-20, 20)})
LINE = [-9.0, -8.0, -7.5, -3.0, -0.5, 0.0, 2.5, 4.0, 6.49, 8.0, 12.0]
SHAPES = [
    Shape(2, 8),
    Shape(2, 8, signed=False),
    Shape(2, 8, total=9),
    Shape(2, 8, total=9, signed=False),
    Shape(2, 8, square=65),
    Shape(2, 8, total=10, square=50),
]


def rows_of(x: list[float], y: list[float]) -> Columns:
    frame = open_frame(pl.DataFrame({"x": x, "y": y}).lazy(), DOMAIN)
    return Columns(frame.backend, frame._frame, DOMAIN, ("x", "y"))


def shown(rows: Columns, numbers: list[Any]) -> Any:
    names = rows.named(numbers)
    return rows.frame.select(*names).collect("polars").to_native().to_numpy().T


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_are_clamped_as_in_the_core(shape: Shape) -> None:
    x, y = (list(side) for side in zip(*product(LINE, LINE), strict=True))
    rows = rows_of(x, y)
    found = shown(rows, clamp([rows.value("x"), rows.value("y")], shape, rows))
    assert np.array_equal(found, aggregate.clamp(np.array([x, y]), shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_null_does_not_hide_the_norm_of_its_row(shape: Shape) -> None:
    rows = rows_of([8.0, 8.0], [8.0, -8.0])
    missing = nw.when(rows.value("x") > real(99.0)).then(rows.value("x"))
    numbers = clamp([missing, rows.value("y") * real(9.0)], shape, rows)
    found = shown(rows, numbers)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= shape.limit
    assert np.abs(found).sum(axis=0).max() <= shape.total
    assert (found**2).sum(axis=0).max() <= shape.square


def test_a_translation_gives_as_many_numbers_as_its_map() -> None:
    rows = rows_of([1.0], [1.0])
    with pytest.raises(ValueError, match="another number"):
        clamp([rows.value("x")], Shape(2, 8), rows)
