"""A hospital's file as hospitals write them, and the truth about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import discreto as dp

ROWS = 1500
SPELLINGS = {"F": ["F", "f", "Female", " F"], "M": ["M", "m", "Male", "M "]}
SEX = dp.Category(
    ["F", "M"], aliases={"Female": "F", "Male": "M"}, case=False, strip=True
)
GERMAN = dp.Dialect(separator=";", decimal=",", thousands=".", encoding="latin-1")
COLUMNS: dict[str, Any] = {
    "age": dp.Number(0, 120, integer=True, unit="years"),
    "sex": SEX,
    "town": dp.Category(["Köln", "Nürnberg", "Ulm"]),
    "weight": dp.Number(20, 250, unit="kg"),
    "crp": dp.Number(0, 300),
}
DOMAIN = dp.Domain(COLUMNS, dialect=GERMAN)


def patients(seed: int = 0, rows: int = ROWS) -> dict[str, Any]:
    """Made-up patients: 8 % without crp, 5 % of the towns not declared."""
    coins = np.random.default_rng(seed)
    crp = np.minimum(coins.exponential(12, rows).round(1), 300)
    crp[coins.random(rows) < 0.08] = np.nan
    towns = ["Köln", "Nürnberg", "Ulm", "Bern"]
    return {
        "age": coins.integers(18, 100, rows),
        "sex": coins.choice(["F", "M"], rows, p=[0.55, 0.45]),
        "town": coins.choice(towns, rows, p=[0.4, 0.35, 0.2, 0.05]),
        "weight": np.clip(coins.normal(76, 15, rows), 20, 250).round(1),
        "crp": crp,
    }


def write(path: Path, data: dict[str, Any], encoding: str = "latin-1") -> Path:
    """The patients in a file with semicolons, decimal commas and many spellings."""
    coins = np.random.default_rng(1)
    lines = [";".join(data)]
    for row in zip(*data.values(), strict=True):
        age, sex, town, weight, crp = row
        spelt = SPELLINGS[sex][int(coins.integers(4))]
        shown = "" if np.isnan(crp) else _comma(crp)
        lines.append(f'{age};{spelt};"{town}";{_comma(weight)};{shown}')
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return path


def _comma(number: float) -> str:
    return f"{number:,.1f}".replace(",", "T").replace(".", ",").replace("T", ".")
