"""Leaves of the papers: noisy values of leaves, asked for as they are."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import discreto as dp
from discreto.audit import pairs, transcript, work_of
from discreto.data.engines import ExecutorEngine
from discreto.errors import ParameterError
from discreto.lab.boosting_presets import DPBoost, PrivCatBoost, PrivRandBoost
from discreto.models import GradientBoostingClassifier, GradientBoostingRegressor
from discreto.models.boosting.settings import take_settings
from discreto.models.interop import json as persist
from discreto.testing import simulate

KINDS = {"label": GradientBoostingClassifier, "amount": GradientBoostingRegressor}
COLUMNS = {
    "a": dp.Number(0, 10, missing=True),
    "s": dp.Category(["x", "y", "never"]),
    "label": dp.Category(["no", "yes"]),
    "amount": dp.Number(0, 100),
}


def domain_for(target, **facts):
    names = [n for n in COLUMNS if n not in KINDS or n == target]
    return dp.Domain({n: COLUMNS[n] for n in names}, target=target, **facts)


def data_for(target, rows=2000):
    coins = np.random.default_rng(0)
    a, s = coins.uniform(0, 10, rows), coins.choice(["x", "y"], rows)
    score = 2 * (a > 5) + (s == "y")
    out = {"a": a, "s": s, "amount": 20 + 15 * score + coins.normal(0, 4, rows)}
    out["label"] = np.where(coins.random(rows) < (score + 0.5) / 4, "yes", "no")
    return {n: out[n] for n in domain_for(target)}


def model_for(target, **settings):
    settings = {"epsilon": 1, "leaf": "mean", "random_state": 0} | settings
    return KINDS[target](**take_settings(settings))


def state(model):
    data = json.loads(persist.dumps(model))["state"]
    data.pop("privacy_")
    return data


@pytest.mark.parametrize("rows", ["all", "disjoint"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("target", KINDS)
def test_learns_and_costs_what_was_planned(target, delta, rows):
    ledger = dp.Ledger(epsilon=20, delta=delta or None)
    settings = {"epsilon": 20, "delta": delta, "rows": rows, "n_estimators": 4}
    model = model_for(target, learning_rate=0.3, **settings)
    domain, data = domain_for(target), data_for(target)
    plan = model.plan(domain)
    model.fit(dp.Table(data, domain, ledger))
    assert list(model.privacy_.plan) == list(plan)
    assert ledger.spent() == plan.total == dp.Cost.of(20, delta)
    # What is learned shows without noise: four trees are too few to outshout it.
    model.fit(dp.Table(data, domain, simulate(noise=False)))
    X = np.array([[1, "x"], [9, "y"]], dtype=object)
    found = model.predict(X) if target == "amount" else model.decision_function(X)
    assert found[0] < found[1]


@pytest.mark.slow
@pytest.mark.parametrize("make", [DPBoost, PrivCatBoost, PrivRandBoost])
@pytest.mark.parametrize("target", KINDS)
def test_papers_take_their_own_leaves(make, target):
    domain = domain_for(target)
    model = make(KINDS[target], epsilon=1, n_estimators=9, max_depth=2, leaf="mean")
    plan = model.plan(domain)
    told = [q.sensitivity[0] / (1 << 20) for q in plan if q.door == "measure"]
    cuts = 0.95 ** np.arange(9)
    exact = np.minimum(np.minimum(2 * cuts, (1 + cuts) / 2.1), 1 / 1.1)
    np.testing.assert_allclose(told, exact, atol=2e-6)
    table = dp.Table(data_for(target, 300), domain, dp.Ledger(epsilon=1))
    model.fit(table)
    with pytest.warns(UserWarning, match="such as 'other'"):
        assert len(model.predict([[3, "x"], [None, "other"]])) == 2


def test_without_noise_it_is_the_clipped_mean_of_each_part():
    """A root, disjoint rows: each tree's value from scratch, for the rows it got."""
    domain, data = domain_for("amount"), data_for("amount", 500)
    seen = []
    settings = {"n_estimators": 3, "max_depth": 1, "learning_rate": 0.6}
    model = PrivRandBoost(
        GradientBoostingRegressor, epsilon=1, leaf="mean", random_state=1, **settings
    )
    table = dp.Table(data, domain, simulate(noise=False))
    original = type(table.gate()._source).fold

    def spy(rows, query, keep=None):
        answer = original(rows, query, keep)
        seen.append(answer[0])
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(table.gate()._source), "fold", spy)
        model.fit(table)
    top, at = 1 << 20, 0
    assert sum(pairs.sum() for pairs in seen) == 500 * 2 * top  # each row in one tree
    for tree, sums in enumerate(seen):
        rows, slopes = sums.sum(axis=1) / (2 * top), (sums[:, 0] - sums[:, 1]) / 2 / top
        values = -slopes / (rows + 0.1)
        cut = 0.4**tree
        values = np.clip(values, -cut, cut) * 0.6 * 50
        found = model.values_[at : at + len(sums), 0]
        np.testing.assert_allclose(found, values, atol=1e-4)
        at += len(sums)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["all", "disjoint"])
@pytest.mark.parametrize("target", KINDS)
def test_poor_tables(target, rows):
    for count in (0, 1, 5):
        data = data_for(target, count)
        for empty in ((), (target,), tuple(data)):
            poor = data | {n: np.array([None] * count, dtype=object) for n in empty}
            model = model_for(target, rows=rows, reg_lambda=0)
            model.fit(dp.Table(poor, domain_for(target), simulate(2)))
            assert np.isfinite(model.values_).all()


def test_every_leaf_gets_noise_empty_or_not():
    none = {name: values[:0] for name, values in data_for("label").items()}
    table = dp.Table(none, domain_for("label"), dp.Ledger(epsilon=1))
    model = model_for("label", n_estimators=8, max_depth=1, splits="random").fit(table)
    values = model.values_[:, 0]
    assert np.count_nonzero(values) == len(set(values.tolist())) == len(values) >= 16


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["all", "disjoint"])
def test_streams_and_workers_give_the_same_bits(rows, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    data, domain = data_for("amount"), domain_for("amount")
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(data), path, row_group_size=300)
    with ThreadPoolExecutor(2) as pool:
        tables = [
            dp.Table(data, domain, simulate(4)),
            dp.Table(str(path), domain, simulate(4)),
            dp.Table(str(path), domain, simulate(4), engine=ExecutorEngine(pool)),
        ]
        states = [state(model_for("amount", rows=rows).fit(table)) for table in tables]
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_replaced_rows_and_people_double_the_reach(delta):
    model = model_for("label", n_estimators=2, delta=delta, start=False)
    who = {**domain_for("label").columns, "who": dp.Opaque()}
    one, two, several = (
        [q.sensitivity[0] for q in model.plan(domain) if q.door == "measure"]
        for domain in (
            domain_for("label"),
            domain_for("label", neighbours="replace", rows=50),
            dp.Domain(who, target="label", person="who", rows_per_person=2),
        )
    )
    more = 4 if delta else 2  # squares, with Gaussian noise
    assert two == several == [more * reach for reach in one]


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_audit_sees_the_means_and_finds_them_covered(neighbours):
    facts = {"neighbours": neighbours, "rows": 20} if neighbours == "replace" else {}
    domain = domain_for("label", **facts)
    model = model_for("label", n_estimators=2, max_depth=1)
    few = list(pairs(domain))[:12]
    finding = transcript(work_of(model), domain, pairs=few)
    assert finding.verdict == "holds"
    assert 0 < finding.shown <= finding.claimed


def test_more_classes_are_refused_before_anything_is_spent():
    columns = {"a": dp.Number(0, 1), "c": dp.Category(["u", "v", "w"])}
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table({"a": [0.5], "c": ["u"]}, dp.Domain(columns, target="c"), ledger)
    with pytest.raises(ParameterError, match="'newton' for more than two classes"):
        model_for("label").fit(table)
    assert ledger.total() == 0


@pytest.mark.parametrize("rate", [1.0, 2.5])
def test_large_rates_leave_a_bound(rate):
    model = PrivRandBoost(
        epsilon=1, leaf="mean", n_estimators=3, max_depth=1, learning_rate=rate
    )
    model.fit(dp.Table(data_for("label", 50), domain_for("label"), simulate(1)))
    told = [q.sensitivity[0] for q in model.privacy_.plan if q.door == "measure"]
    assert told[1:] == [2, 2]  # a step either way, and cut to nothing afterwards
    assert np.abs(model.values_[-2:]).max() == 0
