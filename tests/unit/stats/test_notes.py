"""Answers that say next to nothing say so, from what was released and is public."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import discreto as dp
from discreto.release.release import Release
from discreto.testing import simulate
from discreto.text.language import speaking

DOMAIN = dp.Domain({"kg": dp.Number(2, 250), "sex": dp.Category(["f", "m"])})
SEXES = ["f", "m"] * 1000
ASKED: dict[str, Callable[[dp.Table], Release]] = {
    "mean": lambda table: dp.stats.mean(table, "kg", epsilon=1),
    "by": lambda table: dp.stats.mean(table, "kg", by="sex", epsilon=1),
    "population": lambda table: dp.stats.mean(table, "kg", epsilon=1, population=True),
    "median": lambda table: dp.stats.median(table, "kg", epsilon=1),
    "quantiles": lambda table: dp.stats.quantile(table, "kg", [0.25, 0.75], epsilon=1),
    "sum": lambda table: dp.stats.sum(table, "kg", epsilon=1),
}


def table(weights: list[float]) -> dp.Table:
    return dp.Table({"kg": weights, "sex": SEXES}, DOMAIN, simulate(5))


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_about_values_that_were_not_read_says_so(name: str) -> None:
    found = ASKED[name](table([float("nan")] * 2000))
    assert "only about" in found.note
    assert "discreto domain check --owner" in str(found)
    assert Release.from_dict(found.to_dict()).note == found.note
    with speaking("fr"):
        assert "only about" not in str(found)


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_that_says_something_has_no_such_note(name: str) -> None:
    weights = np.random.default_rng(1).normal(70, 10, 2000).tolist()
    assert ASKED[name](table(weights)).note == ""


def test_a_sum_of_values_of_both_signs_may_well_be_nothing() -> None:
    domain = dp.Domain({"gain": dp.Number(-5, 5)})
    rows = dp.Table({"gain": [1.0, -1.0] * 500}, domain, simulate(0))
    assert dp.stats.sum(rows, "gain", epsilon=1).note == ""


def test_whole_numbers_past_the_machine_are_answered():
    table = dp.Table(
        {"age": [1.0, 2.0, 3.0]}, dp.Domain({"age": dp.Number(0, 100)}), simulate(1)
    )
    wide = "quantile(clip(ceil(sqrt(floor(fill(age, 1e150)))), 0, 7e149), 0.0001)"
    found = table.answer(dp.stats.sentence(wide), epsilon=1)
    assert found.low <= found.value <= found.high
