"""What is promised about versions and extras is one promise, written in one place."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import discreto

ROOT = Path(__file__).parents[2]
NEEDED = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?>=([0-9.]+)")
# Tools whose oldest versions nobody runs, and what lives in an environment of its own.
APART = {"ruff", "mypy", "import-linter", "flwr", "sphinx", "myst-parser", "furo"}
APART |= {"sphinx-copybutton"}


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: dict[str, Any] = tomllib.load(file)["project"]
    return found


def oldest() -> dict[str, str]:
    lines = (ROOT / "scripts" / "oldest.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_oldest_versions_are_the_promised_ones() -> None:
    parts = project()
    several = [parts["dependencies"], *parts["optional-dependencies"].values()]
    promised = {
        found[1].lower(): found[2]
        for requirement in sum(several, [])  # noqa: RUF017
        if (found := NEEDED.match(requirement))
    }
    kept = {name: v for name, v in promised.items() if name not in APART}
    assert kept == oldest()


def test_versions_agree() -> None:
    assert f"version: {discreto.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = changes[changes.index("\n## ") :].split("\n## ")[1]
    assert newest.startswith(discreto.__version__)
    heads = re.findall(r"^### (.+)$", newest, re.M)
    assert heads[:4] == ["Privacy", "Added", "Changed", "Fixed"]


def test_importing_the_package_loads_no_large_module() -> None:
    """What only answers, plots or the command line need waits until it is needed."""
    large = ("numpy", "scipy", "sklearn", "pyarrow", "matplotlib", "typer", "rich")
    code = f"import sys, discreto; print([m for m in {large} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_statistics_load_neither_models_nor_pictures() -> None:
    large = ("sklearn", "matplotlib", "typer", "rich", "pandas")
    code = (
        "import sys, discreto as dp;"
        "t = dp.Table({'x': [1, 2]}, dp.Domain({'x': dp.Number(0, 3)}), "
        "dp.Ledger(epsilon=1)); str(dp.stats.mean(t, 'x', epsilon=1));"
        f"print([m for m in {large} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_silo_loads_no_model_until_it_is_asked_about_one() -> None:
    """Its process often lives for one message."""
    code = (
        "import sys; from discreto.federated.config import read_silo;"
        "from discreto.federated.flower import run_client;"
        "print([m for m in ('scipy', 'sklearn', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# discreto as a package of an index: pip install discreto, or "discreto[sql]".
OF_AN_INDEX = re.compile(
    r"pip install (?:-\S+ )*[\"'\\]*discreto(?:\[[^\]]*\])?(?![\w.{\[-]| @)"
)
INSTALLED_FROM_AN_INDEX = ('pip install "discreto[sql]"', "pip install -U discreto")
INSTALLED_FROM_A_PLACE = (
    'pip install ".[sql]"',
    "pip install discreto-0.2.0-py3-none-any.whl",
    'pip install "discreto[sql] @ https://example.org/discreto.whl"',
)


def test_no_page_or_message_installs_discreto_from_an_index() -> None:
    """Messages ask ``text.install_commands``; pages name the folder of the sources."""
    places = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "src", "deploy")
    places += ("examples", "notebooks", "scripts", "tests")
    found = [
        f"{path.relative_to(ROOT)}: {hit}"
        for place in places
        for path in [ROOT / place, *(ROOT / place).rglob("*")]
        if path.suffix in {".md", ".py", ".po", ".html", ".ipynb", ".service", ""}
        and path.is_file()
        and path != Path(__file__)
        for hit in OF_AN_INDEX.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    assert all(map(OF_AN_INDEX.search, INSTALLED_FROM_AN_INDEX))
    assert not any(map(OF_AN_INDEX.search, INSTALLED_FROM_A_PLACE))
