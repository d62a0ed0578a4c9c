"""Boosting: settings, paper modes, what is saved, what can be looked at."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone

import discreto as dp
from discreto.core.documents import CHECKSUM, sealed
from discreto.core.maps import trees_numpy
from discreto.errors import DomainError, ParameterError
from discreto.lab.boosting_presets import (
    DPBoost,
    Liu2018,
    PrivCatBoost,
    PrivRandBoost,
    Zhao2018,
)
from discreto.models import (
    BoostingSettings,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    evaluate,
)
from discreto.models.base.binning import cuts_of
from discreto.models.boosting.settings import take_settings
from discreto.models.interop import json as persist
from discreto.testing import simulate

COLUMNS = {
    "a": dp.Number(0, 10, missing=True),
    "b": dp.Number(0, 50_000, missing=False),
    "s": dp.Category(["x", "y", "z", "never"], missing=False),
    "kind": dp.Category(["one", "two", "three"]),
    "label": dp.Category(["no", "yes"]),
    "amount": dp.Number(0, 100),
}
TARGETS = ("kind", "label", "amount")


def domain_for(target, **options):
    names = [n for n in COLUMNS if n not in TARGETS or n == target]
    return dp.Domain({n: COLUMNS[n] for n in names}, target=target, **options)


def data_for(target, rows=3000, seed=0):
    coins = np.random.default_rng(seed)
    a, b = coins.uniform(0, 10, rows), coins.exponential(4000, rows)
    s = coins.choice(["x", "y", "z"], rows)
    score = (a > 5) * 2.0 + (s == "y") * 2.0 + (b > 3000)
    a = np.where(coins.random(rows) < 0.05, np.nan, a)
    out = {"a": a, "b": b, "s": s}
    out["label"] = np.where(coins.random(rows) < score / 5, "yes", "no")
    kinds = np.array(["one", "two", "three"])
    out["kind"] = kinds[np.clip(np.rint(score / 2), 0, 2).astype(int)]
    out["amount"] = 20 + 12 * score + coins.normal(0, 4, rows)
    return {n: out[n] for n in domain_for(target)}


def kind_for(target):
    return (
        GradientBoostingRegressor if target == "amount" else GradientBoostingClassifier
    )


def fit(target, ledger=None, count=3000, **settings):
    settings = {"epsilon": 2, "random_state": 0} | settings
    table = dp.Table(data_for(target, count), domain_for(target), ledger or simulate(1))
    return kind_for(target)(**take_settings(settings)).fit(table)


def features(target, rows=500, seed=9):
    data = data_for(target, rows, seed)
    X = np.column_stack([np.asarray(data[n], dtype=object) for n in "abs"])
    return X, np.asarray(data[target])


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("splits", ["greedy", "random", "cyclic"])
@pytest.mark.parametrize("target", TARGETS)
def test_learns(target, splits, delta):
    model = fit(target, splits=splits, delta=delta)
    X, y = features(target)
    if target == "amount":
        error = np.sqrt(np.mean((model.predict(X) - y) ** 2))
        assert error < 0.8 * y.std()
    else:
        share = max(np.mean(y == value) for value in model.classes_)
        assert np.mean(model.predict(X) == y) > share + 0.05
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("leaf", ["newton", "pair"])
@pytest.mark.parametrize("score", ["l1", "gain"])
@pytest.mark.parametrize("encoding", ["native", "onehot", "either"])
def test_settings_of_greedy_trees(leaf, score, encoding):
    settings = {"leaf": leaf, "split_score": score, "encoding": encoding}
    X, y = features("label")
    model = fit("label", epsilon=4, **settings)
    assert np.mean(model.predict(X) == y) > 0.6


@pytest.mark.parametrize(
    "make", [DPBoost, PrivCatBoost, PrivRandBoost, Zhao2018, Liu2018]
)
@pytest.mark.parametrize("target", ["label", "amount"])
def test_papers(make, target):
    ledger = dp.Ledger(epsilon=1)
    model = make(kind_for(target), epsilon=1, n_estimators=6, max_depth=3)
    table = dp.Table(data_for(target, 400), domain_for(target), ledger)
    model.fit(table)
    assert ledger.total() == 1
    doors = [question.door for question in model.privacy_.plan]
    assert ("select" in doors) == (make is not PrivRandBoost)
    assert ("parts" in doors) == (make is not Liu2018)
    if make is PrivCatBoost:
        assert model.settings.encoding == "native"
    X, _ = features(target)
    assert len(model.predict(X)) == len(X)


def test_ensembles_share_the_cost_and_trees_do_not():
    domain = domain_for("label")
    plan = PrivRandBoost(epsilon=1, n_estimators=6, trees_per_ensemble=3).plan(domain)
    parts = [q for q in plan if q.door == "parts"]
    leaves = [q for q in plan if q.door == "measure"]
    assert [q.cost.epsilon for q in parts] == [dp.Cost.of("1/2").epsilon] * 2
    # Each tree spends what its ensemble may: its rows are in no other tree of it.
    assert {q.cost.epsilon for q in leaves} == {dp.Cost.of("1/2").epsilon}
    assert len(leaves) == 6


def test_disjoint_trees_see_each_row_once():
    """Without noise, the leaves of an ensemble's trees hold every row once in all."""
    model = PrivRandBoost(
        epsilon=1000, n_estimators=4, max_depth=1, learning_rate=0.05, random_state=1
    )
    table = dp.Table(data_for("label", 500), domain_for("label"), simulate(noise=False))
    asked = []
    original = type(table.gate()).measure

    def spy(gate, query, *args, **kwargs):
        answer = original(gate, query, *args, **kwargs)
        asked.append(answer.tables[0].sum())
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(table.gate()), "measure", spy)
        model.fit(table)
    whole = sum(asked[-4:]) / (2 << 20)  # a row's pair adds up to twice the limit
    assert whole == 500


# No noise is shared, nothing private is kept


def test_no_noise_is_shared_between_trees():
    """Trees of an empty table are noise alone: any two of them must differ."""
    ledger = dp.Ledger(epsilon=1)
    none = {name: values[:0] for name, values in data_for("label").items()}
    model = GradientBoostingClassifier(
        20,
        epsilon=1,
        max_depth=1,
        settings=BoostingSettings(splits="random", shrink=False, reg_lambda=1e3),
    ).fit(dp.Table(none, domain_for("label"), ledger))
    values = model.values_[:, 0]
    assert len(np.unique(values[values != 0])) == np.count_nonzero(values)
    assert np.count_nonzero(values) > 10


def test_a_category_without_rows_has_a_noisy_leaf():
    data = {n: v for n, v in data_for("label").items() if n in ("s", "label")}
    domain = domain_for("label").select(["s", "label"])
    model = GradientBoostingClassifier(
        1,
        epsilon=1,
        max_depth=1,
        settings=BoostingSettings(shrink=False, reg_lambda=1e3),
    ).fit(dp.Table(data, domain, simulate(3)))
    lines = model.tree_text(0).splitlines()
    assert [line.split(":")[0] for line in lines][-1] == "s is never"
    assert len(lines) == 4
    # Noise alone: neither 0, which would tell that nobody is there, nor the same twice.
    values = model.values_[:, 0]
    assert np.count_nonzero(values) == len(set(values)) == 4
    with pytest.warns(UserWarning, match="such as 'foreign'"):
        assert np.isfinite(model.decision_function([["never"], ["foreign"]])).all()


def test_a_saved_model_has_no_counts_gains_or_seeds():
    model = fit("label", random_state=12345)
    data = json.loads(persist.dumps(model))
    assert set(data["state"]) == {
        "_from_table",
        "feature_names_in_",
        *("cuts_", "start_", "depths_", "features_", "routes_", "values_"),
        *("classes_", "space_", "n_features_in_", "privacy_"),
    }
    assert "random_state" not in data["params"]
    assert "12345" not in persist.dumps(model)


@pytest.mark.parametrize("target", TARGETS)
def test_poor_tables(target):
    for rows in (0, 1, 5):
        data = data_for(target, rows)
        for name in ("all", target, "a"):
            poor = dict(data)
            for column in poor if name == "all" else (name,):
                poor[column] = np.array([None] * rows, dtype=object)
            model = kind_for(target)(epsilon=1, random_state=0)
            model.fit(dp.Table(poor, domain_for(target), simulate(2)))
            assert len(model.predict(features(target, 3)[0])) == 3


# The same numbers, however rows are read


def state(model):
    data = json.loads(persist.dumps(model))["state"]
    data.pop("privacy_")
    return data


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shared", ["all", "disjoint"])
def test_streams_and_memories_give_the_same_bits(target, shared, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = data_for(target)
    pq.write_table(pa.table(data), tmp_path / "rows.parquet")
    models = []
    for rows in (data, str(tmp_path / "rows.parquet")):
        table = dp.Table(rows, domain_for(target), simulate(4))
        model = kind_for(target)(
            4, epsilon=1, random_state=0, settings=BoostingSettings(rows=shared)
        )
        models.append(model.fit(table))
    assert state(models[0]) == state(models[1])


@pytest.mark.parametrize(
    ("score", "shared"), [("l1", "all"), ("gain", "all"), ("gain", "disjoint")]
)
def test_compiled_loops_give_the_same_bits(score, shared, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    rows = trees_numpy.WORTH + 500
    settings = {"split_score": score, "max_depth": 3, "n_estimators": 3}
    settings["rows"] = shared
    fast = fit("label", simulate(6), rows, **settings)
    X, _ = features("label", rows)
    found = fast.decision_function(X)
    monkeypatch.setattr(trees_numpy, "_compiled", lambda name, size: None)
    slow = fit("label", simulate(6), rows, **settings)
    assert state(fast) == state(slow)
    np.testing.assert_array_equal(found, fast.decision_function(X))


def test_a_second_fit_on_the_same_table_starts_afresh():
    table = dp.Table(data_for("label"), domain_for("label"), simulate(noise=False))
    first, second = (
        GradientBoostingClassifier(4, epsilon=1, random_state=0).fit(table)
        for _ in range(2)
    )
    assert state(first) == state(second)


@pytest.mark.parametrize("rows", ["all", "disjoint"])
def test_people_with_several_rows(rows):
    data = data_for("label", 600) | {"who": np.arange(600) // 4}
    columns = {**domain_for("label").columns, "who": dp.Opaque()}
    domain = dp.Domain(columns, target="label", person="who", rows_per_person=2)
    ledger = dp.Ledger(epsilon=1)
    settings = BoostingSettings(rows=rows)
    model = GradientBoostingClassifier(4, epsilon=1, settings=settings)
    model.fit(dp.Table(data, domain, ledger))
    alone = GradientBoostingClassifier(4, epsilon=1, settings=settings)
    pairs = zip(model.privacy_.plan, alone.plan(domain_for("label")), strict=True)
    for two, one in pairs:
        assert two.sensitivity == tuple(2 * reach for reach in one.sensitivity)
    assert ledger.total() == 1


# Public facts decide, and nothing else


def test_defaults_follow_public_facts():
    few, many = (
        len(GradientBoostingClassifier(epsilon=1).plan(domain_for("label", rows=rows)))
        for rows in (1000, 1_000_000)
    )
    assert few < many
    small, large = (
        len(GradientBoostingClassifier(epsilon=e).plan(domain_for("label")))
        for e in ("0.1", 10)
    )
    assert small < large


@pytest.mark.parametrize(
    "settings",
    [
        {"n_estimators": 0},
        {"n_estimators": 2.5},
        {"max_depth": 21},
        {"learning_rate": float("nan")},
        {"splits": "best"},
        {"leaf": "exact"},
        {"encoding": "subset"},
        {"splits": "random", "encoding": "either"},
        {"rows": "some"},
        {"split_share": 1},
        {"max_bins": 1 << 20},
        {"residual_bound": 1.0},  # of a Category target
        {"filtering": True},
        {"settings": {"rows": "all"}},
    ],
)
def test_bad_settings_spend_nothing(settings):
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(ParameterError):
        fit("label", ledger, 10, epsilon=1, **settings)
    assert ledger.total() == 0


# One object for the finer settings


def test_the_settings_are_one_parameter_for_scikit_learn():
    settings = BoostingSettings(splits="random")
    model = GradientBoostingClassifier(epsilon=1, settings=settings)
    assert len(model.get_params()) == 13
    assert clone(model).settings == settings
    model.set_params(settings__shrink=False, max_depth=3)
    assert model.settings == BoostingSettings(splits="random", shrink=False)
    assert settings.shrink
    assert repr(model).count("BoostingSettings(splits='random', shrink=False)") == 1
    with pytest.raises(ValueError, match="nothing"):
        model.set_params(settings__nothing=1)


@pytest.mark.parametrize("target", TARGETS)
def test_the_names_of_0_1_are_taken_with_a_warning(target):
    kind, names = kind_for(target), {"rows": "disjoint", "reg_lambda": 2}
    with pytest.warns(DeprecationWarning, match="settings=BoostingSettings"):
        old = kind(4, epsilon=1, **names)
    assert old.settings == BoostingSettings(**names)
    with pytest.warns(DeprecationWarning, match="settings=BoostingSettings"):
        other = kind(4, epsilon=1).set_params(**names)
    assert other.settings == old.settings
    with pytest.raises(TypeError, match="nothing"):
        kind(epsilon=1, nothing=1)
    with (
        pytest.warns(DeprecationWarning, match="settings"),
        pytest.raises(ParameterError, match="in the settings object"),
    ):
        kind(epsilon=1, settings=BoostingSettings(), rows="all")


def resealed(data):
    return sealed({key: part for key, part in data.items() if key != CHECKSUM})


def test_settings_are_kept_in_a_file():
    settings = {"split_share": 0.3, "rows": "disjoint", "reg_lambda": 2}
    model = fit("label", **settings)
    kept = persist.loads(persist.dumps(model))
    assert kept.settings == model.settings == BoostingSettings(**settings)
    data = json.loads(persist.dumps(model))
    data["params"]["settings"]["settings"].append(["nothing", 1])
    with pytest.raises(ParameterError, match="malformed"):
        persist.loads(json.dumps(resealed(data)))
    data["params"]["settings"] = 5
    data["params"]["rows"] = "all"
    with pytest.raises(ParameterError, match="in the settings object"):
        persist.loads(json.dumps(resealed(data)))


def test_a_table_without_anything_to_split_is_refused():
    domain = dp.Domain(
        {"s": dp.Category(["x"], missing=False), "c": dp.Boolean()}, target="c"
    )
    with pytest.raises(DomainError, match="more than one value"):
        GradientBoostingClassifier(epsilon=1).plan(domain)


def test_cuts_lie_inside_the_range():
    for column in (dp.Number(0, 9, integer=True), dp.Number(-5, 1e6), dp.Number(3, 4)):
        cuts = cuts_of(column, 64)
        assert list(cuts) == sorted(set(cuts))
        assert column.lower < cuts[0] <= cuts[-1] < column.upper
    assert len(cuts_of(dp.Number(0, 9, integer=True), 64)) == 9


# Looking at a model


@pytest.mark.parametrize("target", TARGETS)
def test_stages_end_at_the_prediction(target):
    model = fit(target)
    X, _ = features(target)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_trees_
    np.testing.assert_array_equal(stages[-1], model.predict(X))


@pytest.mark.slow
def test_importances_find_what_matters():
    model = fit("amount", epsilon=20)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1)
    assert found.argmin() == 1  # b matters least


@pytest.mark.slow
def test_text_picture_and_partial_dependence():
    model = fit("amount", epsilon=50, multiway=False)
    text = model.tree_text(0)
    assert text.splitlines()[0].startswith(("a <= ", "s is x"))
    assert model.plot_tree(0) is not None
    values, scores = model.partial_dependence("a")
    assert values[-1] is None  # missing
    assert len(values) == len(scores)
    assert scores[-2, 0] > scores[0, 0] + 5
    assert model.plot_partial_dependence("s").get_xlabel() == "s"
    with pytest.raises(ParameterError, match="trees 0 to"):
        model.tree_text(10**6)
    with pytest.raises(ParameterError, match="not a feature"):
        model.partial_dependence("amount")


@pytest.mark.slow
def test_evaluate_works_with_boosted_trees():
    model = fit("label")
    table = dp.Table(data_for("label", seed=5), domain_for("label"), simulate(7))
    assert evaluate(model, table, epsilon=1).accuracy.value > 0.6
