"""Local privacy: exact odds, honest intervals, every row on its own, paid before."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreto as dp
from discreto.errors import BudgetError, DomainError, ParameterError
from discreto.local import LocalLearner, LocalSanitizer, RandomizedResponse
from discreto.local._noise import NoiseSpread, Response
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 100, unit="years"),
        "sex": dp.Category(["f", "m"]),
        "pay": dp.Number(10, 20),
        "id": dp.Opaque(),
        "ill": dp.Category(["no", "yes"], missing=True),
    },
    target="ill",
)
ROWS = pd.DataFrame(
    {
        "age": [30.0, 50.0, 1e9, np.nan] * 100,
        "sex": ["f", "m", "m", "?"] * 100,
        "pay": [10, 20, 15, 12] * 100,
        "id": range(400),
        "ill": ["no", "yes", None, "no"] * 100,
    }
)
DATA = Path(os.environ.get("DISCRETO_DATA", Path(__file__).parents[4] / "shared/data"))


# Laws


@pytest.mark.parametrize("choices", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_odds_of_a_response_are_exactly_e_to_the_epsilon(choices, epsilon):
    law = Response.of(epsilon, choices)
    assert law.truth / law.lie == pytest.approx(math.exp(epsilon))
    assert law.truth + (choices - 1) * law.lie == pytest.approx(1)


def test_two_coins_tell_the_truth_three_times_in_four():
    """Calibration row 3: ln 3 for yes and no, and the estimator 2s - 1/2."""
    survey = RandomizedResponse.two_coins(["no", "yes"], ledger=simulate(0)).fit()
    assert survey.truth_ == pytest.approx(3 / 4, abs=1e-15)
    assert float(survey.epsilon) == pytest.approx(math.log(3))
    assert survey.epsilon < Fraction(math.log(3)) + Fraction(1, 10**15)
    replies = survey.transform(np.repeat(["yes", "no"], [3000, 7000]))
    seen = np.mean(replies == "yes")
    assert survey.frequencies(replies).value[1] == pytest.approx(2 * seen - 1 / 2)
    three = RandomizedResponse.two_coins("abc").fit()
    assert three.truth_ == pytest.approx(1 / 2 + 1 / 6)


@pytest.mark.parametrize("mechanism", ["staircase", "laplace"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(5)])
def test_spread_is_the_spread_of_the_gates_noise(mechanism, epsilon):
    cleaner = LocalSanitizer(
        dp.Domain({"x": dp.Number(0, 1)}), epsilon=epsilon, mechanism=mechanism,
        ledger=simulate(3),
    )  # fmt: skip
    out = cleaner.fit().transform(np.full((60_000, 1), 0.5)) - 0.5
    law = NoiseSpread.of(mechanism, epsilon)
    error = math.sqrt((law.tails + 2) / 60_000)
    assert np.var(out) == pytest.approx(law.variance, rel=6 * error)


def test_loss_of_staircase_rows_is_epsilon_at_most():
    """Counts of outputs for the two ends of the range, on cells of the staircase."""
    outs = []
    for end in (0.0, 1.0):
        cleaner = LocalSanitizer(
            dp.Domain({"x": dp.Number(0, 1)}), epsilon=1, ledger=simulate(5)
        )
        outs.append(cleaner.fit().transform(np.full((40_000, 1), end))[:, 0])
    edges = np.linspace(-2.5, 3.5, 25)
    one, two = (np.histogram(out, edges)[0] + 1 for out in outs)
    ratio = np.abs(np.log(one / two))
    slack = 5 * np.sqrt(1 / one + 1 / two)
    assert (ratio <= 1 + slack).all()
    assert ratio.max() > 0.9


# Estimates


def test_intervals_of_frequencies_cover():
    truth = np.repeat(["a", "b", "c"], [50, 30, 20])
    hits = []
    for seed in range(300):
        survey = RandomizedResponse("abc", epsilon=1, ledger=simulate(seed)).fit()
        out = survey.frequencies(survey.transform(truth))
        hits.append((out.low <= [0.5, 0.3, 0.2]) & (out.high >= [0.5, 0.3, 0.2]))
        assert ((out.value >= out.low) & (out.value <= out.high)).all()
    assert 0.92 <= np.mean(hits) <= 0.985


@pytest.mark.parametrize("mechanism", ["staircase", "laplace"])
@pytest.mark.parametrize("rows", [2, 50])
def test_intervals_of_means_cover(mechanism, rows):
    values = np.linspace(0, 100, rows)[:, None]
    domain = dp.Domain({"x": dp.Number(-1e4, 1e4)})  # so wide that nothing is clamped
    hits = []
    for seed in range(400):
        cleaner = LocalSanitizer(
            domain, epsilon=2, mechanism=mechanism, ledger=simulate(seed)
        ).fit()
        out = cleaner.mean(cleaner.transform(values), "x")
        hits.append(out.low <= 50 <= out.high)
    assert 0.91 <= np.mean(hits) <= 0.99


def test_estimates_of_no_rows_and_of_strange_answers():
    survey = RandomizedResponse(["no", "yes"], epsilon=1).fit()
    out = survey.frequencies([])
    assert out.low.tolist() == [0, 0]
    assert out.high.tolist() == [1, 1]
    with pytest.raises(ParameterError, match="not an answer"):
        survey.frequencies(["maybe"])
    cleaner = LocalSanitizer(DOMAIN, epsilon=1).fit()
    assert float(cleaner.mean(np.empty((0, 4)), "age")) == 50
    with pytest.raises(ParameterError, match="not one of"):
        cleaner.mean(np.empty((0, 4)), "id")


# Rows


def test_noise_off_gives_the_clipped_rows_back():
    ledger = simulate(noise=False)
    cleaner = LocalSanitizer(DOMAIN, epsilon=4, ledger=ledger)
    out = cleaner.fit_transform(ROWS)
    assert list(out.columns) == ["age", "sex", "pay", "ill"]  # not the identifier
    np.testing.assert_allclose(out["age"][:4], [30, 50, 100, 50], atol=1e-4)
    assert out["sex"][:3].tolist() == ["f", "m", "m"]
    np.testing.assert_allclose(out["pay"][:4], [10, 20, 15, 12], atol=1e-4)
    assert out["ill"][:2].tolist() == ["no", "yes"]
    assert out["ill"].isna()[2]
    assert str(ledger.spent()) == "ε 4"
    shares = cleaner.frequencies(out, "ill")
    assert shares.keys == ("no", "yes", "(missing or other)")


def test_a_row_does_not_depend_on_the_others():
    """The same seed perturbs a row alike whatever the other rows hold."""
    rows = np.array([[30.0, 12.0]] * 50)
    other = rows.copy()
    other[1:] = np.nan
    domain = DOMAIN.select(["age", "pay"])
    out = [
        LocalSanitizer(domain, epsilon=2, ledger=simulate(7)).fit_transform(X)
        for X in (rows, other)
    ]
    assert (out[0][0] == out[1][0]).all()


def test_weights_and_mechanisms():
    cleaner = LocalSanitizer(
        DOMAIN, epsilon=5, weights={"age": 2}, mechanism={"pay": "laplace"}
    ).fit()
    assert cleaner.columns_ == {
        "age": ("staircase", Fraction(2)),
        "sex": ("response", Fraction(1)),
        "pay": ("laplace", Fraction(1)),
        "ill": ("response", Fraction(1)),
    }
    big = LocalSanitizer(DOMAIN, epsilon=4000).fit()
    assert {str(e) for _, e in big.columns_.values()} == {"256"}


def test_frames_arrays_and_tables():
    frame = pl.DataFrame({"age": [1.0, 2.0], "sex": ["f", "m"]})
    out = LocalSanitizer(DOMAIN, epsilon=1).fit_transform(frame)
    assert isinstance(out, pl.DataFrame)
    assert out.shape == (2, 2)
    array = ROWS[["age", "sex", "pay"]].to_numpy()
    out = LocalSanitizer(DOMAIN, epsilon=1).fit_transform(array)
    assert out.shape == (400, 3)
    numbers = LocalSanitizer(epsilon=1, bounds=(0, [1, 2])).fit_transform(
        np.ones((5, 2))
    )
    assert numbers.dtype == float
    ledger = dp.Ledger(epsilon=3)
    domain = DOMAIN.with_(neighbours="replace", rows=400)
    table = dp.Table(ROWS, domain, ledger)
    cleaner = LocalSanitizer(epsilon=2).fit(table)
    out = cleaner.transform(table)
    assert len(out["age"]) == 400
    assert ledger.total() == 2
    assert cleaner.mean(out, "age").low >= 0


# Paying


def test_rows_are_paid_before_they_are_touched():
    ledger = dp.Ledger(epsilon=1)
    cleaner = LocalSanitizer(DOMAIN, epsilon="0.6", ledger=ledger).fit(ROWS)
    assert ledger.total() == 0
    cleaner.transform(ROWS)
    with pytest.raises(BudgetError):
        cleaner.transform(ROWS)
    assert ledger.total() == 0.6
    assert clone(cleaner).ledger is ledger
    survey = RandomizedResponse(["f", "m"], epsilon="0.4", ledger=ledger).fit()
    survey.transform(ROWS["sex"])
    assert ledger.total() == 1


def test_a_table_with_a_private_row_count_is_refused():
    ledger = dp.Ledger(epsilon=3)
    table = dp.Table(ROWS, DOMAIN, ledger)
    with pytest.raises(DomainError, match="how many rows"):
        LocalSanitizer(epsilon=1).fit(table).transform(table)
    assert ledger.total() == 0


def test_answers_of_several_columns_share_epsilon():
    """Calibration row 3: d attributes cost the sum."""
    ledger = simulate(1)
    survey = RandomizedResponse([0, 1], epsilon=1, ledger=ledger)
    out = survey.fit_transform(np.zeros((10, 4), dtype=int))
    assert out.shape == (10, 4)
    assert out.dtype.kind == "i"
    assert {str(e) for _, e in survey.columns_.values()} == {"1/4"}
    assert str(ledger.spent()) == "ε 1"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: LocalSanitizer(epsilon=1).fit(ROWS), DomainError),
        (lambda: LocalSanitizer(DOMAIN, epsilon=0).fit(), ParameterError),
        (
            lambda: LocalSanitizer(DOMAIN, epsilon=1, mechanism="x").fit(),
            ParameterError,
        ),
        (
            lambda: LocalSanitizer(DOMAIN, epsilon=1, weights={"z": 1}).fit(),
            ParameterError,
        ),
        (
            lambda: LocalSanitizer(DOMAIN, epsilon=1, weights={"age": 0}).fit(),
            ParameterError,
        ),
        (
            lambda: LocalSanitizer(DOMAIN, epsilon=1).fit(np.ones((3, 9))),
            ParameterError,
        ),
        (
            lambda: LocalSanitizer(epsilon=1, bounds=(1, 0)).fit(np.ones((3, 1))),
            DomainError,
        ),
        (lambda: RandomizedResponse([], epsilon=1).fit(), DomainError),
        (lambda: RandomizedResponse(3, epsilon=1).fit(), ParameterError),
        (lambda: LocalLearner(GaussianNB(), epsilon=1).fit([[1]], [1]), DomainError),
    ],
)
def test_bad_parameters(make, error):
    with pytest.raises(error):
        make()


def test_hostile_values_and_no_rows():
    out = LocalSanitizer(DOMAIN, epsilon=1).fit_transform(
        np.array([["?", b"!", None, 3]] * 3, dtype=object)
    )
    assert out.shape == (3, 4)
    survey = RandomizedResponse(["a", "b"], epsilon=1, missing=True).fit()
    assert set(survey.transform([None, "a", 7, float("nan")])) <= {"a", "b", None}
    assert len(survey.transform([])) == 0


# Any scikit-learn model afterwards


def bounds_of(data):
    ends = np.array([[28, 40, 190, 2500, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1]])
    return (0, ends[0].tolist()), data[:, :10]


def test_staircase_and_a_classifier():
    """Calibration row 21: epsilon over d + 1 columns, the class among them."""
    X, y = load_breast_cancer(return_X_y=True)
    bounds, X = bounds_of(X)
    scores = {}
    for epsilon in (1, 100):
        out = []
        for seed in range(3):
            a, b, c, d = train_test_split(X, y, test_size=0.3, random_state=seed)
            ledger = simulate(seed)
            model = LocalLearner(
                GaussianNB(), epsilon=epsilon, bounds=bounds, classes=[0, 1],
                ledger=ledger,
            )  # fmt: skip
            pipeline = make_pipeline(FunctionTransformer(), model).fit(a, c)
            out.append(pipeline.score(b, d))
            assert str(ledger.spent()) == f"ε {epsilon}"
        scores[epsilon] = np.mean(out)
    assert {m for m, _ in model.sanitizer_.columns_.values()} == {
        "staircase",
        "response",
    }
    assert scores[100] > 0.85
    assert model.predict_proba(X[:3]).shape == (3, 2)


def test_a_sanitizer_in_a_pipeline_perturbs_whatever_passes():
    X, y = load_iris(return_X_y=True)
    ledger = simulate(0)
    cleaner = LocalSanitizer(epsilon=40, bounds=(0, 8), ledger=ledger)
    pipeline = make_pipeline(cleaner, GaussianNB()).fit(X, y)
    assert pipeline.predict(X).shape == (150,)
    assert str(ledger.spent()) == "ε 80"


@pytest.mark.skipif(not (DATA / "pima.parquet").exists(), reason="no pima.parquet")
def test_staircase_and_naive_bayes_on_pima():
    frame = pd.read_parquet(DATA / "pima.parquet")
    domain = dp.Domain.load(DATA / "pima.domain.json")
    model = LocalLearner(
        GaussianNB(), epsilon=80, domain=domain, ledger=simulate(0)
    ).fit(frame[domain.features()], frame["outcome"])
    assert model.score(frame[domain.features()], frame["outcome"]) > 0.65
