"""What a user writes is checked by mypy and pyright: the README, calls with types."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each type is what a checker must find; Any would pass for everything, and fails here.
TYPES = """
from fractions import Fraction
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import discreto as dp
from discreto.models import KMeans, LinearRegression, NaiveBayes, load, select
from discreto.models.base.estimator import PrivateEstimator
from discreto.session.plan import Plan


def uses(table: dp.Table) -> None:
    model = NaiveBayes(epsilon=1)
    assert_type(model.plan(table.domain), Plan)
    assert_type(model.fit(table), NaiveBayes)
    assert_type(model.fit(table, "y").predict([[1]]), NDArray[Any])
    assert_type(model.predict_proba([[1]]), NDArray[Any])
    assert_type(KMeans(3, epsilon="1/2").fit(table), KMeans)
    assert_type(dp.models.LinearRegression(epsilon=1).fit(table), LinearRegression)
    assert_type(load("model.json"), PrivateEstimator)
    assert_type(load("model.json").predict([[1]]), NDArray[Any])
    known = load("model.json", NaiveBayes, ledger=dp.Ledger("people.ledger"))
    assert_type(known.predict_proba([[1]]), NDArray[Any])
    assert_type(select([model], table, epsilon=1), NaiveBayes)
    mean = dp.stats.mean(table, "age", epsilon=Fraction(1, 2), key="mean")
    assert_type(mean, dp.Release)
    assert_type(mean.value, float | NDArray[np.float64])
    assert_type(float(mean), float)
    with dp.Ledger("people.ledger", epsilon=0.5) as ledger:
        assert_type(ledger, dp.Ledger)
    assert_type(dp.datasets.load("iris"), dp.datasets.Dataset)
"""

WRONG = """
import discreto as dp

dp.Category([b"a"])  # wrong
dp.Category(1)  # wrong
dp.Category(["a", 1, 2.5, True])
dp.Number("0", 1)  # wrong
dp.Ledger(epsilon=[1])  # wrong
table = dp.Table({}, dp.Domain.cube(1), dp.testing.simulate(0))
dp.stats.mean(table, "x0", epsilon=1, by=["x1"], key="k")
dp.stats.mean(table, "x0", epsilon=1, key=1)  # wrong
dp.stats.mean(table, "x0")  # wrong
dp.models.NaiveBayes(epsilon=[1])  # wrong
dp.models.KMeans(3, epsilon=1, delta=None)  # wrong
dp.models.KMeans(3, epsilon=1, bounds=([0, 1], [2, 3]), random_state=1)
dp.models.KMeans(3, epsilon=1, bounds=(0, 100))
dp.models.KMeans(3, epsilon=1, bounds=1)  # wrong
dp.models.KMeans(3, epsilon=1, random_state="1")  # wrong
"""


def page(path: str) -> str:
    """Return the Python of a page."""
    found = re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.S)
    return "\n".join(found)


FILES = {
    "readme": page("README.md"),
    "tutorial": page("docs/tutorials/model.md"),
    "types": TYPES,
    "wrong": WRONG,
}


def mypy(folder: Path) -> list[str]:
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict"]
    command += ["--disable-error-code=import-untyped", "--follow-imports=silent"]
    command += ["--no-error-summary", f"--cache-dir={ROOT / '.mypy_cache' / 'users'}"]
    done = subprocess.run(
        [*command, *(f"used_{name}.py" for name in FILES)],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines()


def pyright(folder: Path) -> list[str]:
    program = ROOT / "tests" / "integration" / "node_modules" / "pyright" / "index.js"
    node = shutil.which("node")
    if node is None or not program.exists():
        pytest.skip("pyright is not installed: npm install --prefix tests/integration")
    told = {"extraPaths": [str(ROOT / "src")], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(told), encoding="utf-8")
    command = [node, str(program), "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "--project", str(folder)], capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == len(FILES)
    return [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: "
        f"{one['severity']}: {one['message']}"
        for one in found["generalDiagnostics"]
    ]


@pytest.fixture(scope="module", params=[mypy, pyright], ids=lambda one: one.__name__)
def complaints(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """Lines of a checker by file; one run for all, as most of it is reading numpy."""
    folder = tmp_path_factory.mktemp("types")
    for name, text in FILES.items():
        (folder / f"used_{name}.py").write_text(text, encoding="utf-8")
    lines = request.param(folder)
    return {n: [i for i in lines if i.startswith(f"used_{n}.py")] for n in FILES}


def test_the_readme_has_types(complaints: dict[str, list[str]]) -> None:
    assert "import discreto as dp" in FILES["readme"]
    assert complaints["readme"] == []


def test_the_tutorial_of_models_has_types(complaints: dict[str, list[str]]) -> None:
    assert "again.predict_proba(" in FILES["tutorial"]
    assert complaints["tutorial"] == []


def test_results_have_types(complaints: dict[str, list[str]]) -> None:
    assert complaints["types"] == []


def test_what_is_wrong_is_found(complaints: dict[str, list[str]]) -> None:
    lines = WRONG.splitlines()
    wanted = {i for i, line in enumerate(lines, 1) if line.endswith("# wrong")}
    errors = [line for line in complaints["wrong"] if ": error:" in line]
    assert {int(line.split(":")[1]) for line in errors} == wanted, errors


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "src" / "discreto" / "py.typed").exists()
