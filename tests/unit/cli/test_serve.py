"""``discreto serve`` before it serves: tokens, and what it prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreto.cli import app
from discreto.errors import ParameterError

pytest.importorskip("fastapi")


@pytest.fixture
def config(tmp_path: Path) -> str:
    from discreto.service.demo import write_demo

    return str(write_demo(tmp_path, rows=50))


def test_a_token_for_a_mistyped_person_names_those_there_are(config: str) -> None:
    done = CliRunner().invoke(app, ["serve", "--config", config, "--token", "anna"])
    assert done.exit_code == ParameterError.exit_code
    text = " ".join(done.output.split())
    assert "no active person 'anna'. Did you mean 'ana'?" in text
    assert "olga" in text
    assert "[people.anna]" in text
    assert "bug" not in text
    good = CliRunner().invoke(app, ["serve", "--config", config, "--token", "ana"])
    assert good.exit_code == 0
    assert len(good.output.strip()) > 20


def test_loading_the_service_warns_of_nothing() -> None:
    """Authlib turns its own warnings on, whatever the filters say."""
    code = "import discreto.service.app"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
