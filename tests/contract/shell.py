"""The command line as tests use it: in this process, with a ledger of their choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from discreto.cli import app


class Shell:
    """A folder with a case's table and domain, and ``discreto fit`` in it."""

    def __init__(self, case: Any, folder: Path, rows: int = 80) -> None:
        self.case, self.folder = case, folder
        self.data, self.domain = folder / "t.parquet", folder / "d.json"
        self.out, self.ledger = folder / "m.json", folder / "t.ledger"
        self.rows = case.data(rows)
        columns = {name: pa.array(list(v)) for name, v in self.rows.items()}
        pq.write_table(pa.table(columns), self.data)
        case.domain().save(self.domain)

    def settings(self) -> list[str]:
        """The case's own parameters, as they are typed."""
        pairs = self.case.params.items()
        return [word for key, value in pairs for word in ("--set", f"{key}={value}")]

    def fit(self, *more: object, epsilon: Any = 1, budget: Any = 9) -> Result:
        """``discreto fit``, the model into ``out``."""
        line = ["fit", self.case.name, self.data, "--domain", self.domain]
        line += ["--ledger", self.ledger, "--out", self.out, "--epsilon", epsilon]
        line += ["--budget", budget, "--budget-delta", "1e-3"]
        return self.run(*line, *self.settings(), *more)

    def run(self, *line: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in line])

    def clean(self) -> None:
        """Make room for another fit; the ledger stays."""
        for name in ("m.json", "m.html", "p.csv"):
            (self.folder / name).unlink(missing_ok=True)
