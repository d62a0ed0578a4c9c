"""Losses of a Number target: what they predict, what they refuse, what they ask."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance

import discreto as dp
from discreto.core.maps import trees_numpy
from discreto.core.maps.tree_gradients import Gradients, LeafShifts, Residuals
from discreto.core.maps.trees import Grid, Tree
from discreto.core.validation import check_parts
from discreto.data.engines import ExecutorEngine
from discreto.errors import ParameterError
from discreto.models import BoostingSettings, GradientBoostingRegressor
from discreto.models.interop import json as persist
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {"a": dp.Number(0, 1), "s": dp.Category(["x", "y"]), "n": dp.Number(0, 40)},
    target="n",
)
LOSSES = {
    "squared": {},
    "huber": {"loss": "huber"},
    "median": {"loss": "absolute_error"},
    "high": {"loss": "quantile", "quantile": 0.9},
    "low": {"loss": "quantile", "quantile": 0.2},
    "poisson": {"loss": "poisson"},
}
EVERY = pytest.mark.parametrize("options", LOSSES.values(), ids=LOSSES)


def data(rows=6000, seed=0):
    coins = np.random.default_rng(seed)
    a, s = coins.uniform(0, 1, rows), coins.choice(["x", "y"], rows)
    mean = np.exp(0.5 + 1.5 * a + 0.7 * (s == "y"))
    return {"a": a, "s": s, "n": np.minimum(coins.poisson(mean), 40).astype(float)}


def features(rows):
    return np.column_stack([np.asarray(rows[n], dtype=object) for n in "as"])


def fit(options, rows, ledger=None, **more):
    model = GradientBoostingRegressor(**{"epsilon": 2, **options, **more})
    return model.fit(dp.Table(rows, DOMAIN, ledger or simulate(1)))


def lost(options, truth, found):
    if options.get("loss") == "poisson":
        return mean_poisson_deviance(truth, np.maximum(found, 1e-6))
    return mean_pinball_loss(truth, found, alpha=options.get("quantile", 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-6"])
@EVERY
def test_learns(options, delta):
    model, fresh = fit(options, data(), delta=delta), data(seed=9)
    best = np.quantile(data()["n"], options.get("quantile", 0.5))
    if options.get("loss") == "poisson":
        best = data()["n"].mean()
    found = model.predict(features(fresh))
    assert lost(options, fresh["n"], found) < 0.85 * lost(
        options, fresh["n"], np.full(len(found), best)
    )


@pytest.mark.slow
@EVERY
def test_without_noise_it_is_as_good_as_scikit_learns(options):
    rows, fresh = data(), data(seed=9)
    model = fit(options, rows, simulate(noise=False), epsilon=1000)
    reference = model.reference()
    numbers = [np.column_stack([d["a"], d["s"] == "y"]) for d in (rows, fresh)]
    reference.set_params(random_state=0).fit(numbers[0], rows["n"])
    ours = lost(options, fresh["n"], model.predict(features(fresh)))
    assert ours < 1.05 * lost(options, fresh["n"], reference.predict(numbers[1]))


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_so_many_rows_are_below_a_quantile(quantile):
    fresh = data(seed=9)
    fresh["n"] = fresh["n"] + np.random.default_rng(1).uniform(0, 1, 6000)
    rows = data()
    rows["n"] = rows["n"] + np.random.default_rng(2).uniform(0, 1, 6000)
    model = fit({"loss": "quantile", "quantile": quantile}, rows, epsilon=8)
    below = np.mean(fresh["n"] <= model.predict(features(fresh)))
    assert abs(below - quantile) < 0.04


@pytest.mark.slow
def test_outliers_move_a_mean_and_no_median():
    rows = data(4000)
    rows["n"][:400] = 40.0
    clean = data(4000, seed=9)
    missed = {
        name: np.mean(np.abs(fit(options, rows).predict(features(clean)) - clean["n"]))
        for name, options in LOSSES.items()
    }
    assert missed["median"] < missed["poisson"]


@pytest.mark.parametrize("rows", [0, 1, 40])
@EVERY
def test_few_rows_give_a_constant_within_the_bounds(options, rows):
    model = fit(options, data(rows))
    found = model.predict(features(data(20)))
    assert ((found >= 0) & (found <= 40)).all()
    assert len(np.unique(found)) == 1


@EVERY
def test_a_saved_model_predicts_the_same(options):
    model = fit(options, data(500))
    again = persist.loads(persist.dumps(model))
    X = features(data(50, seed=4))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    last = list(model.staged_predict(X))[-1:] or [model.predict(X)]
    np.testing.assert_array_equal(last[0], model.predict(X))


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "gamma"},
        {"loss": None},
        {"loss": "quantile"},
        {"loss": "quantile", "quantile": 1.0},
        {"loss": "quantile", "quantile": "half"},
        {"loss": "quantile", "quantile": 0.5, "settings": {"leaf": "pair"}},
        {"loss": "poisson", "settings": {"leaf": "mean"}},
        {"loss": "poisson", "settings": {"filtering": True}},
    ],
)
def test_bad_losses_spend_nothing(options):
    ledger = dp.Ledger(epsilon=1)
    if "settings" in options:
        options = options | {"settings": BoostingSettings(**options["settings"])}
    with pytest.raises(ParameterError):
        fit({"epsilon": 1, **options}, data(50), ledger)
    assert ledger.total() == 0


def test_rates_need_a_target_from_zero_up():
    domain = DOMAIN.with_(columns=dict(DOMAIN.columns) | {"n": dp.Number(-1, 40)})
    model = GradientBoostingRegressor(epsilon=1, loss="poisson")
    with pytest.raises(ParameterError, match="below 0"):
        model.plan(domain)


def test_what_a_quantile_asks():
    model = GradientBoostingRegressor(2, epsilon=1, loss="absolute_error", max_depth=1)
    plan = model.plan(DOMAIN.with_(rows=5000))
    assert [(q.label, q.door) for q in plan] == [
        ("quantile of the target", "select"),
        ("size of residuals before tree 1", "select"),
        ("tree 1, level 1", "select"),
        ("tree 1, leaves", "select"),
        ("tree 2, level 1", "select"),
        ("tree 2, leaves", "select"),
    ]
    assert sum(q.cost.epsilon for q in plan) == plan.total.epsilon == 1


def test_cells_of_shifts_by_hand():
    grid = Grid(("a",), ((0.5,),))
    tree = Tree((0,), ((0, 1),))
    of = Gradients(grid, "n", "quantile", (10.0,), clip=4.0)
    cells = LeafShifts(of, tree, 2)
    np.testing.assert_allclose(cells.shifts(), [-4, -1, 0, 1, 4])
    target = np.array([10.0, 10.2, 11.0, 13.0, 40.0, 9.8, 9.0, 0.0, np.nan])
    batch = {"a": np.array([0.1] * 8 + [0.9]), "n": target}
    codes = cells.codes(batch, DOMAIN)
    assert codes.tolist() == [2, 2, 3, 4, 4, 2, 1, 0, -1]
    batch["a"] = np.full(9, 0.9)
    assert cells.codes(batch, DOMAIN)[:8].tolist() == [7, 7, 8, 9, 9, 7, 6, 5]


@pytest.mark.parametrize("loss", ["poisson", "quantile"])
def test_gradients_are_those_of_the_loss(loss):
    """The slope of the loss itself, by differences, for means below the clip."""
    grid, step = Grid(("a",), ((0.5,),)), 1e-6
    target = np.array([0.0, 1.0, 3.0, 7.0])
    batch = {"a": np.zeros(4), "n": target}

    def value(score):
        if loss == "poisson":
            return np.exp(score) - target * score
        return np.where(target >= score, 0.8 * (target - score), 0.2 * (score - target))

    of = Gradients(grid, "n", loss, (1.1,), clip=8.0, quantile=0.8)
    found = of.rows(batch, DOMAIN)[0] / of.steps() * (8.0 if loss == "poisson" else 0.8)
    slope = (value(1.1 + step) - value(1.1 - step)) / (2 * step)
    np.testing.assert_allclose(found, slope, atol=1e-6)


def test_rates_far_above_the_clip_count_by_their_own_size():
    grid = Grid(("a",), ((0.5,),))
    batch = {"a": np.zeros(3), "n": np.array([0.0, 20.0, 40.0])}
    of = Gradients(grid, "n", "poisson", (float(np.log(20.0)),), clip=2.0, weight=1.0)
    h, g = of.rows(batch, DOMAIN) / of.steps()
    np.testing.assert_allclose(h, 1)
    np.testing.assert_allclose(g, [1, 0, -1], atol=1e-12)
    wild = Gradients(grid, "n", "poisson", (900.0,), clip=2.0)  # cut to the bound
    np.testing.assert_allclose(
        wild.rows(batch, DOMAIN)[0] / wild.steps(), [1, 0.5, 0], atol=1e-12
    )


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_cells_of_residuals_are_those_of_numbers(loss):
    of = Gradients(Grid(("a",), ((0.5,),)), "s", loss, (0.0, 0.0))
    with pytest.raises(ParameterError, match="for numbers"):
        Residuals(of).check(DOMAIN)
    with pytest.raises(ParameterError, match="for numbers"):
        LeafShifts(of, Tree()).check(DOMAIN)
    with pytest.raises(ParameterError, match="in units"):
        LeafShifts(Gradients(of.grid, "n", "poisson", (0.0,)), Tree()).check(DOMAIN)


def test_gradients_refuse_a_wrong_quantile_or_target():
    grid = Grid(("a",), ((0.5,),))
    for quantile in (0.0, 1.0, 1, float("nan"), "0.5"):
        wrong = Gradients(grid, "n", "quantile", (0.0,), quantile=quantile)
        with pytest.raises(ParameterError, match="quantile"):
            check_parts(wrong, DOMAIN)
    below = DOMAIN.with_(columns=dict(DOMAIN.columns) | {"n": dp.Number(-1, 40)})
    with pytest.raises(ParameterError, match="from 0 up"):
        Gradients(grid, "n", "poisson", (0.0,)).check(below)


@pytest.mark.parametrize("value", [0.0, 0.5, 17.0, 39.9, 40.0, 1e9, -5.0])
def test_a_constant_target_is_where_it_starts(value):
    """Whatever cell is chosen has a middle, the outermost ones, too."""
    rows = data(30) | {"n": np.full(30, value)}
    model = fit(LOSSES["median"], rows, simulate(noise=False))
    (found,) = np.unique(model.predict(features(data(5))))
    assert abs(found - min(max(value, 0.0), 40.0)) < 0.4


def state(model):
    data = json.loads(persist.dumps(model))["state"]
    data.pop("privacy_")
    return data


@pytest.mark.slow
@EVERY
def test_every_engine_gives_the_same_bits(options, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, path = data(2500), str(tmp_path / "rows.parquet")
    pq.write_table(pa.table(rows), path, row_group_size=700)
    model = GradientBoostingRegressor(3, epsilon=2, **options)
    tables = [dp.Table(source, DOMAIN, simulate(4)) for source in (rows, path)]
    found = [state(model.fit(table)) for table in tables]
    with ThreadPoolExecutor(2) as pool:
        table = dp.Table(
            path, DOMAIN, simulate(4), engine=ExecutorEngine(pool, parts=2)
        )
        found.append(state(model.fit(table)))
    assert found[0] == found[1] == found[2]


@EVERY
def test_compiled_loops_give_the_same_bits(options, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    rows = data(trees_numpy.WORTH + 500)
    fast = fit(options, rows, simulate(6), n_estimators=3)
    monkeypatch.setattr(trees_numpy, "_compiled", lambda name, size: None)
    slow = fit(options, rows, simulate(6), n_estimators=3)
    assert state(fast) == state(slow)


@EVERY
def test_a_target_of_a_tiny_range_is_learned(options):
    """A noisy choice may find residuals of next to nothing: no reason to fail."""
    domain = dp.Domain({"a": dp.Number(0, 1), "n": dp.Number(0, 1e-9)}, target="n")
    rows = {"a": data(300)["a"], "n": np.zeros(300)}
    model = GradientBoostingRegressor(3, epsilon=1, **options)
    found = model.fit(dp.Table(rows, domain, simulate(1))).predict([[0.5]])
    assert 0 <= found[0] <= 1e-9
