"""Our models in the tools of others: the same predictions, and nothing private."""

from __future__ import annotations

import json
import os
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

import discreto as dp
from discreto.errors import ParameterError
from discreto.local import LocalSanitizer, RandomizedResponse
from discreto.models import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    KMeans,
    KNeighborsClassifier,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    evaluate,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 1.5, (400, 3))
SUM = X @ [1, 2, -1]
NEW = RNG.uniform(-1, 2, (500, 3))
NEW[0, 0] = np.nan


def fitted(name: str):
    more = {"epsilon": 5, "bounds": (0, 1), "ledger": dp.testing.simulate(1)}
    if name == "linear":
        return LinearRegression(target_bounds=(-1, 2), **more).fit(X, SUM)
    if name == "two":
        kinds = np.where(SUM > 1, "yes", "no")
        return LogisticRegression(classes=["no", "yes"], **more).fit(X, kinds)
    if name == "wide":  # bounds in which rows are looked for
        kinds = np.where(SUM > 1, "yes", "no")
        model = LogisticRegression(classes=["no", "yes"], **more | {"bounds": (0, 40)})
        assert model.fit(X, kinds).view_ != model.space_
        return model
    if name == "three":  # not in the order of numbers
        kinds = np.digitize(SUM, [0, 1])
        return LogisticRegression(classes=[2, 0, 1], **more).fit(X, kinds)
    return KMeans(3, **more).fit(X)


NAMES = ("linear", "two", "wide", "three", "clusters")


@pytest.mark.parametrize("name", NAMES)
class TestForms:
    @pytest.mark.slow
    def test_scikit_learn_predicts_the_same(self, name):
        ours = fitted(name)
        plain = ours.to_sklearn()
        assert "discreto" not in type(plain).__module__
        same(ours.predict(NEW), plain.predict(NEW))
        if hasattr(ours, "predict_proba"):
            same(ours.predict_proba(NEW), plain.predict_proba(NEW))

    def test_it_needs_scikit_learn_alone(self, name):
        text = pickle.dumps(fitted(name).to_sklearn())
        assert b"discreto" not in text

    @pytest.mark.slow
    def test_onnx_predicts_the_same(self, name):
        runtime = pytest.importorskip("onnxruntime")
        ours = fitted(name)
        graph = ours.to_onnx().SerializeToString()
        session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        found = session.run(None, {"X": NEW})
        same(ours.predict(NEW), found[0])
        if hasattr(ours, "predict_proba"):
            same(ours.predict_proba(NEW), found[1])

    @pytest.mark.slow
    def test_skops_reads_it(self, name):
        skops = pytest.importorskip("skops.io")
        ours = fitted(name)
        text = skops.dumps(ours.to_sklearn())
        unknown = skops.get_untrusted_types(data=text)
        assert all(kind.startswith("numpy.") for kind in unknown)
        same(ours.predict(NEW), skops.loads(text, trusted=unknown).predict(NEW))


def same(ours, theirs) -> None:
    if np.asarray(ours).dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    else:
        assert np.array_equal(ours, theirs)


def test_what_has_no_form_says_so():
    rows = {"a": X[:, 0], "y": (SUM > 1).astype(int)}
    domain = dp.Domain({"a": dp.Number(0, 1), "y": dp.Category([0, 1])}, target="y")
    table = dp.Table(rows, domain, dp.testing.simulate())
    model = NaiveBayes(epsilon=1).fit(table)
    with pytest.raises(ParameterError, match="LinearRegression, Logistic"):
        model.to_sklearn()
    asks = KNeighborsClassifier(epsilon=1, n_neighbors=3).fit(table)
    with pytest.raises(ParameterError, match=r"from the rows at every prediction"):
        asks.to_onnx()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [60, 6000])
@pytest.mark.parametrize("columns", ["abst", "ab", "st"])
def test_naive_bayes_in_onnx_predicts_the_same(rows, columns):
    runtime = pytest.importorskip("onnxruntime")
    coins = np.random.default_rng(4)
    kinds = [f"k{i}" for i in range(40)]  # so many that some are merged
    y = coins.integers(0, 3, rows)
    data = {
        "a": np.where(coins.random(rows) < 0.1, np.nan, y + coins.normal(0, 1, rows)),
        "b": coins.normal(0, 2, rows),
        "s": np.array(kinds)[np.minimum(coins.geometric(0.3, rows) + y, 39)],
        "t": coins.integers(0, 2, rows),
        "y": np.array(["no", "so", "yes"])[y],
    }
    whole = dp.Domain(
        {
            "a": dp.Number(-20, 50),
            "b": dp.Number(-5, 5),
            "s": dp.Category(kinds[:38]),
            "t": dp.Category([0, 1]),
            "y": dp.Category(["no", "so", "yes"]),
        },
        target="y",
    )
    domain = whole.select([*columns, "y"]).with_(target="y")
    data = {name: data[name] for name in domain}
    table = dp.Table(data, domain, dp.testing.simulate(3))
    model = NaiveBayes(epsilon=3).fit(table)
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    few = {name: data[name][:50] for name in columns}
    given = {name: few[name].astype(object) for name in "s" if name in few}
    given |= {name: few[name].astype(np.int64) for name in "t" if name in few}
    if "a" in few:
        given["X"] = np.column_stack([few["a"], few["b"]])
    found = session.run(None, given)
    frame = pd.DataFrame(few)
    same(model.predict(frame), found[0])
    same(model.predict_proba(frame), found[1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow has a few of its own
def test_mlflow_keeps_costs_and_receipts(tmp_path, monkeypatch):
    switches = ("MLFLOW_ALLOW_FILE_STORE", "MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK")
    for switch in switches:  # a folder will do, and nothing is to leave the machine
        monkeypatch.setenv(switch, "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    domain = dp.Domain({"a": dp.Number(0, 1), "y": dp.Category([0, 1])}, target="y")
    rows = {"a": X[:, 0], "y": (SUM > 1).astype(int)}
    table = dp.Table(rows, domain, dp.Ledger(epsilon=9, delta="1e-4"))
    dp.mlflow.autolog()
    try:
        with mlflow.start_run() as run:
            model = NaiveBayes(epsilon=1, delta="1e-5", alpha=2.0).fit(table)
            judged = evaluate(model, table, epsilon=1)
    finally:
        dp.mlflow.autolog(disable=True)
    NaiveBayes(epsilon=1).fit(table)  # not written down
    data = mlflow.get_run(run.info.run_id).data
    assert data.params["alpha"] == "2.0"
    assert data.params["model"] == "NaiveBayes"
    assert 0.9 < data.metrics["epsilon_at_delta_1e-5"] <= 1
    assert data.metrics["evaluation_epsilon"] == 1
    assert data.metrics["accuracy"] == judged.accuracy.value
    assert data.tags["discreto.receipt"] == model.privacy_.receipt.hash
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/model.json")
    assert json.loads(text)["model"] == "NaiveBayes"
    assert "mlflow" not in os.listdir(".")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["numbers", "answers"])
def test_local_transformers_pass_the_checks_of_scikit_learn(kind):
    free = {"epsilon": 1000, "ledger": dp.testing.simulate(0, noise=False)}
    if kind == "numbers":
        checked = LocalSanitizer(bounds=(-100, 100), **free)
    else:
        checked = RandomizedResponse([0, 1, 2], **free)
    found = check_estimator(checked, on_fail=None)
    failed = [one["check_name"] for one in found if one["status"] == "failed"]
    # A survey has one list of answers: a plain list is right there.
    assert failed == ([] if kind == "numbers" else ["check_fit1d"])
    assert len(found) > 40


class TestHistograms:
    DOMAIN = dp.Domain(
        {"a": dp.Number(0, 1), "b": dp.Number(0, 9), "c": dp.Category(["x", "y"])}
    )

    def table(self):
        rows = {"a": [0.1, 0.9, 0.9], "b": [1, 8, 8], "c": ["x", "y", "y"]}
        return dp.Table(rows, self.DOMAIN, dp.testing.simulate(noise=False))

    @pytest.mark.parametrize(
        "bins", [{"a": 2, "b": [3, 6]}, [[0.5], [3, 6]], ((0.5,), (3, 6))]
    )
    def test_each_column_has_its_bins(self, bins):
        found = dp.stats.histogram(self.table(), ["a", "b"], bins=bins, epsilon=1)
        assert found.matrix().tolist() == [[1, 0, 0], [0, 0, 2]]

    def test_a_column_that_is_not_named_has_the_usual_bins(self):
        found = dp.stats.histogram(self.table(), ["a", "c"], bins={"a": 4}, epsilon=1)
        assert found.matrix().shape == (
            4,
            len(self.DOMAIN.category("c").categories)
            + self.DOMAIN.category("c").missing,
        )

    def test_wrong_bins_are_refused(self):
        ask = {"epsilon": 1}
        with pytest.raises(ParameterError, match="2 parts for 1 columns"):
            dp.stats.histogram(self.table(), "a", bins=[[1], [2]], **ask)
        with pytest.raises(ParameterError, match="'z'"):
            dp.stats.histogram(self.table(), "a", bins={"z": 2}, **ask)

    def test_one_number_or_one_list_is_for_all(self):
        one = dp.stats.histogram(self.table(), ["a", "b"], bins=3, epsilon=1)
        assert one.matrix().shape == (3, 3)


class TestSums:
    def test_a_sum_is_possible(self):
        """Among tiny tables most noisy sums would not be."""
        rows = {"a": [0.0] * 3}
        for seed in range(20):
            domain = dp.Domain({"a": dp.Number(0, 5)})
            table = dp.Table(rows, domain, dp.testing.simulate(seed))
            found = dp.stats.sum(table, "a", epsilon="0.1")
            assert 0 <= found.low <= found.value <= found.high

    def test_with_a_public_number_of_rows_it_has_two_ends(self):
        column = dp.Number(-1, 5, missing=False)
        domain = dp.Domain({"a": column}, neighbours="replace", rows=3)
        for seed in range(20):
            table = dp.Table({"a": [5.0] * 3}, domain, dp.testing.simulate(seed))
            found = dp.stats.sum(table, "a", epsilon="0.1")
            assert -3 <= found.low <= found.value <= found.high <= 15

    def test_below_zero_too(self):
        domain = dp.Domain({"a": dp.Number(-5, 0)})
        table = dp.Table({"a": [0.0] * 3}, domain, dp.testing.simulate(4))
        assert dp.stats.sum(table, "a", epsilon="0.1").high <= 0


@pytest.mark.slow
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("kind", ["two", "three", "number", "rate"])
def test_boosted_trees_in_onnx_predict_the_same(kind, missing):
    runtime = pytest.importorskip("onnxruntime")
    columns = {name: dp.Number(0, 1, missing=missing) for name in "abc"}
    model: Any = GradientBoostingClassifier(epsilon=5, random_state=0)
    if kind == "number":
        model = GradientBoostingRegressor(epsilon=5, random_state=0)
        target, y = dp.Number(-1, 2, missing=False), SUM
    elif kind == "rate":
        model = GradientBoostingRegressor(epsilon=5, random_state=0, loss="poisson")
        target, y = dp.Number(0, 2, missing=False), np.maximum(SUM, 0)
    elif kind == "two":
        target = dp.Category(["no", "yes"], missing=False)
        y = np.where(SUM > 1, "yes", "no")
    else:
        target, y = dp.Category([2, 0, 1], missing=False), np.digitize(SUM, [0, 1])
    rows = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}
    domain = dp.Domain({**columns, "y": target}, target="y")
    model.fit(dp.Table(rows, domain, dp.testing.simulate(0)))
    new = NEW.copy()
    new[:40, 1] = np.nan
    new[50] = [0.0, 1.0, 0.5]  # on the bounds
    # Every cut, and the numbers next to it: a value that equals a cut is below it.
    cuts = np.concatenate([np.ravel(part) for part in model.cuts_])[:100]
    edges = np.concatenate([cuts, np.nextafter(cuts, 9), np.nextafter(cuts, -9)])
    new = np.vstack([new, np.column_stack([edges] * 3)])
    graph = model.to_onnx().SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": new})
    same(model.predict(new), found[0])
    assert len(np.unique(found[0])) > 1
    if kind in ("two", "three"):
        same(model.predict_proba(new), found[1])
