"""A ledger file is moved to PostgreSQL by the command of the page about leaving."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from postgres import Postgres
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.core.cost import Cost
from discreto.errors import BudgetError


def test_from_a_file_to_postgresql(postgres: Postgres, tmp_path: Path) -> None:
    old, new = tmp_path / "old.ledger", f"{postgres.url}#moved"
    with dp.Ledger(old, epsilon=2, analysts={"ana": 1}) as ledger:
        ledger.analyst("ana").charge(Cost.of("0.25"), "first")
    done = CliRunner().invoke(app, ["ledger", "move", str(old), new])
    assert done.exit_code == 0, done.output
    with dp.Ledger(old) as before, dp.Ledger(new) as after:
        assert after.epsilon == Fraction(7, 4)
        assert after.limit("ana") == Fraction(3, 4)
        assert after.verify() >= 2
        with pytest.raises(BudgetError):
            before.charge(Cost.of("0.001"), "more")
    again = CliRunner().invoke(app, ["ledger", "move", str(old), f"{postgres.url}#b"])
    assert again.exit_code != 0
