"""The algorithms as printed: examples of the sources, printed scales, true losses."""

from __future__ import annotations

import functools
import importlib
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import discreto as dp
from discreto.errors import ParameterError, UnsafeError
from discreto.lab import published
from discreto.lab.published import federated, regression
from discreto.lab.published._noise import FloatNoise
from discreto.lab.published.neighbors import KNNVotes
from discreto.lab.published.statistics import two_coin_share
from discreto.lab.published.sums import laplace_density, local_sensitivity
from discreto.testing import simulate

PAGE = Path(__file__).parents[3] / "docs" / "published.md"
X = np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.4], [0.9, 0.7], [0.2, 0.1], [0.5, 0.6]])
Y = np.array([0, 1, 0, 1, 0, 1])
CLIENT = (X, Y.astype(float))

CALLS = {
    "factorize": lambda **k: published.factorize(["b", "a", "b"], **k),
    "local_sum": lambda **k: published.local_sum([4, 2, 7, 1], epsilon=1, **k),
    "two_coins": lambda **k: published.two_coins(Y, **k),
    "count": lambda **k: published.count(Y, epsilon=1, **k),
    "total": lambda **k: published.total(Y, 0, 1, epsilon=1, **k),
    "mean": lambda **k: published.mean(Y, 0, 1, epsilon=1, **k),
    "histogram": lambda **k: published.histogram(Y, [0, 0.5, 1], epsilon=1, **k),
    "mode": lambda **k: published.mode(Y, [0, 1, 2], epsilon=1, **k),
    "median": lambda **k: published.median(X[:, 0], np.arange(10), epsilon=1, **k),
    "quantile": lambda **k: published.quantile(Y, 0.3, [0, 1], epsilon=1, **k),
    "sgd_update": lambda **k: published.sgd_update([0, 0], CLIENT, epsilon=1, **k),
    "proximal_update": lambda **k: published.proximal_update(
        [0, 0], CLIENT, epsilon=1, **k
    ),
    "gossip": lambda **k: published.gossip(
        [CLIENT] * 5,
        federated.degree_weights(federated.FIVE_NODES),
        epsilon=1,
        rounds=2,
        start=[0, 0],
        **k,
    ),
    "staircase_clean": lambda **k: published.staircase_clean(X, epsilon=1, **k),
}
MODELS = {
    "KNNVotes": KNNVotes(3),
    "DPBoost": published.DPBoost(n_trees=2, trees_in_ensemble=2),
    "PrivCatBoost": published.PrivCatBoost(n_trees=2, categorical=[1]),
    "PrivRandBoost": published.PrivRandBoost(n_trees=2, categorical=[1]),
    "FunctionalLinear": published.FunctionalLinear(),
    "FunctionalLogistic": published.FunctionalLogistic(),
    "PrintedFuzzyCMeans": published.PrintedFuzzyCMeans(),
    "ThesisBayes": published.ThesisBayes(),
    "VaidyaBayes": published.VaidyaBayes(),
    "FunctionalIntercept": published.FunctionalIntercept(),
    "PrintedKMeans": published.PrintedKMeans(2),
}


def run(name, ledger):
    if name in CALLS:
        return CALLS[name](ledger=ledger)
    return clone(MODELS[name]).set_params(ledger=ledger).fit(X, Y).predict(X)


NAMES = [record.name for record in published.catalogue()]
EVERY = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def scales(monkeypatch):
    """The scales of all Laplace and Gaussian noise that is drawn, in order."""
    seen = []

    def spy(law):
        plain = getattr(FloatNoise, law)

        @functools.wraps(plain)
        def wrapped(self, scale, size=None):
            seen.append(np.asarray(scale).tolist())
            return plain(self, scale, size)

        monkeypatch.setattr(FloatNoise, law, wrapped)

    spy("laplace")
    spy("gaussian")
    return seen


# Simulation only


def test_every_algorithm_is_run_here():
    assert sorted(NAMES) == sorted([*CALLS, *MODELS])


@EVERY
def test_a_real_ledger_refuses(name):
    ledger = dp.Ledger(epsilon=100)
    with pytest.raises(UnsafeError, match="simulat"):
        run(name, ledger)
    assert ledger.spent().epsilon == 0
    with pytest.raises(UnsafeError, match="simulat"):
        run(name, None)


@EVERY
def test_a_simulation_records_a_leak_and_repeats(name):
    ledger = simulate(3)
    first = run(name, ledger)
    assert ledger.spent().infinite
    assert all("as printed" in entry["label"] for entry in ledger.entries())
    np.testing.assert_array_equal(first, run(name, simulate(3)))


def test_noise_follows_the_seed_and_can_be_off():
    draws = {published.count(Y, epsilon=1, ledger=simulate(s)) for s in range(20)}
    assert len(draws) == 20
    assert published.count(Y, epsilon=1, ledger=simulate(0, noise=False)) == 6


# The catalogue


@EVERY
def test_records_reach_the_docstring(name):
    thing = getattr(published, name)
    record = thing.printed
    assert record.name == name
    for text in (record.claim, record.add_remove, record.replace, f"row {record.row}"):
        assert text in thing.__doc__
    assert set(record.holds) <= {"add-remove", "replace"}
    assert record.to_dict()["holds"] == list(record.holds)


def test_every_row_of_the_calibration_table_is_here():
    rows = {row for record in published.catalogue() for row in record.row.split(", ")}
    wanted = {str(n) for n in range(1, 22)} - {"10"}  # 10 is a remark, no algorithm
    assert wanted <= rows


@EVERY
def test_the_counterpart_exists(name):
    ours = getattr(published, name).printed.ours
    module, _, last = ours.rpartition(".")
    try:
        importlib.import_module(ours)
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(module), last), ours


def test_the_page_has_the_table():
    assert published.markdown() in PAGE.read_text(encoding="utf-8"), (
        "docs/published.md is behind: paste discreto.lab.published.markdown() into it"
    )


# S0: votes


def test_codes_follow_the_first_row():
    assert published.factorize(["b", "a", "b"], ledger=simulate()).tolist() == [0, 1, 0]
    assert published.factorize(["a", "b", "b"], ledger=simulate()).tolist() == [0, 1, 1]


def test_votes_agree_with_scikit_learn():
    from sklearn.datasets import load_iris
    from sklearn.neighbors import KNeighborsClassifier

    rows, labels = load_iris(return_X_y=True)
    mine = KNNVotes(5, epsilon=None, ledger=simulate()).fit(rows[::2], labels[::2])
    plain = KNeighborsClassifier(5).fit(rows[::2], labels[::2])
    assert (mine.predict(rows) == plain.predict(rows)).mean() > 0.98


@pytest.mark.parametrize(("k", "loss"), [(5, 1.66), (15, 1.87), (51, 1.96)])
def test_votes_lose_nearly_twice_epsilon(k, loss):
    # One near row of class 0 pushes the only neighbour of class 1 out: k - 2 to k.
    probability = [math.exp(-gap) * (2 + gap) / 4 for gap in (k - 2, k)]  # class 1 wins
    assert math.log(probability[0] / probability[1]) == pytest.approx(loss, abs=0.005)
    if k == 5:
        rows, labels = np.arange(1.0, 6)[:, None], np.array([0, 0, 0, 0, 1])
        nearer = np.vstack([rows, [[0.5]]]), np.append(labels, 0)
        for (points, classes), expected in zip(
            [(rows, labels), nearer], probability, strict=True
        ):
            model = KNNVotes(5, epsilon=1, classes=[0, 1], ledger=simulate(1))
            asked = model.fit(points, classes).predict(np.zeros((100_000, 1)))
            error = 5 * math.sqrt(expected / 100_000)
            assert asked.mean() == pytest.approx(expected, abs=error)


def test_a_class_without_a_row_cannot_win():
    model = KNNVotes(3, epsilon=0.1, ledger=simulate(1)).fit(X, np.zeros(6))
    assert set(model.predict(np.tile(X, (50, 1)))) == {0.0}


# S1: the sum


def test_the_sum_of_the_lecture(scales):
    values = [4, 2, 7, 1]
    quiet = simulate(noise=False)
    assert published.local_sum(values, epsilon=1, ledger=quiet) == 14
    published.local_sum(values, epsilon=2, ledger=simulate())
    assert scales == [7.0, 3.5]
    noise = [-4.58, -0.15, 12.15, -6.43, 2.89]
    printed = [3.70, 6.98, 1.25, 2.85, 4.72]
    assert 100 * laplace_density(noise, 7) == pytest.approx(printed, abs=0.014)


@pytest.mark.parametrize(("output", "ratio"), [(14, 1.2), (60, 6.1), (200, 21)])
def test_the_sum_tells_who_is_there(output, ratio):
    def log_density(values):
        scale = local_sensitivity(values)
        return -abs(output - sum(values)) / scale - math.log(2 * scale)

    assert log_density([4, 2, 7, 1]) - log_density([4, 2, 1]) == pytest.approx(
        ratio, rel=0.03
    )


# S3: statistics


def test_two_coins():
    answers = np.arange(200_000) % 10 < 3
    noisy = published.two_coins(answers, ledger=simulate(1))
    assert noisy[answers].mean() == pytest.approx(3 / 4, abs=0.01)
    assert noisy[~answers].mean() == pytest.approx(1 / 4, abs=0.01)
    assert two_coin_share(noisy) == pytest.approx(0.3, abs=0.02)
    assert two_coin_share([1] * 3 + [0]) == 2 * 3 / 4 - 1 / 2


def test_scales_of_the_statistics(scales):
    ledger = simulate()
    published.count([True, False, True], epsilon=4, ledger=ledger)
    published.total([18, 90], 18, 90, epsilon=2, ledger=ledger)
    published.mean([18, 90], 18, 90, epsilon=2, ledger=ledger)
    published.histogram([1, 2], [0, 1.5, 3], epsilon=0.5, ledger=ledger)
    assert scales == [1 / 4, 36, 72, 1, 2]


def test_statistics_without_noise():
    quiet = simulate(noise=False)
    assert published.count([True, False, True], epsilon=4, ledger=quiet) == 2
    assert published.mean([1, 2, 6], 0, 9, epsilon=1, ledger=quiet) == 3
    assert published.mode([3, 1, 3], [1, 2, 3], epsilon=1, ledger=quiet) == 3
    assert published.mode(["b"], ["c", "a", "b"], epsilon=1, ledger=quiet) == "b"
    values, options = np.arange(101), np.arange(101)
    assert published.median(values, options, epsilon=1, ledger=quiet) in (50, 51)
    deep = published.quantile(values, 0.1, options, epsilon=1, ledger=quiet)
    assert deep in (10, 11)
    with pytest.raises(ParameterError, match="lower"):
        published.total([1], 2, 2, epsilon=1, ledger=quiet)


def test_draws_of_the_mode_have_the_printed_law():
    draws = [
        published.mode([0, 0, 1], [0, 1, 2], epsilon=0.5, ledger=simulate(s))
        for s in range(4000)
    ]
    weights = np.exp(0.5 * np.array([2, 1, 0]))
    shares = np.bincount(draws, minlength=3) / 4000
    assert shares == pytest.approx(weights / weights.sum(), abs=0.04)


def loss(law, pairs):
    """The largest log ratio of a law with finitely many outcomes."""
    return max(float(np.max(np.abs(np.log(law(a) / law(b))))) for a, b in pairs)


def neighbours(domain, rows, relation):
    for data in itertools.product(domain, repeat=rows):
        if relation == "replace":
            yield from ((data, (v, *data[1:])) for v in domain)
        else:
            yield data, data[1:]
            yield data[1:], data


def mode_law(data, options=4):
    weights = np.exp(np.bincount(data, minlength=options) - len(data))
    return weights / weights.sum()


def quantile_law(alpha, data, options=8):
    below = np.array([sum(v < o for v in data) for o in range(options)])
    weights = np.exp(-np.abs(below - alpha * len(data)) / 2)
    return weights / weights.sum()


def test_the_mode_costs_one_or_two_epsilon():
    add = loss(mode_law, neighbours(range(4), 4, "add-remove"))
    swap = loss(mode_law, neighbours(range(4), 4, "replace"))
    assert 0.9 < add <= 1 + 1e-9 < swap <= 2
    # In the limit of many rows, replacing costs all of 2.
    many = [([0] * 9 + [1] * 10, [0] * 10 + [1] * 9)]
    spread = [([0] * 9 + [1] * 30, [0] * 10 + [1] * 29)]
    assert loss(mode_law, many) < loss(mode_law, spread) <= 2


@pytest.mark.parametrize("alpha", [0.5, 0.25, 0.9])
def test_quantiles_cost_what_the_record_says(alpha):
    law = functools.partial(quantile_law, alpha)
    add = loss(law, neighbours(range(5), 4, "add-remove"))
    swap = loss(law, neighbours(range(5), 4, "replace"))
    assert add <= max(alpha, 1 - alpha) + 1e-9
    assert swap <= 1 + 1e-9
    assert add > 0.4 * max(alpha, 1 - alpha)


def test_a_histogram_moves_by_one_or_two():
    edges = [0, 1, 2, 3]

    def counts(data):
        return published.histogram(data, edges, epsilon=1, ledger=simulate(noise=False))

    pairs = neighbours((0.5, 1.5, 2.5), 3, "replace")
    assert max(np.abs(counts(a) - counts(b)).sum() for a, b in pairs) == 2
    pairs = neighbours((0.5, 1.5, 2.5), 3, "add-remove")
    assert max(np.abs(counts(a) - counts(b)).sum() for a, b in pairs) == 1


# The functional mechanism


def test_the_worked_example_of_the_slides():
    rows, target = np.array([[1.0], [0.9], [-0.5]]), np.array([0.4, 0.3, -1.0])
    quiet = simulate(noise=False)
    model = published.FunctionalIntercept(epsilon=10, ledger=quiet).fit(rows, target)
    assert model.loss_.constant == pytest.approx(1.25)
    assert model.loss_.linear == pytest.approx([0.6, -2.34])
    assert model.loss_.quadratic == pytest.approx(np.array([[3, 2.8], [0, 2.06]]))
    assert model.intercept_ == pytest.approx(-564 / 1055)
    assert model.coef_ == pytest.approx([393 / 422])
    noisy = regression.Polynomial(
        1.25, np.array([-0.29, -2.54]), np.array([[1.39, 1.18], [0, 2.14]])
    )
    assert noisy.stationary() == pytest.approx([-0.167, 0.640], abs=0.001)
    assert noisy.bounded()


def test_scaling_by_the_data_is_undone_by_predict():
    rows, target = 100 * X - 7, 5 * X[:, 0] + X[:, 1] + 3
    model = published.FunctionalIntercept(
        epsilon=1, scaling="data", ledger=simulate(noise=False)
    )
    np.testing.assert_allclose(model.fit(rows, target).predict(rows), target)
    raw = published.FunctionalIntercept(epsilon=None, ledger=simulate()).fit(X, target)
    np.testing.assert_allclose(raw.predict(X), target)


def test_scales_of_the_functional_mechanism(scales):
    published.FunctionalIntercept(epsilon=10, ledger=simulate()).fit(X[:, :1], Y)
    assert set(scales) == {8 / 10}
    scales.clear()
    published.FunctionalLinear(epsilon=2, ledger=simulate()).fit(X, Y)
    assert set(scales) == {2 * 9 / 2}
    scales.clear()
    published.FunctionalLogistic(epsilon=2, ledger=simulate()).fit(X, Y)
    assert set(scales) == {(4 / 4 + 3 * 2) / 2}


def coefficients(loss, *, constant):
    upper = np.triu_indices(loss.linear.size)
    parts = [loss.linear, loss.quadratic[upper]]
    return np.concatenate([*parts, [loss.constant]] if constant else parts)


def reach(objective, grid, labels, d, *, relation, constant):
    """How far one row moves the coefficients, in the l1 norm, over a grid."""
    points = list(itertools.product(grid, repeat=d))
    each = [
        coefficients(objective([x], [y]), constant=constant)
        for x in points
        for y in labels
    ]
    if relation == "add-remove":
        return max(np.abs(one).sum() for one in each)
    return max(np.abs(a - b).sum() for a, b in itertools.product(each, each))


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("d", [1, 2])
def test_linear_regression_gets_twice_the_noise(d, relation):
    grid = np.linspace(0, 1, 5)
    moved = reach(regression.squares, grid, grid, d, relation=relation, constant=True)
    assert moved == pytest.approx((d + 1) ** 2)


def test_an_intercept_costs_nine_where_eight_is_printed():
    grid = np.linspace(-1, 1, 9)
    objective = functools.partial(regression.squares, intercept=True)
    moved = [
        reach(objective, grid, grid, 1, relation=relation, constant=constant)
        for relation, constant in [("add-remove", False), ("replace", False)]
    ]
    assert moved == pytest.approx([8, 9])


@pytest.mark.parametrize(
    ("d", "relation", "sup"),
    [
        (1, "add-remove", 5 / 8),
        (2, "add-remove", 3 / 2),
        (1, "replace", 1),
        (2, "replace", 2),
    ],
)
def test_the_logistic_objective(d, relation, sup):
    grid, labels = np.linspace(0, 1, 5), (0, 1)
    moved = reach(
        regression.logistic_taylor, grid, labels, d, relation=relation, constant=False
    )
    assert moved == pytest.approx(sup)
    assert moved < d**2 / 4 + 3 * d


# Naive Bayes


def test_the_worked_examples_of_naive_bayes():
    people = np.array(
        [
            [182, 81.6, 30],
            [180, 86.2, 28],
            [170, 77.1, 30],
            [180, 74.8, 25],
            [152, 45.4, 15],
            [168, 68.0, 20],
            [165, 59.0, 18],
            [175, 68.0, 23],
        ]
    )
    sexes = np.array(["m"] * 4 + ["f"] * 4)
    model = published.ThesisBayes(epsilon=None, ledger=simulate()).fit(people, sexes)
    assert model.theta_[1] == pytest.approx([178, 79.9, 28.25], abs=0.05)
    assert model.sigma_[1] ** 2 == pytest.approx([29.3, 25.5, 5.58], rel=0.01)
    joint = model.joint([[183, 59, 20]])[0]
    assert joint == pytest.approx([1.52e-5, 1.3404e-10], rel=0.02)
    assert model.predict([[183, 59, 20]]) == ["f"]

    ages, incomes, genders = "YYMOOOMMYO", "LHHMHLLMLH", "MFMMMFFMMF"
    late = np.array([c == "Y" for c in "YYNNNYNYNN"])
    codes = [
        ["YMO".index(c) for c in ages],
        ["LMH".index(c) for c in incomes],
        ["MF".index(c) for c in genders],
    ]
    model = published.VaidyaBayes(
        epsilon=None, categories={0: 3, 1: 3, 2: 2}, ledger=simulate()
    ).fit(np.array(codes).T, late)
    young_woman = [[0, 1, 1]]
    assert model.joint(young_woman)[0] / 10 == pytest.approx([1 / 180, 1 / 40])


def test_scales_of_naive_bayes(scales):
    bounds = ([0, 0], [2, 4])
    published.ThesisBayes(epsilon=0.5, bounds=bounds, ledger=simulate()).fit(X, Y)
    wide = np.array([2, 4]) / 7 / 0.5
    np.testing.assert_allclose(scales[0], wide)
    np.testing.assert_allclose(scales[1], math.sqrt(6) * wide)
    scales.clear()
    published.VaidyaBayes(epsilon=0.3, bounds=bounds, ledger=simulate()).fit(X, Y)
    share = 0.3 / 3
    one = np.array([[2, 4]] * 2) / 4 / share  # three rows in each class
    np.testing.assert_allclose(scales[0], one)
    np.testing.assert_allclose(scales[1], math.sqrt(3) * one)
    assert scales[2] == 1.0


def test_the_prior_of_vaidya_costs_one_whatever_epsilon(scales):
    d, epsilon = 8, 0.1
    rows = np.linspace(0, 1, 40 * d).reshape(40, d)
    labels = np.arange(40) % 2
    published.VaidyaBayes(epsilon=epsilon, ledger=simulate()).fit(rows, labels)
    mean_scale, spread_scale, prior_scale = scales
    n = 20
    of_mean = d * (1 / (n + 1)) / np.max(mean_scale)
    of_spread = d * (math.sqrt(n) / (n + 1)) / np.max(spread_scale)
    assert of_mean + of_spread + 1 / prior_scale == pytest.approx(1.178, abs=0.001)


def test_the_deviation_moves_as_far_as_printed():
    n = 4
    shift = 0.0
    for data in itertools.product([0.0, 0.5, 1.0], repeat=n):
        for new in (0.0, 1.0):
            shift = max(shift, abs(np.std(data) - np.std([*data, new])))
    assert shift == pytest.approx(math.sqrt(n) / (n + 1))


# Clusters


def test_fuzzy_noise_drowns_the_centres(scales):
    published.PrintedFuzzyCMeans(2, epsilon=1, max_iter=10, ledger=simulate()).fit(X)
    assert max(scales) == pytest.approx(math.sqrt(2) * 240)
    assert min(scales) == pytest.approx(240)
    corners = np.concatenate(
        [
            published.PrintedFuzzyCMeans(2, ledger=simulate(s))
            .fit(X)
            .cluster_centers_.ravel()
            for s in range(25)
        ]
    )
    assert np.mean((corners == 0) | (corners == 1)) > 0.95


def test_plain_clusters_find_two_heaps():
    heaps = np.vstack([X * 0.1, 0.9 + X * 0.1])
    for model in (
        published.PrintedFuzzyCMeans(2, epsilon=None, max_iter=50, ledger=simulate(1)),
        published.PrintedKMeans(
            2, epsilon=None, max_iter=20, init="rows", ledger=simulate(1)
        ),
    ):
        centres = np.sort(model.fit(heaps).cluster_centers_[:, 0])
        assert centres == pytest.approx([0.05, 0.95], abs=0.02)
        assert len(set(model.predict(heaps[:6]))) == 1
    with pytest.raises(ParameterError, match="fuzzifier"):
        published.PrintedFuzzyCMeans(fuzzifier=2.5, ledger=simulate()).fit(X)


def test_scales_of_k_means(scales):
    published.PrintedKMeans(2, epsilon=1, max_iter=3, high=5.0, ledger=simulate()).fit(
        X
    )
    assert scales == [6, 6 * 2 * 5] * 3


# Staircase


def test_staircase_noise_has_the_printed_law():
    epsilon = 1.2
    noise = FloatNoise(simulate(1), "test").staircase(epsilon, (400_000,))
    gamma = 1 / (1 + math.exp(epsilon / 2))
    # The density falls by e^-ε from [0, γ) to [γ, 1), and by e^-ε from step to step.
    inner = np.mean(np.abs(noise) < gamma) / gamma
    outer = np.mean((np.abs(noise) >= gamma) & (np.abs(noise) < 1)) / (1 - gamma)
    again = np.mean((np.abs(noise) >= 1) & (np.abs(noise) < 1 + gamma)) / gamma
    assert math.log(inner / outer) == pytest.approx(epsilon, abs=0.05)
    assert math.log(inner / again) == pytest.approx(epsilon, abs=0.05)
    assert np.mean(noise) == pytest.approx(0, abs=0.02)


def test_staircase_cleaning_takes_ranges_from_the_data():
    quiet = simulate(noise=False)
    np.testing.assert_array_equal(
        published.staircase_clean(X, epsilon=1, ledger=quiet), X
    )
    tame = published.staircase_clean(X, [1, 1], epsilon=100, ledger=simulate(1))
    assert np.abs(tame - X).max() < 0.05
    wild = published.staircase_clean(X * 10, epsilon=1, ledger=simulate(1))
    calm = published.staircase_clean(X, epsilon=1, ledger=simulate(1))
    np.testing.assert_allclose(wild, 10 * calm)


# Federated


def test_the_graphs_of_the_thesis():
    weights = federated.degree_weights(federated.SEVEN_NODES)
    printed = [
        [3, 3, 3, 0, 0, 3, 0],
        [3, 6, 3, 0, 0, 0, 0],
        [3, 3, 3, 3, 0, 0, 0],
        [0, 0, 3, 3, 3, 0, 3],
        [0, 0, 0, 3, 9, 0, 0],
        [3, 0, 0, 0, 0, 5, 4],
        [0, 0, 0, 3, 0, 4, 5],
    ]
    np.testing.assert_allclose(12 * weights, printed)
    five = federated.degree_weights(federated.FIVE_NODES)
    assert five[3] == pytest.approx([0, 0, 0.25, 0.417, 0.333], abs=0.001)
    sixth = federated.constant_weights(federated.FIVE_NODES, 1 / 6)
    assert 6 * sixth[0] == pytest.approx([3, 1, 1, 0, 1])
    with pytest.raises(ParameterError, match="alpha"):
        federated.constant_weights(federated.SEVEN_NODES, 0.4)


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(1, 4.4), (10, 92), (2, 10.0), (20, 284), (100, 5430)]
)
def test_gaussian_noise_of_one_over_epsilon(mu, epsilon):
    # A step with noise σ = 1 on a sum that moves by C (2C, 2C m/2C) has μ = 1 (2, m);
    # a hundred steps have ten times that. δ must be at 1e-5 near the stated ε.
    from scipy.stats import norm

    def delta(e):
        tail = norm.logcdf(-e / mu - mu / 2)
        return norm.cdf(-e / mu + mu / 2) - math.exp(e + tail)

    assert delta(0.998 * epsilon - 0.05) > 1e-5 > delta(1.002 * epsilon + 0.05)


def test_the_printed_third_is_no_mixing_matrix():
    right = federated.constant_weights(federated.SEVEN_NODES, 1 / 3)
    wrong = federated.PRINTED_THIRD
    np.testing.assert_allclose(right.sum(axis=1), 1)
    np.testing.assert_allclose(right, right.T)
    rows_off = np.flatnonzero(~np.isclose(wrong, right).all(axis=1))
    assert rows_off.tolist() == [2, 4]
    assert wrong.sum(axis=1)[[2, 4]] == pytest.approx([4 / 3, 2 / 3])
    assert np.abs(np.linalg.eigvals(wrong)).max() == pytest.approx(1.023, abs=0.001)


def test_proximal_as_printed_learns_nothing(scales):
    start = np.array([0.3, -0.2])
    quiet = simulate(noise=False)
    still = published.proximal_update(start, CLIENT, epsilon=1, ledger=quiet)
    np.testing.assert_array_equal(still, start)
    scales.clear()
    published.proximal_update(
        start, CLIENT, epsilon=2, clip=3, rows_per_client=50, ledger=simulate()
    )
    assert scales == [2 * 3 / (50 * 2)]
    best = published.proximal_update(
        start, CLIENT, epsilon=None, mu=1e-9, clip=100, ledger=quiet
    )
    np.testing.assert_allclose(best, np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-6)


def test_only_the_last_batch_counts_as_printed(scales):
    client, start = CLIENT, np.zeros(2)
    kwargs = {"batch_size": 6, "clip": 0.5, "learning_rate": 0.1, "epochs": 3}
    published.sgd_update(start, client, epsilon=4, ledger=simulate(), **kwargs)
    assert scales == [0.5 / 4]
    quiet = simulate(noise=False)
    once = published.sgd_update(start, client, epsilon=4, ledger=quiet, **kwargs)
    slopes = 2 * (X @ start - Y)[:, None] * X
    norms = np.maximum(1, np.linalg.norm(slopes, axis=1, keepdims=True) / 0.5)
    np.testing.assert_allclose(once, start - 0.1 * (slopes / norms).mean(axis=0))
    thrice = published.sgd_update(
        start, client, epsilon=None, ledger=quiet, advance=True, **kwargs
    )
    assert np.mean((X @ thrice - Y) ** 2) < np.mean((X @ once - Y) ** 2)


def test_federations_without_noise_reach_least_squares():
    rng = np.random.Generator(np.random.PCG64(0))
    rows = rng.random((70, 2))
    target = rows @ [0.5, -0.3] + 0.01 * rng.normal(size=70)
    clients = [(rows[i::7], target[i::7]) for i in range(7)]
    best = np.linalg.lstsq(rows, target, rcond=None)[0]
    quiet = simulate(noise=False)

    def update(w, client):
        return published.proximal_update(
            w, client, epsilon=None, ledger=quiet, mu=0.1, clip=10
        )

    path = federated.federate(clients, update, rounds=40, start=[0, 0])
    assert path.shape == (41, 2)
    np.testing.assert_allclose(path[-1], best, atol=0.02)
    nodes = published.gossip(
        clients,
        federated.degree_weights(federated.SEVEN_NODES),
        epsilon=None,
        ledger=quiet,
        rounds=300,
        start=[0, 0],
        learning_rate=0.3,
        batch_size=10,
    )
    assert nodes.shape == (301, 7, 2)
    np.testing.assert_allclose(nodes[-1], np.tile(best, (7, 1)), atol=0.05)


# Boosting


def test_scales_of_the_leaves(scales):
    model = published.PrivRandBoost(
        epsilon=2, n_trees=1, trees_in_ensemble=1, max_depth=1, ledger=simulate()
    )
    model.fit(X, Y)
    assert scales == pytest.approx([1 / 1.1 / 2] * 2)
    scales.clear()
    published.DPBoost(
        epsilon=2, n_trees=40, trees_in_ensemble=20, max_depth=1, ledger=simulate()
    ).fit(np.tile(X, (40, 1)), np.tile(Y, 40))
    late = 2 * 0.95**39  # the leaf clip is smaller than 1/(1 + λ) by then
    assert min(scales) == pytest.approx(late / (2 / 2 / 2))
    assert max(scales) == pytest.approx(1 / 1.1 / (2 / 2 / 2))


def test_splits_and_children_come_from_the_rows():
    rows = np.column_stack([np.repeat([0.0, 1.0, 5.0], 20), np.arange(60.0)])
    target = np.repeat([0.0, 1.0, 3.0], 20)
    model = published.PrivCatBoost(
        epsilon=None,
        n_trees=1,
        trees_in_ensemble=1,
        max_depth=1,
        learning_rate=1.0,
        categorical=[0],
        ledger=simulate(noise=False),
    ).fit(rows, target)
    tree = model.trees_[0]
    assert tree.column == 0
    assert set(tree.children) == {0.0, 1.0, 5.0}
    assert tree.values(np.array([[2.0, 0.0]])) == 0  # a category nobody had
    assert model.predict(rows) == pytest.approx(target, abs=0.02)
    plain = published.DPBoost(
        epsilon=None, n_trees=1, max_depth=1, ledger=simulate(noise=False)
    ).fit(rows[:, 1:], target)
    assert plain.trees_[0].cut % 1 in (0, 0.5)  # a midpoint of observed values


def test_boosting_without_noise_learns():
    rng = np.random.Generator(np.random.PCG64(1))
    rows = rng.random((3000, 3))
    target = np.sin(6 * rows[:, 0]) + rows[:, 1]
    flat = np.std(target)
    for kind in (published.DPBoost, published.PrivRandBoost):
        model = kind(epsilon=None, ledger=simulate(2)).fit(rows, target)
        assert np.sqrt(np.mean((model.predict(rows) - target) ** 2)) < 0.6 * flat
    labels = np.where(target > 1, "high", "low")
    model = published.DPBoost(epsilon=50, task="classification", ledger=simulate(2))
    assert np.mean(model.fit(rows, labels).predict(rows) == labels) > 0.9
    with pytest.raises(ParameterError, match="two classes"):
        model.fit(X, np.arange(6))


def test_subsets_of_fixed_size_displace_rows():
    # 17d: with one row more, the rows of later trees change, too.
    model = published.DPBoost(n_trees=2, trees_in_ensemble=2, learning_rate=0.5)
    sizes = [[model._size(n, t % 2) for t in (1, 2)] for n in (5, 6)]
    assert sizes[0] != sizes[1]
    assert sum(sizes[1]) <= 6
    # 50 rows with slope 1 and sizes (0, 50), then one row of slope -1 more and sizes
    # (1, 50): the sums of both trees, with Laplace noise at ε = 1, at a far output.
    without = math.exp(-50 - 250)  # (50, -200) from (0, 50)
    others = math.exp(-49 - 248) * 50 / 51 + math.exp(-51 - 250) / 51
    assert math.log(others / without) == pytest.approx(2.98, abs=0.002)
