"""Intervals of any level, for the table or for the population behind it."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto import stats
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.testing import simulate

DOMAIN = dp.Domain({"x": dp.Number(0, 10), "g": dp.Category(["a", "b"])})
ASKED = {
    "mean": lambda t, **k: stats.mean(t, "x", **k),
    "share": lambda t, **k: stats.proportion(t, "x > 5", **k),
}


def sample(seed, rows=400):
    """Rows of one population."""
    rng = np.random.default_rng(seed)
    high = rng.random(rows) < 0.3
    x = np.where(high, rng.uniform(5.5, 8.5, rows), rng.uniform(0, 5, rows))
    return {"x": x, "g": np.where(rng.random(rows) < 0.5, "a", "b")}


MANY = sample(0, 1_000_000)["x"]
TRUTH = {"mean": MANY.mean(), "share": (MANY > 5).mean()}


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("name", ASKED)
def test_they_cover_the_population_as_often_as_they_say(name, level):
    ask, runs = ASKED[name], 400
    hits = 0
    for seed in range(runs):
        table = dp.Table(sample(1 + seed), DOMAIN, simulate(seed))
        found = ask(table, epsilon=2, population=True, level=level)
        hits += bool(found.covers(TRUTH[name]))
    assert abs(hits / runs - level) < 0.05  # 2.5 to 4.5 deviations


@pytest.mark.parametrize("name", ASKED)
def test_noise_alone_is_narrower_and_says_so(name):
    table = dp.Table(sample(1), DOMAIN, simulate(1))
    ask = ASKED[name]
    wide = ask(table, epsilon=2, population=True)
    own = ask(table, epsilon=2)
    assert wide.error > 1.5 * own.error
    assert "(95 %, population)" in str(wide)
    assert "(90 %)" in str(ask(table, epsilon=2, level=0.9))
    again = Release.from_dict(wide.to_dict())
    assert again.population
    assert again.level == 0.95
    groups = ask(table, by="g", epsilon=2, population=True)
    assert groups.keys[:2] == ("a", "b")
    with pytest.raises(ParameterError, match="level"):
        ask(table, epsilon=2, level=95)
