"""The demo runs from start to end, again and again, and pays from one ledger."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto import models
from discreto.cli import app, demo
from discreto.core.cost import Cost


def test_it_runs_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "PRICES", ("8",))
    for _ in range(2):
        result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
        assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "only because this data is public" in text
    assert "'mean of texture' costs ε 0.5, but ε 0.25 of 4 is left" in text
    assert "SIMULATED" in text
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert text.endswith(f"The report: {tmp_path / 'report.html'}")
    assert "SIMULATED" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.glob("*.ledger")] == ["demo.ledger"]
    assert not models.load(tmp_path / "model.json").privacy_.simulated
    ledger = dp.Ledger(tmp_path / "demo.ledger")
    assert ledger.spent() == Cost.of("12.25")  # 8.5 of it for the model
    assert ledger.spent("ana") == Cost.of("3.75")
    domain = dp.Domain.load(tmp_path / "demo.domain.json")
    assert dp.Table(str(tmp_path / "demo.parquet"), domain, ledger)
