"""KMeans and its row maps: sensitivities, Lloyd's steps, hard cases, utility."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.cluster import KMeans as PlainKMeans

from discreto import Domain, Number, Table
from discreto.core import aggregate
from discreto.core.maps import Deviations, Nearest, Rings, from_json, to_json
from discreto.core.query import Block, Ones, Sum, inside
from discreto.core.validation import check_parts
from discreto.errors import DomainError, ParameterError
from discreto.models import KMeans
from discreto.models.clusters.centroids import merge, starts
from discreto.session.rng import generator
from discreto.testing import simulate

CENTRES = ((-0.5, 0.2), (0.6, -0.1), (0.6, 0.3))
VALUES = (-1.0, -0.4, 0.0, 0.7, 1.0, np.nan, np.inf, -7.0)


def domain(neighbours="add-remove", rows=None, names="ab"):
    columns = {name: Number(-1, 1) for name in names}
    if neighbours == "replace":
        return Domain(columns, neighbours="replace", rows=rows)
    return Domain(columns)


def fold(query, rows, where):
    batch = {name: np.array([r[i] for r in rows]) for i, name in enumerate("ab")}
    return aggregate.fold(inside(query, where), batch, len(rows))


def iris():
    rows = datasets.load_iris().data
    return np.clip((rows - [4, 2, 1, 0]) / [2, 1.25, 3, 1.25] - 1, -1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("radius", [1e-9, 0.3, 1.0, 4.0])
def test_one_row_never_moves_deviations_further_than_one_radius(norm, radius):
    where = domain()
    query = Sum(Nearest(("a", "b"), CENTRES), (Block(_ways(radius, norm)),))
    block = query.blocks[0]
    for row in itertools.product(VALUES, VALUES):
        (table,) = fold(query, [row], where)
        assert np.abs(table).sum() <= block.bind(where, 3).sensitivity or norm == 2
        assert int((table.astype(object) ** 2).sum()) <= block.bind(where, 2).square
        assert np.count_nonzero(table.any(axis=1)) <= 1


@pytest.mark.parametrize("norm", [1, 2])
def test_replaced_rows_stay_within_the_bound_of_replace(norm):
    where = domain("replace", 1)
    block = Block(_ways(0.5, norm))
    query = Sum(Nearest(("a", "b"), CENTRES), (block,))
    rows = list(itertools.product(VALUES, VALUES))
    tables = [fold(query, [row], where)[0].astype(object) for row in rows]
    reach = max(
        np.abs(a - b).sum() if norm == 1 else ((a - b) ** 2).sum()
        for a, b in itertools.combinations(tables, 2)
    )
    bound = (
        block.bind(where, 3).sensitivity if norm == 1 else block.bind(where, 2).square
    )
    # The bound holds, and it is not far from what rows can do.
    assert bound / 4 < reach <= bound


def test_counts_move_by_one_row():
    query = Sum(Nearest(("a", "b"), CENTRES), (Block(Ones()),))
    for row in itertools.product(VALUES, VALUES):
        rows = 0 if np.isnan(row).all() else 1  # nothing is known of such a row
        assert fold(query, [row], domain())[0].sum() == rows


def test_every_row_is_in_one_ring_and_the_ring_reaches_it():
    where = domain()
    for norm in (1, 2):
        rings = Rings(("a", "b"), CENTRES, 14, norm)
        for a, b in itertools.product(VALUES, VALUES):
            cell = int(rings.codes({"a": np.array([a]), "b": np.array([b])}, where)[0])
            if np.isnan([a, b]).all():
                assert cell == -1
                continue
            ways = np.nan_to_num(np.clip([a, b], -1, 1) - np.array(CENTRES))
            way = ways[(ways**2).sum(axis=1).argmin()]
            far = np.linalg.norm(way, ord=norm)
            assert far <= rings.edge(cell) * (1 + 1e-12)
            assert cell == 0 or far > rings.edge(cell - 1) * (1 - 1e-12)


@pytest.mark.parametrize("many", [1, 40])
def test_distances_and_ways_leave_gaps_out(many):
    """Against a plain search; where the domain promises no gaps they are the middle."""
    rng = np.random.default_rng(5)
    names = tuple("abcd")
    points = rng.uniform(-1, 1, (many, 4)).round(3)
    rows = rng.uniform(-1, 1, (300, 4))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    centres = tuple(map(tuple, points.tolist()))
    batch = dict(zip(names, rows.T.copy(), strict=True))
    for missing in (True, False):
        where = Domain({name: Number(-1, 1, missing=missing) for name in names})
        seen = rows if missing else np.nan_to_num(rows)
        far = np.nansum((seen[:, None, :] - points) ** 2, axis=2)
        found = Nearest(names, centres).codes(batch, where)
        nothing = np.isnan(seen).all(axis=1)
        assert (found[nothing] == -1).all()
        assert (found[~nothing] == far.argmin(axis=1)[~nothing]).all()
        ways = Deviations(names, centres, 8.0).rows(batch, where) * 8 / 2.0**30
        truth = np.nan_to_num(seen - points[far.argmin(axis=1)]).T
        np.testing.assert_allclose(ways, truth, atol=1e-6)


def test_a_hard_round_without_noise_is_the_mean_of_what_is_there():
    """Lloyd's steps over present values, also where gaps are in one cluster alone."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 4000)
    rows = np.array([[-0.9, -0.8, -0.95], [-0.7, -0.9, -0.6]])[label]
    rows = rows + rng.normal(0, 0.02, rows.shape)
    rows[(rng.random(rows.shape) < 0.5) & (label == 1)[:, None]] = np.nan
    start = np.array([[-0.85, -0.85, -0.9], [-0.75, -0.85, -0.7]])
    model = KMeans(2, epsilon=1, init=start, max_iter=3, shrink=False)
    model.set_params(ledger=simulate(noise=False), domain=domain(names="abc"))
    model.fit(rows)
    centres = start
    for _ in range(3):
        near = np.nansum((rows[:, None, :] - centres) ** 2, axis=2).argmin(axis=1)
        near[np.isnan(rows).all(axis=1)] = -1
        centres = np.array([np.nanmean(rows[near == k], axis=0) for k in (0, 1)])
    np.testing.assert_allclose(model.cluster_centers_, centres, atol=0.003)
    assert "rows with gaps" in [question.label for question in model.privacy_.plan]
    lost = np.full((1, 3), np.nan)
    largest = int(np.argmax(model.cluster_sizes_))
    assert model.predict(lost)[0] == largest
    assert model.transform(lost).tolist() == [[0.0, 0.0]]


def test_maps_survive_json_and_refuse_nonsense():
    for part in (_ways(0.5, 2), _ways(1, 1)):
        query = Sum(Nearest(("a", "b"), CENTRES), (Block(part),))
        assert from_json(to_json(query)) == query
    domain = Domain({"a": Number(-1, 1), "b": Number(-1, 1)})
    check_parts(Deviations(("a", "b"), CENTRES, 1.0), domain)
    check_parts(Rings(("a", "b"), CENTRES, 4), domain)
    for bad in (0, -1, np.nan, np.inf, True, "1", None):
        with pytest.raises(ParameterError):
            check_parts(Deviations(("a", "b"), CENTRES, bad), domain)
    for norm in (0, 3, True, "1"):
        with pytest.raises(ParameterError):
            check_parts(Deviations(("a", "b"), CENTRES, 1.0, norm), domain)
    for bins in (0, 65, 2.5, None):
        with pytest.raises(ParameterError):
            check_parts(Rings(("a", "b"), CENTRES, bins), domain)
    for points in ((), ((0.0,),), ((0.0, np.nan),), [(0.0, 0.0)], ((True, 0.0),)):
        with pytest.raises(ParameterError):
            check_parts(Nearest(("a", "b"), points), domain)


def test_a_row_goes_to_the_same_cell_beside_any_other_rows():
    # Both centres are equally near: only exact arithmetic agrees for every batch.
    rng = np.random.default_rng(0)
    names = tuple("abcdefg")
    points = rng.uniform(-1, 1, (2, 7)).round(3)
    across = points[1] - points[0]
    rows = rng.uniform(-0.3, 0.3, (997, 7))
    rows -= np.outer(rows @ across / (across @ across), across)
    rows += points.mean(axis=0)
    where = Domain({name: Number(-1, 1) for name in names})
    cells = Nearest(names, tuple(map(tuple, points.tolist())))

    def codes(part):
        return cells.codes(dict(zip(names, part.T.copy(), strict=True)), where)

    whole = codes(rows)
    assert 0 < whole.mean() < 1
    assert (codes(rows[1:]) == whole[1:]).all()
    single = np.concatenate([codes(rows[i : i + 1]) for i in range(len(rows))])
    assert (single == whole).all()


def _ways(radius, norm):
    return Deviations(("a", "b"), CENTRES, radius, norm)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_without_noise_it_is_lloyds_algorithm(steps, delta):
    rows = iris()
    model = KMeans(
        3,
        epsilon=10**6,
        delta=delta,
        init=rows[[0, 60, 120]],
        max_iter=steps,
        bounds=(-1, 1),
        ledger=simulate(noise=False),
    ).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged: that is the point
        plain = model.reference().fit(rows)
    gap = np.abs(model.cluster_centers_ - plain.cluster_centers_).max()
    assert gap < (1e-8 if delta == 0 else 1e-6)
    assert (model.predict(rows) == plain.predict(rows)).all()
    assert model.score(rows) == pytest.approx(plain.score(rows), rel=1e-5)
    assert np.allclose(model.distances(rows), plain.transform(rows), atol=1e-5)


def test_units_of_columns_do_not_matter():
    rows, scale = iris(), np.array([1.0, 10.0, 0.1, 1000.0])
    one = KMeans(3, epsilon=5, bounds=(-1, 1), ledger=simulate(1), random_state=1)
    two = KMeans(
        3, epsilon=5, bounds=(-scale, scale), ledger=simulate(1), random_state=1
    )
    one.fit(rows)
    two.fit(rows * scale)
    assert np.allclose(one.cluster_centers_ * scale, two.cluster_centers_)


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("where", [domain(), domain("replace", 40)])
@pytest.mark.parametrize("init", ["auto", np.zeros((3, 2))])
def test_a_plan_costs_exactly_epsilon(where, delta, init):
    model = KMeans(3, epsilon="0.7", delta=delta, init=init, max_iter=3)
    plan = model.plan(where)
    total = sum((q.cost.rho or q.cost.epsilon for q in plan), Fraction(0))
    assert total == (plan.total.rho or plan.total.epsilon)
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    ledger = simulate(2)
    table = Table({"a": rows[:, 0], "b": rows[:, 1]}, where, ledger)
    assert np.isfinite(model.fit(table).cluster_centers_).all()
    assert ledger.spent() == plan.total


@pytest.mark.slow
@pytest.mark.parametrize("noise", [True, False])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize(
    "rows",
    [
        np.empty((0, 2)),
        np.zeros((1, 2)),
        np.full((9, 2), np.nan),
        np.full((9, 2), 1e9),
        np.full((9, 2), -np.inf),
        np.repeat([[0.3, 0.3]], 500, axis=0),
    ],
)
def test_survives_any_table(rows, noise, delta):
    for epsilon in ("0.01", 1, 100):
        model = KMeans(
            4,
            epsilon=epsilon,
            delta=delta,
            bounds=(-1, 1),
            ledger=simulate(3, noise=noise),
        )
        model.fit(rows)
        centres = model.cluster_centers_
        assert centres.shape == (4, 2)
        assert (np.abs(centres) <= 1).all()
        assert model.cluster_sizes_.shape == (4,)
        assert model.predict(np.zeros((3, 2))).shape == (3,)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [1, 2, 7, 60])
@pytest.mark.parametrize("width", [1, 2, 9])
def test_any_number_of_clusters_and_columns(clusters, width):
    rows = np.random.default_rng(0).uniform(0, 1, (30, width))
    for rounds in (1, 2, 4):
        model = KMeans(
            clusters,
            epsilon=20,
            max_iter=rounds,
            bounds=(0, 1),
            ledger=simulate(4),
            random_state=0,
        ).fit(rows)
        assert model.cluster_centers_.shape == (clusters, width)
        assert model.n_iter_ == rounds


@pytest.mark.parametrize(
    "bad",
    [
        {"n_clusters": 0},
        {"n_clusters": -1},
        {"n_clusters": 2.5},
        {"n_clusters": True},
        {"n_clusters": "3"},
        {"max_iter": 0},
        {"max_iter": -2},
        {"max_iter": 1.5},
        {"init": "k-means++"},
        {"init": [[0.0]]},
        {"init": [[0.0, np.nan]] * 2},
        {"init": "auto ", "n_clusters": 2},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(bad):
    ledger = simulate(0)
    parameters = {"n_clusters": 2, "bounds": (0, 1), "ledger": ledger} | bad
    with pytest.raises(ParameterError, match="KMeans"):
        KMeans(epsilon=1, **parameters).fit(np.zeros((5, 2)))
    assert not ledger.entries()


def test_bounds_are_needed():
    with pytest.raises(DomainError):
        KMeans(2, epsilon=1).fit(np.zeros((5, 2)))


@pytest.mark.filterwarnings("ignore:column .* has values that the domain")
def test_categories_are_shares_of_a_centre():
    from discreto import Category

    rng = np.random.default_rng(0)
    half = np.arange(600) < 300
    letters = Category(["x", "y", "z"], missing=False)
    mixed = Domain({"a": Number(0, 1), "c": letters})
    columns = {
        "a": np.where(half, 0.2, 0.8) + rng.normal(0, 0.05, 600),
        "c": np.where(half, "x", np.where(rng.random(600) < 0.5, "y", "z")),
    }
    table = Table(columns, mixed, simulate(1))
    model = KMeans(2, epsilon=20, random_state=0).fit(table)
    assert model.center_names_ == ["a", "c=x", "c=y", "c=z"]
    low = model.cluster_centers_[np.argmin(model.cluster_centers_[:, 0])]
    np.testing.assert_allclose(low, [0.2, 1, 0, 0], atol=0.1)
    assert ((model.cluster_centers_ >= 0) & (model.cluster_centers_ <= 1)).all()
    rows = {"a": [0.2, 0.8, np.nan], "c": ["x", "z", "?"]}
    far = model.transform(pd.DataFrame(rows))
    assert far.shape == (3, 2)
    assert (far.argmin(axis=1) == model.predict(pd.DataFrame(rows))).all()


def test_distances_are_those_of_scikit_learn():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    model = KMeans(4, epsilon=5, bounds=(-1, 1), ledger=simulate(0)).fit(X)
    far = np.linalg.norm(X[:, None, :] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(model.transform(X), far)


def test_nothing_of_the_training_rows_is_kept():
    rows = iris()
    small = KMeans(3, epsilon=1, bounds=(-1, 1), ledger=simulate(1)).fit(rows[:20])
    large = KMeans(3, epsilon=1, bounds=(-1, 1), ledger=simulate(1)).fit(rows)
    assert not hasattr(large, "labels_")
    assert not hasattr(large, "inertia_")
    for name, value in vars(large).items():
        if isinstance(value, np.ndarray):
            assert value.shape == getattr(small, name).shape


def test_the_order_of_rows_does_not_matter():
    rows = iris()
    models = [
        KMeans(3, epsilon=1, bounds=(-1, 1), ledger=simulate(1), random_state=3)
        for _ in range(2)
    ]
    one, two = models[0].fit(rows), models[1].fit(rows[::-1])
    assert (one.cluster_centers_ == two.cluster_centers_).all()


def test_starting_points_keep_apart():
    for count, width in ((2, 2), (3, 4), (10, 64), (12, 3), (5, 1)):
        points = starts(count, width, generator(0))
        gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
        assert gaps[~np.eye(count, dtype=bool)].min() > 0.25


def test_merging_finds_groups_of_cells():
    rng = np.random.default_rng(0)
    middles = np.array([[-0.5, 0], [0.5, 0.5], [0.5, -0.5]])
    points = np.vstack([m + 0.02 * rng.normal(size=(8, 2)) for m in middles])
    found = merge(points, np.ones(24), 3, generator(1))
    gaps = np.linalg.norm(found[:, None] - middles[None], axis=2)
    assert gaps.min(axis=0).max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "clusters", "scale", "limit"),
    [("iris", 3, None, 2.0), ("breast_cancer", 2, "max", 2.0)],
)
def test_inertia_at_epsilon_one(name, clusters, scale, limit):
    rows = iris() if scale is None else datasets.load_breast_cancer().data
    if scale == "max":
        rows = rows / rows.max(axis=0) * 2 - 1
    best = PlainKMeans(clusters, n_init=5, random_state=0).fit(rows).inertia_
    ratios = [
        -KMeans(
            clusters,
            epsilon=1,
            bounds=(-1, 1),
            ledger=simulate(seed),
            random_state=seed,
        )
        .fit(rows)
        .score(rows)
        / best
        for seed in range(20)
    ]
    assert np.mean(ratios) < limit


def test_empty_clusters_do_not_take_centres_far_away():
    rows = np.repeat([[0.5, 0.5]], 2000, axis=0)
    model = KMeans(5, epsilon=2, bounds=(0, 1), ledger=simulate(1)).fit(rows)
    assert -model.score(rows) / 2000 < 0.001


@pytest.mark.parametrize("delta", [0, "1e-5"])
@pytest.mark.parametrize("steps", [1, 4])
def test_without_noise_and_shrinkage_steps_are_lloyds(delta, steps):
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(m, 0.1, (40, 2)) for m in (0.2, 0.5, 0.8)]).clip(0, 1)
    start = np.array([[0.1, 0.1], [0.4, 0.6], [0.9, 0.7]])
    model = KMeans(
        3,
        epsilon=1,
        delta=delta,
        init=start,
        max_iter=steps,
        shrink=False,
        bounds=(0, 1),
        ledger=simulate(noise=False),
    ).fit(X)
    centres = start
    for _ in range(steps):
        near = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([X[near == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, centres, atol=1e-7)
