"""Columns with spaces, and ε written with a comma: shell, files of questions, forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.text.language import speaking

COMMAS = ("pt", "es", "fr")
DOMAIN = dp.Domain(
    {"Weight kg": dp.Number(0, 200), "sex at birth": dp.Category(["f", "m"])}
)
ROWS = {"Weight kg": [50.0, 60.0, 80.0] * 400, "sex at birth": ["f", "m", "f"] * 400}
BATCH = """
epsilon = "{epsilon}"
where = "`Weight kg` > 5"

[columns]
half = "`Weight kg` / 2"

[[question]]
ask = "mean(`Weight kg`) by `sex at birth`"

[[question]]
ask = "mean(half)"
where = "`sex at birth` == 'm'"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(pa.table(ROWS), tmp_path / "people.parquet")
    DOMAIN.save(tmp_path / "people.json")
    return tmp_path


def query(folder: Path, *words: str, lang: str = "en") -> Any:
    fixed = ["--lang", lang, "query", str(folder / "people.parquet"), *words]
    fixed += ["--domain", str(folder / "people.json"), "--budget", "30", "--json"]
    fixed += ["--ledger", str(folder / "people.ledger")]
    return CliRunner().invoke(app, fixed)


class TestShell:
    @pytest.mark.parametrize(
        "words",
        [
            ["mean(`Weight kg`) where `Weight kg` > 5 by `sex at birth`"],
            ["mean", "Weight kg", "--by", "sex at birth"],
        ],
    )
    def test_names_with_spaces(self, folder: Path, words: list[str]) -> None:
        done = query(folder, *words, "--epsilon", "10")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["value"][:2] == pytest.approx([65, 60], abs=2)

    @pytest.mark.parametrize("lang", COMMAS)
    def test_epsilon_with_a_comma(self, folder: Path, lang: str) -> None:
        done = query(folder, "count()", "--epsilon", "0,25", lang=lang)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["left"]["epsilon"] == 29.75

    def test_in_english_a_comma_is_refused(self, folder: Path) -> None:
        done = query(folder, "count()", "--epsilon", "0,25")
        assert done.exit_code != 0
        assert not (folder / "people.ledger").exists()


class TestFilesOfQuestions:
    def run(self, folder: Path, epsilon: str, lang: str = "en") -> Any:
        (folder / "ask.toml").write_text(BATCH.format(epsilon=epsilon))
        return query(folder, "--batch", str(folder / "ask.toml"), lang=lang)

    def test_names_with_spaces(self, folder: Path) -> None:
        done = self.run(folder, "20")
        assert done.exit_code == 0, done.output
        one, two = json.loads(done.stdout)["releases"]
        assert one["value"][:2] == pytest.approx([65, 60], abs=2)
        assert two["value"] == pytest.approx(30, abs=1)

    @pytest.mark.parametrize("lang", COMMAS)
    def test_epsilon_with_a_comma(self, folder: Path, lang: str) -> None:
        done = self.run(folder, "0,5", lang)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["left"]["epsilon"] == 29.5

    def test_in_english_a_comma_is_refused(self, folder: Path) -> None:
        assert self.run(folder, "0,5").exit_code != 0


class TestForm:
    def run(self, **fields: str) -> tuple[Any, Any]:
        pytest.importorskip("fastapi", reason="fastapi is not installed")
        from discreto.service.pages import body_of
        from discreto.service.questions import read_work

        work = read_work(body_of({"do": "ask"} | fields), lambda name: "")
        table = dp.Table(ROWS, DOMAIN, dp.testing.simulate(noise=False))
        return work.run(work.seen(table))["releases"][0], table.ledger

    @pytest.mark.parametrize(
        "fields",
        [
            {"sentence": "mean(`Weight kg`) where `Weight kg` > 5 by `sex at birth`"},
            {
                "statistic": "mean",
                "column": "`Weight kg`",
                "where": "`Weight kg` > 5",
                "by": "`sex at birth`",
            },
        ],
    )
    def test_names_with_spaces(self, fields: dict[str, str]) -> None:
        release, _ = self.run(epsilon="1", **fields)
        assert release["value"][:2] == pytest.approx([65, 60], abs=1e-3)

    @pytest.mark.parametrize("lang", COMMAS)
    def test_epsilon_with_a_comma(self, lang: str) -> None:
        with speaking(lang):
            _, ledger = self.run(sentence="count()", epsilon="0,25")
        assert float(ledger.spent().epsilon) == 0.25
