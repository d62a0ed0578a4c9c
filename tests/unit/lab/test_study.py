"""The study: runs go on after a kill, errors lose nothing, order does not matter."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression
from typer.testing import CliRunner

import discreto.core.ledger
from discreto import errors
from discreto.cli import app
from discreto.lab import study
from discreto.lab.study import (
    Results,
    ResultTable,
    Spread,
    debt_data,
    registry,
    s2_budgets,
    s3_federated,
    store,
    workers,
)
from discreto.lab.study.boosting_budgets import RULES
from discreto.lab.study.federated_views import AVERAGING, DEGREES, PROXIMAL
from discreto.lab.study.results import summary
from discreto.lab.study.runner import _measured

ROOT = Path(__file__).resolve().parents[3]

FAKE = '''
"""An experiment that takes no time, in a module that other processes can import."""
import os
import pathlib
import time

from discreto.errors import MissingExtraError
from discreto.lab.study import (
    Experiment,
    StudyFinding,
    Picture,
    Spread,
    ResultTable,
    generator_for,
    figures,
)


def cells(quick):
    sizes = [1] if quick else [1, 2, 3]
    return [{"size": n, "seed": s} for n in sizes for s in (0, 1)]


def measure(*, size, seed):
    log = os.environ.get("FAKE_LOG")
    if log:
        pathlib.Path(log, f"{size}-{seed}-{time.time_ns()}").touch()
    if size == 3:
        time.sleep(float(os.environ.get("FAKE_SLEEP", 0)))
    if os.environ.get("FAKE_FAIL") == f"{size}-{seed}":
        raise RuntimeError("no luck")
    if os.environ.get("FAKE_MISS") == f"{size}-{seed}":
        raise MissingExtraError("no data")
    if os.environ.get("FAKE_DIE") == f"{size}-{seed}":
        os._exit(9)
    draws = generator_for("fake", size, seed).normal(size=3)
    return {"error": draws[0] / size, "path": draws, "infinite": float("inf")}


def tables(results):
    cell = Spread(results.mean("error"), results.spread("error"), results.count)
    yield ResultTable("errors", "Errors", ("what", "error"), (("all", cell),))


def pictures(results):
    figure, axes = figures.panels(1, 1)
    figures.curves(axes[0, 0], results, "size", "error", by="size")
    yield Picture("curve", "Error against size", figure)


def findings(results):
    yield StudyFinding("it works", f"{results.count} lines", True)
    doubt = os.environ.get("FAKE_FINDING")
    if doubt:
        agrees, expected = doubt.split()
        yield StudyFinding("it holds", "1", agrees == "yes", expected=expected == "yes")


FAKE = Experiment(
    name="fake-1", title="Fake", source="none", shows="nothing",
    cells=cells, measure=measure, tables=tables, pictures=pictures, findings=findings,
)
'''


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "fake_study.py").write_text(FAKE)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    (tmp_path / "log").mkdir()
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    yield importlib.import_module("fake_study")
    del sys.modules["fake_study"]


def ran(tmp_path: Path) -> list[str]:
    """Which cells were measured, as often as they were."""
    names = (path.name for path in (tmp_path / "log").iterdir())
    return sorted(name.rpartition("-")[0] for name in names)


def lines(out: Path) -> list[dict[str, object]]:
    return pq.read_table(out / "fake-1" / "results.parquet").to_pylist()


ALL = ["1-0", "1-1", "2-0", "2-1", "3-0", "3-1"]


def test_a_run_writes_the_promised_folder(fake: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (outcome,) = study.run([fake.FAKE], out, jobs=1)
    assert (outcome.cells, outcome.ran, outcome.failed) == (6, 6, [])
    whole = json.loads((out / "manifest.json").read_text())
    assert whole["simulated"] is True
    assert whole["experiments"] == ["fake-1"]
    mine = json.loads((out / "fake-1" / "manifest.json").read_text())
    assert mine["simulated"] is True
    assert (mine["cells"], mine["done"], mine["failed"]) == (6, 6, [])
    assert mine["parameters"] == ["size", "seed"]
    assert mine["repeats"] == ["seed"]
    assert mine["measurements"] == ["error", "path", "infinite"]
    assert mine["findings"][0]["agrees"] is True
    table = json.loads((out / "fake-1" / mine["tables"][0]["file"]).read_text())
    assert table["simulated"] is True
    assert table["rows"][0][1]["count"] == 6
    drawing = (out / "fake-1" / mine["pictures"][0]["file"]).read_text()
    assert "SIMULATED" in drawing
    groups = pq.read_table(out / "fake-1" / "summary.parquet").to_pylist()
    assert [g["size"] for g in groups if g["measurement"] == "error"] == [1, 2, 3]
    assert {g["count"] for g in groups} == {2}
    assert "seed" not in {g["measurement"] for g in groups}


def test_two_processes_give_what_one_gives(fake: ModuleType, tmp_path: Path) -> None:
    study.run([fake.FAKE], tmp_path / "one", jobs=1)
    study.run([fake.FAKE], tmp_path / "two", jobs=2)
    assert lines(tmp_path / "one") == lines(tmp_path / "two")


def test_the_quick_set_is_small_and_kept(fake: ModuleType, tmp_path: Path) -> None:
    study.run([fake.FAKE], tmp_path / "out", quick=True, jobs=1)
    assert ran(tmp_path) == ["1-0", "1-1"]
    assert len(lines(tmp_path / "out")) == 2
    study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert ran(tmp_path) == ALL
    assert len(lines(tmp_path / "out")) == 6


def test_nothing_runs_twice_unless_fresh(fake: ModuleType, tmp_path: Path) -> None:
    for _ in range(2):
        study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert ran(tmp_path) == ALL
    study.run([fake.FAKE], tmp_path / "out", jobs=1, fresh=True)
    assert ran(tmp_path) == sorted(ALL * 2)


def test_another_version_runs_again(
    fake: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.run([fake.FAKE], tmp_path / "out", jobs=1)
    monkeypatch.setattr(store, "__version__", "99")
    study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert ran(tmp_path) == sorted(ALL * 2)


def test_a_line_that_was_cut_off_is_run_again(fake: ModuleType, tmp_path: Path) -> None:
    study.run([fake.FAKE], tmp_path / "out", jobs=1)
    before = lines(tmp_path / "out")
    cells = tmp_path / "out" / "fake-1" / "cells.jsonl"
    cells.write_bytes(cells.read_bytes()[:-20])
    study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert len(ran(tmp_path)) == 7
    assert lines(tmp_path / "out") == before
    study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert len(ran(tmp_path)) == 7


SCRIPT = """
import sys
import fake_study
from discreto.lab.study import run
if __name__ == "__main__":
    run([fake_study.FAKE], sys.argv[1], jobs=2)
"""


def test_a_killed_run_goes_on(
    fake: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, out = tmp_path / "modules" / "script.py", tmp_path / "out"
    script.write_text(SCRIPT)
    # The last two cells take longer than a busy machine needs to kill it.
    slow = os.environ | {"FAKE_SLEEP": "20"}
    going = subprocess.Popen([sys.executable, str(script), str(out)], env=slow)
    cells = out / "fake-1" / "cells.jsonl"
    while not (cells.exists() and cells.read_text().count("\n") >= 2):
        assert going.poll() is None
        time.sleep(0.02)
    going.send_signal(signal.SIGKILL)
    going.wait()
    kept = cells.read_text().count("\n")
    assert 2 <= kept < 6
    (outcome,) = study.run([fake.FAKE], out, jobs=1)
    assert outcome.ran == 6 - kept
    study.run([fake.FAKE], tmp_path / "whole", jobs=1)
    assert lines(out) == lines(tmp_path / "whole")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_told_and_loses_nothing(
    fake: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setenv("FAKE_FAIL", "2-1")
    (outcome,) = study.run([fake.FAKE], tmp_path / "out", jobs=jobs)
    (failure,) = outcome.failed
    assert failure["cell"] == {"size": 2, "seed": 1}
    assert "RuntimeError: no luck" in failure["error"]
    assert len(lines(tmp_path / "out")) == 5
    manifest = json.loads((tmp_path / "out" / "fake-1" / "manifest.json").read_text())
    assert (manifest["done"], len(manifest["failed"])) == (5, 1)
    monkeypatch.delenv("FAKE_FAIL")
    (again,) = study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert (again.ran, again.failed) == (1, [])


def test_a_process_that_dies_takes_no_other_cell_along(
    fake: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DIE", "2-0")
    (outcome,) = study.run([fake.FAKE], tmp_path / "out", jobs=2)
    assert [f["cell"] for f in outcome.failed] == [{"size": 2, "seed": 0}]
    assert len(lines(tmp_path / "out")) == 5


def test_a_pool_that_breaks_while_it_is_filled_loses_no_cell(
    fake: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[ThreadPoolExecutor] = []

    class Fragile(ThreadPoolExecutor):
        asked = 0

        def submit(self, *args: object, **options: object) -> Future[object]:
            self.asked += 1
            if self is made[0] and self.asked == 3:
                raise BrokenProcessPool
            return super().submit(*args, **options)

    def pool(jobs: int) -> ThreadPoolExecutor:
        made.append(Fragile(jobs))
        return made[-1]

    monkeypatch.setattr(workers, "_pool", pool)
    tasks = [(fake.FAKE, cell) for cell in fake.cells(False)]
    done = list(workers.run_apart(tasks, 2))
    assert sorted(map(str, tasks)) == sorted(str(task) for task, _ in done)
    assert len(made) > 1


def test_what_cannot_be_had_is_skipped(
    fake: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MISS", "3-1")
    (outcome,) = study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert (outcome.done, outcome.failed) == (5, [])
    assert outcome.skipped == [{"cell": {"size": 3, "seed": 1}, "why": "no data"}]
    monkeypatch.delenv("FAKE_MISS")
    (again,) = study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert (again.done, again.ran, again.skipped) == (6, 1, [])


def test_a_picture_that_fails_loses_nothing(
    fake: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake.figures, "curves", None)
    (outcome,) = study.run([fake.FAKE], tmp_path / "out", jobs=1)
    assert [f["cell"] for f in outcome.failed] == [{"step": "pictures"}]
    manifest = json.loads((tmp_path / "out" / "fake-1" / "manifest.json").read_text())
    assert manifest["done"] == 6
    assert manifest["tables"]


def test_jobs_must_be_positive(fake: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(errors.ParameterError, match="jobs"):
        study.run([fake.FAKE], tmp_path, jobs=0)


# The command


def command(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["study", *map(str, words)])
    return done.exit_code, " ".join(done.output.split())


@pytest.fixture
def only_fake(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(registry, "experiments", lambda: {"fake-1": fake.FAKE})
    monkeypatch.setattr(study, "experiments", lambda: {"fake-1": fake.FAKE})
    return fake


@pytest.mark.usefixtures("only_fake")
@pytest.mark.parametrize("verdict", ["yes yes", "no no", "no yes", "yes no"])
def test_a_finding_is_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    monkeypatch.setenv("FAKE_FINDING", verdict)
    code, said = command("all", "--quick", "--jobs", 1, "--out", tmp_path / "out")
    as_told = verdict in ("yes yes", "no no")
    assert code == (0 if as_told else 1)
    assert ("it holds" in said) != as_told


@pytest.mark.usefixtures("only_fake")
def test_the_list_says_what_the_codes_of_the_sources_stand_for() -> None:
    code, said = command("list")
    assert code == 0
    assert "S2 a paper on PrivCatBoost and PrivRandBoost" in said
    page = Path(__file__).parents[3] / "docs" / "study.md"
    named = set(re.findall(r"\bS\d\b", page.read_text(encoding="utf-8")))
    assert named <= set(re.findall(r"\bS\d\b", said))


def test_thresholds_widen_with_fewer_runs() -> None:
    some = Results([{"error": 1.0}] * 5)
    assert some.margin(0.1, runs=5) == some.margin(0.1, runs=2) == 0.1
    assert some.margin(0.1, runs=20) == pytest.approx(0.2)


@pytest.mark.usefixtures("only_fake")
def test_the_command_runs_and_says_simulated(tmp_path: Path) -> None:
    code, said = command("list")
    assert (code, "fake-1" in said) == (0, True)
    code, said = command("run", "fake", "--quick", "--jobs", 1, "--out", tmp_path / "o")
    assert code == 0
    assert "SIMULATED" in said
    assert "2 of 2 cells" in said
    code, said = command("all", "--jobs", 1, "--out", tmp_path / "o")
    assert (code, "6 of 6 cells" in said) == (0, True)


@pytest.mark.usefixtures("only_fake")
def test_the_command_tells_of_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAIL", "1-1")
    code, said = command("all", "--jobs", 1, "--out", tmp_path / "out")
    assert code == 1
    assert "no luck" in said
    assert command("run", "nonsense", "--out", tmp_path / "out")[0] == 2
    assert command("all", "--jobs", 0, "--out", tmp_path / "out")[0] == 2


# Parts


def test_means_and_spreads() -> None:
    rows = [{"e": 1, "a": 2.0, "p": [1, 2]}, {"e": 1, "a": 4.0, "p": [3, 4]}]
    results = Results([*rows, {"e": 2, "a": 5.0}, {"e": None, "a": None}])
    xs, means, spreads = results.curve("e", "a")
    assert xs.tolist() == [1, 2]
    assert means.tolist() == [3, 5]
    assert spreads.tolist() == [2**0.5, 0]
    assert results.where(e=1).mean("p").tolist() == [2, 3]
    one = summary(results, ["e"])[0]
    assert (one["mean"], one["low"], one["high"], one["count"]) == (3, 2, 4, 2)


def test_json_has_no_infinity(tmp_path: Path) -> None:
    table = ResultTable(
        "t", "T", ("a",), ((float("inf"),), (float("nan"),), (Spread(1, 0, 2),))
    )
    store.write_json(tmp_path / "t.json", table.to_dict())
    rows = json.loads((tmp_path / "t.json").read_text())["rows"]
    assert rows == [["∞"], [None], [{"mean": 1, "spread": 0, "count": 2}]]


def test_seeds_depend_on_every_fact() -> None:
    facts = [("a", 1), ("a", 2), ("b", 1), ("a",), ("a", 1.5), ("a", "1")]
    assert len({study.seed_for(*fact) for fact in facts}) == len(facts)
    draws = [study.generator_for("x", i).integers(10**9) for i in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


# The experiments

KNOWN = study.experiments()
EVERY = pytest.mark.parametrize("name", KNOWN)


@EVERY
def test_experiments_keep_the_conventions(name: str) -> None:
    one = KNOWN[name]
    for quick in (False, True):
        cells = [dict(cell) for cell in one.cells(quick)]
        assert cells
        assert json.loads(json.dumps(cells)) == cells
        assert len({store.key_of(cell) for cell in cells}) == len(cells)
        assert all(one.weight(cell) > 0 for cell in cells)
    # Other processes find the function by its name.
    module = importlib.import_module(one.measure.__module__)
    assert getattr(module, one.measure.__name__) is one.measure


@EVERY
def test_the_smallest_cell_runs_under_a_simulation(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the study opened a real ledger")

    monkeypatch.setattr(discreto.core.ledger.Ledger, "__init__", refuse)
    one = KNOWN[name]
    small = min(one.cells(True), key=one.weight)
    try:
        found = one.measure(**small)
    except errors.MissingExtraError as missing:
        pytest.skip(str(missing))
    assert found


def test_no_experiment_makes_a_ledger_or_noise_of_its_own() -> None:
    for path in (ROOT / "src" / "discreto" / "study").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("discreto.core.ledger"), (
                    path.name
                )


# What the experiments of S2 and S3 rest on


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_table_1_shares_out_one_epsilon(name: str) -> None:
    rule = RULES[name](6, 8, 0.1)
    assert 6 * rule.node + rule.tip == pytest.approx(1)


def test_what_a_row_does_to_a_gain_and_to_a_leaf() -> None:
    least, most = s2_budgets.reach_of_gain(0.1)
    assert -3 < least < -2.99
    assert 0.99 < most <= 1
    assert s2_budgets.reach_of_leaf(0.1) == pytest.approx(1 / 1.1)


def test_the_debt_has_the_printed_correlations() -> None:
    X, y = debt_data.debt(3).pooled
    found = np.corrcoef(np.column_stack([y, X[:, 1:]]).T)
    assert np.abs(found - debt_data.CORRELATIONS).max() < 1e-9
    plain = LinearRegression().fit(X[:, 1:], y)
    best = debt_data.debt(3).best
    assert best == pytest.approx([plain.intercept_, *plain.coef_])


def test_many_steps_with_noise_for_one_cost_far_more() -> None:
    spent = s3_federated._true_epsilon
    assert spent(DEGREES, "as printed", 1.0) == pytest.approx(91.8, abs=0.1)
    assert spent(DEGREES, "ours", 1.0) == 1
    assert spent(AVERAGING, "as meant", 1.0) > spent(AVERAGING, "as printed", 1.0)
    assert spent(PROXIMAL, "as printed", 1.0) == 0


def test_a_finding_without_a_number_claims_nothing() -> None:
    seen = {"claim": "it falls", "seen": "from nan % to 3 %", "agrees": False}
    assert _measured(seen)["agrees"] is None
    assert "nan" not in _measured(seen)["seen"]
    right = {"claim": "bananas", "seen": "3 bananas", "agrees": True}
    assert _measured(right) == right
