"""FuzzyCMeans and its row maps: sensitivities, Bezdek's steps, hard cases."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from sklearn import datasets

from discreto import Domain, Number, Table
from discreto.core import aggregate
from discreto.core.maps import FuzzyPulls, FuzzyWeights, from_json, to_json
from discreto.core.query import Block, Everyone, Sum, inside
from discreto.core.validation import check_parts
from discreto.errors import ParameterError
from discreto.models import FuzzyCMeans, KMeans
from discreto.testing import simulate

CENTRES = ((-0.5, 0.2), (0.6, -0.1), (0.7, 0.7))
VALUES = (-1.0, -0.5, 0.2, 0.7, 1.0, np.nan, np.inf)
NAMES = ("a", "b")


def domain(neighbours="add-remove", rows=None):
    columns = {name: Number(-1, 1) for name in NAMES}
    if neighbours == "replace":
        return Domain(columns, neighbours="replace", rows=rows)
    return Domain(columns)


def fold(query, rows, where):
    batch = {name: np.array([r[i] for r in rows]) for i, name in enumerate(NAMES)}
    return aggregate.fold(inside(query, where), batch, len(rows))


def iris():
    rows = datasets.load_iris().data
    return np.clip((rows - [4, 2, 1, 0]) / [2, 1.25, 3, 1.25] - 1, -1, 1)


@pytest.mark.parametrize("power", [1.001, 1.5, 2, 7.0])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_weights_of_a_row_add_up_to_at_most_one(power, neighbours):
    where = domain(neighbours, 1)
    block = Block(FuzzyWeights(NAMES, CENTRES, power))
    _check_reach(block, where, norm=1)
    _check_reach(block, where, norm=2)


@pytest.mark.parametrize("power", [1.001, 2, 7.0])
@pytest.mark.parametrize("radius", [1e-9, 0.4, 4.0])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_weighted_ways_of_a_row_stay_within_one_radius(power, radius, norm, neighbours):
    where = domain(neighbours, 1)
    block = Block(FuzzyPulls(NAMES, CENTRES, power, radius, norm))
    _check_reach(block, where, norm)


def _check_reach(block, where, norm):
    query = Sum(Everyone(), (block,))
    points = list(itertools.product(VALUES, VALUES))
    tables = [fold(query, [row], where)[0].astype(object) for row in points]
    if where.neighbours == "replace":
        gaps = [a - b for a, b in itertools.combinations(tables, 2)]
    else:
        gaps = tables
    if norm == 1:
        reach = max(np.abs(gap).sum() for gap in gaps)
        assert reach <= block.bind(where, 1).sensitivity
    else:
        reach = max((gap**2).sum() for gap in gaps)
        assert reach <= block.bind(where, 2).square


def test_maps_survive_json_and_refuse_nonsense():
    parts = (FuzzyWeights(NAMES, CENTRES, 2), FuzzyPulls(NAMES, CENTRES, 2, 0.5, 2))
    for part in parts:
        query = Sum(Everyone(), (Block(part),))
        assert from_json(to_json(query)) == query
    domain = Domain({name: Number(-1, 1) for name in NAMES})
    check_parts(FuzzyPulls(NAMES, CENTRES, 2.0, 1.0), domain)
    for power in (1, 0, -2, np.nan, np.inf, True, "2", None):
        with pytest.raises(ParameterError):
            check_parts(FuzzyWeights(NAMES, CENTRES, power), domain)
        with pytest.raises(ParameterError):
            check_parts(FuzzyPulls(NAMES, CENTRES, power, 1.0), domain)


def test_a_row_counts_the_same_beside_any_other_rows():
    rows = np.random.default_rng(0).uniform(-1, 1, (401, 2))
    for part in (
        FuzzyWeights(NAMES, CENTRES, 1.7),
        FuzzyPulls(NAMES, CENTRES, 1.7, 0.5, 2),
    ):

        def steps(some, part=part):
            batch = dict(zip(NAMES, some.T.copy(), strict=True))
            return aggregate.clamp(part.rows(batch, domain()), part.shape(domain()))

        whole = steps(rows)
        assert (steps(rows[1:]) == whole[:, 1:]).all()
        single = [steps(rows[i : i + 1]) for i in range(len(rows))]
        assert (np.hstack(single) == whole).all()


@pytest.mark.parametrize("power", [1.2, 2, 3.5])
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_without_noise_it_is_bezdeks_algorithm(power, steps):
    rows = iris()
    model = FuzzyCMeans(
        3,
        m=power,
        epsilon=10**6,
        init=rows[[0, 60, 120]],
        max_iter=steps,
        bounds=(-1, 1),
        ledger=simulate(noise=False),
    ).fit(rows)
    plain = model.reference().fit(rows)
    assert np.abs(model.cluster_centers_ - plain.cluster_centers_).max() < 1e-7
    assert np.abs(model.memberships(rows) - plain.memberships(rows)).max() < 1e-6
    assert (model.predict(rows) == plain.predict(rows)).all()


def test_the_exponent_is_two_over_m_minus_one():
    model = FuzzyCMeans(
        2,
        m=3,
        epsilon=10**6,
        init=[[-0.5], [0.5]],
        max_iter=1,
        bounds=(-1, 1),
        ledger=simulate(noise=False),
    ).fit(np.array([[-0.5], [0.5]]))
    low, high = model.cluster_centers_[:, 0]
    # Distances 1 and 3 to the centres: memberships 3/4 and 1/4 for m = 3.
    here = low + (high - low) / 4
    assert model.memberships([[here]])[0] == pytest.approx([0.75, 0.25])


def test_memberships_add_up_to_one_and_predict_the_largest():
    rows = iris()
    model = FuzzyCMeans(3, epsilon=1, bounds=(-1, 1), ledger=simulate(1)).fit(rows)
    chances = model.memberships(np.vstack([rows, model.cluster_centers_]))
    assert chances.shape == (153, 3)
    assert np.isfinite(chances).all()
    assert np.allclose(chances.sum(axis=1), 1)
    assert (model.predict(rows) == chances[:150].argmax(axis=1)).all()
    assert model.score(rows) < 0


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("where", [domain(), domain("replace", 40)])
@pytest.mark.parametrize("init", ["auto", np.zeros((3, 2))])
def test_a_plan_costs_exactly_epsilon(where, delta, init):
    model = FuzzyCMeans(3, epsilon="0.7", delta=delta, init=init, max_iter=3)
    plan = model.plan(where)
    total = sum((q.cost.rho or q.cost.epsilon for q in plan), Fraction(0))
    assert total == (plan.total.rho or plan.total.epsilon)
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    ledger = simulate(2)
    table = Table({"a": rows[:, 0], "b": rows[:, 1]}, where, ledger)
    assert np.isfinite(model.fit(table).cluster_centers_).all()
    assert ledger.spent() == plan.total


@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize(
    "rows",
    [
        np.empty((0, 2)),
        np.zeros((1, 2)),
        np.full((9, 2), np.nan),
        np.full((9, 2), 1e9),
        np.repeat([[0.3, 0.3]], 500, axis=0),
    ],
)
def test_survives_any_table(rows, noise, rounds):
    for epsilon in ("0.01", 1, 100):
        model = FuzzyCMeans(
            4,
            epsilon=epsilon,
            max_iter=rounds,
            bounds=(-1, 1),
            ledger=simulate(3, noise=noise),
        )
        model.fit(rows)
        assert model.cluster_centers_.shape == (4, 2)
        assert (np.abs(model.cluster_centers_) <= 1).all()
        assert np.isfinite(model.memberships(np.zeros((3, 2)))).all()


@pytest.mark.parametrize(
    "bad",
    [
        {"n_clusters": 0},
        {"n_clusters": -1},
        {"n_clusters": 2.5},
        {"max_iter": 0},
        {"m": 1},
        {"m": 0.5},
        {"m": -1},
        {"m": np.nan},
        {"m": "2"},
        {"m": True},
        {"init": "random"},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(bad):
    ledger = simulate(0)
    parameters = {"n_clusters": 2, "bounds": (0, 1), "ledger": ledger} | bad
    with pytest.raises(ParameterError, match="FuzzyCMeans"):
        FuzzyCMeans(epsilon=1, **parameters).fit(np.zeros((5, 2)))
    assert not ledger.entries()


def test_near_one_it_is_close_to_k_means():
    rows = iris()
    common = {"epsilon": 10**6, "init": rows[[0, 60, 120]], "bounds": (-1, 1)}
    soft = FuzzyCMeans(3, m=1.01, ledger=simulate(noise=False), **common).fit(rows)
    hard = KMeans(3, ledger=simulate(noise=False), **common).fit(rows)
    assert np.abs(soft.cluster_centers_ - hard.cluster_centers_).max() < 0.02


@pytest.mark.slow
def test_fuzzy_inertia_at_epsilon_one():
    rows = iris()
    best = min(
        _fuzzy_inertia(FuzzyCMeans(3, epsilon=1).reference(), rows, seed)
        for seed in range(3)
    )
    ratios = [
        -FuzzyCMeans(
            3, epsilon=1, bounds=(-1, 1), ledger=simulate(seed), random_state=seed
        )
        .fit(rows)
        .score(rows)
        / best
        for seed in range(20)
    ]
    assert np.mean(ratios) < 2


def _fuzzy_inertia(plain, rows, seed):
    plain.max_iter, plain.random_state = 50, seed
    plain.fit(rows)
    gaps = ((rows[:, None] - plain.cluster_centers_[None]) ** 2).sum(axis=2)
    return float((plain.memberships(rows) ** plain.m * gaps).sum())
