"""A data file remembers its ledger: a second budget for its people is no accident."""

from __future__ import annotations

import json
import multiprocessing
import os
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.data import ledger_marks
from discreto.errors import LedgerError, PrivacyWarning

DOMAIN = dp.Domain({"age": dp.Number(0, 120)})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    path.write_text("age\n" + "40\n" * 50)
    return path


def ask(data: object, ledger: object, **more: bool) -> None:
    dp.stats.count(dp.Table(data, DOMAIN, ledger, **more), epsilon="0.1")


def book(folder: Path, name: str) -> dp.Ledger:
    return dp.Ledger(folder / f"{name}.ledger", epsilon=1)


def test_a_second_ledger_is_refused_and_nothing_is_charged(data: Path) -> None:
    first, second = book(data.parent, "a"), book(data.parent, "b")
    ask(data, first)
    ask(str(data), first)
    with pytest.raises(LedgerError, match=r"a\.ledger.*another_ledger=True"):
        ask(data, second)
    assert not second.entries()


def test_a_second_ledger_that_is_meant_is_kept(data: Path) -> None:
    first, second = book(data.parent, "a"), book(data.parent, "b")
    ask(data, first)
    ask(data, second, another_ledger=True)
    ask(data, second)
    ask(data, first)
    with pytest.raises(LedgerError, match=r"a\.ledger.*b\.ledger"):
        ask(data, book(data.parent, "c"))


def test_the_note_names_the_ledger_and_the_domain(data: Path) -> None:
    ledger = book(data.parent, "a")
    ask(data, ledger)
    line = json.loads((data.parent / "survey.csv.ledgers").read_text())
    assert line["ledger"] == ledger.id
    assert line["domain"] == DOMAIN.fingerprint
    assert Path(line["path"]) == (data.parent / "a.ledger").resolve()


def test_another_name_and_another_domain_are_the_same_rows(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(data, book(data.parent, "a"))
    link = data.parent / "link.csv"
    link.symlink_to(data)
    monkeypatch.chdir(data.parent)
    second = book(data.parent, "b")
    wide = dp.Domain({"age": dp.Number(0, 150)})
    for name in ("survey.csv", "./survey.csv", link, ["survey.csv"], "sur*.csv"):
        with pytest.raises(LedgerError, match=r"survey\.csv"):
            dp.Table(name, wide, second)


def test_a_folder_has_a_note_beside_it_and_none_is_read_as_a_table(
    data: Path,
) -> None:
    ask(data.parent, book(data.parent.parent, f"{data.parent.name}-a"))
    assert Path(f"{data.parent}.ledgers").is_file()
    ask(data, book(data.parent.parent, f"{data.parent.name}-b"))
    ask(data.parent / "*", book(data.parent.parent, f"{data.parent.name}-b"))


@pytest.mark.parametrize("ledger", [dp.Ledger(epsilon=1), dp.testing.simulate(0)])
def test_ledgers_in_memory_and_simulations_leave_no_note(
    data: Path, ledger: object
) -> None:
    ask(data, ledger)
    assert [path.name for path in data.parent.iterdir()] == ["survey.csv"]


def test_analysts_of_one_ledger_share_it(data: Path) -> None:
    ledger = dp.Ledger(data.parent / "a", epsilon=1, analysts={"ana": 1, "bo": 1})
    ask(data, ledger.analyst("ana"))
    ask(data, ledger.analyst("bo"))
    ask(data, ledger)
    lines = (data.parent / "survey.csv.ledgers").read_text().splitlines()
    assert len(lines) == 1


def test_where_the_folder_cannot_be_written_the_users_folder_remembers(
    data: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setenv("XDG_STATE_HOME", str(elsewhere))
    (data.parent / "survey.csv.ledgers").mkdir()  # nothing can be written there
    ask(data, book(elsewhere, "a"))
    assert len(list(elsewhere.rglob("*.ledgers"))) == 1
    with pytest.raises(LedgerError, match=r"a\.ledger"):
        ask(data, book(elsewhere, "b"))


def test_where_nothing_can_be_written_it_is_said(
    data: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "discreto").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_STATE_HOME", str(elsewhere))
    (data.parent / "survey.csv.ledgers").mkdir()
    with pytest.warns(PrivacyWarning, match="would not be noticed"):
        ask(data, book(elsewhere, "a"))


@pytest.mark.parametrize("text", ["nonsense\n", "[1]\n", '{"ledger": "a"}\n'])
def test_a_note_that_cannot_be_read_refuses(data: Path, text: str) -> None:
    (data.parent / "survey.csv.ledgers").write_text(text)
    with pytest.raises(LedgerError, match="Restore it"):
        ask(data, book(data.parent, "a"))


def _open(data: Path, ledger: Path, ready: object) -> None:
    ready.wait()  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            dp.Table(data, DOMAIN, dp.Ledger(ledger, epsilon=1))
        except LedgerError:
            os._exit(3)
    os._exit(0)


@pytest.mark.parametrize("same", [True, False])
def test_of_processes_that_begin_together_one_ledger_wins(
    data: Path, same: bool
) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(4)
    names = ["a"] * 4 if same else list("abcd")
    several = [
        context.Process(target=_open, args=(data, data.parent / name, ready))
        for name in names
    ]
    for one in several:
        one.start()
    for one in several:
        one.join()
    codes = sorted(one.exitcode or 0 for one in several)
    assert codes == ([0] * 4 if same else [0, 3, 3, 3])


def test_forgetting_is_for_public_data(data: Path) -> None:
    ask(data, book(data.parent, "a"))
    ledger_marks.forget_ledgers(data)
    ask(data, book(data.parent, "b"))


class TestShell:
    @pytest.fixture
    def words(self, data: Path) -> list[str]:
        DOMAIN.save(data.parent / "d.json")
        return [str(data), "--domain", str(data.parent / "d.json")]

    def run(self, *words: object) -> object:
        return CliRunner().invoke(app, [str(word) for word in words])

    def count(self, words: list[str], ledger: Path, *more: str) -> int:
        line = ["query", words[0], "count", *words[1:], "--epsilon", "0.1"]
        return self.run(*line, "--ledger", ledger, *more).exit_code

    def test_no_command_makes_a_ledger_without_a_budget(
        self, data: Path, words: list[str]
    ) -> None:
        folder, ledger = data.parent, data.parent / "x.ledger"
        rows = ["synthesize", *words, "--epsilon", "1", "--out", folder / "s.parquet"]
        assert self.run(*rows).exit_code == 2  # --ledger is not an option to leave out
        assert self.run(*rows, "--ledger", ledger).exit_code == LedgerError.exit_code
        assert self.count(words, ledger) == LedgerError.exit_code
        model = ["fit", "KMeans", *words, "--epsilon", "1", "--out", folder / "m.json"]
        assert self.run(*model, "--ledger", ledger).exit_code == LedgerError.exit_code
        assert sorted(p.name for p in folder.iterdir()) == ["d.json", "survey.csv"]

    def test_a_second_ledger_is_refused_before_it_is_made(
        self, data: Path, words: list[str]
    ) -> None:
        first, second = data.parent / "a.ledger", data.parent / "b.ledger"
        assert self.count(words, first, "--budget", "1") == 0
        refused = self.count(words, second, "--budget", "1")
        assert refused == LedgerError.exit_code
        assert not second.exists()
        assert self.count(words, second, "--budget", "1", "--another-ledger") == 0
        assert self.count(words, second) == 0
