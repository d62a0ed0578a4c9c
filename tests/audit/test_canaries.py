"""What an attacker gains, beside what epsilon allows."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.audit import allowed_advantage, canary, membership
from discreto.errors import ParameterError, UnsafeError
from discreto.testing import simulate

DOMAIN = dp.Domain({"x": dp.Number(0, 1), "c": dp.Category(["u", "v"])}, target="c")


def rows(count, seed=0):
    coins = np.random.default_rng(seed)
    kind = coins.random(count) < 0.5
    return {
        "x": np.clip(coins.normal(0.4 + 0.2 * kind, 0.2), 0, 1),
        "c": np.where(kind, "v", "u").astype(object),
    }


def test_what_epsilon_allows():
    assert allowed_advantage(1) == pytest.approx(math.tanh(0.5))
    assert allowed_advantage(0, 0.1) == pytest.approx(0.1)
    assert allowed_advantage(1000) == 1


@pytest.mark.parametrize("row", [None, 3, {"x": 1.0, "c": "u"}])
def test_a_canary_stays_below_the_bound(row):
    model = models.GaussianNB(epsilon=1)
    found = canary(model, rows(20), DOMAIN, row=row, runs=200)
    assert not found.violation
    assert found.bound == pytest.approx(math.tanh(0.5))
    assert found.advantage_low <= found.advantage <= found.advantage_high
    assert found.auc_low <= found.auc <= found.auc_high
    assert str(found).startswith("SIMULATED")
    assert found.to_dict()["violation"] is False


def test_a_canary_is_found_where_nothing_protects_it():
    model = models.GaussianNB(epsilon=200)
    found = canary(model, rows(5), DOMAIN, runs=120)
    assert found.advantage > 0.8
    assert found.auc > 0.9


def test_a_canary_that_replaces_a_row():
    domain = DOMAIN.with_(neighbours="replace", rows=20)
    assert not canary(models.GaussianNB(epsilon=1), rows(20), domain, runs=60).violation
    with pytest.raises(ParameterError, match="a row to put in"):
        canary(models.GaussianNB(epsilon=1), rows(20), domain, row=3)


def test_a_row_that_is_not_there():
    with pytest.raises(ParameterError, match="no row 99"):
        canary(models.GaussianNB(epsilon=1), rows(20), DOMAIN, row=99)


def fitted(epsilon=1, ledger=None):
    table = dp.Table(rows(200), DOMAIN, ledger or simulate(1))
    return models.GaussianNB(epsilon=epsilon).fit(table)


def test_membership_of_a_private_model_shows_little():
    found = membership(fitted(), rows(200), rows(200, seed=9))
    assert not found.violation
    assert found.bound == pytest.approx(math.tanh(1))  # one row replaced: twice
    assert 0.3 < found.auc < 0.7


def test_membership_sees_a_model_that_remembers():
    model = fitted()
    known = {float(x) for x in rows(200)["x"]}

    def remembers(table):
        sure = np.array([float(row[0]) in known for row in table])
        right = np.where(sure, 1.0, 0.5)
        return np.column_stack([right, right])

    model.predict_proba = remembers
    found = membership(model, rows(200), rows(200, seed=9))
    assert found.violation
    assert found.auc > 0.9


def test_membership_of_clusters_and_numbers():
    domain = dp.Domain({"x": dp.Number(0, 1), "y": dp.Number(0, 1)}, target="y")
    data = {"x": rows(50)["x"], "y": rows(50, seed=2)["x"]}
    line = models.LinearRegression(epsilon=1).fit(dp.Table(data, domain, simulate(1)))
    assert not membership(line, data, data).violation
    flat = dp.Domain({"x": dp.Number(0, 1), "y": dp.Number(0, 1)})
    groups = models.KMeans(2, epsilon=1, random_state=0)
    groups.fit(dp.Table(data, flat, simulate(1)))
    assert membership(groups, data, data).auc == pytest.approx(0.5, abs=0.2)


def test_real_models_are_not_attacked():
    with pytest.raises(UnsafeError, match="simulate"):
        membership(fitted(ledger=dp.Ledger(epsilon=1)), rows(200), rows(200))


def test_too_few_rows():
    with pytest.raises(ParameterError, match="at least 8"):
        membership(fitted(), rows(4), rows(4))
