"""A model refuses bounds and classes that it would not use."""

from __future__ import annotations

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.errors import ParameterError

DATA = {"x": np.linspace(0, 9, 40), "y": ["no", "yes"] * 20, "z": np.linspace(0, 5, 40)}
COLUMNS = {"x": dp.Number(0, 10), "y": dp.Category(["no", "yes"]), "z": dp.Number(0, 5)}
TWICE = [
    ("GaussianNB", {"bounds": (0, 1)}),
    ("GaussianNB", {"bounds": "abc"}),
    ("GaussianNB", {"classes": ["q", "w"]}),
    ("LogisticRegression", {"classes": ["no", "yes"]}),
    ("GradientBoostingClassifier", {"bounds": (0, 10)}),
    ("CategoricalNB", {"n_categories": 3}),
    ("AutoClassifier", {"bounds": (0, 1)}),
    ("LinearRegression", {"target_bounds": (0, 1)}),
    ("GradientBoostingRegressor", {"target_bounds": (0, 1)}),
    ("KMeans", {"bounds": (0, 1)}),
]


@pytest.mark.parametrize(("name", "extra"), TWICE)
def test_what_a_domain_says_is_not_said_twice(name, extra):
    target = "z" if "Regressor" in name or name == "LinearRegression" else "y"
    target = None if name == "KMeans" else target
    domain = dp.Domain(COLUMNS, target=target)
    ledger = dp.Ledger(epsilon=5)
    (parameter,) = extra
    kind = getattr(models, name)
    with pytest.raises(ParameterError, match=f"{parameter} must be left out") as first:
        kind(epsilon=1, **extra).fit(dp.Table(DATA, domain, ledger))
    assert "clip" in str(first.value)
    features = [n for n in COLUMNS if n != target]
    rows = np.column_stack([np.zeros(40) for _ in features])
    model = kind(epsilon=1, domain=domain, ledger=ledger, **extra)
    with pytest.raises(ParameterError, match=f"{parameter} must be left out") as second:
        model.fit(rows, None if target is None else DATA[target])
    assert "domain=" in str(second.value)
    assert not ledger.entries()


@pytest.mark.parametrize("bounds", ["abc", "ab", (0, 10**400), 3, (1, 2, 3)])
def test_bounds_that_are_no_bounds(bounds):
    rows = np.zeros((4, 2))
    with pytest.raises(ParameterError, match=r"bounds must be \(low, high\).*Got"):
        models.GaussianNB(epsilon=1, bounds=bounds, classes=[0, 1]).fit(
            rows, [0, 1, 0, 1]
        )
