"""A service to try: a synthetic table, an owner, two analysts and an auditor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreto import Category, Domain, Number
from discreto.service.config import ServiceConfig, read_config
from discreto.session.rng import generator

ROWS = 20_000
_REGIONS = ("north", "east", "south", "west")
_TOML = """
name = "discreto demo"
state = "service.state"

[ledgers.patients]
path = "patients.ledger"
epsilon = 5
delta = "1e-6"
anchor = "patients.anchor"
analysts = { ana = 2, bo = 1 }

[tables.patients]
data = "patients.parquet"
domain = "patients.domain.json"
ledger = "patients"
ceiling = "0.5"
description = "Synthetic admissions to a hospital. No person in it exists."

[people.olga]
role = "owner"
[people.ana]
role = "analyst"
[people.bo]
role = "analyst"
[people.iris]
role = "auditor"
"""


def demo_domain() -> Domain:
    """Return the domain of the demo's table."""
    whole: Any = {"missing": False}  # synthetic rows have no gaps
    return Domain(
        {
            "age": Number(0, 110, unit="years", **whole),
            "sex": Category(["f", "m"], **whole),
            "region": Category(list(_REGIONS), **whole),
            "bmi": Number(12, 60, **whole),
            "smoker": Category(["no", "yes"], **whole),
            "days": Number(0, 60, unit="days", **whole),
            "readmitted": Category(["no", "yes"], **whole),
        },
        target="readmitted",
    )


def write_demo(folder: Path, rows: int = ROWS, seed: int = 7) -> Path:
    """Write the demo's table, domain and TOML file, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "service.toml"
    if path.exists():
        return path
    draw = generator(seed)  # synthetic people
    age = np.clip(draw.gamma(9, 6.5, rows), 0, 110).round()
    smoker = draw.random(rows) < 0.22
    bmi = np.clip(draw.normal(26 + 0.03 * age, 4.5, rows), 12, 60).round(1)
    days = np.clip(draw.exponential(2 + age / 20 + 2 * smoker), 0, 60).round()
    risk = 1 / (1 + np.exp(4.2 - 0.02 * age - 0.8 * smoker - 0.06 * days))
    columns = {
        "age": age,
        "sex": draw.choice(["f", "m"], rows),
        "region": draw.choice(_REGIONS, rows, p=[0.4, 0.25, 0.2, 0.15]),
        "bmi": bmi,
        "smoker": np.where(smoker, "yes", "no"),
        "days": days,
        "readmitted": np.where(draw.random(rows) < risk, "yes", "no"),
    }
    parquet.write_table(pa.table(columns), folder / "patients.parquet")
    demo_domain().save(folder / "patients.domain.json")
    path.write_text(_TOML.lstrip(), encoding="utf-8")
    return path


def demo_config(folder: Path) -> ServiceConfig:
    """Return the demo's service; the files are made if there are none."""
    return read_config(write_demo(folder))
