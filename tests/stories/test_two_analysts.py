"""A service with two analysts, as its page prints it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from printed import page

pytest.importorskip("fastapi")


def test_an_owner_invites_two_analysts(tmp_path: Path) -> None:
    with page("how-to/two-analysts.md", tmp_path) as followed:
        shown = "\n".join(followed.shown)
        rows = parquet.read_table("patients.parquet").to_pandas()
        truth = rows.groupby("region")["age"].mean()
        for region in ("north", "south"):
            value = re.search(rf"{region} +([\d.]+) ± ([\d.]+) years", shown)
            assert value is not None, shown
            assert abs(float(value[1]) - truth[region]) < 5 * float(value[2])
        count = re.search(r"^(\d+) ±", shown, re.M)
        assert count is not None
        assert abs(int(count[1]) - len(rows)) < 60
        assert "but ε 0.1 of 0.5 is left for analyst 'bo'" in shown
        assert "ana mean of age by region" in shown
        assert "{'population': 0.4, 'ana': 0.6, 'bo': 0.1}" in shown
        assert "'intact': True" in shown
        for name in ("olga", "ana", "bo"):
            assert len(Path(f"{name}.token").read_text().strip()) > 20
        assert Path("olga.token").stat().st_mode & 0o077 == 0
