"""Linear regression: exact without noise, never wild with it, paid for in full."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Plain
from sklearn.linear_model import Ridge

from discreto import Category, Domain, Ledger, Number, Table
from discreto.core import aggregate
from discreto.core.maps import Scaled, from_json, to_json
from discreto.core.query import Block, Everyone, Sum, inside
from discreto.core.validation import check_parts
from discreto.errors import ParameterError
from discreto.models import LinearRegression
from discreto.testing import simulate


def make(**options):
    options = {"epsilon": 1, "bounds": (-1, 1), "target_bounds": (-1, 1)} | options
    return LinearRegression(**{"ledger": simulate(noise=False)} | options)


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 4))
    y = np.clip(X @ [0.4, -0.3, 0.0, 0.1] + rng.normal(0, 0.1, 500) + 0.05, -1, 1)
    return X, y


@pytest.mark.parametrize("method", ["functional", "weighted"])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_noise_it_is_the_reference(line, method, delta, intercept):
    X, y = line
    model = make(method=method, delta=delta, alpha=0, fit_intercept=intercept)
    weights = model.fit(X, y).row_weights(X, y)
    plain = model.reference().fit(X, y, sample_weight=weights)
    assert isinstance(plain, Plain)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    assert model.intercept_ == pytest.approx(plain.intercept_, abs=1e-4)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=2e-4)


def test_ridge_and_units(line):
    X, y = line
    low, high = np.array([10, -5, 0, 100.0]), np.array([20, 5, 1, 300.0])
    model = make(method="functional", alpha=3.0)
    scaled = make(
        method="functional", alpha=3.0, bounds=(low, high), target_bounds=(50, 70)
    )
    wide = low + (X + 1) / 2 * (high - low)
    model.fit(X, y)
    scaled.fit(wide, 60 + 10 * y)
    plain = model.reference().fit(X, y)
    assert isinstance(plain, Ridge)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(scaled.predict(wide), 60 + 10 * model.predict(X))


def test_no_row_is_scaled_with_a_large_row_norm(line):
    X, y = line
    model = make(alpha=0, row_norm=100).fit(X, y)
    np.testing.assert_allclose(model.row_weights(X, y), 1)
    # The grid has 2^15 steps for a norm of 100: 0.003 each, averaged over 500 rows.
    np.testing.assert_allclose(model.coef_, Plain().fit(X, y).coef_, atol=3e-4)


def test_the_worked_example_of_the_slides():
    X, y = np.array([[1], [0.9], [-0.5]]), np.array([0.4, 0.3, -1])
    model = make(method="functional", alpha=0).fit(X, y)
    one, x, target = range(3)
    m = model.moments_
    objective = [m[one, one], 2 * m[one, x], -2 * m[one, target]]
    objective += [m[x, x], -2 * m[x, target], m[target, target]]
    np.testing.assert_allclose(objective, [3, 2.8, 0.6, 2.06, -2.34, 1.25], atol=2e-4)
    assert model.intercept_ == pytest.approx(-564 / 1055, abs=2e-4)
    assert model.coef_[0] == pytest.approx(393 / 422, abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, 1e-5])
def test_noise_that_dominates_is_shrunk_away(delta):
    X, y = load_diabetes(return_X_y=True)
    scores = []
    for seed in range(20):
        model = LinearRegression(
            epsilon=Fraction(1, 100),
            delta=delta,
            bounds=(-0.2, 0.2),
            target_bounds=(0, 350),
            ledger=simulate(seed),
        )
        scores.append(model.fit(X, y).score(X, y))
        predicted = model.predict(X)
        assert predicted.min() >= 0
        assert predicted.max() <= 350
    assert np.median(scores) > -1.5


@pytest.mark.slow
def test_useful_at_epsilon_one():
    X, y = load_diabetes(return_X_y=True)
    scores = []
    for seed in range(20):
        options = {"bounds": (-0.2, 0.2), "target_bounds": (0, 350)}
        model = LinearRegression(epsilon=1, ledger=simulate(seed), **options)
        scores.append(model.fit(X, y).score(X, y))
    assert np.mean(scores) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["marks", "amounts"])
@pytest.mark.parametrize("delta", [0, 1e-5])
def test_targets_that_mostly_have_one_value_are_learned(kind, delta):
    """Half of the rows have no distance from the median; the others count as well."""
    coins = np.random.default_rng(5)
    X = coins.uniform(-1, 1, (3000, 3))
    y = np.maximum(X @ [1, 2, -1] - 1, 0)
    y = (y > 0).astype(float) if kind == "marks" else 20 * y
    assert np.mean(y == 0) > 0.6
    scores = []
    for seed in range(5):
        options = {"bounds": (-1, 1), "target_bounds": (0, y.max())}
        model = LinearRegression(epsilon=2, delta=delta, ledger=simulate(seed))
        scores.append(model.set_params(**options).fit(X, y).score(X, y))
    best = Plain().fit(X, y).score(X, y)
    assert np.mean(scores) > 0.8 * best


def _rows(norm, width, constant, reach):
    values = (-1.0, 0.0, 0.4, 1.0, np.nan, np.inf)
    names = tuple(f"x{i}" for i in range(width))
    scaled = Scaled(
        names, (0.0,) * width, (1.0,) * width, constant, reach, norm, bits=15
    )
    table = np.array(list(itertools.product(values, repeat=width)))
    return scaled, {n: table[:, i] for i, n in enumerate(names)}, len(table)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("constant", [0.0, 0.7])
@pytest.mark.parametrize("reach", [0.5, 1.0, 2.0, 10.0])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_products_move_no_further_than_declared(norm, constant, reach, neighbours):
    products, batch, count = _rows(norm, 3, constant, reach)
    rows = None if neighbours == "add-remove" else 5
    domain = Domain.cube(3, neighbours=neighbours, rows=rows)
    block = Block(products, "gram")
    moved = [
        aggregate.fold(
            inside(Sum(Everyone(), (block,)), domain),
            {n: v[i : i + 1] for n, v in batch.items()},
            1,
        )[0][0].tolist()
        for i in range(count)
    ]
    moved = np.array(moved, dtype=object)
    steps = [moved] if neighbours == "add-remove" else [moved - m for m in moved[::7]]
    far = max(np.abs(s).sum(axis=1).max() for s in steps)
    square = max((s * s).sum(axis=1).max() for s in steps)
    if norm == "l1":
        assert far <= block.bind(domain, 1).sensitivity
    assert square <= block.bind(domain, 2).square
    # and the bound is not a loose one where rows reach it
    if norm == "l1" and reach <= 1 and not constant and rows is None:
        assert far >= 0.9 * block.bind(domain, 1).sensitivity


def test_questions_travel_as_json_and_refuse_nonsense():
    products, _, _ = _rows("l1", 2, 1.0, 2.0)
    query = Sum(Everyone(), (Block(products),))
    assert from_json(to_json(query)) == query
    good = {"names": ("a",), "origins": (0.0,), "scales": (1.0,)}
    good |= {"constant": 1.0, "reach": 1.0}
    bad = [{"scales": (0.0,)}, {"origins": (np.nan,)}, {"reach": -1.0}, {"power": 3}]
    bad += [{"norm": "l3"}, {"constant": -1.0}, {"origins": (0.0, 1.0)}, {"names": ()}]
    domain = Domain({"a": Number(0, 1)})
    check_parts(Scaled(**good), domain)
    for change in bad:
        with pytest.raises(ParameterError):
            check_parts(Scaled(**good | change), domain)


HOSTILE = {
    "empty": np.empty((0, 2)),
    "one row": np.array([[0.5, 0.5]]),
    "missing": np.full((5, 2), np.nan),
    "outside": np.full((5, 2), 1e300),
    "infinite": np.full((5, 2), np.inf),
    "constant": np.zeros((9, 2)),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("method", ["functional", "weighted"])
@pytest.mark.parametrize("alpha", ["auto", 0])
@pytest.mark.parametrize("noise", [True, False])
def test_survives(case, method, alpha, noise):
    X = HOSTILE[case]
    domain = Domain.cube(2).with_(
        columns={"x0": Number(-1, 1), "x1": Number(-1, 1), "y": Number(0, 9)}
    )
    data = {"x0": X[:, 0], "x1": X[:, 1], "y": np.full(len(X), 3.0)}
    table = Table(data, domain, simulate(3, noise=noise))
    model = LinearRegression(epsilon=1, method=method, alpha=alpha).fit(table, "y")
    predicted = model.predict(np.array([[0.0, 0.1], [np.nan, 5.0]]))
    assert np.isfinite(predicted).all()
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    "options",
    [
        {"method": "magic"},
        {"row_norm": 0},
        {"row_norm": "wide"},
        {"alpha": -1},
        {"alpha": "none"},
        {"alpha": np.nan},
        {"epsilon": 0},
    ],
)
def test_bad_parameters_cost_nothing(line, options):
    ledger = simulate()
    with pytest.raises(ParameterError):
        make(**{"ledger": ledger} | options).fit(*line)
    assert not ledger.entries()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "weighted", "functional"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_categories_have_coefficients(method, delta):
    rng = np.random.default_rng(0)
    letters = Category(["a", "b", "d"], missing=False)
    columns = {"x": Number(0, 10), "c": letters, "y": Number(0, 20)}
    domain = Domain(columns)
    x, c = rng.uniform(0, 10, 3000), rng.choice(["a", "b", "d"], 3000)
    y = x + np.where(c == "a", 0, np.where(c == "b", 5, 8))
    table = Table({"x": x, "c": c, "y": y}, domain, simulate(0))
    model = LinearRegression(epsilon=50, delta=delta, method=method).fit(table, "y")
    assert model.coef_names_ == ["x", "c=a", "c=b", "c=d"]
    assert model.coef_[0] == pytest.approx(1, abs=0.1)
    gaps = model.coef_[2:] - model.coef_[1]
    np.testing.assert_allclose(gaps, [5, 8], atol=0.7)
    predicted = model.predict([[5, "b"], [np.nan, "d"]])
    np.testing.assert_allclose(predicted, [10, 13], atol=0.7)


def test_a_fit_costs_what_it_says(line):
    ledger = Ledger(epsilon=2)
    model = make(ledger=ledger, epsilon="0.5").fit(*line)
    assert ledger.spent().epsilon == Fraction(1, 2)
    assert model.privacy_.plan.total == model.privacy_.cost
    assert len(make(method="weighted").fit(*line).privacy_.plan) == 1


@pytest.mark.slow
def test_a_small_fit_is_quick():
    X = np.zeros((50, 3))
    times = []
    for _ in range(20):
        model = make(ledger=Ledger(epsilon=1))
        start = time.process_time()
        model.fit(X, X[:, 0])
        times.append(time.process_time() - start)
    assert min(times) < 0.01  # half of that where nobody else computes
