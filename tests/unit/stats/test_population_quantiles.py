"""Intervals of quantiles for the population that rows were drawn from."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto.errors import ParameterError
from discreto.testing import simulate

DOMAIN = dp.Domain({"x": dp.Number(0, 100, missing=False)})


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.5, 0.9])
@pytest.mark.parametrize(("rows", "epsilon"), [(300, 1), (2000, 0.3)])
def test_they_cover_the_quantile_of_the_population(chance, rows, epsilon):
    held, alone = 0, 0
    for seed in range(60):
        values = np.random.default_rng(seed).uniform(0, 100, rows)
        found = [
            dp.stats.quantile(
                dp.Table({"x": values}, DOMAIN, simulate(seed)),
                "x",
                chance,
                population=population,
                epsilon=epsilon,
            )
            for population in (True, False)
        ]
        wide, narrow = found
        assert wide.value == narrow.value
        assert (wide.population, narrow.population) == (True, False)
        assert wide.low <= narrow.low
        assert narrow.high <= wide.high
        held += wide.low <= 100 * chance <= wide.high
        alone += narrow.low <= 100 * chance <= narrow.high
    assert held >= 54  # 95 % of 60 are 57; fewer than 54 has a chance of .06
    assert held >= alone


def test_groups_and_lists_are_refused_before_anything_is_paid():
    ledger = simulate(0)
    table = dp.Table({"x": [1.0, 2.0]}, DOMAIN, ledger)
    with pytest.raises(ParameterError, match="population"):
        dp.stats.quantile(table, "x", [0.1, 0.9], population=True, epsilon=1)
    assert dp.stats.median(table, "x", population=True, epsilon=1).population
