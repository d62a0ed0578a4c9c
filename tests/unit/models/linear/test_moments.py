"""Batches of a linear regression: sums add up, each batch pays for itself."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto.errors import BudgetError, DomainError, ParameterError
from discreto.models import LinearRegression
from discreto.models.interop import json as persist
from discreto.testing import simulate

DOMAIN = dp.Domain({"a": dp.Number(0, 1), "b": dp.Number(-1, 1), "y": dp.Number(0, 9)})
METHODS = [{"method": "weighted"}, {"method": "functional"}, {"fit_intercept": False}]
EVERY = pytest.mark.parametrize("options", METHODS, ids=str)


def data(rows=800, seed=0):
    coins = np.random.default_rng(seed)
    a, b = coins.uniform(0, 1, rows), coins.uniform(-1, 1, rows)
    return {"a": a, "b": b, "y": 3 + 2 * a - b + coins.normal(0, 0.2, rows)}


def table(rows, ledger=None, domain=DOMAIN):
    return dp.Table(rows, domain, ledger or simulate(noise=False))


def joined(*parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in DOMAIN}


@EVERY
def test_without_noise_batches_are_one_table(options):
    parts = [data(500, seed) for seed in range(3)]
    model = LinearRegression(epsilon=1, **options)
    for part in parts:
        model.partial_fit(table(part), "y")
    whole = LinearRegression(epsilon=1, **options).fit(table(joined(*parts)), "y")
    np.testing.assert_allclose(model.moments_, whole.moments_, rtol=1e-12)


def test_noise_adds_up_and_more_batches_are_better():
    model = LinearRegression(epsilon=1, method="weighted", alpha=0)
    noise, missed = [], []
    for seed in range(16):
        model.partial_fit(table(data(3000, seed), simulate(seed)), "y")
        noise.append(model.moments_noise_[0, 0])
        missed.append(np.abs(model.coef_ - [2, -1]).max())
    np.testing.assert_allclose(noise, noise[0] * np.arange(1, 17))
    assert missed[-1] < missed[0]


@EVERY
def test_each_batch_pays_for_itself(options):
    first, second = dp.Ledger(epsilon=1), dp.Ledger(epsilon=1)
    model = LinearRegression(epsilon=1, **options)
    model.partial_fit(table(data(), first), "y")
    model.partial_fit(table(data(seed=1), second), "y")
    assert first.total() == second.total() == 1
    before = model.moments_.copy()
    with pytest.raises(BudgetError):
        model.partial_fit(table(data(seed=2), second), "y")
    np.testing.assert_array_equal(model.moments_, before)


def test_fit_starts_afresh():
    model = LinearRegression(epsilon=1, method="weighted")
    model.partial_fit(table(data()), "y").partial_fit(table(data(seed=1)), "y")
    model.fit(table(data(seed=2)), "y")
    plain = LinearRegression(epsilon=1, method="weighted").fit(table(data(seed=2)), "y")
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_a_saved_model_goes_on():
    model = LinearRegression(epsilon=1, method="weighted")
    model.partial_fit(table(data()), "y")
    again = persist.loads(persist.dumps(model))
    for one in (model, again):
        one.partial_fit(table(data(seed=1)), "y")
    np.testing.assert_array_equal(model.coef_, again.coef_)


OTHER = {
    "bounds": DOMAIN.with_(columns=dict(DOMAIN.columns) | {"a": dp.Number(0, 2)}),
    "columns": DOMAIN.select(["a", "y"]),
}


@pytest.mark.parametrize("domain", OTHER.values(), ids=OTHER)
def test_other_columns_are_refused_for_free(domain):
    ledger = dp.Ledger(epsilon=1)
    model = LinearRegression(epsilon=1, method="weighted")
    model.partial_fit(table(data()), "y")
    rows = {name: data()[name] for name in domain}
    with pytest.raises(DomainError, match="earlier batches"):
        model.partial_fit(table(rows, ledger, domain), "y")
    assert ledger.total() == 0


def test_other_parameters_are_refused_for_free_or_add_up():
    ledger = dp.Ledger(epsilon=1)
    model = LinearRegression(epsilon=1, method="weighted")
    model.partial_fit(table(data()), "y")
    with pytest.raises(ParameterError, match="fit_intercept"):
        model.set_params(fit_intercept=False).partial_fit(table(data(), ledger), "y")
    assert ledger.total() == 0
    model.set_params(fit_intercept=True, alpha=0)  # asks for no mean of the target
    model.partial_fit(table(data(seed=1)), "y")
    np.testing.assert_allclose(model.coef_, [2, -1], atol=0.1)


def test_looks_at_residuals_do_not_add_up():
    assert not hasattr(LinearRegression(epsilon=1), "partial_fit")
    with pytest.raises(AttributeError):
        LinearRegression(epsilon=1).partial_fit(table(data()), "y")
