"""Where a newcomer at a shell stumbles: what is said there, and what is not charged."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from screens import flat, run

import discreto as dp
from discreto import models
from discreto.core.cost import Cost
from discreto.errors import ParameterError
from discreto.session.plan import statistics
from discreto.stats import Mean

COMMA = ("--dialect", "separator=,")
POINT = ("--dialect", "decimal=.")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with commas and points, and a domain that says semicolon and comma."""
    coins = np.random.default_rng(0)
    ill = coins.random(2000) < 0.3
    columns = {
        "kg": (70 + 10 * ill + coins.normal(0, 5, 2000)).round(1),
        "smoker": np.where(coins.random(2000) < 0.2, "yes", "no"),
        "ill": np.where(ill, "yes", "no"),
    }
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    words = dp.Category(["no", "yes"])
    domain = dp.Domain(
        {"kg": dp.Number(2, 250, unit="kg"), "smoker": words, "ill": words},
        target="ill",
        dialect=dp.Dialect(separator=";", decimal=","),
    )
    domain.save(tmp_path / "d.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ASK = ("query", "a.csv", "mean", "kg", "--domain", "d.json", "--epsilon", 1)
PAY = ("--ledger", "l.ledger", "--budget", 3)
FIT = ("fit", "NaiveBayes", "a.csv", "--domain", "d.json", *COMMA, *POINT)


class TestMarks:
    def test_the_advice_about_a_separator_names_the_decimal_mark(
        self, place: Path
    ) -> None:
        done = run(*ASK, *PAY)
        assert done.exit_code == 3
        assert "--dialect 'separator=,' --dialect 'decimal=.'" in flat(done)

    @pytest.mark.parametrize("command", ["query", "fit", "compare", "domain check"])
    def test_one_sign_for_both_is_refused_and_charges_nothing(
        self, place: Path, command: str
    ) -> None:
        epsilon = ("--epsilon", 1)
        lines = {
            "query": (*ASK, *PAY),
            "fit": (*FIT[:5], *epsilon, *PAY, "--out", "m.json"),
            "compare": ("compare", "a.csv", "--domain", "d.json", *epsilon),
            "domain check": ("domain", "check", "d.json", "--data", "a.csv"),
        }
        done = run(*lines[command], *COMMA)
        assert done.exit_code == 2, done.output
        assert "separator and decimal cannot both be ','" in flat(done)
        assert "--dialect 'separator=,' --dialect 'decimal=.'" in flat(done)
        assert not Path("l.ledger").exists()

    def test_also_when_a_model_predicts_or_is_measured(self, place: Path) -> None:
        fitted = run(*FIT, "--epsilon", 1, *PAY, "--out", "m.json")
        assert fitted.exit_code == 0, fitted.output
        model = models.load("m.json")
        german = dp.Dialect(separator=";", decimal=",")
        known = model.space_.domain.with_(dialect=german)
        known.save("model.domain.json")
        more = ("--domain", "model.domain.json", "--epsilon", 1, "--ledger", "l.ledger")
        done = run("evaluate", "m.json", "a.csv", *more, *COMMA)
        assert "separator and decimal cannot both" in flat(done)
        assert run("predict", "m.json", "a.csv").exit_code == 0
        done = run("predict", "m.json", "a.csv", "--dialect", "decimal=,")
        assert "separator and decimal cannot both" in flat(done)
        assert dp.Ledger("l.ledger").total() == 1

    def test_quoted_numbers_may_have_the_sign_of_the_separator(
        self, place: Path
    ) -> None:
        text = "kg,smoker,ill\n" + '"72,5",no,yes\n' * 2000
        Path("a.csv").write_text(text)
        done = run(*ASK, *PAY, *COMMA, "--dialect", "quoted=true", "--json")
        assert done.exit_code == 0, done.output
        assert '"value": 72.' in done.stdout

    def test_both_said_the_answer_is_right(self, place: Path) -> None:
        done = run(*ASK, *PAY, *COMMA, *POINT)
        assert done.exit_code == 0, done.output
        assert "says little" not in done.output

    def test_an_answer_that_says_nothing_says_so(self, place: Path) -> None:
        text = Path("a.csv").read_text().replace(",", "|")
        Path("a.csv").write_text(text)  # decimal points, where commas are declared
        done = run(*ASK, *PAY, "--dialect", "separator=|")
        assert done.exit_code == 0, done.output
        assert "NOT CHECKED" in flat(done)
        assert "of rows have a value" in flat(done)


class TestHints:
    def test_what_to_ask_of_a_category(self, place: Path) -> None:
        words = [word if word != "kg" else "smoker" for word in ASK]
        text = flat(run(*words, *PAY, *COMMA, *POINT))
        assert "a proportion, such as smoker == 'no', or for a count by smoker" in text
        condition = [word if word != "kg" else "smoker == 'no'" for word in ASK]
        condition[2] = "proportion"
        assert run(*condition, *PAY, *COMMA, *POINT).exit_code == 0

    def test_several_columns(self, place: Path) -> None:
        text = flat(run(*ASK[:4], "ill", *ASK[4:], *PAY))
        assert "Ask once for each, or all of them together: --batch FILE" in text

    @pytest.mark.parametrize("command", ["evaluate", "predict"])
    def test_a_model_file_that_is_not_there(self, place: Path, command: str) -> None:
        more = ("--epsilon", 1, "--ledger", "l") if command == "evaluate" else ()
        done = run(command, "none.json", "a.csv", *more)
        assert done.exit_code == 2
        assert "there is no file 'none.json'" in flat(done)

    def test_no_ledger_is_not_about_another_command(self, place: Path) -> None:
        done = run(*FIT, "--epsilon", 1, "--ledger", "l.ledger", "--out", "m.json")
        text = flat(done)
        assert "there is no ledger 'l.ledger'" in text
        assert "--budget 3" in text
        assert "query" not in text

    def test_undeclared_words_in_rows_to_predict(self, place: Path) -> None:
        run(*FIT, "--epsilon", 1, *PAY, "--out", "m.json")
        text = Path("a.csv").read_text().replace(",yes,", ",Yes,", 3)
        Path("b.csv").write_text(text)
        done = run("predict", "m.json", "b.csv", "--out", "p.csv")
        assert done.exit_code == 0, done.output
        assert "3 rows have a smoker that the domain does not declare" in flat(done)
        done = run("predict", "m.json", "a.csv", "--out", "q.csv")
        assert "does not declare" not in done.output

    def test_a_draft_has_a_place_for_the_target(self, place: Path) -> None:
        assert run("domain", "draft", "a.csv", "--out", "new.json").exit_code == 0
        data = json.loads(Path("new.json").read_text())
        assert data["target"] is None
        assert any(line.startswith("target: ") for line in data["help"])
        full = dp.Domain.load("d.json").to_dict()["columns"]
        filled = data | {"columns": full, "dialect": {}}
        assert dp.Domain.from_dict(filled).target is None
        filled |= {"target": "ill"}
        assert dp.Domain.from_dict(filled).target == "ill"

    def test_a_plan_without_a_target_says_where_to_name_it(self, place: Path) -> None:
        domain = dp.Domain.load("d.json").with_(target=None)
        with pytest.raises(ParameterError, match=r"plan\(domain, 'COLUMN'\)"):
            models.NaiveBayes(epsilon=1).plan(domain)
        assert models.NaiveBayes(epsilon=1).plan(domain, "ill").total == Cost.of(1)

    def test_a_plan_says_how_many_questions_it_may_become(self, place: Path) -> None:
        domain = dp.Domain.load("d.json")
        plan = models.LogisticRegression(epsilon=1).plan(domain)
        sizes = [len(form) for form in plan.others]
        wanted = f"with {min(sizes)} to {max(sizes)} questions, for the same total"
        assert wanted in str(plan)

    def test_the_error_of_groups_is_that_of_groups_with_a_name(
        self, place: Path
    ) -> None:
        """Nothing can be expected of "(missing or other)", where no row is made up."""
        domain = dp.Domain.load("d.json")
        made = statistics(domain, Mean("kg", ("smoker",)), epsilon=1, rows=2000)
        assert len(made.expected[0].keys) == 3
        assert made.to_dict()["expected"][0]["error"] < 2
        words = ("plan", "d.json", "mean", "kg", "--by", "smoker", "--rows", 2000)
        done = run(*words, "--error", 1)
        assert done.exit_code == 0, done.output
        assert "± 115" not in run(*words, "--epsilon", 1).output


class TestScores:
    def test_the_cost_is_said_once_and_the_baseline_is_shown(self, place: Path) -> None:
        run(*FIT, "--epsilon", 1, *PAY, "--out", "m.json")
        words = ("evaluate", "m.json", "a.csv", "--ledger", "l.ledger")
        done = run(*words, "--epsilon", 1, "--card", "c.html")
        assert done.exit_code == 0, done.output
        assert "ε 1 for all of these together" in done.output
        lines = done.output.splitlines()
        assert not [line for line in lines if line.endswith(", ε 1")]
        places = [i for i, line in enumerate(lines) if "accuracy:" in line]
        assert re.search(r"baseline: 0\.[67]", lines[places[0] + 1])
        assert "share of the most frequent class" in Path("c.html").read_text()


def test_the_command_of_a_comparison_can_be_pasted(place: Path) -> None:
    small = ("--epsilon", "8", "--folds", 2, "--repeats", 1)
    words = ("compare", "a.csv", "--domain", "d.json", *COMMA, *POINT, *small)
    done = run(*words)
    line = next(x for x in done.output.splitlines() if x.startswith("discreto fit"))
    assert "--ledger a.ledger --budget 8" in line
    assert "leave out --budget" in flat(done)
    pasted = run(*shlex.split(line)[1:])
    assert pasted.exit_code == 0, pasted.output
    again = run(*words)
    line = next(x for x in again.output.splitlines() if x.startswith("discreto fit"))
    assert "--ledger a.ledger --out" in line
