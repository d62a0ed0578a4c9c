"""A gap is a gap in every model: never the middle of the range.

Rows are in a corner of the range, a quarter of their numbers is missing. Without noise
a model that learned from them must be about as good as one that learned from complete
rows, and rows with gaps must be predicted from what they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import federated, models
from discreto.testing import simulate

ROWS = 1500
NAMES = ("a", "b", "c")
CENTRES = np.array([[8.0, 12.0, 6.0], [14.0, 7.0, 12.0]])
ACCURATE = {"label": 0.97, "amount": 0.8}
WITH_GAPS = {"label": 0.9, "amount": 0.5}
LEARNERS: dict[str, dict[str, Any]] = {
    "FederatedAveraging": {},
    "ProximalPoint": {},
    "GraphLearning": {"graph": "complete"},
}


def domain_of(target: str | None, *, missing: bool = True) -> dp.Domain:
    columns: dict[str, Any] = {n: dp.Number(0, 100, missing=missing) for n in NAMES}
    if target == "label":
        columns["label"] = dp.Category(["no", "yes"])
    elif target == "amount":
        columns["amount"] = dp.Number(0, 100)
    return dp.Domain(columns, target=target)


def made(seed: int, share: float, rows: int = ROWS) -> dict[str, Any]:
    coins = np.random.default_rng(seed)
    yes = coins.random(rows) < 0.4
    x = CENTRES[yes.astype(int)] + coins.normal(0, 1, (rows, 3))
    amount = 20 + 3 * x[:, 0] - x[:, 1] + coins.normal(0, 1, rows)
    x[coins.random(x.shape) < share] = np.nan
    data: dict[str, Any] = dict(zip(NAMES, x.T, strict=True))
    return data | {"label": np.where(yes, "yes", "no"), "amount": amount}


def chosen(data: dict[str, Any], domain: dp.Domain) -> dict[str, Any]:
    return {name: data[name] for name in domain}


def score(model: Any, data: dict[str, Any], target: str) -> float:
    found = model.predict(np.column_stack([data[name] for name in NAMES]))
    truth = data[target]
    if target == "label":
        return float(np.mean(found == truth))
    return float(1 - np.mean((found - truth) ** 2) / np.var(truth))


def check(model: Any, target: str) -> None:
    assert score(model, made(1, 0.0, 400), target) > ACCURATE[target]
    assert score(model, made(2, 0.25, 400), target) > WITH_GAPS[target]


def test_every_model_learns_from_gaps(case):
    if "number" not in case.kinds:
        pytest.skip("gaps of categories have a value of their own")
    domain = domain_of(case.target)
    table = dp.Table(chosen(made(0, 0.25), domain), domain, simulate(noise=False))
    model = case.make(epsilon=100).fit(table)
    if case.target is not None:
        check(model, case.target)
        return
    # The middle of the range is 40 away; without gaps centres are 0.1 away at most.
    apart = np.abs(model.cluster_centers_[:, None, :] - CENTRES).max(axis=2)
    assert apart.min(axis=0).max() < 1
    rows = made(3, 0.25, 400)
    found = model.predict(np.column_stack([rows[name] for name in NAMES]))
    one = (found == found[rows["label"] == "no"][0]) == (rows["label"] == "no")
    assert max(one.mean(), 1 - one.mean()) > 0.9


def test_every_model_that_asks_for_votes(asking):
    for name in asking:
        domain = domain_of("label")
        table = dp.Table(chosen(made(0, 0.25), domain), domain, simulate(noise=False))
        options = {"radius": 0.1} if "Radius" in name else {}
        model = getattr(models, name)(epsilon=10, **options).fit(table)
        for share in (0.0, 0.25):
            assert score(model, made(4, share, 30), "label") > 0.89, name


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("target", ["label", "amount"])
def test_every_learner_across_silos(name, target):
    domain, data = domain_of(target), made(0, 0.25, 3000)
    learner = getattr(federated, name)(epsilon=10, rounds=30, **LEARNERS[name])
    rows = chosen(data, domain)
    parts = [{n: v[start::3] for n, v in rows.items()} for start in range(3)]
    found = federated.simulate(learner, parts, domain, noise=False)
    check(found.models[0], target)
    again = federated.FederatedModel.from_dict(found.models[0].to_dict())
    asked = np.array([[np.nan, 7.0, 12.0]])
    np.testing.assert_array_equal(again.predict(asked), found.models[0].predict(asked))


def test_a_promise_that_is_broken_means_the_middle(case):
    """``missing=False``: NaN is the middle of the range, as documented."""
    if case.target is not None:
        pytest.skip("only distances were ever taken from the middle")
    domain = domain_of(case.target, missing=False)
    data = chosen(made(0, 0.25, 300), domain)
    filled = {
        n: np.nan_to_num(v, nan=50.0) if n in NAMES else v for n, v in data.items()
    }
    fits = [
        case.make().fit(dp.Table(rows, domain, simulate(7))) for rows in (data, filled)
    ]
    assert (fits[0].cluster_centers_ == fits[1].cluster_centers_).all()
    asked = np.column_stack([made(5, 0.0, 50)[name] for name in NAMES])
    np.testing.assert_array_equal(fits[0].predict(asked), fits[1].predict(asked))
