"""Batches of naive Bayes: class tables add up, each batch pays for itself."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto.errors import BudgetError, DomainError
from discreto.models import GaussianNB, NaiveBayes
from discreto.models.interop import json as persist
from discreto.testing import simulate

COLUMNS = {
    "a": dp.Number(0, 1),
    "b": dp.Category(["u", "v"]),
    "y": dp.Category(["n", "y"]),
}
DOMAIN = dp.Domain(COLUMNS, target="y")


def data(rows=800, seed=0):
    coins = np.random.default_rng(seed)
    a, y = coins.uniform(0, 1, rows), coins.random(rows) < 0.4
    b = np.where(coins.random(rows) < np.where(y, 0.8, 0.3), "u", "v")
    return {"a": np.where(y, a**2, a), "b": b, "y": np.where(y, "y", "n")}


def table(rows, ledger=None, domain=DOMAIN):
    return dp.Table(rows, domain, ledger or simulate(noise=False))


def joined(*parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in DOMAIN}


def test_without_noise_batches_are_one_table():
    parts = [data(500, seed) for seed in range(3)]
    model = NaiveBayes(epsilon=1, shrink=False)
    for part in parts:
        model.partial_fit(table(part))
    whole = NaiveBayes(epsilon=1, shrink=False).fit(table(joined(*parts)))
    np.testing.assert_allclose(model.theta_, whole.theta_)
    np.testing.assert_allclose(model.var_, whole.var_)
    np.testing.assert_allclose(model.class_prior_, whole.class_prior_)
    assert model.class_count_.sum() == pytest.approx(1500)


@pytest.mark.slow
@pytest.mark.parametrize("shrink", [True, False])
def test_noise_adds_up_and_more_batches_are_better(shrink):
    truth = NaiveBayes(epsilon=1, shrink=False).fit(table(data(50_000, 99))).theta_
    model, noise, missed = NaiveBayes(epsilon="0.2", shrink=shrink), [], []
    for seed in range(12):
        model.partial_fit(table(data(600, seed), simulate(seed)))
        noise.append(model.class_sums_noise_)
        missed.append(float(np.abs(model.theta_ - truth).max()))
    np.testing.assert_allclose(noise, noise[0] * np.arange(1, 13))
    assert missed[-1] < missed[0]


def test_each_batch_pays_for_itself_and_nothing_else():
    first, second = dp.Ledger(epsilon=1), dp.Ledger(epsilon=1)
    model = NaiveBayes(epsilon=1).partial_fit(table(data(), first))
    assert [question.label for question in model.privacy_.plan] == ["class tables"]
    model.partial_fit(table(data(seed=1), second))
    assert first.total() == second.total() == 1
    before = model.class_sums_.copy()
    with pytest.raises(BudgetError):
        model.partial_fit(table(data(seed=2), second))
    np.testing.assert_array_equal(model.class_sums_, before)


def test_public_numbers_of_rows_add_up():
    model = NaiveBayes(epsilon=1, shrink=False)
    columns = {
        n: dp.Number(0, 1, missing=False)
        if isinstance(c, dp.Number)
        else dp.Category(c.categories, missing=False)
        for n, c in COLUMNS.items()
    }
    for rows in (300, 500):
        domain = dp.Domain(columns, target="y", neighbours="replace", rows=rows)
        model.partial_fit(table(data(rows, rows), simulate(rows), domain))
    assert model.class_count_.sum() == pytest.approx(800)


def test_fit_starts_afresh():
    model = NaiveBayes(epsilon=1, shrink=False).partial_fit(table(data()))
    model.partial_fit(table(data(seed=1))).fit(table(data(seed=2)))
    plain = NaiveBayes(epsilon=1, shrink=False).fit(table(data(seed=2)))
    np.testing.assert_array_equal(model.theta_, plain.theta_)
    model = NaiveBayes(epsilon=1).fit(table(data())).partial_fit(table(data(seed=1)))
    plain = NaiveBayes(epsilon=1).partial_fit(table(data(seed=1)))
    np.testing.assert_array_equal(model.theta_, plain.theta_)


def test_a_saved_model_goes_on_and_other_columns_are_refused():
    model = GaussianNB(epsilon=1)
    domain = dp.Domain({n: COLUMNS[n] for n in ("a", "y")}, target="y")
    model.partial_fit(table({n: data()[n] for n in domain}, domain=domain))
    again = persist.loads(persist.dumps(model))
    more = {n: data(seed=1)[n] for n in domain}
    for one in (model, again):
        one.partial_fit(table(more, domain=domain))
    np.testing.assert_array_equal(model.theta_, again.theta_)
    wide = domain.with_(columns=dict(domain.columns) | {"a": dp.Number(0, 2)})
    with pytest.raises(DomainError, match="partial_fit"):
        model.partial_fit(table(more, domain=wide))
