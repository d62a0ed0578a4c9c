"""Short versions of ``benchmarks/service.py``: attacks, and kill -9 under load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from postgres import programs

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "service.py"


def run(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_hostile_requests_change_and_tell_nothing() -> None:
    facts = run("hostile", "--requests", "200", "--seed", "2")
    assert facts["requests to each"] == 200
    assert facts["answers"] > 0
    assert facts["unhandled errors"] == 0
    assert facts["replies that differ"] == 0, facts["examples"]
    assert facts["answers without a charge"] == 0
    assert facts["charges without an answer"] == 0


@pytest.mark.skipif(programs() is None, reason="needs PostgreSQL")
def test_killed_workers_and_servers_release_nothing_uncharged() -> None:
    facts = run("kill", "--rounds", "8", "--minutes", "2")
    assert facts["kills"]["worker"] >= 1
    assert 0 < facts["answers"] <= facts["charges"] == facts["entries verified"]
    assert facts["uncharged releases"] == 0
    assert facts["overspend"] == 0
    assert facts["charges without an answer or a word"] == 0
