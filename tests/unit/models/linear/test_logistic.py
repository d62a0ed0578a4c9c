"""Logistic regression: three methods, two or more classes, bounded gradients."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Plain

from discreto import Category, Domain, Ledger, Number, Table
from discreto.core import aggregate
from discreto.core.maps import LogisticGradient, Scaled, from_json, to_json
from discreto.core.query import Block, Everyone, Sum, bind, inside
from discreto.core.validation import check_parts
from discreto.errors import DomainError, ParameterError
from discreto.models import LogisticRegression
from discreto.testing import simulate

METHODS = ["gradient", "means", "functional"]


def make(**options):
    options = {"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1]} | options
    return LogisticRegression(**{"ledger": simulate(noise=False)} | options)


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 3))
    chance = 1 / (1 + np.exp(-(X @ [2.0, -1.0, 0.5] + 0.3)))
    return X, (rng.uniform(size=600) < chance).astype(int)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (600, 3))
    scores = X @ rng.normal(0, 2, (3, 3)) + rng.gumbel(size=(600, 3))
    return X, scores.argmax(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_without_noise_steps_lead_to_the_reference(kind, delta, request):
    X, y = request.getfixturevalue(kind)
    classes = sorted(set(y.tolist()))
    model = make(C=1.0, clipping=False, max_iter=60, delta=delta, classes=classes)
    model.fit(X, y)
    plain = model.reference().fit(X, y)
    assert isinstance(plain, Plain)
    np.testing.assert_allclose(
        model.predict_proba(X), plain.predict_proba(X), atol=0.01
    )
    assert (model.predict(X) == plain.predict(X)).mean() > 0.98
    assert model.coef_.shape == plain.coef_.shape
    assert model.intercept_.shape == plain.intercept_.shape


def _taylor(X, t, penalty):
    """The minimiser of the second-order loss, by another road."""
    Z = np.column_stack([np.ones(len(X)), X])

    def loss(w):
        s = Z @ w
        return (s * (0.5 - t) + s**2 / 8).sum() + penalty * (w[1:] ** 2).sum() / 2

    return minimize(loss, np.zeros(Z.shape[1]), tol=1e-12).x


@pytest.mark.parametrize("C", [1.0, 1e9])
def test_functional_is_the_exact_minimiser(two, three, C):
    X, y = two
    model = make(method="functional", C=C).fit(X, y)
    best = _taylor(X, y, 1 / C)
    np.testing.assert_allclose(model.coef_[0], best[1:], atol=2e-3)
    assert model.intercept_[0] == pytest.approx(best[0], abs=2e-3)
    X, y = three
    model = make(method="functional", C=C, classes=[0, 1, 2]).fit(X, y)
    for k in range(3):
        best = _taylor(X, y == k, 1 / C)
        np.testing.assert_allclose(model.coef_[k], best[1:], atol=2e-3)


def test_units_and_decisions(two):
    X, y = two
    low, high = np.array([10, -5, 0.0]), np.array([20, 5, 400.0])
    wide = low + (X + 1) / 2 * (high - low)
    model = make(bounds=(low, high)).fit(wide, y)
    scores = model.decision_function(wide)
    np.testing.assert_allclose(
        scores, wide @ model.coef_[0] + model.intercept_[0], atol=1e-9
    )
    assert ((scores > 0) == (model.predict(wide) == 1)).all()
    np.testing.assert_allclose(model.predict_proba(wide).sum(axis=1), 1)
    np.testing.assert_allclose(
        make().fit(X, y).predict_proba(X), model.predict_proba(wide), atol=1e-6
    )


CANCER = [30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1, 3, 5, 25, 600, 0.04]
CANCER += [0.15, 0.4, 0.06, 0.08, 0.03, 40, 50, 260, 4500, 0.25, 1.1, 1.3, 0.3, 0.7]
CANCER += [0.25]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delta", "method", "least"),
    [(0, "gradient", 0.85), (0, "means", 0.87), (1e-5, "gradient", 0.88)],
)
def test_useful_at_epsilon_one(delta, method, least):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in range(10):
        model = LogisticRegression(
            epsilon=1,
            delta=delta,
            method=method,
            bounds=([0] * 30, CANCER),
            classes=[0, 1],
            ledger=simulate(seed),
        )
        scores.append(model.fit(X, y).score(X, y))
    assert np.mean(scores) > least


def test_several_classes_with_names():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    scores = []
    for seed in range(10):
        model = LogisticRegression(
            epsilon=2,
            bounds=([4, 2, 1, 0], [8, 5, 7, 3]),
            classes=names.tolist(),
            ledger=simulate(seed),
        ).fit(X, names[y])
        scores.append(model.score(X, names[y]))
    assert model.classes_.tolist() == names.tolist()
    assert model.decision_function(X).shape == (150, 3)
    assert np.mean(scores) > 0.8


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("clip", [0.5, 1.0])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_gradients_move_no_further_than_declared(norm, classes, clip, neighbours):
    rows = None if neighbours == "add-remove" else 5
    columns = {
        "a": Number(-1, 1),
        "b": Number(0, 9),
        "t": Category(list(range(classes))),
    }
    domain = Domain(columns, neighbours=neighbours, rows=rows)
    values = ((-1.0, 0.3, np.nan, 1e9), (0.0, 9.0, -np.inf), range(-1, classes))
    table = np.array(list(itertools.product(*values)))
    scaled = Scaled(("a", "b"), (0.2, -0.1), (0.5, 0.3), 1.0, 2.0, norm)
    vectors = ((5.0, -9.0, 4.0), (-3.0, 8.0, 1.0), (0.0, 0.0, 0.0))
    weights = vectors[:1] if classes == 2 else vectors
    block = Block(LogisticGradient(scaled, "t", weights, clip))
    moved = []
    for a, b, t in table:
        batch = {"a": np.array([a]), "b": np.array([b]), "t": np.array([int(t)])}
        asked = inside(Sum(Everyone(), (block,)), domain)
        fold = aggregate.fold(asked, batch, 1)[0]
        moved.append(fold[0].tolist())
        assert t >= 0 or not any(moved[-1])
    moved = np.array(moved, dtype=object)
    steps = [moved] if neighbours == "add-remove" else [moved - m for m in moved]
    far = max(np.abs(s).sum(axis=1).max() for s in steps)
    square = max((s * s).sum(axis=1).max() for s in steps)
    if norm == "l1":
        assert far <= block.bind(domain, 1).sensitivity
        assert far >= 0.9 * block.bind(domain, 1).sensitivity
    assert square <= block.bind(domain, 2).square


@pytest.mark.parametrize("rotate", [True, False])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_keep_their_norm(rotate, power, norm):
    domain = Domain.cube(3)
    scaled = Scaled(
        ("x0", "x1", "x2"), (0.1,) * 3, (0.4,) * 3, 1.0, 1.5, norm, rotate, power
    )
    table = np.array(list(itertools.product((-1.0, 0, 1, np.nan, np.inf), repeat=3)))
    batch = {f"x{i}": table[:, i] for i in range(3)}
    rows = aggregate.clamp(scaled.rows(batch, domain), scaled.shape(domain))
    size = np.abs(rows).sum(0) if norm == "l1" else np.hypot.reduce(rows)
    assert size.max() <= 1 << 30
    assert size.max() >= 0.99 * (1 << 30)


def test_questions_travel_as_json_and_refuse_nonsense():
    scaled = Scaled(("a",), (0.0,), (1.0,), 1.0, 2.0)
    query = Sum(Everyone(), (Block(LogisticGradient(scaled, "t", ((0.0, 1.0),))),))
    assert from_json(to_json(query)) == query
    bad = [("a", ((0.0, 1.0),)), ("t", ((0.0,),)), ("t", ()), ("t", ((np.nan, 0.0),))]
    both = Domain({"a": Number(0, 1), "t": Category(["x", "y"])})
    bind(query, both)
    for target, weights in bad:
        with pytest.raises(ParameterError):
            check_parts(LogisticGradient(scaled, target, weights), both)
    with pytest.raises(ParameterError, match="clip"):
        check_parts(LogisticGradient(scaled, "t", ((0.0, 1.0),), 2.0), both)
    domain = Domain({"a": Number(0, 1), "t": Category(["x", "y", "z"])})
    with pytest.raises(ParameterError):
        bind(query, domain)


HOSTILE = {
    "empty": (np.empty((0, 2)), []),
    "one row": (np.array([[0.5, 0.5]]), ["a"]),
    "one class": (np.linspace(-1, 1, 40).reshape(20, 2), ["b"] * 20),
    "missing": (np.full((5, 2), np.nan), ["a", "b", None, "a", "b"]),
    "outside": (np.full((5, 2), 1e300), ["q"] * 5),
    "infinite": (np.full((5, 2), -np.inf), ["a", "b", "a", "b", "a"]),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", ["auto", 1.0])
@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c"), ("a",)])
def test_survives(case, method, C, classes):
    X, y = HOSTILE[case]
    columns = {"x": Number(-1, 1), "z": Number(-1, 1), "y": Category(classes)}
    data = {"x": X[:, 0], "z": X[:, 1], "y": np.array(y, dtype=object)}
    for noise in (True, False):
        table = Table(data, Domain(columns), simulate(3, noise=noise))
        model = LogisticRegression(epsilon=1, method=method, C=C).fit(table, "y")
        chances = model.predict_proba(np.array([[0.0, 0.1], [np.nan, 5.0]]))
        assert chances.shape == (2, len(classes))
        np.testing.assert_allclose(chances.sum(axis=1), 1)


def test_a_missing_class_is_a_row_that_adds_nothing():
    columns = {"x": Number(-1, 1), "y": Category(("a", "b"), missing=True)}
    x = np.linspace(-1, 1, 50)
    y = np.where(x > 0, "a", "b").astype(object)
    for method in METHODS:
        y[::7] = None
        table = Table({"x": x, "y": y}, Domain(columns), simulate(noise=False))
        model = LogisticRegression(epsilon=9, method=method).fit(table, "y")
        assert model.predict([[-0.9], [0.9]]).tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "magic"},
        {"max_iter": 0},
        {"max_iter": 1.5},
        {"C": 0},
        {"C": "none"},
        {"C": np.nan},
        {"epsilon": -1},
    ],
)
def test_bad_parameters_cost_nothing(two, options):
    ledger = simulate()
    with pytest.raises(ParameterError):
        make(**{"ledger": ledger} | options).fit(*two)
    assert not ledger.entries()


def test_wrong_columns_are_refused():
    columns = {"b": Category(["a", "b"]), "c": Category(["a", "b"]), "y": Number(0, 1)}
    domain = Domain(columns)
    with pytest.raises(DomainError):
        LogisticRegression(epsilon=1).plan(domain, "y")
    many = Domain({"b": Category(range(3000)), "c": Category(["a", "b"])})
    with pytest.raises(DomainError, match="Leave a long list"):
        LogisticRegression(epsilon=1).plan(many, "c")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_categories_have_coefficients(method, delta):
    rng = np.random.default_rng(0)
    domain = Domain({"s": Category(["u", "v"], missing=True), "y": Category([0, 1])})
    s = rng.choice(["u", "v", None], 4000, p=[0.4, 0.4, 0.2])
    y = (rng.random(4000) < np.where(s == "u", 0.8, np.where(s == "v", 0.2, 0.5))) * 1
    table = Table({"s": s, "y": y}, domain, simulate(0))
    model = LogisticRegression(epsilon=20, delta=delta, method=method).fit(table, "y")
    assert model.coef_names_ == ["s=u", "s=v", "s=(missing or other)"]
    chances = model.predict_proba([["u"], ["v"], [None]])[:, 1]
    if method == "gradient":
        np.testing.assert_allclose(chances, [0.8, 0.2, 0.5], atol=0.05)
    assert chances[0] > 0.6 > 0.4 > chances[1]


def test_class_weights_count_rows_of_a_class_more():
    X = np.repeat([[-0.5], [0.5]], 500, axis=0)
    y = np.tile([0] * 9 + [1], 100)
    plain = make(epsilon=10**6).fit(X, y)
    even = make(epsilon=10**6, class_weight={0: 1, 1: 9}).fit(X, y)
    assert plain.predict_proba([[0.0]])[0, 1] == pytest.approx(0.1, abs=0.02)
    assert even.predict_proba([[0.0]])[0, 1] == pytest.approx(0.5, abs=0.03)
    for wrong in ("balanced", {0: 1}, {0: 1, 1: 0}, {0: 1, 1: "a"}, 3):
        with pytest.raises(ParameterError, match="class_weight"):
            make(class_weight=wrong).fit(X, y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_fit_costs_what_it_says(two, method, delta):
    ledger = Ledger(epsilon=2, delta=1e-6)
    model = make(ledger=ledger, epsilon="0.5", method=method, delta=delta).fit(*two)
    parts = [question.cost for question in model.privacy_.plan]
    assert sum(part.epsilon for part in parts) == ledger.spent().epsilon
    assert sum(part.rho for part in parts) == ledger.spent().rho
    if not delta:
        assert ledger.spent().epsilon == Fraction(1, 2)


def test_the_order_of_rows_does_not_matter(two):
    X, y = two
    turned = make(ledger=simulate(5)).fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(
        turned.coef_, make(ledger=simulate(5)).fit(X, y).coef_
    )


def test_a_small_fit_is_quick():
    X, y = np.zeros((50, 3)), np.arange(50) % 2
    times = []
    for _ in range(20):
        model = make(ledger=Ledger(epsilon=1))
        start = time.process_time()
        model.fit(X, y)
        times.append(time.process_time() - start)
    assert min(times) < 0.01  # half of that where nobody else computes
