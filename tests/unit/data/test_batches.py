"""Files of questions: read, refused, planned, asked from Python and from the shell."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.errors import DiscretoError, ParameterError
from discreto.stats.batches import batch_of, read_batch
from discreto.testing import simulate

COINS = np.random.default_rng(4)
DATA = {
    "kg": COINS.normal(75, 12, 3000),
    "m": COINS.normal(1.7, 0.1, 3000),
    "age": COINS.integers(0, 100, 3000),
    "region": COINS.choice(["n", "s"], 3000),
}
FRAME = pd.DataFrame(DATA)
DOMAIN = dp.Domain(
    {
        "kg": dp.Number(30, 200, missing=False),
        "m": dp.Number(1, 2.5, missing=False),
        "age": dp.Number(0, 120, integer=True, missing=False),
        "region": dp.Category(["n", "s"], missing=False),
    }
)
FILE = """
epsilon = 4
where = "age >= 18"
rows = 3000

[columns]
bmi = "kg / m ** 2"
heavy = "bmi >= 30"

[[question]]
ask = "mean(bmi) by region"
precision = 0.5

[[question]]
ask = "proportion(heavy)"
where = "age >= 65"

[[question]]
ask = "count() by cut(age, [40, 65]), region"
"""


@pytest.fixture
def files(tmp_path):
    FRAME.to_parquet(tmp_path / "p.parquet")
    DOMAIN.save(tmp_path / "d.json")
    (tmp_path / "q.toml").write_text(FILE)
    return tmp_path


def test_answers_are_those_of_the_rows(files):
    batch = read_batch(files / "q.toml")
    table = dp.Table(DATA, DOMAIN, simulate(noise=False))
    first, second, third = batch.answers(table)
    bmi = FRAME.kg / FRAME.m**2
    adult, old = FRAME.age >= 18, FRAME.age >= 65
    wanted = bmi[adult].groupby(FRAME.region[adult]).mean()
    assert first.value == pytest.approx(wanted.to_numpy(), abs=1e-5)
    assert second.value == pytest.approx((bmi[old] >= 30).mean())
    assert third.value.sum() == adult.sum()
    assert sum(release.cost.epsilon for release in (first, second, third)) == 4
    assert "age >= 65" in second.label


def shell(files, *words):
    line = ["query", str(files / "p.parquet"), "--domain", str(files / "d.json")]
    return CliRunner().invoke(app, [*line, "--ledger", str(files / "l.ledger"), *words])


def test_the_shell_asks_files(files):
    planned = shell(files, "--batch", str(files / "q.toml"), "--plan")
    assert planned.exit_code == 0, planned.output
    assert "plan: ε 4 in 3 question(s)" in planned.output
    assert not (files / "l.ledger").exists()
    done = shell(files, "--batch", str(files / "q.toml"), "--budget", "5", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert len(found["releases"]) == 3
    assert found["left"]["epsilon"] == 1
    again = shell(files, "--batch", str(files / "q.toml"), "--epsilon", "1")
    assert again.exit_code == 0, again.output
    assert "left      ε 0 of 5" in again.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["count"], "STAT and --epsilon"),
        (["--epsilon", "1"], "STAT and --epsilon"),
        (["count", "--batch", "q.toml", "--epsilon", "1"], "leave out STAT"),
        (["--batch", "none.toml"], "there is no file"),
    ],
)
def test_other_words_are_refused(files, words, said):
    done = shell(files, *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "text",
    [
        "epsilon = 1",
        "question = 3",
        "[[question]]\nask = 3",
        "[[question]]\nask = 'mean(age'",
        "[[question]]\nask = 'count()'\nwhy = 1",
        "bugdet = 3\n[[question]]\nask = 'count()'",
        "rows = 'many'\n[[question]]\nask = 'count()'",
        "columns = 3\n[[question]]\nask = 'count()'",
        "split = 'equal'\n[[question]]\nask = 'count()'\nshare = 2",
        "where = 'age >'\n[[question]]\nask = 'count()'",
        "= =",
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, text):
    (tmp_path / "q.toml").write_text(text)
    with pytest.raises(DiscretoError):
        read_batch(tmp_path / "q.toml")


def test_an_epsilon_is_needed_somewhere():
    batch = batch_of(
        {"question": [{"ask": "count()"}, {"ask": "mean(age)", "share": 3}]}
    )
    table = dp.Table(DATA, DOMAIN, simulate(0))
    with pytest.raises(ParameterError, match="needs an epsilon"):
        batch.answers(table)
    found = batch.answers(table, epsilon=1)
    assert [float(release.cost.epsilon) for release in found] == [0.25, 0.75]
