"""Questions that a form of the pages stands for."""

from __future__ import annotations

import pytest

import discreto as dp
from discreto.testing import simulate

pytest.importorskip("fastapi", reason="fastapi is not installed")
from discreto.service.pages import body_of
from discreto.service.questions import read_work


@pytest.mark.parametrize(
    "name", ["age", "Weight kg", "a`b'c", "By", "where", "not", "Income €"]
)
def test_a_form_asks_for_a_column_with_any_name(name):
    fields = {"statistic": "mean", "column": name, "by": f"{name} 2", "epsilon": "1"}
    columns = {name: dp.Number(0, 9), f"{name} 2": dp.Category(["x", "y"])}
    rows = {name: [3.0, 5.0], f"{name} 2": ["x", "y"]}
    work = read_work(body_of(fields), lambda name: "")
    table = dp.Table(rows, dp.Domain(columns), simulate(0, noise=False))
    found = work.run(work.seen(table))["releases"][0]
    assert found["value"][:2] == pytest.approx([3, 5], abs=0.1)
