"""Two hospitals that write their files differently, and one answer for both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from messy import COLUMNS, DOMAIN, patients, write

import discreto as dp
from discreto.errors import DomainError
from discreto.federated import FederatedTable, Silo
from discreto.testing import simulate

HERE, THERE = patients(1, 800), patients(2, 900)


def silos(folder: Path, noise: bool, seed: int = 0) -> dict[str, Silo]:
    """One silo with a file in Latin-1, one with UTF-8 and a byte order mark."""
    out = {}
    for place, (data, encoding) in enumerate(((HERE, "latin-1"), (THERE, "utf-8-sig"))):
        path = folder / f"{place}.csv"
        if not path.exists():
            write(path, data, encoding)
        assert DOMAIN.dialect is not None
        parts = DOMAIN.dialect.to_dict() | {"encoding": encoding}
        domain = dp.Domain(COLUMNS, dialect=dp.Dialect.from_dict(parts))
        ledger = simulate(2 * seed + place, noise=noise)
        out[f"silo {place}"] = Silo(
            dp.Table(path, domain, ledger), rows=len(data["age"])
        )
    return out


def test_one_answer_from_two_kinds_of_files(tmp_path: Path) -> None:
    table = FederatedTable(silos(tmp_path, noise=False))
    crp = np.concatenate([HERE["crp"], THERE["crp"]])
    found = dp.stats.mean(table, "crp", epsilon=1)
    assert found.value == pytest.approx(np.nanmean(crp), rel=1e-6)
    sexes = np.concatenate([HERE["sex"], THERE["sex"]])
    counts = dp.stats.count(table, by="sex", epsilon=1)
    assert counts.value[:2].tolist() == [(sexes == "F").sum(), (sexes == "M").sum()]


def test_a_silo_with_another_domain_is_refused(tmp_path: Path) -> None:
    several = silos(tmp_path, noise=True)
    other = COLUMNS | {"sex": dp.Category(["F", "M"])}
    table = dp.Table(
        tmp_path / "0.csv", dp.Domain(other, dialect=DOMAIN.dialect), simulate(9)
    )
    with pytest.raises(DomainError):
        FederatedTable(several | {"odd": Silo(table, rows=800)})
