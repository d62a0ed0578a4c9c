"""A student with a data frame: labels, gaps and text columns as they come."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto.errors import DomainError
from discreto.models import LinearRegression, LogisticRegression
from discreto.testing import simulate

COINS = np.random.default_rng(2)
ROWS = 3000
X = COINS.uniform(0, 300, ROWS)
Y = np.clip(10 + 0.5 * X + COINS.normal(0, 5, ROWS), 0, 200)


def test_labels_that_cannot_match_are_refused_for_free() -> None:
    ledger = dp.Ledger(epsilon=1)
    model = LogisticRegression(
        epsilon=1, bounds=(0, 300), classes=["no", "yes"], ledger=ledger
    )
    with pytest.raises(DomainError, match="none of its categories is a number"):
        model.fit(X[:, None], (X > 150).astype(int))
    assert ledger.spent() == dp.Cost()
    model.set_params(classes=[0, 1], ledger=simulate(0))
    fitted = model.fit(X[:, None], (X > 150).astype(int))
    assert fitted.score(X[:, None], (X > 150).astype(int)) > 0.9


def test_gaps_do_not_bend_a_line() -> None:
    """Eight of a hundred features missing: once they counted as 150."""
    gaps = X / 10  # far from the middle of the declared range
    missing = COINS.random(ROWS) < 0.08
    holed = np.where(missing, np.nan, gaps)
    domain = dp.Domain({"x": dp.Number(0, 300), "y": dp.Number(0, 200)}, target="y")
    frame = pd.DataFrame({"x": holed, "y": Y})
    model = LinearRegression(
        epsilon=100, method="functional", alpha=0, domain=domain,
        ledger=simulate(noise=False),
    )  # fmt: skip
    model.fit(frame[["x"]], frame["y"])
    slope, start = np.polyfit(gaps[~missing], Y[~missing], 1)
    assert model.coef_[0] == pytest.approx(slope, rel=1e-3)
    assert model.intercept_ == pytest.approx(start, rel=1e-2)


def test_a_mean_of_a_column_with_gaps() -> None:
    """The mean that newcomers got was 23.1 for a true 12.2."""
    crp = COINS.exponential(12, ROWS)
    crp[COINS.random(ROWS) < 0.08] = np.nan
    frame = pd.DataFrame({"crp": crp})
    truth, hits = frame.crp.mean(), 0
    for seed in range(200):
        domain = dp.Domain({"crp": dp.Number(0, 300)})
        table = dp.Table(frame, domain, simulate(seed))
        found = dp.stats.mean(table, "crp", epsilon="0.5")
        hits += found.low <= truth <= found.high
    assert hits >= 188


def test_values_are_inside_of_their_intervals() -> None:
    domain = dp.Domain({"g": dp.Category(list("abcdefgh")), "n": dp.Number(0, 9)})
    data = {"g": ["a"] * 50, "n": np.arange(50) % 10}
    for seed in range(30):
        table = dp.Table(data, domain, simulate(seed))
        counts = dp.stats.count(table, by="g", epsilon="0.1")
        assert (counts.low <= counts.value).all()
        assert (counts.value <= counts.high).all()
        assert (counts.value >= 0).all()
