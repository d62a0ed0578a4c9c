"""Rows of one's own, as people have them: dicts of columns, words nobody declared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreto as dp
from discreto import federated, models
from discreto.errors import DomainError, ParameterError
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 100),
        "smoker": dp.Category(["no", "yes"]),
        "ill": dp.Category(["no", "yes"]),
    },
    target="ill",
)
ROWS = {"age": [35.0, 75.0], "smoker": ["no", "yes"]}


@pytest.fixture(scope="module", params=["NaiveBayes", "LogisticRegression"])
def model(request: pytest.FixtureRequest) -> Any:
    coins = np.random.default_rng(0)
    smoker = coins.random(500) < 0.4
    age = coins.uniform(0, 100, 500)
    ill = age / 100 + smoker > 0.9
    columns = {
        "age": age,
        "smoker": np.where(smoker, "yes", "no"),
        "ill": np.where(ill, "yes", "no"),
    }
    table = dp.Table(columns, DOMAIN, simulate(0))
    return getattr(models, request.param)(epsilon=5).fit(table)


def test_a_dict_of_columns_is_predicted_as_a_frame_is(model: Any) -> None:
    expected = model.predict_proba(pd.DataFrame(ROWS))
    # In any order, and with columns that the model does not know.
    rows = {"x": [1, 2], "smoker": ROWS["smoker"], "age": (35, 75)}
    np.testing.assert_array_equal(model.predict_proba(rows), expected)
    assert model.predict(rows).tolist() == model.predict(pd.DataFrame(ROWS)).tolist()


@pytest.mark.parametrize(
    ("rows", "kind", "words"),
    [
        ({"age": [35]}, DomainError, "lacks the column 'smoker'"),
        ({"age": 35, "smoker": "no"}, ParameterError, "'age' must be a list of values"),
        ({"age": [35, 40], "smoker": ["no"]}, ParameterError, "as many values"),
    ],
)
def test_dicts_that_are_no_table_are_refused_in_words(
    model: Any, rows: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        model.predict(rows)


def test_numbers_alone_come_as_dicts_too() -> None:
    domain = dp.Domain({"x": dp.Number(0, 1), "y": dp.Number(0, 1)}, target="y")
    table = dp.Table({"x": [0.0, 1.0] * 99, "y": [0.0, 1.0] * 99}, domain, simulate(0))
    line = models.LinearRegression(epsilon=9).fit(table)
    found = line.predict({"x": [0.2, 0.8]})
    np.testing.assert_array_equal(found, line.predict([[0.2], [0.8]]))
    line.set_params(domain=domain, ledger=simulate(0))
    with pytest.raises(ParameterError, match="X is a dict"):
        line.fit({"x": [0.2, 0.8]}, [0.2, 0.8])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_a_word_that_was_not_declared_is_named_once(model: Any, make: Any) -> None:
    rows = make({"age": [35, 75, 75], "smoker": ["No", "yes", "No"]})
    with pytest.warns(UserWarning, match="'smoker' has values") as caught:
        model.predict(rows)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "such as 'No'; declared are 'no', 'yes'" in text


def test_gaps_and_declared_words_need_no_warning(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict({"age": [35, 75, None], "smoker": ["no", "yes", None]})


def test_a_federated_model_takes_a_dict_of_columns() -> None:
    coins = np.random.default_rng(0)
    columns = {"x": dp.Number(0, 1), "c": dp.Category(["a", "b"])}
    domain = dp.Domain(columns | {"t": dp.Number(-5, 5)}, target="t")
    parts = {
        name: {
            "x": coins.uniform(0, 1, 100),
            "c": coins.choice(["a", "b"], 100),
            "t": coins.uniform(-1, 1, 100),
        }
        for name in ("north", "south")
    }
    learner = federated.FederatedAveraging(epsilon=5, rounds=2)
    model = federated.simulate(learner, parts, domain).models[0]
    rows = {"x": [0.1, 0.9], "c": ["a", "b"]}
    assert np.array_equal(model.predict(rows), model.predict(pd.DataFrame(rows)))
