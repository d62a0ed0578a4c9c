"""Neighbours: exact losses by brute force, paid predictions, and free ones."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier as PlainK
from sklearn.neighbors import RadiusNeighborsClassifier as PlainRadius

import discreto as dp
from discreto.core import aggregate
from discreto.core.maps import (
    Categories,
    Memberships,
    NearestRows,
    NearestVotes,
    ReachVotes,
    RowsInReach,
    Sides,
    from_json,
    to_json,
)
from discreto.core.query import Block, Choice, Sum, bind, inside
from discreto.core.validation import check_parts
from discreto.errors import BudgetError, ParameterError, UnsafeError
from discreto.models import (
    CellNeighborsClassifier,
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)
from discreto.models.base.features import Ready
from discreto.models.interop import json as persist
from discreto.models.neighbors.hashing import log_votes
from discreto.testing import simulate

COLUMNS = {"x": dp.Number(-1, 1), "y": dp.Category(["a", "b", "c"])}
ADD = dp.Domain(COLUMNS, target="y")
REPLACE = dp.Domain(COLUMNS, target="y", neighbours="replace", rows=3)
TWO = dp.Domain({f"x{i}": dp.Number(-1, 1) for i in range(2)} | {"y": COLUMNS["y"]})
VOTERS = [KNeighborsClassifier, RadiusNeighborsClassifier]


def iris():
    X, y = load_iris(return_X_y=True)
    low, high = np.array([4, 2, 1, 0]), np.array([8, 5, 7, 3])
    return (X - (low + high) / 2) / ((high - low) / 2), y


def table_of(X, y, ledger, **options):
    names = [f"x{i}" for i in range(X.shape[1])]
    columns = dict.fromkeys(names, dp.Number(-1, 1)) | {"y": dp.Category([0, 1, 2])}
    domain = dp.Domain(columns, target="y", **options)
    return dp.Table(dict(zip(names, X.T, strict=True)) | {"y": y}, domain, ledger)


# Sensitivity by brute force


def law(scores, ratio):
    """Permute-and-flip, exactly."""
    best, chances = max(scores), [Fraction(0)] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        left = Fraction(1)
        for i in order:
            heads = ratio ** int(best - scores[i])
            chances[i] += left * heads
            left *= 1 - heads
    return [chance / math.factorial(len(scores)) for chance in chances]


def worst_loss(choice, domain, ratio, largest=2):
    """The largest likelihood ratio over all neighbouring tables of a few rows."""
    places = (-1.0, 0.2, math.nan)
    universe = list(itertools.product(places, (0, 1, -1)))
    laws = {}

    def laws_of(table):
        key = tuple(sorted(table))
        if key not in laws:
            rows = [universe[i] for i in key]
            batch = {
                "x": np.array([x for x, _ in rows]),
                "y": np.array([y for _, y in rows], dtype=np.int64),
            }
            tally = aggregate.fold(inside(choice.tally, domain), batch, len(rows))[0]
            scores = choice.score.scores(tally, domain)
            laws[key] = [law(group.tolist(), ratio) for group in scores]
        return laws[key]

    worst = Fraction(0)
    for size in range(largest + 1):
        for table in itertools.combinations_with_replacement(range(9), size):
            near = [(*table, i) for i in range(9)]
            if domain.neighbours == "replace":
                near = [(*table[1:], i) for i in range(9)] if table else []
            for other in near:
                pairs = list(zip(laws_of(table), laws_of(other), strict=True))
                for flip in (1, -1):
                    each = [
                        max(a / b for a, b in zip(*pair[::flip], strict=True))
                        for pair in pairs
                    ]
                    worst = max(worst, math.prod(each))
    return worst


POINTS = ((0.0,), (0.9,))


def votes(kind, points):
    if kind == "nearest":
        return Choice(NearestRows(("x",), "y", points, 2), NearestVotes(len(points), 3))
    return Choice(RowsInReach(("x",), "y", points, 0.9), ReachVotes(len(points), 3))


@pytest.mark.parametrize("domain", [ADD, REPLACE], ids=["add", "replace"])
@pytest.mark.parametrize("points", [POINTS[:1], POINTS], ids=["one", "two"])
@pytest.mark.parametrize("kind", ["nearest", "reach"])
def test_votes_lose_no_more_than_they_declare(kind, points, domain):
    choice, ratio = votes(kind, points), Fraction(2, 3)
    loss = worst_loss(choice, domain, ratio)
    assert 1 < loss <= ratio ** -choice.width(domain)


@pytest.mark.slow
def test_the_sources_scale_is_too_small_for_nearest_rows():
    """Calibration row 1: with scale 1 / epsilon the loss is above epsilon."""
    ratio = Fraction(1, 2)  # exp(-epsilon), scale 1 / epsilon
    assert worst_loss(votes("nearest", POINTS[:1]), ADD, ratio) > 1 / ratio
    assert worst_loss(votes("reach", POINTS[:1]), ADD, ratio) <= 1 / ratio


@pytest.mark.slow
@pytest.mark.parametrize("radius", [0.05, 0.3, 1.0])
def test_no_row_reaches_more_points_than_declared(radius):
    rng = np.random.default_rng(0)
    points = tuple(map(tuple, rng.uniform(-1, 1, (40, 2)).tolist()))
    tally = RowsInReach(("x0", "x1"), "y", points, radius)
    rows = np.concatenate([np.array(points), rng.uniform(-1, 1, (3000, 2))])
    most = 0
    for row in rows:
        batch = {"x0": row[:1], "x1": row[1:], "y": np.zeros(1, dtype=np.int64)}
        most = max(most, int(tally.fold(batch, 1, TWO).sum()))
    assert most <= tally.overlap() <= 40
    assert radius == 1.0 or tally.overlap() < 40


def sides(cuts=2):
    weights = tuple((0.5 * i - 0.5, 1.0) for i in range(cuts))
    marks = tuple(((1.0, -0.5, 0.25),) for _ in range(cuts))
    return Sides(("x0", "x1"), ("y",), weights, marks, tuple(0.1 for _ in range(cuts)))


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_memberships_move_no_further_than_declared(neighbours):
    rows = 2 if neighbours == "replace" else None
    domain = TWO.with_(neighbours=neighbours, rows=rows)
    other = Sides(("x1",), (), ((1.0,), (-1.0,)), ((), ()), (0.0, 0.5))
    block = Block(Memberships((sides(), other)))
    query = Sum(Categories(("y",)), (block,))
    universe = list(
        itertools.product((-1.0, 1.0, math.nan, 1e300), (-1.0, 0.3), (0, 1, 2, -1))
    )

    def fold(rows):
        batch = {f"x{i}": np.array([row[i] for row in rows]) for i in range(2)}
        batch["y"] = np.array([row[2] for row in rows], dtype=np.int64)
        return aggregate.fold(inside(query, domain), batch, len(rows))[0]

    worst = [0, 0]
    for row in universe:
        news = universe if neighbours == "replace" else [None]
        for new in news:
            base = fold([row])
            gap = base - (fold([new]) if new else 0 * base)
            worst[0] = max(worst[0], np.abs(gap).sum())
            worst[1] = max(worst[1], (gap**2).sum())
    assert worst[0] == block.bind(domain, 3).sensitivity
    assert worst[1] == block.bind(domain, 2).square


# Questions as data


def test_sides_do_not_depend_on_the_batch():
    rng = np.random.default_rng(3)
    batch = {n: rng.uniform(-1, 1, 997) for n in ("x0", "x1")}
    batch["y"] = rng.integers(-1, 3, 997)
    whole = sides(3).codes(batch, TWO)
    parts = [
        sides(3).codes({n: c[[i]] for n, c in batch.items()}, TWO) for i in range(997)
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_json_round_trip_and_hostile_json():
    query = Sum(Categories(("y",)), (Block(Memberships((sides(),))),))
    data = to_json(query)
    assert from_json(json.loads(json.dumps(data))) == query
    for path, value in [
        (("offsets",), [1e9, 0.0]),
        (("offsets",), []),
        (("weights",), [[2.0, 0.0], [0.0, 0.0]]),
        (("weights",), 3),
        (("marks",), [[["x", 0.0, 0.0]]] * 2),
        (("numbers",), ["x0", "x0"]),
        (("numbers",), "x0"),
    ]:
        bad = json.loads(json.dumps(data))
        bad["blocks"][0]["features"]["tables"][0][path[0]] = value
        with pytest.raises(ParameterError):
            bind(from_json(bad), TWO)
    with pytest.raises(ParameterError, match="same number"):
        check_parts(Memberships((sides(2), sides(3))), TWO)
    with pytest.raises(ParameterError, match="one weight"):
        sides().check(TWO.with_(columns=dict(TWO.columns) | {"y": dp.Boolean()}))


def test_points_of_strangers_stay_where_integers_are_exact():
    with pytest.raises(ParameterError, match="from -2 to 2"):
        check_parts(RowsInReach(("x0",), "y", ((3.0,),), 1.0), TWO)


# Noise off: scikit-learn's answers


def test_nearest_rows_equal_scikit_learn():
    X, y = iris()
    X = X + np.random.default_rng(0).normal(0, 1e-2, X.shape)  # no ties
    model = KNeighborsClassifier(
        7, epsilon=1, bounds=(-1, 1), classes=[0, 1, 2], ledger=simulate(noise=False)
    )
    plain = model.reference().fit(np.clip(X, -1, 1)[::2], y[::2])
    assert isinstance(plain, PlainK)
    ours = model.fit(X[::2], y[::2]).predict(X[1::2])
    np.testing.assert_array_equal(ours, plain.predict(np.clip(X, -1, 1)[1::2]))


def test_rows_in_reach_equal_scikit_learn():
    X, y = iris()
    model = RadiusNeighborsClassifier(
        0.7, epsilon=1, bounds=(-1, 1), classes=[0, 1, 2], ledger=simulate(noise=False)
    )
    plain = model.reference().fit(X[::2], y[::2])
    assert isinstance(plain, PlainRadius)
    votes = plain.predict_proba(X[1::2])
    clear = np.sort(votes, axis=1)[:, -1] > np.sort(votes, axis=1)[:, -2]
    ours = model.fit(X[::2], y[::2]).predict(X[1::2])
    np.testing.assert_array_equal(ours[clear], plain.predict(X[1::2])[clear])


def test_cells_equal_plain_counts():
    X, y = iris()
    model = CellNeighborsClassifier(
        epsilon=1, bounds=(-1, 1), classes=[0, 1, 2], random_state=0,
        ledger=simulate(noise=False),
    ).fit(X, y)  # fmt: skip
    assert np.allclose(model.class_prior_, 1 / 3)
    weights, _, offsets = model.cuts_[0]
    heights = X @ np.array(weights).T - np.array(offsets)
    codes = (heights > 0) @ (1 << np.arange(4)[::-1])
    counts = np.zeros((16, 3))
    np.add.at(counts, (codes, y), 1)
    plan = model.privacy_.plan.questions[-1]
    doubt = (1 + plan.noise[0]) / 2
    usual = counts.sum(axis=1, keepdims=True) / 3
    odds = 0.55 * min(1, 2 * 4 / (8 * 4)) * np.log((counts + doubt) / (usual + doubt))
    np.testing.assert_allclose(model.cell_log_odds_[0], odds, atol=1e-9)


def test_noise_makes_no_rare_class_frequent():
    """Counts of a rare class are noise; cut off at 0 they made it win every row."""
    rng, rows = np.random.default_rng(0), np.array([900.0, 50.0, 30.0, 20.0])
    said = []
    for _ in range(20):
        counts = rng.multinomial(1, np.full(16, 1 / 16), size=(8, 1000))
        classes = np.repeat(np.arange(4), rows.astype(int))
        exact = np.stack(
            [[table[classes == k].sum(axis=0) for k in range(4)] for table in counts]
        )
        noisy = np.round(exact + rng.laplace(0, 20, exact.shape)).transpose(0, 2, 1)
        prior, odds = log_votes(noisy, 800.0)
        cells = rng.integers(0, 16, 8)
        logs = np.log(prior) + 0.55 * odds[np.arange(8), cells].sum(axis=0)
        said.append(int(np.argmax(logs)))
    assert said.count(0) >= 15


# Paying


@pytest.mark.parametrize("kind", VOTERS)
def test_fit_is_free_and_predictions_are_paid(kind):
    X, y = iris()
    ledger = dp.Ledger(epsilon=3)
    model = kind(epsilon=1).fit(table_of(X, y, ledger))
    assert ledger.total() == 0
    assert not model.privacy_.cost
    assert len(model.predict(X[:5])) == 5
    assert ledger.total() == 1
    model.predict(X[:5], epsilon="0.5")
    assert ledger.total() == 1.5
    with pytest.raises(BudgetError):
        model.predict(X[:5], epsilon=2)
    assert ledger.total() == 1.5
    assert model.predict(X[:0]).shape == (0,)
    assert ledger.total() == 1.5


@pytest.mark.parametrize("kind", VOTERS)
def test_without_a_ledger_there_is_one_prediction(kind):
    X, y = iris()
    model = kind(epsilon=1, bounds=(-1, 1), classes=[0, 1, 2]).fit(X, y)
    model.predict(X[:3])
    with pytest.raises(BudgetError):
        model.predict(X[:3])


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("kind", VOTERS)
def test_the_plan_is_what_is_charged(kind, neighbours, delta):
    X, y = iris()
    rows = 150 if neighbours == "replace" else None
    ledger = simulate(1)
    table = table_of(X, y, ledger, neighbours=neighbours, rows=rows)
    model = kind(epsilon=2, delta=delta)
    plan = model.plan(table.domain, queries=6)
    points = X[:6] + np.arange(6)[:, None] * 1e-3
    model.fit(table).predict(points)
    entry = ledger.entries()[-1]
    assert entry["cost"] == plan.total.to_dict()
    asked = [question.to_dict() for question in plan]
    # The plan does not know the points: it is an upper bound for rows in reach.
    for worst, real in zip(asked, entry["event"]["questions"], strict=True):
        assert real["cost"] == worst["cost"]
        assert real["sensitivity"] <= worst["sensitivity"]
    total = sum((question.cost for question in plan), dp.Cost())
    assert plan.total.covers(total)


def test_noise_grows_with_the_points_and_with_their_root_under_delta():
    plans = [
        KNeighborsClassifier(5, epsilon=1, delta=delta).plan(ADD, queries=queries)
        for delta in (0, "1e-6")
        for queries in (1, 100)
    ]
    one, many, root_one, root_many = (plan.questions[0].noise[0] for plan in plans)
    assert many == 100 * one == 200
    # The gate rounds these scales up to whole numbers.
    # A choice is worth a little less than its share where rho is small.
    assert 10 * (root_one - 1) <= root_many <= 10.1 * root_one
    assert root_many < many


def test_equal_points_are_asked_once():
    X, y = iris()
    ledger = simulate(0)
    model = KNeighborsClassifier(9, epsilon=1).fit(table_of(X, y, ledger))
    out = model.predict(np.repeat(X[:2], 50, axis=0))
    assert ledger.entries()[-1]["event"]["questions"][0]["sensitivity"] == [4]
    assert len(set(out[:50])) == len(set(out[50:])) == 1


@pytest.mark.parametrize("kind", VOTERS)
def test_rows_do_not_travel(kind):
    X, y = iris()
    model = kind(epsilon=1).fit(table_of(X, y, simulate(0)))
    text = pickle.dumps(model)
    assert len(text) < 5000
    assert X[:5].tobytes() not in text
    with pytest.raises(UnsafeError, match="Fit it again"):
        pickle.loads(text).predict(X[:1])
    with pytest.raises(UnsafeError, match="cannot be saved"):
        persist.dumps(model)
    assert "array" not in repr(model)
    with pytest.raises(UnsafeError, match="private table"):
        model.predict(Ready({"x0": X[:, 0]}, 150))
    assert not hasattr(model, "predict_proba")


# Poor tables and bad parameters


@pytest.mark.parametrize("rows", [0, 1, 4])
@pytest.mark.parametrize("kind", VOTERS)
@pytest.mark.parametrize("noise", [True, False])
def test_small_tables(kind, rows, noise):
    X, y = iris()
    table = table_of(X[:rows], y[:rows], simulate(1, noise=noise))
    out = kind(50 if kind is KNeighborsClassifier else None, epsilon=1).fit(table)
    assert set(out.predict(X)) <= {0, 1, 2}


@pytest.mark.parametrize("kind", VOTERS)
def test_missing_and_foreign_values(kind):
    X = np.array([[np.nan, 1e300], ["?", None], [-np.inf, 0.1]] * 5, dtype=object)
    y = np.array([0, "?", None] * 5, dtype=object)
    table = table_of(X, y, simulate(1))
    assert len(kind(epsilon=1).fit(table).predict([[np.nan, 5.0]])) == 1


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (KNeighborsClassifier(0, epsilon=1), "n_neighbors must be a whole"),
        (KNeighborsClassifier(2.5, epsilon=1), "n_neighbors must be a whole"),
        (KNeighborsClassifier(True, epsilon=1), "n_neighbors must be a whole"),
        (RadiusNeighborsClassifier(0, epsilon=1), "radius must be"),
        (RadiusNeighborsClassifier(math.nan, epsilon=1), "radius must be"),
        (RadiusNeighborsClassifier("1", epsilon=1), "radius must be"),
        (CellNeighborsClassifier(0, epsilon=1), "n_tables must be a whole"),
        (CellNeighborsClassifier(n_cuts=13, epsilon=1), "n_cuts must be a whole"),
        (KNeighborsClassifier(epsilon=0), "epsilon must be"),
    ],
)
def test_bad_parameters_spend_nothing(model, text):
    X, y = iris()
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(ParameterError, match=text):
        model.fit(table_of(X, y, ledger))
    assert ledger.total() == 0


@pytest.mark.filterwarnings("ignore:column .* has values that the domain")
def test_categories_are_taken_by_votes_and_cells():
    domain = dp.Domain({"s": dp.Category(["u", "v"]), "y": dp.Boolean()}, target="y")
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    s = np.where(rng.random(400) < 0.1 + 0.8 * y, "u", "v")
    table = dp.Table({"s": s, "y": y}, domain, simulate(0))
    model = RadiusNeighborsClassifier(epsilon=3).fit(table)
    assert model.predict([["u"], ["v"]]).tolist() == [True, False]
    model = CellNeighborsClassifier(epsilon=3, random_state=0).fit(table)
    assert model.predict([["u"], ["v"], ["?"]])[:2].tolist() == [True, False]


@pytest.mark.parametrize("kind", VOTERS)
def test_another_category_is_further_away(kind):
    columns = {"x": dp.Number(0, 1), "s": dp.Category(["u", "v"]), "y": dp.Boolean()}
    rng = np.random.default_rng(0)
    s = rng.choice(["u", "v"], 600)
    rows = {"x": rng.random(600), "s": s, "y": s == "u"}
    table = dp.Table(rows, dp.Domain(columns, target="y"), simulate(0))
    model = kind(epsilon=20).fit(table)
    points = [[0.3, "u"], [0.3, "v"], [0.8, "u"], [0.8, "v"]]
    assert model.predict(points).tolist() == [True, False, True, False]


def test_plan_refuses_bad_queries():
    with pytest.raises(ParameterError, match="queries must be"):
        KNeighborsClassifier(epsilon=1).plan(ADD, queries=0)


def test_cells_are_useful_at_epsilon_one():
    X, y = iris()
    scores = []
    for seed in range(10):
        test = np.arange(150) % 3 == seed % 3
        columns = {f"x{i}": dp.Number(-1, 1) for i in range(4)}
        columns["y"] = dp.Category([0, 1, 2])
        domain = dp.Domain(columns, target="y", rows=100)
        model = CellNeighborsClassifier(
            epsilon=1, domain=domain, random_state=seed, ledger=simulate(seed)
        )
        scores.append(model.fit(X[~test], y[~test]).score(X[test], y[test]))
    assert np.mean(scores) > 0.75


@pytest.mark.parametrize("kind", [KNeighborsClassifier, RadiusNeighborsClassifier])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_rows_and_points_with_gaps_are_compared_by_what_they_have(kind, delta):
    """Far from the middle of the range, where a gap must not move a row."""
    coins = np.random.default_rng(0)
    yes = coins.random(600) < 0.4
    x = np.where(yes[:, None], [14.0, 7.0, 12.0], [8.0, 12.0, 6.0])
    x = x + coins.normal(0, 1, x.shape)
    x[coins.random(x.shape) < 0.3] = np.nan
    domain = dp.Domain(
        {**{n: dp.Number(0, 100) for n in "abc"}, "y": dp.Category(["no", "yes"])},
        target="y",
    )
    data = dict(zip("abc", x.T, strict=True)) | {"y": np.where(yes, "yes", "no")}
    model = kind(epsilon=100, delta=delta).fit(dp.Table(data, domain, simulate(0)))
    if kind is RadiusNeighborsClassifier:
        model.set_params(radius=0.08)
    nan = np.nan
    asked = [[14, 7, 12], [8, 12, 6], [14, nan, nan], [nan, 12, nan], [nan, 7, 12]]
    assert model.predict(np.array(asked)).tolist() == ["yes", "no", "yes", "no", "yes"]
    assert model.predict(np.full((2, 3), nan)).tolist() == ["no", "no"]  # most rows


def test_far_rows_with_gaps_are_not_nearer_for_them():
    """A number that is there counts for the missing ones, as in scikit-learn."""
    from sklearn.metrics.pairwise import nan_euclidean_distances

    coins = np.random.default_rng(1)
    x = coins.uniform(-1, 1, (200, 3))
    x[coins.random(x.shape) < 0.4] = np.nan
    labels = coins.integers(0, 2, 200)
    point = np.array([[0.3, -0.2, 0.6]])
    domain = dp.Domain(
        {**{n: dp.Number(-1, 1) for n in "abc"}, "y": dp.Category(["no", "yes"])}
    )
    tally = NearestRows(tuple("abc"), "y", tuple(map(tuple, point.tolist())), 200)
    batch = dict(zip("abc", x.T.copy(), strict=True)) | {"y": labels}
    keys = np.sort(tally.fold(batch, 200, domain)[0])
    there = ~np.isnan(x).all(axis=1)
    far = nan_euclidean_distances(x[there], point)[:, 0] ** 2
    found = keys[: there.sum()] // 2 / float(1 << 30)
    np.testing.assert_allclose(found, np.sort(far), atol=1e-3)
    assert (keys[there.sum() :] == np.iinfo(np.int64).max).all()


@pytest.mark.parametrize("classes", [2, None, "no", {"array": [[1]]}])
def test_a_file_whose_classes_are_no_list_is_refused(classes):
    coins = np.random.default_rng(0)
    options = {"bounds": (0, 1), "classes": [0, 1], "ledger": simulate(0)}
    model = dp.models.CellNeighborsClassifier(epsilon=5, **options)
    model.fit(coins.random((50, 2)), coins.integers(0, 2, 50))
    data = json.loads(persist.dumps(model))
    data["state"]["classes_"] = classes
    with pytest.raises(ParameterError):
        persist.loads(json.dumps(data))


@pytest.mark.parametrize("method", ["all", "hidden"])
@pytest.mark.parametrize("kind", [KNeighborsClassifier, RadiusNeighborsClassifier])
def test_select_refuses_models_that_pay_for_predictions(
    kind: type, method: str
) -> None:
    domain = dp.Domain({"x": dp.Number(0, 1), "y": dp.Category(["a", "b"])}, target="y")
    ledger = dp.Ledger(epsilon=9)
    table = dp.Table({"x": [0.1, 0.9], "y": ["a", "b"]}, domain, ledger)
    candidates = [kind(epsilon=1), dp.models.NaiveBayes(epsilon=1)]
    with pytest.raises(UnsafeError, match="pays for every prediction"):
        dp.models.select(candidates, table, epsilon=1, method=method)
    assert not ledger.spent()
