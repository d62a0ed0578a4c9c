"""scikit-learn's own checks, with a reason for every one that fails by design."""

from __future__ import annotations

import warnings

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import discreto as dp
from discreto import models
from discreto.testing import simulate

EMPTY = (
    "an empty table is answered like any other: an error would tell that it is empty"
)
LABELS = "labels of training rows would be exact, so there is no labels_"
NO_ROWS = {"check_estimators_empty_data_messages": EMPTY}
WEIGHTS = {
    "check_all_zero_sample_weights_error": "an error would tell what the weights are",
    "check_sample_weight_equivalence_on_dense_data": "weights are bounded, by 1 here",
}
FAILS = {
    "KMeans": NO_ROWS | {"check_clustering": LABELS},
    "FuzzyCMeans": NO_ROWS | {"check_clustering": LABELS},
    "LinearRegression": NO_ROWS | WEIGHTS,
    "LogisticRegression": WEIGHTS,
    "GaussianNB": WEIGHTS,
    "GradientBoostingRegressor": NO_ROWS,
    "AutoRegressor": NO_ROWS,
}


def numeric(case):
    return "category" not in case.kinds


def few_steps(monkeypatch, kind):
    """A check of class weights asks for a thousand steps: forty do as well."""
    set_params = kind.set_params

    def fewer(self, **params):
        steps = params.get("max_iter")
        if isinstance(steps, int) and steps == 1000:
            params["max_iter"] = 40
        return set_params(self, **params)

    monkeypatch.setattr(kind, "set_params", fewer)


def test_estimator_checks(case, monkeypatch):
    if not numeric(case) or not case.checked:
        pytest.skip("scikit-learn's checks use numbers, and judge by means")
    few_steps(monkeypatch, getattr(models, case.name))
    expected = FAILS.get(case.name, {})
    # So much that two hundred rows are many: with less, a constant is all there is.
    model = case.make(ledger=simulate(noise=False), epsilon=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None)
    failed = {
        r["check_name"]: r["exception"] for r in results if r["status"] == "failed"
    }
    known = {r["check_name"] for r in results}  # older versions have fewer checks
    wrong = set(failed) ^ (set(expected) & known)
    assert not wrong, {name: repr(failed.get(name)) for name in wrong}


def test_pipelines_charge_the_ledger(case):
    if not numeric(case):
        pytest.skip("the transformer in this pipeline is for numbers")
    data = case.data(60)
    X = [[float(v) for v in row] for row in zip(*(data[n] for n in "abc"), strict=True)]
    y = None if case.target is None else list(data[case.target])
    ledger = dp.Ledger(epsilon=2)
    model = case.make(domain=case.domain(), ledger=ledger)
    pipeline = make_pipeline(FunctionTransformer(), model)
    pipeline.fit(X, y).predict(X)
    assert ledger.total() == 1


def test_a_missing_domain_is_an_error_that_shows_what_to_write(case):
    if not numeric(case):
        pytest.skip("a model of categories always needs a domain")
    model = getattr(models, case.name)(**{"epsilon": 1} | case.params)
    y = {"label": [0, 1], "amount": [0.0, 1.0]}.get(case.target)
    with pytest.raises(dp.errors.DomainError, match="bounds="):
        model.fit([[0.0, 1.0], [1.0, 0.0]], y)
