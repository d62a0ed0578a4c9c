"""What a process keeps of a fitted model: a digest of its rows, its evaluation."""

from __future__ import annotations

import copy
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto.errors import PrivacyWarning
from discreto.models import (
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    evaluate,
    load,
    save,
)
from discreto.models.base.process_facts import last_evaluation
from discreto.models.interop.json import dumps
from discreto.report import model_blocks, model_page
from discreto.testing import simulate

RNG = np.random.default_rng(7)
X = RNG.uniform(0, 1, (400, 2))
Y = (X[:, 0] > X[:, 1]).astype(int)


def fitted(**options):
    model = LogisticRegression(epsilon=1, bounds=(0, 1), classes=[0, 1], **options)
    return model.fit(X, Y)


@pytest.mark.slow
def test_a_score_on_the_rows_of_the_fit_warns_and_names_evaluate():
    model = fitted()
    with pytest.warns(PrivacyWarning, match=r"models\.evaluate\(model, table, eps"):
        model.score(X, Y)
    order = RNG.permutation(len(X))
    with pytest.warns(PrivacyWarning, match="fitted to"):
        model.score(X[order].tolist(), Y[order].tolist())
    line = LinearRegression(epsilon=1, bounds=(0, 1), target_bounds=(0, 1))
    line.fit(X, Y, sample_weight=np.full(len(X), 0.5))
    with pytest.warns(PrivacyWarning, match="fitted to"):
        line.score(X, Y)
    groups = KMeans(2, epsilon=1, bounds=(0, 1)).fit(X)
    with pytest.warns(PrivacyWarning, match="fitted to"):
        groups.score(X)


def test_a_frame_is_recognised_by_its_values():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "no", "yes")})
    frame.loc[3, "a"] = np.nan
    columns = {"a": dp.Number(0, 1), "b": dp.Category(["no", "yes"])}
    domain = dp.Domain(columns | {"y": dp.Category([0, 1])}, target="y")
    model = NaiveBayes(epsilon=1, domain=domain).fit(frame, Y)
    with pytest.warns(PrivacyWarning, match="fitted to"):
        model.score(frame.copy(), pd.Series(Y))


def test_other_rows_simulations_and_files_do_not_warn(tmp_path):
    model = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*was paid from a ledger of its own")
        model.score(X[:-1], Y[:-1])
        model.score(X, 1 - Y)
        fitted(ledger=simulate(0)).score(X, Y)
        save(model, tmp_path / "m.json")
        load(tmp_path / "m.json").score(X, Y)
        copy.deepcopy(model).score(X, Y)
        model.fit(X[:200], Y[:200]).score(X, Y)


def test_nothing_of_the_rows_is_in_what_a_model_saves():
    model, twin = fitted(), fitted()
    assert set(vars(model)) == set(vars(twin))
    assert "_kept" not in dumps(model)
    plain = {k for k in vars(fitted(ledger=simulate(0))) if k != "ledger"}
    assert {k for k in vars(model) if k != "ledger"} == plain


def table(ledger):
    columns = {"x": dp.Number(0, 1), "y": dp.Category([0, 1])}
    domain = dp.Domain(columns, target="y")
    return dp.Table({"x": [0.1, 0.9] * 1000, "y": [0, 1] * 1000}, domain, ledger)


def timeless(page) -> str:
    """Return a page without the minute in which it was made."""
    return re.sub(r"\d\d:\d\d UTC", "", str(page))


@pytest.mark.slow
def test_a_card_shows_the_last_paid_evaluation_without_being_told():
    rows = table(dp.Ledger(epsilon=10))
    model = NaiveBayes(epsilon=1).fit(rows)
    bare = str(model_page(model))
    assert "Accuracy was not measured." in bare
    assert "How good it is" not in bare
    judged = evaluate(model, rows, epsilon=1)
    card = timeless(model_page(model))
    assert card == timeless(model_page(model, evaluation=judged))
    assert "How good it is" in card
    assert "was not measured" not in card
    assert model_blocks(model) == model_blocks(model, judged)
    again = evaluate(model, rows, epsilon=2, metrics="accuracy")
    assert last_evaluation(model) is again
    assert (
        timeless(model_page(model, evaluation=judged)) == card
    )  # what is given counts
    model.fit(rows)  # another model: it was not measured
    assert "Accuracy was not measured." in str(model_page(model))
