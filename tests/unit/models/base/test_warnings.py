"""Fits to rows with gaps say how many rows have values, from what was paid for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import models, report
from discreto.text.language import speaking

NUMBERS = {name: dp.Number(0, 10) for name in ("p", "q", "r")}
TARGETS = {
    "LinearRegression": "amount",
    "LogisticRegression": "label",
    "GaussianNB": "label",
    "NaiveBayes": "label",
    "GradientBoostingClassifier": "label",
    "GradientBoostingRegressor": "amount",
    "AutoClassifier": "label",
    "AutoRegressor": "amount",
    "KMeans": None,
    "FuzzyCMeans": None,
    "CellNeighborsClassifier": "label",
}
OF_TARGET = [name for name in TARGETS if name.startswith(("Grad", "Auto", "Naive"))]
OF_ROWS = ["LinearRegression", "LogisticRegression", "KMeans", "FuzzyCMeans"]
OF_ROWS += ["CellNeighborsClassifier"]


def rows(features: float, target: float, count: int = 20_000) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (count, 3))
    label = np.where(x[:, 0] + rng.normal(0, 1, count) > 5, "a", "b")
    amount = x @ [1.0, 0.5, 0.2]
    x[rng.permutation(count) < features * count, 1] = np.nan
    gone = rng.permutation(count) < target * count
    named = dict(zip(NUMBERS, x.T, strict=True))
    named["label"] = np.where(gone, "", label)
    return named | {"amount": np.where(gone, np.nan, amount)}


def domain_for(target: str | None, **columns: Any) -> dp.Domain:
    kinds = {"label": dp.Category(["a", "b"]), "amount": dp.Number(0, 20)}
    goal = {} if target is None else {target: kinds[target]}
    return dp.Domain(NUMBERS | goal | columns, target=target)


def fit(name: str, data: dict[str, Any], **more: Any) -> Any:
    domain = domain_for(TARGETS[name])
    table = dp.Table({n: data[n] for n in domain}, domain, dp.testing.simulate(1))
    return getattr(models, name)(**({"epsilon": 1} | more)).fit(table)


@pytest.mark.parametrize("delta", [0, "1e-6"])
class TestEach:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", OF_ROWS)
    def test_rows_without_all_values_are_stated(self, name: str, delta: Any) -> None:
        note = fit(name, rows(0.1, 0), delta=delta).privacy_.note
        assert note == "about 90 % of rows have all values"

    @pytest.mark.parametrize("name", OF_ROWS)
    def test_many_rows_without_all_values_are_warned_of(
        self, name: str, delta: Any
    ) -> None:
        with pytest.warns(UserWarning, match="only about 60 % of rows have all values"):
            fit(name, rows(0.4, 0), delta=delta)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", OF_TARGET)
    def test_rows_without_a_target_are_warned_of(self, name: str, delta: Any) -> None:
        wanted = f"only about 60 % of rows have a value in {TARGETS[name]}"
        with pytest.warns(UserWarning, match=wanted):
            fit(name, rows(0, 0.4), delta=delta)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["NaiveBayes", "GaussianNB"])
    def test_naive_bayes_names_the_column_with_gaps(
        self, name: str, delta: Any
    ) -> None:
        note = fit(name, rows(0.1, 0), delta=delta).privacy_.note
        assert note == "about 90 % of rows have a value in q"

    @pytest.mark.slow
    @pytest.mark.parametrize("name", TARGETS)
    def test_complete_rows_are_not_remarked_on(self, name: str, delta: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert fit(name, rows(0, 0), delta=delta).privacy_.note == ""


def test_neighbours_say_it_where_the_number_of_rows_is_public() -> None:
    domain = domain_for("label").with_(neighbours="replace", rows=20_000)
    data = rows(0.1, 0)
    table = dp.Table({n: data[n] for n in domain}, domain, dp.testing.simulate(1))
    model = models.CellNeighborsClassifier(epsilon=1).fit(table)
    assert model.privacy_.note == "about 90 % of rows have all values"


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_counting_other_rows_moves_no_bound_and_adds_no_noise(name: str) -> None:
    """A plan for a domain with gaps has the counts of one whose target has none."""
    target = TARGETS[name]
    if target is None:
        return  # it asks for gaps only where there may be some, and pays for that
    kinds = {
        "label": dp.Category(["a", "b"], missing=False),
        "amount": dp.Number(0, 20, missing=False),
    }
    full = {n: dp.Number(0, 10, missing=False) for n in NUMBERS}
    known = domain_for(target, **full, **{target: kinds[target]})
    model = getattr(models, name)(epsilon=1)
    first = [
        next((q.label, q.cost, q.sensitivity, q.noise) for q in model.plan(domain))
        for domain in (domain_for(target), known)
    ]
    assert first[0] == first[1]


@pytest.mark.slow
def test_the_note_is_kept_shown_and_translated(tmp_path: Any) -> None:
    model = fit("LinearRegression", rows(0.1, 0))
    models.save(model, tmp_path / "model.json")
    again = models.load(tmp_path / "model.json")
    note = "about 90 % of rows have all values"
    assert again.privacy_ == model.privacy_
    assert note in str(again.privacy_)
    assert note in again.privacy_._repr_html_()
    assert note in str(report.model_page(again))
    with speaking("pt"):
        assert "90 % das linhas têm todos os valores" in str(again.privacy_)
    whole = fit("LinearRegression", rows(0, 0))
    assert "of rows" not in str(whole.privacy_)


@pytest.mark.slow
def test_candidates_that_are_never_shown_say_nothing() -> None:
    """A warning of a hidden run would tell of an answer that is not released."""
    domain = domain_for("label")
    data = rows(0.5, 0.5, 2000)
    table = dp.Table({n: data[n] for n in domain}, domain, dp.testing.simulate(1))
    several = [models.NaiveBayes(epsilon=1), models.LogisticRegression(epsilon=1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models.select(several, table, epsilon=3, method="hidden")


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_cells_of_neighbours_state_rows_without_all_values(delta: Any) -> None:
    data, domain = rows(0.1, 0), domain_for("label")
    table = dp.Table({n: data[n] for n in domain}, domain, dp.testing.simulate(1))
    model = models.CellNeighborsClassifier(epsilon=2, delta=delta).fit(table)
    assert "about 90 % of rows have all values" in model.privacy_.note.split("; ")


def test_neighbours_that_are_paid_at_predictions_warn_of_many_gaps() -> None:
    data, domain = rows(0.4, 0), domain_for("label")
    table = dp.Table({n: data[n] for n in domain}, domain, dp.testing.simulate(1))
    model = models.KNeighborsClassifier(epsilon=2).fit(table)
    with pytest.warns(UserWarning, match="only about 60 % of rows have all values"):
        model.predict([[1.0, 2.0, 3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = models.KNeighborsClassifier(5, epsilon=2).fit(table)
        chosen.predict([[1.0, 2.0, 3.0]])  # counts no rows, so it has paid for no share
