"""The command line: happy paths, exit codes, and nothing shown that is private."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import discreto as dp
from discreto.cli import app
from discreto.core.cost import Cost
from discreto.errors import (
    BudgetError,
    DomainError,
    LedgerError,
    MissingExtraError,
    ParameterError,
)
from discreto.release.export import harmless

CANARY = "CANARY-Jane-Doe"
NUMBER = 71234567  # a value that no message may repeat


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def flat(text: str) -> str:
    """Screen text without borders and line ends."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a table (both formats) and a domain."""
    table = pa.table(
        {
            "age": pa.array([30, 40, 50, NUMBER] * 25),
            "height": pa.array([1.5, 1.6, 1.7, 1.8] * 25),
            "sex": pa.array(["f", "m", "f", CANARY] * 25),
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    lines = ["age,height,sex", *[f"{30 + i % 9},1.7,{CANARY}" for i in range(100)]]
    (tmp_path / "p.csv").write_text("\n".join(lines))
    domain = dp.Domain(
        {
            "age": dp.Number(0, 120, integer=True, unit="years"),
            "height": dp.Number(0, 3),
            "sex": dp.Category(["f", "m"], missing=True),
        }
    )
    domain.save(tmp_path / "d.json")
    return tmp_path


def ask(files: Path, *args: object, data: str = "p.parquet") -> Result:
    places = ["--domain", files / "d.json", "--ledger", files / "l.ledger"]
    return run("query", files / data, *args, *places)


def refused(result: Result, error: type[dp.DiscretoError]) -> str:
    """The error text, after checking the code and that there is no traceback."""
    assert result.exit_code == error.exit_code, result.output
    assert error.__name__ in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
    return flat(result.stderr)


class TestQuery:
    @pytest.mark.parametrize(
        "words",
        [
            "count",
            "count --by sex",
            "sum age",
            "mean age",
            "mean age --by sex",
            "variance height",
            "std height",
            "histogram age --bins 6",
            "histogram age sex --bins 18,65",
            "histogram age sex --bins age=18,65",
            "mode sex",
            "mode age",
            "median age",
            "quantile age --probability 0.9",
            "quantile age --probability 0.1,1/2,0.9",
            "min age",
            "max age",
            "covariance age height",
            "correlation age height",
            "bounds age",
        ],
    )
    def test_every_statistic(self, files: Path, words: str) -> None:
        result = ask(files, *words.split(), "--epsilon", "0.5", "--budget", "1")
        assert result.exit_code == 0, result.output
        text = flat(result.stdout)
        assert "ε 0.5 (entry 1 of the ledger)" in text
        assert "add-remove" in text
        assert "left ε 0.5 of 1" in text
        assert dp.Ledger(files / "l.ledger").total() == 0.5

    @pytest.mark.parametrize("data", ["p.parquet", "p.csv"])
    def test_json_is_the_release_and_what_is_left(self, files: Path, data: str) -> None:
        result = ask(files, "count", "--epsilon", 1, "--budget", 3, "--json", data=data)
        found = json.loads(result.stdout)
        release = dp.Release.from_dict(found)
        assert release.label == "count"
        assert abs(release.value - 100) < 40
        assert release.cost == Cost.of(1)
        assert found["receipt"]["seq"] == 1
        assert found["left"] == {"epsilon": 2.0, "of": 3.0}

    def test_values_are_right(self, files: Path) -> None:
        result = ask(
            files,
            *["histogram", "sex", "--epsilon", "500", "--budget", "500", "--json"],
        )
        found = json.loads(result.stdout)
        assert dict(zip(found["keys"], found["value"], strict=True)) == {
            "f": 50,
            "m": 25,
            "(missing or other)": 25,
        }

    def test_interval_is_not_shown_where_there_is_none(self, files: Path) -> None:
        shown = ask(files, "mode", "age", "--epsilon", 1, "--budget", 3)
        assert "95 %" not in shown.stdout
        assert "short of the true mode" in shown.stdout
        assert "95 %" in ask(files, "mean", "age", "--epsilon", 1).stdout

    def test_the_same_key_is_free_and_gives_the_same(self, files: Path) -> None:
        line = ["mean", "age", "--epsilon", 1, "--key", "k", "--json"]
        first = json.loads(ask(files, *line, "--budget", 1).stdout)
        again = json.loads(ask(files, *line).stdout)
        assert first["value"] == again["value"]
        assert again["left"]["epsilon"] == 0

    def test_delta_uses_rho(self, files: Path) -> None:
        line = ["mean", "age", "--epsilon", "0.5", "--delta", "1e-6", "--json"]
        made = ["--budget", 1, "--budget-delta", "1e-6"]
        found = json.loads(ask(files, *line, *made).stdout)
        assert list(found["cost"]) == ["rho"]
        assert found["left"]["epsilon"] == pytest.approx(0.5, abs=1e-6)

    def test_analyst_and_anchor(self, files: Path) -> None:
        anchor = files / "anchor"
        line = ["count", "--epsilon", 1, "--anchor", anchor]
        assert ask(files, *line, "--budget", 5).exit_code == 0
        assert anchor.read_text().strip()
        assert "'ana'" in refused(ask(files, *line, "--analyst", "ana"), LedgerError)
        dp.Ledger(files / "l.ledger", anchor=anchor).allow("ana", 2)
        result = ask(files, *line, "--analyst", "ana")
        assert "ε 1 for analyst ana" in flat(result.stdout)
        shown = ask(files, *line, "--analyst", "ana", "--json").stdout
        assert json.loads(shown)["left"] == {"epsilon": 2.0, "of": 5.0, "analyst": 0.0}

    @pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "1e999", "inf", "x", ""])
    def test_impossible_epsilon(self, files: Path, epsilon: str) -> None:
        result = ask(files, "count", "--epsilon", epsilon, "--budget", 1)
        assert "epsilon must be" in refused(result, ParameterError)
        assert not (files / "l.ledger").exists()

    def test_over_budget_charges_nothing(self, files: Path) -> None:
        assert ask(files, "count", "--epsilon", 1, "--budget", 2).exit_code == 0
        text = refused(ask(files, "count", "--epsilon", "1.5"), BudgetError)
        assert "Ask with --epsilon 1 or less." in text
        assert dp.Ledger(files / "l.ledger").total() == 1

    def test_no_ledger_names_the_option(self, files: Path) -> None:
        text = refused(ask(files, "count", "--epsilon", 1), LedgerError)
        assert "--budget" in text

    def test_budget_cannot_change_a_ledger(self, files: Path) -> None:
        ask(files, "count", "--epsilon", 1, "--budget", 2)
        refused(ask(files, "count", "--epsilon", 1, "--budget", 9), LedgerError)

    def test_a_damaged_ledger_answers_nothing(self, files: Path) -> None:
        ask(files, "count", "--epsilon", 1, "--budget", 3)
        (files / "l.ledger").write_bytes(b"not a ledger at all" * 99)
        refused(ask(files, "count", "--epsilon", 1), LedgerError)

    def test_missing_files(self, files: Path) -> None:
        line = ["count", "--epsilon", 1, "--budget", 1]
        refused(ask(files, *line, data="none.parquet"), DomainError)
        assert not (files / "l.ledger").exists()  # nothing is made for a typing error
        (files / "d.json").unlink()
        text = refused(ask(files, *line), DomainError)
        assert "discreto domain draft" in text

    @pytest.mark.parametrize(
        ("line", "wanted"),
        [
            ("meen age", "Did you mean 'mean'?"),
            ("mean", "one column"),
            ("mean age height", "one column"),
            ("count age", "--by"),
            ("correlation age", "2 or more columns"),
            ("trend age age --by sex", "no option --by"),
            ("mean age --bins 3", "no option --bins"),
            ("histogram age --bins 0", "--bins must be"),
            ("histogram age sex --bins age=0", "--bins must be"),
            ("histogram age sex --bins kg=5", "which is not a column here"),
            ("histogram age sex --bins 5 --bins 6", "the name of a column each time"),
            ("histogram age sex --bins age=5 --bins 6", "name each column once"),
            ("histogram age --bins x", "--bins must be"),
            ("histogram age --bins 5,x", "--bins must be"),
            ("quantile age", "needs --probability"),
            ("quantile age --probability 1.5", "0 to 1"),
            ("quantile age --probability 0.5,1.5", "0 to 1"),
            ("quantile age --probability x", "--probability must be"),
        ],
    )
    def test_wrong_words(self, files: Path, line: str, wanted: str) -> None:
        result = ask(files, *line.split(), "--epsilon", 1, "--budget", 1)
        assert wanted in refused(result, ParameterError)

    def test_a_wrong_option_is_a_usage_error(self, files: Path) -> None:
        result = ask(files, "count", "--epsilon", 1, "--nonsense")
        assert result.exit_code == 2
        assert "nonsense" in result.stderr


class TestNothingPrivate:
    """No way to make a command print a value of a row."""

    @pytest.mark.parametrize("data", ["p.parquet", "p.csv"])
    def test_draft(self, files: Path, data: str) -> None:
        out = files / "new.json"
        shown = run("domain", "draft", files / data)
        written = run("domain", "draft", files / data, "--out", out)
        texts = shown.output + written.output + out.read_text()
        assert CANARY not in texts
        assert str(NUMBER) not in texts
        assert "1.5" not in texts
        assert "No value was looked at" in flat(shown.stderr)

    def test_a_csv_without_names(self, files: Path) -> None:
        """Its first line is somebody's row."""
        path = files / "bare.csv"
        path.write_text(f"{CANARY},{NUMBER}\nJohn,5\n")
        result = run("domain", "draft", path)
        assert "--header" in refused(result, DomainError)
        assert CANARY not in result.output
        assert str(NUMBER) not in result.output

    @pytest.mark.parametrize("data", ["p.parquet", "p.csv", "bare.csv"])
    def test_wrong_columns(self, files: Path, data: str) -> None:
        (files / "bare.csv").write_text(f"{CANARY},{NUMBER}\n{CANARY},5\n")
        domain = dp.Domain({"weight": dp.Number(0, 9), "age": dp.Number(0, 120)})
        domain.save(files / "d.json")
        for result in (
            ask(files, "mean", "age", "--epsilon", 1, "--budget", 1, data=data),
            run("domain", "check", files / "d.json", "--data", files / data),
        ):
            assert result.exit_code == DomainError.exit_code
            assert "'weight'" in result.stderr
            assert CANARY not in result.output
            assert str(NUMBER) not in result.output

    def test_wrong_types(self, files: Path) -> None:
        table = pa.table({"age": [[NUMBER]], "height": [1.0], "sex": [CANARY]})
        pq.write_table(table, files / "p.parquet")
        result = ask(files, "mean", "age", "--epsilon", 1, "--budget", 1)
        refused(result, DomainError)
        assert str(NUMBER) not in result.output

    def test_an_unexpected_error_hides_its_message(
        self, files: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def boom(*_: object, **__: object) -> None:
            raise ValueError(f"could not convert {CANARY}")

        monkeypatch.setattr(dp.Table, "answer", boom)
        result = ask(files, "count", "--epsilon", 1, "--budget", 1)
        assert result.exit_code == 1
        assert "ValueError" in result.stderr
        assert CANARY not in result.output
        assert "Traceback" not in result.output

    @pytest.mark.parametrize("number", [(), (5,)])
    def test_an_os_error_shows_reason_and_file_only(
        self, files: Path, monkeypatch: pytest.MonkeyPatch, number: tuple[int, ...]
    ) -> None:
        def boom(*_: object, **__: object) -> None:
            raise OSError(*number, f"while parsing {CANARY}")

        monkeypatch.setattr(dp.Table, "answer", boom)
        result = ask(files, "count", "--epsilon", 1, "--budget", 1)
        assert result.exit_code == 1
        assert CANARY not in result.output
        out = files / "no-such-folder" / "x.json"
        result = run("domain", "draft", files / "p.csv", "--out", out)
        assert result.exit_code == 1
        assert "No such file" in result.stderr

    def test_other_errors_of_the_tree_keep_their_code(
        self, files: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for kind in (dp.errors.UnsafeError, MissingExtraError, dp.errors.KernelFault):

            def boom(*_: object, kind: type[Exception] = kind, **__: object) -> None:
                raise kind("a reason")

            monkeypatch.setattr(dp.Table, "answer", boom)
            result = ask(files, "count", "--epsilon", 1, "--budget", 1)
            assert "a reason" in refused(result, kind)


class TestDomain:
    def test_draft_then_check_says_what_is_open(self, files: Path) -> None:
        out = files / "new.json"
        result = run("domain", "draft", files / "p.parquet", "--out", out)
        assert result.exit_code == 0
        drafted = json.loads(out.read_text())
        assert drafted["columns"]["age"] == {
            "type": "Number",
            "lower": None,
            "upper": None,
            "integer": True,
            "missing": True,
        }
        drafted["columns"]["height"] |= {"lower": 0, "upper": 3}
        out.write_text(json.dumps(drafted))
        text = refused(run("domain", "check", out), DomainError)
        assert "'age' needs lower, upper; 'sex' needs categories." in text
        assert "height" not in text

    def test_a_draft_of_a_text_file_has_no_types(self, files: Path) -> None:
        result = run("domain", "draft", files / "p.csv")
        columns = json.loads(result.stdout)["columns"]
        assert {column["type"] for column in columns.values()} == {"TODO"}
        assert list(columns) == ["age", "height", "sex"]
        (files / "new.json").write_text(result.stdout)
        text = refused(run("domain", "check", files / "new.json"), DomainError)
        assert "'sex' needs type" in text

    def test_every_arrow_type_has_a_place(self, files: Path) -> None:
        table = pa.table(
            {
                "b": pa.array([True]),
                "t": pa.array([0], pa.timestamp("s")),
                "c": pa.array(["x"]).dictionary_encode(),
                "l": pa.array([[1]]),
                "n": pa.array([None], pa.null()),
                "f": pa.array([1.5], pa.float32()),
            }
        )
        pq.write_table(table, files / "odd.parquet")
        shown = run("domain", "draft", files / "odd.parquet").stdout
        kinds = [c["type"] for c in json.loads(shown)["columns"].values()]
        assert kinds == [
            "Boolean",
            "DateTime",
            "Category",
            "Opaque",
            "Opaque",
            "Number",
        ]

    def test_a_filled_draft_is_a_domain(self, files: Path) -> None:
        shown = run("domain", "draft", files / "p.parquet").stdout
        filled = shown.replace('"lower": null', '"lower": 0')
        filled = filled.replace('"upper": null', '"upper": 9')
        filled = filled.replace('"categories": null', '"categories": ["f", "m"]')
        (files / "new.json").write_text(filled)
        assert dp.Domain.load(files / "new.json").number("age").integer
        assert run("domain", "check", files / "new.json").exit_code == 0

    def test_names_in_any_script(self, files: Path) -> None:
        path, out = files / "größe.csv", files / "größe.json"
        path.write_text("größe,名前\n1,2\n", encoding="utf-8")
        assert run("domain", "draft", path, "--out", out).exit_code == 0
        assert '"größe"' in out.read_text(encoding="utf-8")
        shown = json.loads(run("domain", "draft", path).stdout)
        assert list(shown["columns"]) == ["größe", "名前"]

    def test_nothing_is_overwritten(self, files: Path) -> None:
        before = (files / "d.json").read_text()
        result = run("domain", "draft", files / "p.csv", "--out", files / "d.json")
        assert "exists already" in refused(result, ParameterError)
        assert (files / "d.json").read_text() == before

    def test_check(self, files: Path) -> None:
        result = run("domain", "check", files / "d.json", "--data", files / "p.parquet")
        assert result.exit_code == 0, result.output
        text = flat(result.stdout)
        assert "0 to 120 years" in text
        assert "f, m" in text
        assert "int64" in text
        assert "add-remove" in text
        assert "protects one row, added or removed" in text

    @pytest.mark.parametrize(
        "text", ["", "[]", "{", '{"columns": 3}', '{"columns": {}}']
    )
    def test_broken_files(self, files: Path, text: str) -> None:
        (files / "d.json").write_text(text)
        refused(run("domain", "check", files / "d.json"), DomainError)

    def test_unknown_kind_of_file(self, files: Path) -> None:
        refused(run("domain", "draft", files / "d.json"), DomainError)
        (files / "fake.parquet").write_text("no")
        refused(run("domain", "draft", files / "fake.parquet"), DomainError)
        refused(run("domain", "draft", files / "none.csv"), DomainError)


class TestPlan:
    def test_needs_no_data_and_spends_nothing(self, files: Path) -> None:
        line = ["plan", files / "d.json", "mean", "age", "--epsilon", "0.5"]
        result = run(*line, "--rows", 5000)
        assert result.exit_code == 0, result.output
        assert "expected error of mean of age" in result.stdout
        assert "5000 rows" in result.stdout
        assert not list(files.glob("*.ledger"))

    def test_error_is_turned_into_epsilon(self, files: Path) -> None:
        line = ["plan", files / "d.json", "mean", "age", "--rows", 5000, "--json"]
        found = json.loads(run(*line, "--error", 1).stdout)
        assert 0 < float(found["epsilon"]) < 1
        assert 0.9 < found["expected"][0]["error"] <= 1
        again = json.loads(run(*line, "--epsilon", found["epsilon"]).stdout)
        assert again["expected"] == found["expected"]

    @pytest.mark.parametrize(
        "line",
        [
            "mean age",
            "mean age --epsilon 1 --error 1",
            "mean age --epsilon 0",
            "mean age --error -1",
            "std height --error 1e-9",
            "mean age --epsilon 1 --rows 0",
            "bounds age --error 1",
        ],
    )
    def test_impossible(self, files: Path, line: str) -> None:
        refused(run("plan", files / "d.json", *line.split()), ParameterError)

    def test_unknown_column(self, files: Path) -> None:
        line = ["plan", files / "d.json", "mean", "weight", "--epsilon", 1]
        assert "weight" in refused(run(*line), DomainError)


class TestLedger:
    @pytest.fixture
    def book(self, tmp_path: Path) -> Path:
        path = tmp_path / "l.ledger"
        ledger = dp.Ledger(path, epsilon=4, population="ward [red]7")
        ledger.charge(Cost.of(1), '=HYPERLINK("http://x","y")')
        ledger.charge(Cost.of(1), "mean of age")
        ledger.allow("@ana", 2)
        ledger.analyst("@ana").charge(Cost.of("1/2"), "\x1b[31mhistogram [bold]")
        return path

    def test_show(self, book: Path) -> None:
        result = run("ledger", "show", book)
        assert result.exit_code == 0, result.output
        text = flat(result.stdout)
        assert "ε 2.5 of 4 spent, 1.5 left" in text
        assert "ε 0.5 of 2 spent, 1.5 left by @ana" in text
        assert "[red]7" in text  # text of a file is never mark-up
        assert "\x1b[31m" not in result.stdout

    def test_show_the_last_ones(self, book: Path) -> None:
        text = run("ledger", "show", book, "--last", 1).stdout
        assert "3 earlier entries" in text
        assert "mean of age" not in text

    def test_verify(self, book: Path) -> None:
        assert "chain intact: 4 entries" in run("ledger", "verify", book).stdout
        with sqlite3.connect(book) as db:
            db.execute("DROP TRIGGER entry_update")
            db.execute("UPDATE entry SET body = replace(body, 'mean', 'lean')")
        db.close()
        text = refused(run("ledger", "verify", book), LedgerError)
        assert "changed" in text

    def test_verify_with_an_anchor_that_knows_more(self, tmp_path: Path) -> None:
        path, anchor = tmp_path / "a.ledger", tmp_path / "anchor"
        ledger = dp.Ledger(path, epsilon=4, anchor=anchor)
        ledger.charge(Cost.of(1), "x")
        assert run("ledger", "verify", path, "--anchor", anchor).exit_code == 0
        anchor.write_text(anchor.read_text() + f"{ledger.id} 2 {'a' * 64}\n")
        refused(run("ledger", "verify", path, "--anchor", anchor), LedgerError)

    def test_export_json(self, book: Path, tmp_path: Path) -> None:
        found = json.loads(run("ledger", "export", book).stdout)
        assert (found["epsilon"], found["left"]) == (4, 1.5)
        assert [entry["seq"] for entry in found["entries"]] == [1, 2, 3, 4]
        out = tmp_path / "l.json"
        assert run("ledger", "export", book, "--out", out).exit_code == 0
        assert json.loads(out.read_text()) == found

    def test_export_csv_runs_no_formula(self, book: Path) -> None:
        text = run("ledger", "export", book, "--format", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert rows[0]["label"] == '\'=HYPERLINK("http://x","y")'
        assert rows[1]["label"] == "mean of age"
        assert rows[3]["analyst"] == "'@ana"
        assert rows[3]["epsilon"] == "1/2"
        assert not any(
            cell.startswith(tuple("=+-@\t\r")) for row in rows for cell in row.values()
        )

    @pytest.mark.parametrize("first", list("=+-@\t\r\n"))
    def test_harmless(self, first: str) -> None:
        assert harmless(f"{first}x") == f"'{first}x"
        assert harmless(f"x{first}") == f"x{first}"

    def test_export_is_written_as_the_file_is_called(
        self, book: Path, tmp_path: Path
    ) -> None:
        for name, first in {
            "a.csv": "entry,time",
            "a.json": "{",
            "a.CSV": "entry",
        }.items():
            out = tmp_path / f"export-{name}"
            assert run("ledger", "export", book, "--out", out).exit_code == 0
            assert out.read_text().startswith(first)
        out = tmp_path / "named.csv"
        words = ("ledger", "export", book, "--format", "json", "--out", out)
        assert run(*words).exit_code == 0
        assert json.loads(out.read_text())["entries"]

    def test_export_never_overwrites_the_ledger(self, book: Path) -> None:
        refused(run("ledger", "export", book, "--out", book), ParameterError)
        assert run("ledger", "verify", book).exit_code == 0

    @pytest.mark.parametrize("command", ["show", "verify", "export"])
    def test_no_ledger(self, tmp_path: Path, command: str) -> None:
        refused(run("ledger", command, tmp_path / "none"), LedgerError)
        assert not list(tmp_path.iterdir())


class TestTop:
    def test_version(self) -> None:
        assert run("--version").stdout == f"discreto {dp.__version__}\n"

    @pytest.mark.parametrize(
        "command",
        [
            "query",
            "plan",
            "demo",
            "compare",
            "fit",
            "predict",
            "report",
            "domain draft",
            "domain check",
            "ledger show",
            "ledger verify",
            "ledger export",
        ],
    )
    def test_help_has_an_example(self, command: str) -> None:
        result = run(*command.split(), "--help")
        assert result.exit_code == 0
        assert f"discreto {command}" in flat(result.stdout).split("Example")[1]

    def test_import_discreto_is_light(self) -> None:
        code = "import sys, discreto; print(*sys.modules)"
        line = [sys.executable, "-c", code]
        loaded = subprocess.run(line, capture_output=True, text=True, check=True)
        roots = {name.split(".")[0] for name in loaded.stdout.split()}
        assert "discreto" in roots
        assert not roots & {"typer", "rich", "matplotlib", "sklearn"}
        assert "discreto.cli" not in loaded.stdout.split()

    def test_main_survives_a_screen_without_greek(self, files: Path) -> None:
        """The answer is paid for: it must be printed somehow."""
        code = "from discreto.cli import main; main()"
        line = ["count", "--epsilon", "1", "--budget", "2"]
        places = ["--domain", files / "d.json", "--ledger", files / "l.ledger"]
        done = subprocess.run(
            [sys.executable, "-c", code, "query", files / "p.csv", *line, *places],
            capture_output=True,
            env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        )
        assert done.returncode == 0, done.stderr
        assert b"count" in done.stdout


def test_nothing_moves_in_a_pipe_that_takes_colours(tmp_path: Path) -> None:
    """Notebooks ask for colours; a spinner would leave a line for each of its turns."""
    dp.Domain({"age": dp.Number(0, 100)}).save(tmp_path / "d.json")
    line = [sys.executable, "-m", "discreto", "plan", "d.json", "mean", "age"]
    done = subprocess.run(
        [*line, "--error", "1", "--rows", "1000"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=tmp_path,
        env=os.environ | {"FORCE_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b[" in done.stdout
    assert done.stderr == ""


def test_a_shut_ledger_is_shown_and_reopened(tmp_path):
    path = tmp_path / "people.ledger"
    ledger = dp.Ledger(path, epsilon=3, analysts={"ana": 1})
    run = CliRunner().invoke
    assert "nothing to do" in run(app, ["ledger", "reopen", str(path)]).output
    ledger.fault("mean of age")
    assert "shut" in run(app, ["ledger", "show", str(path)]).output
    told = run(app, ["ledger", "reopen", str(path), "--comment", "disk full"])
    assert "open again" in told.output
    assert "reopened: disk full" in str(dp.Ledger(path).entries()[-1])
    told = run(app, ["ledger", "allow", str(path), "ana", "--epsilon", "0.5"])
    assert told.exit_code == 0, told.output
    assert dp.Ledger(path).limit("ana") == Fraction(1, 2)
