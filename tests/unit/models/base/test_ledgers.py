"""A fit without a ledger says what it did, and how to keep count."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import discreto as dp
from discreto import local, models
from discreto.errors import PrivacyWarning

X = np.linspace(0, 1, 60).reshape(-1, 2)
Y = np.arange(30) % 2


def test_one_line_says_what_was_paid_and_how_to_keep_count() -> None:
    model = models.NaiveBayes(epsilon="1/2", bounds=(0, 1), classes=[0, 1])
    with pytest.warns(PrivacyWarning) as found:
        model.fit(X, Y)
    text = str(found[0].message)
    assert len(found) == 1
    assert "\n" not in text
    assert "ε 1/2 this time" in text
    assert "NaiveBayes(..., ledger=dp.Ledger(" in text
    assert found[0].filename == __file__


def test_the_callers_line_is_named_through_a_pipeline_as_well() -> None:
    model = models.LinearRegression(
        epsilon=1, delta=1e-5, bounds=(0, 1), target_bounds=(0, 1)
    )
    with pytest.warns(PrivacyWarning, match="ε 1, δ 1e-05") as found:
        make_pipeline(model).fit(X, Y)
    assert found[0].filename == __file__


def test_local_transformers_say_it_too() -> None:
    sanitizer = local.LocalSanitizer(epsilon=1, domain=dp.Domain.cube(2))
    with pytest.warns(PrivacyWarning, match="ledger of its own"):
        sanitizer.fit(X).transform(X)


@pytest.mark.parametrize("ledger", [dp.Ledger(epsilon=9), dp.testing.simulate(0)])
def test_with_a_ledger_nothing_is_said(ledger: object) -> None:
    model = models.NaiveBayes(epsilon=1, bounds=(0, 1), classes=[0, 1], ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y)
