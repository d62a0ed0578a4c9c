"""Text files are asked with the owner's record, or the answer says "NOT CHECKED"."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.errors import DomainError, ParameterError
from discreto.models import NaiveBayes

GERMAN = dp.Dialect(separator=";", decimal=",", thousands=".", dates="dmy")
DRAFTED = dp.Dialect(separator=";", decimal=",")
COLUMNS = {
    "income": dp.Number(0, 10_000),
    "seen": dp.Date("2020-01-01", "2029-12-31"),
    "sex": dp.Category(["f", "m"]),
}
DOMAIN = dp.Domain(COLUMNS, dialect=GERMAN, target="sex")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    rows = [
        f"{1 + i % 4}.{i % 900 + 100},50;31.12.2024;{'fm'[i % 2]}" for i in range(400)
    ]
    path.write_text("income;seen;sex\n" + "\n".join(rows) + "\n")
    return path


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(word) for word in words])
    return found.exit_code, " ".join(found.output.split())


def ask(data: object, domain: dp.Domain, **more: bool) -> dp.Release:
    table = dp.Table(data, domain, dp.testing.simulate(0), **more)
    return dp.stats.mean(table, "income", epsilon=1)


def test_the_first_words_of_an_answer_say_that_nobody_has_checked(data: Path) -> None:
    found = ask(data, DOMAIN)
    assert not found.checked
    assert str(found).startswith("NOT CHECKED ")
    assert "NOT CHECKED" in found._repr_html_()
    again = dp.Release.from_dict(json.loads(found.to_json()))
    assert not again.checked
    with_keys = dp.stats.mean(
        dp.Table(data, DOMAIN, dp.testing.simulate(0)), "income", by="sex", epsilon=1
    )
    assert str(with_keys).splitlines()[0].startswith("NOT CHECKED ")


def test_after_the_record_and_after_accepting_nothing_is_said(data: Path) -> None:
    assert ask(data, dp.record_check(data, DOMAIN)).checked
    accepted = ask(data, DOMAIN, accept_unchecked=True)
    assert accepted.checked
    assert "NOT CHECKED" not in str(accepted)


def test_a_file_that_is_not_read_is_not_recorded(data: Path) -> None:
    with pytest.raises(DomainError, match=r"'income', 'seen'.*Nothing was recorded"):
        dp.record_check(data, DOMAIN.with_(dialect=DRAFTED))


def test_the_record_holds_nothing_from_rows_but_that_the_owner_has_looked(
    data: Path,
) -> None:
    one = dp.record_check(data, DOMAIN).checked.to_dict()
    data.write_text("income;seen;sex\n1;1.1.2021;f\n;;\n")
    assert dp.record_check(data, DOMAIN).checked.to_dict() == one
    assert one["columns"] == {"income": "number", "seen": "date"}
    assert one["read"] == "at least 95 %"


@pytest.mark.parametrize(("unread", "recorded"), [(5, True), (6, False)])
def test_five_percent_of_the_texts_may_be_odd(unread: int, recorded: bool) -> None:
    texts = ["about 5"] * unread + ["5"] * (100 - unread) + [""] * 900
    domain = dp.Domain({"x": dp.Number(0, 9)}, dialect=dp.Dialect())
    frame = pd.DataFrame({"x": texts})
    if recorded:
        assert dp.record_check(frame, domain).checked
    else:
        with pytest.raises(DomainError, match="'x'"):
            dp.record_check(frame, domain)


@pytest.mark.parametrize(
    "change",
    [
        {"dialect": DRAFTED},
        {"dialect": None},
        {"columns": COLUMNS | {"seen": dp.Number(0, 1)}},
        {"columns": COLUMNS | {"more": dp.Number(0, 1)}},
    ],
    ids=["dialect", "no dialect", "kind of a column", "another column"],
)
def test_a_change_of_dialect_or_columns_makes_it_void(
    data: Path, change: dict[str, object]
) -> None:
    checked = dp.record_check(data, DOMAIN)
    assert checked.checked.covers(checked)
    assert not checked.checked.covers(checked.with_(**change))


def test_narrower_bounds_and_fewer_columns_keep_it(data: Path) -> None:
    checked = dp.record_check(data, DOMAIN)
    fewer = checked.select(["income", "sex"])
    assert fewer.checked.covers(fewer)
    assert ask(data, fewer).checked
    other = checked.with_(columns=COLUMNS | {"income": dp.Number(0, 5000)})
    assert other.checked.covers(other)


def test_fingerprints_and_equality_do_not_see_it(data: Path, tmp_path: Path) -> None:
    checked = dp.record_check(data, DOMAIN)
    assert checked.fingerprint == DOMAIN.fingerprint
    assert checked == DOMAIN
    checked.save(tmp_path / "d.json")
    again = dp.Domain.load(tmp_path / "d.json")
    assert again.checked == checked.checked
    assert again.fingerprint == DOMAIN.fingerprint


@pytest.mark.parametrize(
    "text",
    ["yes", {}, {"date": 1}, {"date": "", "dialect": "", "read": "", "columns": []}],
)
def test_a_record_of_another_form_is_refused(text: object) -> None:
    with pytest.raises(DomainError, match="record the check anew"):
        dp.Domain.from_dict(DOMAIN.to_dict() | {"checked": text})


NUMBERS = {"income": [1.0, 2.0], "seen": [None, None], "sex": ["f", "m"]}


@pytest.mark.parametrize(
    ("rows", "checked"),
    [
        (pd.DataFrame({"income": ["1,5", "2"]}), False),
        (pa.table({"income": ["1,5", "2"]}), False),
        (pd.DataFrame({"income": [1.5, 2]}), True),
        ({"income": [1.5, 2]}, True),
    ],
    ids=["texts of pandas", "texts of arrow", "numbers of pandas", "a list"],
)
def test_frames_count_by_the_types_of_their_columns(
    rows: object, checked: bool
) -> None:
    domain = dp.Domain({"income": dp.Number(0, 9)}, dialect=dp.Dialect(decimal=","))
    assert ask(rows, domain).checked is checked
    assert ask(rows, dp.record_check(rows, domain)).checked


def test_typed_files_and_files_without_numbers_need_no_check(tmp_path: Path) -> None:
    frame = pd.DataFrame({"income": [1.0, 2.0], "sex": ["f", "m"]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    domain = dp.Domain({"income": dp.Number(0, 9), "sex": dp.Category(["f", "m"])})
    ledger = dp.testing.simulate(0)
    assert dp.Table(tmp_path / "a.parquet", domain, ledger).checked
    assert not dp.Table(tmp_path / "a.csv", domain, ledger).checked
    assert dp.Table(tmp_path / "a.csv", domain.select(["sex"]), ledger).checked


def test_sheets_are_texts_until_they_are_checked(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    pd.DataFrame({"income": ["1.5", 2.5] * 40}).to_excel(path, index=False)
    domain = dp.Domain({"income": dp.Number(0, 9)})
    assert not ask(path, domain).checked
    assert ask(path, dp.record_check(path, domain)).checked
    pd.DataFrame({"income": ["1,5", 2.5] * 40}).to_excel(path, index=False)
    with pytest.raises(DomainError, match="'income'"):
        dp.record_check(path, domain)


def test_views_and_joins_carry_it(data: Path) -> None:
    ledger = dp.testing.simulate(0)
    table = dp.Table(data, DOMAIN, ledger)
    assert not table.where("income > 5").checked
    assert not table.paid_by(ledger).checked
    several = table.answers([dp.stats.Count(), dp.stats.Mean("income")], epsilon=1)
    assert not any(one.checked for one in several)
    people = dp.Domain({"sex": dp.Opaque(), "age": dp.Number(0, 99)}, person="sex")
    first = dp.Table({"sex": ["f", "m"], "age": [1, 2]}, people, ledger)
    visits = dp.Domain(
        {"sex": dp.Opaque(), "income": dp.Number(0, 9)}, person="sex", dialect=GERMAN
    )
    assert not first.join(dp.Table(data, visits, ledger)).checked


def test_models_and_their_scores_say_it(data: Path, tmp_path: Path) -> None:
    table = dp.Table(data, DOMAIN, dp.testing.simulate(0))
    model = NaiveBayes(epsilon=1).fit(table)
    assert str(model.privacy_).startswith("NOT CHECKED ")
    dp.models.save(model, tmp_path / "m.json")
    assert str(dp.models.load(tmp_path / "m.json").privacy_).startswith("NOT CHECKED ")
    judged = dp.models.evaluate(model, table, epsilon=1)
    assert str(judged).count("NOT CHECKED") == 1
    assert str(judged).startswith("NOT CHECKED")


class TestShell:
    @pytest.fixture
    def domain(self, data: Path) -> Path:
        path = data.parent / "d.json"
        DOMAIN.save(path)
        return path

    def test_the_owner_records_and_query_falls_silent(
        self, data: Path, domain: Path
    ) -> None:
        words = ["query", data, "mean", "income", "--domain", domain, "--epsilon", "1"]
        words += ["--ledger", data.parent / "l", "--budget", "9"]
        code, text = run(*words)
        assert code == 0
        assert text.startswith("NOT CHECKED: ")
        assert "--owner --record" in text
        assert "NOT CHECKED" not in run(*words, "--accept-unchecked")[1]
        assert json.loads(run(*words, "--json")[1])["checked"] is False
        check = ["domain", "check", domain, "--data", data]
        assert "Not checked yet" in run(*check)[1]
        assert "Not checked yet" in run(*check, "--owner")[1]
        code, text = run(*check, "--owner", "--record")
        assert code == 0, text
        assert "Recorded in" in text
        assert "Not checked" not in run(*check)[1]
        assert "NOT CHECKED" not in run(*words)[1]
        assert "checked" not in json.loads(run(*words, "--json")[1])
        assert "NOT CHECKED" in run(*words, "--dialect", "thousands=")[1]

    def test_other_commands_say_it_in_their_first_line(
        self, data: Path, domain: Path
    ) -> None:
        folder = data.parent
        pay = ["--domain", domain, "--ledger", folder / "l", "--budget", "9"]
        pay += ["--epsilon", "1"]
        model = folder / "m.json"
        fit = ["fit", "NaiveBayes", data, *pay, "--out", model]
        rows = ["synthesize", data, *pay, "--set", "rounds=1", "--out"]
        score = ["evaluate", model, data, *pay]
        for words in (fit, [*rows, folder / "s.parquet"], score):
            code, text = run(*words)
            assert code == 0, text
            assert text.startswith("NOT CHECKED: "), words
        code, text = run(*rows, folder / "t.parquet", "--accept-unchecked")
        assert "NOT CHECKED" not in text

    def test_what_is_not_read_is_not_recorded(self, data: Path, domain: Path) -> None:
        DOMAIN.with_(dialect=DRAFTED).save(domain)
        before = domain.read_text()
        code, text = run(
            "domain", "check", domain, "--data", data, "--owner", "--record"
        )
        assert code == DomainError.exit_code
        assert "Nothing was recorded" in text.replace("│ ", "")
        assert domain.read_text() == before

    @pytest.mark.parametrize(
        "words",
        [["--record"], ["--owner", "--record", "--dialect", "decimal=."]],
    )
    def test_recording_is_for_owners_and_for_what_the_file_says(
        self, data: Path, domain: Path, words: list[str]
    ) -> None:
        code, _ = run("domain", "check", domain, "--data", data, *words)
        assert code == ParameterError.exit_code

    def test_the_file_keeps_what_else_is_in_it(self, data: Path, domain: Path) -> None:
        text = json.loads(domain.read_text())
        text |= {"help": ["for readers, é"], "target": None}
        domain.write_text(json.dumps(text))
        assert (
            run("domain", "check", domain, "--data", data, "--owner", "--record")[0]
            == 0
        )
        found = json.loads(domain.read_text(encoding="utf-8"))
        assert found.pop("checked")["columns"] == {"income": "number", "seen": "date"}
        assert found == text


class TestDraft:
    def test_what_a_text_file_does_not_say_is_open(self, data: Path) -> None:
        out = data.parent / "new.json"
        assert run("domain", "draft", data, "--out", out)[0] == 0
        found = json.loads(out.read_text())
        open_parts = dict.fromkeys(("decimal", "thousands", "dates", "missing"), "TODO")
        assert found["dialect"] == {"separator": ";"} | open_parts
        assert found["columns"]["seen"].keys() >= {
            "first",
            "last",
            "lower",
            "categories",
        }
        assert len(out.read_text().splitlines()) < 30
        found["columns"] = json.loads(json.dumps(DOMAIN.to_dict()["columns"]))
        out.write_text(json.dumps(found))
        code, text = run("domain", "check", out)
        assert code == DomainError.exit_code
        flat = " ".join(text.replace("│", " ").split())  # the terminal breaks lines
        assert "'dialect' needs decimal, thousands, dates, missing" in flat
        found["dialect"] |= {"decimal": ",", "thousands": ".", "dates": "dmy"}
        found["dialect"]["missing"] = [""]
        out.write_text(json.dumps(found))
        assert run("domain", "check", out)[0] == 0

    def test_what_is_said_is_not_open(self, data: Path) -> None:
        words = ["--dialect", "separator=;", "--dialect", "decimal=,"]
        found = json.loads(
            CliRunner().invoke(app, ["domain", "draft", str(data), *words]).stdout
        )
        assert found["dialect"]["decimal"] == ","
        assert found["dialect"]["thousands"] == "TODO"

    def test_typed_files_have_no_open_dialect(self, tmp_path: Path) -> None:
        pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "a.parquet")
        found = CliRunner().invoke(
            app, ["domain", "draft", str(tmp_path / "a.parquet")]
        )
        assert "dialect" not in json.loads(found.stdout)

    def test_a_check_of_a_text_file_names_what_is_not_said(self, data: Path) -> None:
        domain = data.parent / "d.json"
        DOMAIN.with_(dialect=DRAFTED).save(domain)
        text = run("domain", "check", domain, "--data", data)[1]
        assert 'Not complete: say thousands, dates, missing in "dialect"' in text
