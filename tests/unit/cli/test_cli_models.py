"""The shell around models: honest scores, cards, and what Ctrl-C says."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from screens import flat, run
from typer.testing import CliRunner

import discreto as dp
from discreto import models
from discreto.cli import app
from discreto.cli.error_words import shell_words
from discreto.errors import LedgerError, ParameterError


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two halves of a table, and its domain."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 4000)
    y = np.where(x + rng.normal(0, 0.2, 4000) > 0.5, "yes", "no")
    for name, part in (("train", slice(0, 2000)), ("test", slice(2000, None))):
        table = pa.table({"x": x[part], "y": y[part]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    columns = {"x": dp.Number(0, 1), "y": dp.Category(["no", "yes"])}
    dp.Domain(columns, target="y").save(tmp_path / "d.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FIT = ("fit", "NaiveBayes", "train.parquet", "--domain", "d.json", "--epsilon", 1)
PAY = ("--ledger", "l.ledger", "--out", "m.json")


def test_without_matplotlib_a_card_has_no_pictures(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(*FIT, *PAY, "--budget", 9, "--evaluate", 1)
    assert done.exit_code == 0, done.output
    card = (place / "m.html").read_text(encoding="utf-8")
    assert "Pictures need matplotlib: pip install matplotlib" in card
    assert "<svg" not in card.split("<main", 1)[-1]
    assert dp.Ledger(place / "l.ledger").spent().epsilon == 2


class TestScores:
    def test_on_its_own_rows_it_says_so(self, place):
        done = run(*FIT, *PAY, "--budget", 9, "--evaluate", 1)
        assert done.exit_code == 0, done.output
        assert "on the rows it was fitted to: it looks better" in done.output

    def test_on_other_rows(self, place):
        more = ("--budget", 9, "--evaluate", 1, "--test", "test.parquet")
        done = run(*FIT, *PAY, *more)
        assert done.exit_code == 0, done.output
        assert "fitted to" not in done.output
        assert "some rows of many" in done.output
        assert dp.Ledger("l.ledger").total() == 2

    def test_a_test_file_needs_a_price(self, place):
        done = run(*FIT, *PAY, "--budget", 9, "--test", "test.parquet")
        assert done.exit_code == ParameterError.exit_code
        assert "--evaluate EPSILON" in done.output
        assert not Path("l.ledger").exists()

    def test_a_missing_test_file_charges_nothing(self, place):
        more = ("--budget", 9, "--evaluate", 1, "--test", "none.parquet")
        assert run(*FIT, *PAY, *more).exit_code == 3
        assert dp.Ledger("l.ledger").total() == 0
        assert not Path("m.json").exists()

    def test_evaluate(self, place):
        assert run(*FIT, *PAY, "--budget", 9).exit_code == 0
        words = ("evaluate", "m.json", "test.parquet", "--epsilon", 2)
        done = run(*words, "--ledger", "l.ledger", "--card", "card.html")
        assert done.exit_code == 0, done.output
        shown = float(re.search(r"accuracy: (0\.\d+)", done.output)[1])
        test = pq.read_table("test.parquet").to_pandas()
        exact = (models.load("m.json").predict(test[["x"]]) == test["y"]).mean()
        assert abs(shown - exact) < 0.05
        assert dp.Ledger("l.ledger").total() == 3
        assert "accuracy" in Path("card.html").read_text()

    def test_the_card_has_the_paid_scores_of_exactly_this_file(self, place):
        run(*FIT, *PAY, "--budget", 9)
        run("report", "m.json", "--out", "before.html")
        assert "was not measured" in Path("before.html").read_text()
        run("evaluate", "m.json", "test.parquet", "--epsilon", 2, *PAY[:2])
        run("report", "m.json", "--out", "after.html")
        text = Path("after.html").read_text()
        assert "was not measured" not in text
        assert "Measured privately" in text
        model = Path("m.json").read_text()
        Path("m.json").write_text(model + " ")  # another file: its scores are not these
        run("report", "m.json", "--out", "other.html")
        assert "was not measured" in Path("other.html").read_text()

    def test_evaluate_as_json(self, place):
        run(*FIT, *PAY, "--budget", 9)
        words = ("evaluate", "m.json", "test.parquet", "--epsilon", "1/3")
        done = run(*words, "--ledger", "l.ledger", "--json")
        data = json.loads(done.stdout)
        assert data["accuracy"]["cost"] == {"epsilon": 1 / 3}
        assert {"accuracy", "log_loss", "confusion", "calibration"} <= set(data)

    def test_clusters_have_nothing_to_measure(self, place):
        words = ("fit", "KMeans", "train.parquet", "--domain", "d.json", "--epsilon", 1)
        more = ("--set", "n_clusters=2", "--budget", 9, "--evaluate", 1)
        assert run(*words, *PAY, *more).exit_code == ParameterError.exit_code


class TestPredict:
    def test_to_stdout(self, place):
        run(*FIT, *PAY, "--budget", 9)
        done = run("predict", "m.json", "test.parquet")
        lines = done.stdout.splitlines()
        assert lines[0] == "prediction"
        assert len(lines) == 2001
        assert set(lines[1:]) == {"no", "yes"}
        assert "free of charge" in done.stderr
        assert (
            run("predict", "m.json", "test.parquet", "--out", "-").stdout == done.stdout
        )


class TestGuarantee:
    def test_what_is_printed_is_what_was_declared(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pq.write_table(pa.table({"x": [0.5] * 9, "who": [1, 2, 3] * 3}), "t.parquet")
        columns = {"x": dp.Number(0, 1), "who": dp.Opaque("identifier")}
        words = ("query", "t.parquet", "mean", "x", "--epsilon", 1, "--ledger", "l")
        dp.Domain(columns).save("row.json")
        plain = flat(run(*words, "--domain", "row.json", "--budget", 9))
        assert "protects one row, added or removed (add-remove)" in plain
        assert "person" not in plain
        dp.Domain(columns, person="who", rows_per_person=2).save("who.json")
        whole = flat(run(*words, "--domain", "who.json"))
        assert "one person (column who), up to 2 of whose rows count" in whole


class TestLedger:
    def test_a_chain_with_a_key(self, place):
        Path("secret").write_bytes(b"correct horse\n")
        key = ("--chain-key", "secret")
        assert run(*FIT, *PAY, "--budget", 9, *key).exit_code == 0
        assert run("ledger", "show", "l.ledger").exit_code == LedgerError.exit_code
        assert run("ledger", "show", "l.ledger", *key).exit_code == 0
        done = run("ledger", "allow", "l.ledger", "ana", "--epsilon", "1/2", *key)
        assert done.exit_code == 0, done.output
        assert dp.Ledger("l.ledger", key=b"correct horse").limit("ana") == 0.5
        words = ("query", "test.parquet", "count", "--domain", "d.json", "--epsilon", 1)
        done = run(*words, "--ledger", "l.ledger", "--analyst", "ana", *key)
        assert "--epsilon 0.5 or less" in done.output
        monkey = {"DISCRETO_CHAIN_KEY": "secret"}
        told = CliRunner().invoke(app, ["ledger", "verify", "l.ledger"], env=monkey)
        assert "chain intact" in told.output

    def test_a_missing_key_file_is_named(self, place):
        done = run(*FIT, *PAY, "--budget", 9, "--chain-key", "nothing")
        assert "chain key 'nothing' cannot be read" in flat(done)

    def test_a_ledger_that_cannot_be_written_is_shown(self, place, monkeypatch):
        run(*FIT, *PAY, "--budget", 9)
        before = Path("l.ledger").read_bytes()
        # The suite may run as root, whom no mode stops; so say what a disk would say.
        monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK)
        for command in ("show", "verify", "export"):
            assert run("ledger", command, "l.ledger").exit_code == 0
        assert run("report", "l.ledger", "--out", "l.html").exit_code == 0
        assert Path("l.ledger").read_bytes() == before


def test_json_has_one_kind_of_number(place):
    words = ("query", "train.parquet", "mean", "x", "--domain", "d.json")
    paid = ("--epsilon", "1/10", "--ledger", "l.ledger", "--budget", "1/2", "--json")
    told = [run(*words, *paid).stdout]
    told.append(
        run("plan", "d.json", "mean", "x", "--epsilon", "1/10", "--json").stdout
    )
    told.append(run("ledger", "export", "l.ledger").stdout)
    for text in told:
        json.loads(text)
        assert not re.search(r'"\d+(/\d+)?"', text.replace('"table": ', "")), text
    assert dp.Release.from_dict(json.loads(told[0])).cost == dp.Cost.of("1/10")


TARGET = (
    "GaussianNB needs a target: fit(table, 'COLUMN'), plan(domain, 'COLUMN'), or "
    "Domain(..., target='COLUMN') (\"target\" in a domain file)."
)


class TestAdvice:
    @pytest.mark.parametrize(
        ("python", "shell"),
        [
            (TARGET, 'needs --target COLUMN, or "target" in the domain file.'),
            (
                "The owner adds one with ledger.allow('ana', epsilon).",
                "allow LEDGER ana",
            ),
            ("make one: Ledger(path, epsilon=3).", "--budget 3"),
        ],
    )
    def test_python_becomes_shell(self, python, shell):
        assert shell in shell_words(python)
        assert "(" not in shell_words(python)

    def test_no_refusal_speaks_python(self, place):
        run(*FIT, *PAY, "--budget", 9)
        spoken = [
            run("fit", "NaiveBayes", "train.parquet", "--domain", "n.json"),
            run(
                "query",
                "train.parquet",
                "mean",
                "y",
                "--domain",
                "d.json",
                "--ledger",
                "l.ledger",
                "--epsilon",
                1,
            ),
            run(
                "query",
                "train.parquet",
                "count",
                "--domain",
                "d.json",
                "--ledger",
                "l.ledger",
                "--epsilon",
                99,
            ),
            run(
                "query",
                "train.parquet",
                "count",
                "--domain",
                "d.json",
                "--ledger",
                "l.ledger",
                "--epsilon",
                1,
                "--analyst",
                "eve",
            ),
            run(
                "query",
                "train.parquet",
                "count",
                "--domain",
                "d.json",
                "--ledger",
                "l.ledger",
                "--epsilon",
                1,
                "--delta",
                "1e-5",
            ),
        ]
        columns = {"x": dp.Number(0, 1), "y": dp.Category(["no", "yes"])}
        dp.Domain(columns).save("n.json")
        spoken.append(
            run(
                "fit",
                "NaiveBayes",
                "train.parquet",
                "--domain",
                "n.json",
                "--epsilon",
                1,
                "--ledger",
                "l.ledger",
                "--out",
                "n2.json",
            )
        )
        for done in spoken:
            assert done.exit_code != 0
            text = flat(done)
            assert not re.search(r"\w+\.\w+\(|\w\([^)]*=", text), text


def test_a_federated_model_has_a_card(tmp_path):
    from discreto.core.cost import Cost
    from discreto.federated.guarantee import Guarantee
    from discreto.federated.model import FederatedModel

    columns = {"x": dp.Number(0, 1), "y": dp.Number(0, 10)}
    costs = {"north": Cost.of(1), "south": Cost.of("0.5")}
    model = FederatedModel(
        dp.Domain(columns),
        "y",
        ("x",),
        np.array([[[0.0, 0.0]], [[1.5, 2.5]]]),
        Guarantee(costs),
        {"<west>": "gone"},
    )
    model.save(tmp_path / "m.json")
    done = run("report", tmp_path / "m.json")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "m.html").read_text()
    for text in ("north", "73.1 %", "2.5", "&lt;west&gt;", "ε 1.5"):
        assert text in page
    assert "<west>" not in page


def test_an_audit_can_be_told_the_target(place):
    columns = {"x": dp.Number(0, 1), "y": dp.Category(["no", "yes"])}
    dp.Domain(columns).save("n.json")
    words = ("audit", "NaiveBayes", "--domain", "n.json", "--epsilon", 1, "--runs", 0)
    assert "--target COLUMN" in flat(run(*words))
    assert run(*words, "--target", "y").exit_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_an_interrupt_ends_soon_and_says_what_was_charged(tmp_path):
    rows = 3_000_000
    table = pa.table({"x": np.tile(np.linspace(0, 1, 1000), rows // 1000)})
    pyarrow.csv.write_csv(table, tmp_path / "big.csv")
    dp.Domain({"x": dp.Number(0, 1)}).save(tmp_path / "d.json")
    words = "query big.csv mean x --domain d.json --ledger l --budget 3 --epsilon 1"
    # Its exit, however it ends: os._exit is what the last clock calls.
    code = """
import os, sys, time
leave = os._exit
def noted(code):
    open("ended", "w").write(str(time.monotonic()))
    leave(code)
os._exit = noted
from discreto.cli import main
try:
    main()
finally:
    noted(getattr(sys.exc_info()[1], "code", 1))
"""
    work = subprocess.Popen(
        [sys.executable, "-c", code, *words.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    # What a second is on this machine now: the same signal ends this one after it.
    clock = subprocess.Popen(
        [sys.executable, "-c", _SECOND], stdout=subprocess.PIPE, text=True
    )
    try:
        assert clock.stdout is not None
        clock.stdout.readline()  # it listens
        for _ in range(600):  # until the charge is committed
            if _entries(tmp_path / "l"):
                break
            time.sleep(0.05)
        for process in (clock, work):
            process.send_signal(signal.SIGINT)
        out, err = work.communicate(timeout=300)
        second = float(clock.communicate(timeout=300)[0])
        ended = float((tmp_path / "ended").read_text())
    finally:
        for process in (work, clock):
            process.kill()
            process.communicate()
    assert work.returncode == 130, (out, err)
    assert "Charged, and not given back: entry 1, mean of x, ε 1." in err
    assert ended < second
    assert dp.Ledger(tmp_path / "l").total() == 1


_SECOND = """
import signal, sys, time
def end(*_):
    time.sleep(1)
    print(time.monotonic(), flush=True)
    sys.exit()
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
time.sleep(600)
"""


def _entries(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM entry").fetchone()[0])
