"""Comparing, fitting and predicting: fair folds, honest stamps, nothing for free."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner, Result

import discreto as dp
from discreto import models, report
from discreto.cli import app
from discreto.compare import cross_validation as comparing
from discreto.compare import reference
from discreto.compare.comparison import CandidateModel, CandidateScore, Comparison
from discreto.compare.cross_validation import candidates, compare
from discreto.core.cost import Cost
from discreto.errors import (
    BudgetError,
    DiscretoError,
    DomainError,
    ParameterError,
)
from discreto.models.base.kinds import PrivateClassifier, PrivateRegressor

NUMBERS = dp.Domain(
    {"a": dp.Number(0, 1), "b": dp.Number(0, 1), "y": dp.Category(["n", "p"])},
    target="y",
)
MIXED = NUMBERS.with_(
    columns=dict(NUMBERS.columns)
    | {"c": dp.Category(["x", "z"], missing=True), "amount": dp.Number(0, 10)},
)


def people(number: int = 300, seed: int = 0) -> dict[str, Any]:
    coins = np.random.default_rng(seed)
    a, b = coins.random((2, number))
    return {
        "a": a,
        "b": b,
        "y": np.where(a + b > 1, "p", "n").astype(object),
        "c": np.where(coins.random(number) < 0.5, "x", "z").astype(object),
        "amount": 5 * a + 4 * b,
    }


def quick(domain: dp.Domain = NUMBERS, **options: Any) -> Comparison:
    defaults: dict[str, Any] = {"epsilons": ["1", "8"], "folds": 3, "repeats": 1}
    data = options.pop("data", None) or people()
    return compare(data, domain, **(defaults | options))


@pytest.fixture(scope="module")
def clear() -> Comparison:
    """A comparison of rows that are easy to learn."""
    return quick()


@pytest.fixture(scope="module")
def mixed() -> Comparison:
    """One with models that cannot take all columns."""
    return quick(MIXED, epsilons=["8"], folds=2)


class TestCandidates:
    @pytest.mark.parametrize(
        ("target", "base"), [("y", PrivateClassifier), ("amount", PrivateRegressor)]
    )
    def test_every_model_takes_part_or_says_why_not(
        self, target: str, base: type
    ) -> None:
        """A new model is picked up by itself."""
        suited, left_out = candidates(MIXED, target)
        kinds = [getattr(models, name) for name in models.__all__]
        wanted = {
            k.__name__ for k in kinds if isinstance(k, type) and issubclass(k, base)
        }
        assert {c.model for c in suited} | set(left_out) == wanted
        assert {c.model for c in suited}.isdisjoint(left_out)
        assert all(left_out.values())

    def test_linear_models_take_categories_too(self) -> None:
        suited = {c.model: c for c in candidates(MIXED, "y")[0]}
        assert suited["NaiveBayes"].features == ("a", "b", "c", "amount")
        assert suited["LogisticRegression"].features == ("a", "b", "c", "amount")
        assert suited["LogisticRegression"].label == "LogisticRegression"

    def test_nothing_suits(self) -> None:
        domain = dp.Domain(
            {"id": dp.Opaque(), "y": dp.Category(["n", "p"])}, target="y"
        )
        with pytest.raises(DomainError, match="no model suits"):
            candidates(domain, "y")


class TestCompare:
    def test_scores_of_a_clear_case(self, clear: Comparison) -> None:
        made = clear
        assert made.simulated
        assert made.metric == "accuracy"
        assert {s.epsilon for s in made.scores} == {"1", "8"}
        assert {s.model for s in made.scores} == {c.label for c in made.candidates}
        assert all(s.count == 3 for s in made.scores)
        assert made.reference.mean > 0.9 > 0.6 > made.baseline.mean
        assert made.advice is not None
        best = max(made.scores, key=made.gain)
        assert made.gain(made.advice.score) >= comparing.ENOUGH * made.gain(best)
        assert made.advice.plan.total == Cost.of(str(made.advice.score.epsilon))
        data = made.to_dict()
        assert data["simulated"] is True
        json.dumps(data)

    def test_the_same_seed_gives_the_same_scores(self) -> None:
        options = {"data": people(200), "epsilons": ["3"], "folds": 2}
        one, again, other = (quick(**options, seed=s).scores for s in (0, 0, 1))
        assert one == again != other

    def test_no_advice_where_nothing_can_be_learned(self) -> None:
        data = people()
        data["y"] = np.random.default_rng(9).permutation(data["y"])
        made = quick(data=data, epsilons=["0.1"], folds=2)
        assert made.advice is None
        text = str(report.comparison_page(made))
        assert "No model beats the baseline" in text
        assert report.fit_command(made, data="d", domain="e", ledger="l") == ""

    @pytest.mark.parametrize("metric", ["auc", "f1", "log_loss"])
    def test_other_metrics(self, metric: str) -> None:
        made = quick(epsilons=["8"], folds=2, metric=metric)
        assert made.metric == metric
        assert made.higher == (metric != "log_loss")
        assert made.gain(made.reference) > 0
        assert made.metric_name in str(report.comparison_page(made))

    def test_a_metric_of_another_kind_of_target_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="metric is one of"):
            quick(epsilons=["8"], folds=2, metric="rmse")

    def test_ties_go_to_the_simplest_model(self, clear: Comparison) -> None:
        names = [c.label for c in clear.candidates]
        boosting = next(n for n in names if n.startswith("GradientBoosting"))
        bayes = next(n for n in names if n.startswith("NaiveBayes"))
        scores = (
            CandidateScore(boosting, "1", 0.91, 0.06, 9),
            CandidateScore(bayes, "1", 0.90, 0.01, 9),
        )
        tied = comparing._advice(replace(clear, scores=scores), MIXED)
        assert tied is not None
        assert tied.candidate.label == bayes
        assert tied.ties == (boosting,)
        assert "one standard error" in tied.reason
        apart = (replace(scores[0], spread=0.006), scores[1])
        best = comparing._advice(replace(clear, scores=apart), MIXED)
        assert best is not None
        assert best.candidate.label == boosting
        assert best.ties == ()

    def test_regression_counts_errors(self) -> None:
        made = quick(MIXED, target="amount", epsilons=["8"], folds=2)
        assert made.metric == "rmse"
        assert made.reference.mean < made.baseline.mean
        better = CandidateScore("x", "1", made.baseline.mean - 1, 0.1, 3)
        assert made.gain(better) == pytest.approx(1)

    def test_every_fit_is_simulated(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = []
        make = CandidateModel.make

        def watched(self: CandidateModel, *args: Any, **options: Any) -> Any:
            model = make(self, *args, **options)
            seen.append(model)
            return model

        monkeypatch.setattr(CandidateModel, "make", watched)
        quick(epsilons=["1"])
        fitted = [model for model in seen if hasattr(model, "privacy_")]
        assert len(fitted) >= 9
        assert all(model.privacy_.simulated for model in fitted)
        # Noise differs from fit to fit, or a score would be one draw.
        assert len({model.random_state for model in fitted}) == len(fitted)

    def test_rows_of_a_person_stay_together(self) -> None:
        people_of_rows = np.repeat(np.arange(40), 5)
        for train, test in comparing._cuts(people_of_rows, 4, 2, 0):
            assert not set(people_of_rows[train]) & set(people_of_rows[test])
            assert len(train) + len(test) == 200

    def test_folds_cover_every_row_once(self) -> None:
        cuts = list(comparing._cuts(np.arange(103), 5, 2, 0))
        for first in (0, 5):
            tests = np.concatenate([test for _, test in cuts[first : first + 5]])
            assert sorted(tests) == list(range(103))

    def test_persons_and_public_row_counts(self) -> None:
        data = people()
        data["id"] = np.repeat([f"p{i}" for i in range(100)], 3).astype(object)
        columns = dict(NUMBERS.columns) | {"id": dp.Opaque()}
        domain = dp.Domain(columns, target="y", person="id", rows_per_person=2)
        assert quick(domain, data=data, epsilons=["8"]).rows == 300
        groups = comparing.LoadedRows.read(data, domain).people.reshape(100, 3)
        assert (groups == groups[:, :1]).all()
        assert len(np.unique(groups)) == 100
        replace = NUMBERS.with_(neighbours="replace", rows=300)
        declared = quick(replace, epsilons=["8"])
        assert declared.rows == 300
        assert not declared.remark
        assert "declare it" in quick(NUMBERS, epsilons=["8"]).remark

    def test_missing_and_foreign_values(self) -> None:
        data = people()
        data["a"][:20] = np.nan
        data["y"][20:40] = "foreign"
        data["c"] = np.where(np.arange(300) < 30, None, data["c"])
        made = quick(MIXED, data=data, epsilons=["8"])
        assert all(np.isfinite(score.mean) for score in made.scores)

    def test_a_rare_class_may_be_absent_from_a_fold(self) -> None:
        data = people(40)
        data["y"] = np.array(["p", *["n"] * 39], dtype=object)
        made = quick(data=data, epsilons=["8"], folds=2)
        assert made.reference.mean == pytest.approx(39 / 40)

    def test_progress_counts_all_fits(self) -> None:
        seen: list[tuple[int, int]] = []
        made = quick(
            data=people(60),
            epsilons=["8"],
            progress=lambda done, total: seen.append((done, total)),
        )
        total = len(made.candidates) * 3
        assert seen == [(i, total) for i in range(1, total + 1)]

    @pytest.mark.parametrize(
        "options",
        [{"folds": 1}, {"repeats": 0}, {"epsilons": ["0"]}, {"epsilons": ["x"]}],
    )
    def test_refusals(self, options: dict[str, Any]) -> None:
        with pytest.raises(ParameterError):
            quick(**options)

    def test_refused_tables(self) -> None:
        with pytest.raises(ParameterError, match="needs a target"):
            quick(NUMBERS.with_(target=None))
        with pytest.raises(ParameterError, match="needs 6 people"):
            quick(data=people(5))
        unknown = people()
        unknown["y"][:] = "foreign"
        with pytest.raises(ParameterError, match="'y' is known"):
            quick(data=unknown)


class TestReference:
    def test_it_is_scikit_learn_on_the_same_folds(self) -> None:
        data = people()
        cuts = list(comparing._cuts(np.arange(300), 3, 1, 0))
        found = dict(reference.scores(data, NUMBERS, "y", cuts, "accuracy"))
        X = np.column_stack([data["a"], data["b"]])
        expected = []
        for train, test in cuts:
            scaler = StandardScaler().fit(X[train])
            plain = LogisticRegression(max_iter=2000)
            plain.fit(scaler.transform(X[train]), data["y"][train])
            expected.append(plain.score(scaler.transform(X[test]), data["y"][test]))
        assert found["no privacy (linear)"] == pytest.approx(expected)

    def test_the_judge(self) -> None:
        class Says:
            classes_ = np.array(["n", "p"])

            def __init__(self, said: list[Any], chances: Any = None) -> None:
                self.said, self.chances = said, chances

            def predict(self, rows: Any) -> Any:
                return np.array(self.said)

            def predict_proba(self, rows: Any) -> Any:
                return np.array([[1 - p, p] for p in self.chances])

        kind = dp.Category(["n", "p"])
        truth = np.array(["n", "p", None, "p"], dtype=object)
        model = Says(["n", "n", "n", "p"], [0.1, 0.4, 0.5, 0.8])
        found = {
            name: reference.judge(name, model, None, truth, kind)
            for name in ("accuracy", "f1", "auc", "log_loss")
        }
        assert found["accuracy"] == pytest.approx(2 / 3)
        assert found["f1"] == pytest.approx(2 / 3)
        assert found["auc"] == 1
        lost = -np.log([0.9, 0.4, 0.8]).mean()
        assert found["log_loss"] == pytest.approx(lost)
        number = dp.Number(0, 10)
        truth = np.array([1.0, np.nan, 20.0])  # the last one counts as 10
        assert reference.judge("rmse", Says([1, 5, 10]), None, truth, number) == 0


class TestPage:
    def test_scores_advice_and_warnings(self, mixed: Comparison) -> None:
        made = mixed
        command = report.fit_command(
            made, data="my table.parquet", domain="d.json", ledger="l", budget="3"
        )
        page = str(report.comparison_page(made, command=command, name="<table>"))
        assert "'my table.parquet'" in command
        assert "SIMULATED" in page
        assert "do not publish" in page
        assert "&lt;table&gt;" in page
        assert made.advice is not None
        for part in (made.advice.candidate.label, made.reference.model, "var(--c1)"):
            assert part in page
        for score in made.scores:
            assert str(report.Measured(score.mean, score.spread)).split(" ")[0] in page


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def refused(result: Result, kind: type[DiscretoError]) -> str:
    assert result.exit_code == kind.exit_code, result.output
    assert kind.__name__ in result.stderr
    return " ".join(result.stderr.replace("│", " ").split())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table(people()), tmp_path / "p.parquet")
    NUMBERS.save(tmp_path / "d.json")
    MIXED.save(tmp_path / "mixed.json")
    return tmp_path


FIT = ("fit", "NaiveBayes", "p.parquet", "--domain", "d.json", "--ledger", "l.ledger")


class TestCommands:
    def test_compare(self, place: Path) -> None:
        words = ("--epsilon", "4, 8", "--folds", 2, "--repeats", 1)
        result = run("compare", "p.parquet", "--domain", "d.json", *words)
        assert result.exit_code == 0, result.output
        assert "SIMULATED" in result.stdout
        assert "discreto fit" in result.stdout
        assert "SIMULATED" in (place / "comparison.html").read_text(encoding="utf-8")
        assert not list(place.glob("*.ledger"))

    def test_compare_for_a_program(self, place: Path) -> None:
        words = ("--epsilon", "8", "--folds", 2, "--repeats", 1, "--json")
        result = run("compare", "p.parquet", "--domain", "d.json", *words)
        assert json.loads(result.stdout)["simulated"] is True

    def test_fit_pays_once_and_writes_model_and_card(self, place: Path) -> None:
        result = run(*FIT, "--epsilon", 1, "--budget", 3, "--out", "m.json")
        assert result.exit_code == 0, result.output
        ledger = dp.Ledger(place / "l.ledger")
        assert ledger.spent() == Cost.of(1)
        model = models.load(place / "m.json")
        assert not model.privacy_.simulated
        assert model.privacy_.receipt.hash == ledger.entries()[-1]["hash"]
        assert "Model card" in (place / "m.html").read_text(encoding="utf-8")
        assert "ε 2 of 3" in result.stdout

    def test_the_command_of_the_comparison_works(
        self, place: Path, mixed: Comparison
    ) -> None:
        made = mixed
        command = report.fit_command(
            made, data="p.parquet", domain="mixed.json", ledger="l", budget="9"
        )
        result = run(*command.split()[1:])
        assert result.exit_code == 0, result.output
        assert made.advice is not None
        model = models.load(place / "model.json")
        assert model.space_.features == made.advice.candidate.features

    def test_evaluate_costs_extra(self, place: Path) -> None:
        words = ("--epsilon", 1, "--budget", 3, "--evaluate", "0.5", "--out", "m.json")
        result = run(*FIT, *words)
        assert "accuracy: " in result.stdout
        assert dp.Ledger(place / "l.ledger").spent() == Cost.of("1.5")
        assert "How good it is" in (place / "m.html").read_text(encoding="utf-8")

    def test_a_model_is_kept_when_its_evaluation_cannot_be_paid(
        self, place: Path
    ) -> None:
        words = ("--epsilon", 1, "--budget", 1, "--evaluate", "0.5", "--out", "m.json")
        refused(run(*FIT, *words), BudgetError)
        assert models.load(place / "m.json").privacy_.cost == Cost.of(1)
        assert (place / "m.html").exists()

    def test_too_dear(self, place: Path) -> None:
        text = refused(
            run(*FIT, "--epsilon", 2, "--budget", 1, "--out", "m.json"), BudgetError
        )
        assert "ε 1 of 1 is left" in text
        assert dp.Ledger(place / "l.ledger").spent() == Cost()
        assert not (place / "m.json").exists()

    @pytest.mark.parametrize("taken", ["m.json", "m.html"])
    def test_nothing_is_paid_for_a_file_that_cannot_be_written(
        self, place: Path, taken: str
    ) -> None:
        (place / taken).write_text("mine")
        words = ("--epsilon", 1, "--budget", 3, "--out", "m.json")
        assert "exists already" in refused(run(*FIT, *words), ParameterError)
        assert not (place / "l.ledger").exists()
        assert (place / taken).read_text() == "mine"

    @pytest.mark.parametrize(
        ("words", "hint"),
        [
            (["--set", "nothing=1"], "--set takes NAME=VALUE"),
            (["--set", "epsilon=1"], "--set takes NAME=VALUE"),
            (["--set", "alpha"], "--set takes NAME=VALUE"),
            (["--columns", "a,nothing"], "is not in the domain"),
            (["--target", "a"], "needs a Category target"),
            (["--epsilon", "0"], "epsilon"),
            (["--evaluate", "-1"], "epsilon"),
        ],
    )
    def test_refused_before_a_ledger_is_made(
        self, place: Path, words: list[str], hint: str
    ) -> None:
        result = run(*FIT, "--epsilon", 1, "--budget", 3, "--out", "m.json", *words)
        assert result.exit_code in (2, 3)
        assert hint in " ".join(result.stderr.replace("│", " ").split())
        assert not (place / "l.ledger").exists()
        assert not (place / "m.json").exists()

    def test_models_that_cannot_be_saved(self, place: Path) -> None:
        for name, near in (
            ("NaiveBays", "NaiveBayes"),
            ("KNeighborsClassifier", "Cell"),
        ):
            line = ["fit", name, "p.parquet", "--domain", "d.json", "--ledger", "l"]
            result = run(*line, "--epsilon", 1, "--budget", 3, "--out", "m.json")
            assert near in refused(result, ParameterError)

    def test_clusters(self, place: Path) -> None:
        line = ["fit", "KMeans", "p.parquet", "--domain", "d.json", "--ledger", "l"]
        line += ["--columns", "a", "--set", "n_clusters=2", "--set", "random_state=0"]
        words = ["--epsilon", 1, "--budget", 3, "--out", "k.json"]
        refused(run(*line, *words, "--evaluate", 1), ParameterError)
        result = run(*line, *words)
        assert result.exit_code == 0, result.output
        assert models.load(place / "k.json").cluster_centers_.shape == (2, 1)

    @pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.tsv"])
    def test_predict(self, place: Path, name: str) -> None:
        run(*FIT, "--epsilon", 1, "--budget", 3, "--out", "m.json")
        result = run("predict", "m.json", "p.parquet", "--out", name, "--probabilities")
        assert result.exit_code == 0, result.output
        if name.endswith("parquet"):
            table = pq.read_table(place / name)
        else:
            tab = "\t" if name.endswith("tsv") else ","
            options = pa.csv.ParseOptions(delimiter=tab)
            table = pa.csv.read_csv(place / name, parse_options=options)
        model = models.load(place / "m.json")
        rows = np.column_stack([people()["a"], people()["b"]])
        assert table["prediction"].to_pylist() == model.predict(rows).tolist()
        chances = model.predict_proba(rows)[:, 1]
        assert table["chance of p"].to_pylist() == pytest.approx(chances.tolist())
        assert dp.Ledger(place / "l.ledger").spent() == Cost.of(1)

    def test_predict_refuses(self, place: Path) -> None:
        run(*FIT, "--epsilon", 1, "--budget", 3, "--out", "m.json")
        refused(run("predict", "m.json", "p.parquet", "--out", "x.txt"), ParameterError)
        refused(run("predict", "d.json", "p.parquet", "--out", "x.csv"), ParameterError)
        (place / "x.csv").write_text("mine")
        refused(run("predict", "m.json", "p.parquet", "--out", "x.csv"), ParameterError)
        assert (place / "x.csv").read_text() == "mine"

    def test_predict_needs_no_person(self, place: Path) -> None:
        data = people() | {"id": np.repeat(np.arange(100), 3)}
        pq.write_table(pa.table(data), place / "ids.parquet")
        columns = dict(NUMBERS.columns) | {"id": dp.Opaque()}
        domain = dp.Domain(columns, target="y", person="id", rows_per_person=3)
        domain.save(place / "ids.json")
        line = ["fit", "NaiveBayes", "ids.parquet", "--domain", "ids.json"]
        words = ["--epsilon", 1, "--ledger", "l", "--budget", 3, "--out", "m.json"]
        assert run(*line, *words).exit_code == 0
        result = run("predict", "m.json", "p.parquet", "--out", "x.csv")
        assert result.exit_code == 0, result.output


def test_a_price_is_read_in_any_spelling():
    from discreto.compare.comparison import CandidateScore

    prices = [
        CandidateScore("m", text, 0.5, 0.1, 2).price for text in ("1/2", "0.5", "5e-1")
    ]
    assert prices == [0.5] * 3
    assert CandidateScore("m", None, 0.5, 0.1, 2).price == 0
