"""Every line of the table in docs/how-to/own-csv.md, with numbers."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import discreto as dp
from discreto.testing import simulate

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "own-csv.md"
DAYS = dp.Date("2020-01-01", "2029-12-31")
SEX = dp.Category(["F", "M"], aliases={"Female": "F"}, case=False, strip=True)
EMPTY = ["", "NA"]


def day(text: str) -> float:
    return float((dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days)


def lines() -> list[str]:
    """The first cell of each line of the table."""
    found = [x for x in PAGE.read_text(encoding="utf-8").splitlines() if x[:2] == "| "]
    return [line.split(" | ")[0].removeprefix("| ") for line in found[2:]]


# What the file has: its texts, the column, the dialect, and the answer.
MEANS: dict[str, list[tuple[list[str], Any, dict[str, Any], float]]] = {
    "semicolons, decimal commas, Latin-1": [
        (
            ["1,5", "2,5"],
            dp.Number(0, 9),
            {"separator": ";", "decimal": ",", "encoding": "latin-1"},
            2.0,
        )
    ],
    "thousands marks: 1.234,50": [
        (
            ["1.234,50", "1.000", "0,50"],
            dp.Number(0, 2000),
            {"separator": ";", "decimal": ",", "thousands": "."},
            745.0,
        )
    ],
    "€5, 5 % or 5 kg": [
        (
            ["€5", "5 %", "5 kg", "9"],
            dp.Number(0, 9),
            {"symbols": ["€", "%", "kg"]},
            6.0,
        )
    ],
    "negative numbers in brackets: (5)": [
        (["(5)", "7"], dp.Number(-9, 9), {"brackets": True}, 1.0)
    ],
    "dates as 31/01/2024": [
        (["31/01/2024", "02/02/2024"], DAYS, {"dates": "dmy"}, day("2024-02-01")),
        (["01/31/2024", "02/02/2024"], DAYS, {"dates": "mdy"}, day("2024-02-01")),
    ],
    "dates as 31.1.24 or 31 Jan 2024": [
        (["31.1.24", "2.2.24"], DAYS, {"dates": "d.m.yy"}, day("2024-02-01")),
        (["31 Jan 2024", "2 Feb 2024"], DAYS, {"dates": "d mon yyyy"}, 19754.0),
    ],
    "dates as 45322 or 1706659200": [
        (["45322", "45324"], DAYS, {"dates": "excel"}, day("2024-02-01")),
        (["1706659200", "1706832000"], DAYS, {"dates": "epoch"}, day("2024-02-01")),
    ],
    'gaps written as -9 or "unknown"': [
        (
            ["50.5", "-9", "unknown", "", "NA", "-9.0"],
            dp.Number(0, 100),
            {"missing": [*EMPTY, "-9", "unknown"]},
            50.5,
        )
    ],
    "dates": [(["2024-01-31", "2024-02-02"], DAYS, {}, day("2024-02-01"))],
}
COUNTS: dict[str, tuple[list[str], Any, list[int]]] = {
    '"F", "female" and " Female"': (
        ["F", "female", " Female", "m", "x"],
        SEX,
        [3, 1, 1],
    ),
    "yes and no": (["yes", "no", "yes"], dp.Category(["no", "yes"]), [1, 2, 0]),
}


def table(texts: list[str], domain: dp.Domain, folder: Path) -> dp.Table:
    said = domain.dialect or dp.Dialect()
    mark = said.separator or ","
    rows = [f"x{mark}é", *[f"{text}{mark}é" for text in texts]]
    path = folder / "a.csv"
    path.write_text("\n".join(rows) + "\n", encoding=said.encoding)
    return dp.Table(path, domain, simulate(noise=False))


def test_every_line_of_the_page_is_here() -> None:
    assert {*MEANS, *COUNTS, "several rows for a person"} == set(lines())


@pytest.mark.parametrize(
    ("texts", "column", "said", "mean"),
    [case for cases in MEANS.values() for case in cases],
)
def test_means(
    texts: list[str], column: Any, said: dict[str, Any], mean: float, tmp_path: Path
) -> None:
    domain = dp.Domain({"x": column}, dialect=dp.Dialect(**said))
    asked = table(texts, domain, tmp_path)
    assert dp.stats.mean(asked, "x", epsilon=1).value == pytest.approx(mean, abs=1e-4)
    assert dp.stats.count(asked, epsilon=1).value == len(texts)


@pytest.mark.parametrize(("texts", "column", "counts"), COUNTS.values())
def test_counts(
    texts: list[str], column: Any, counts: list[int], tmp_path: Path
) -> None:
    asked = table(texts, dp.Domain({"x": column}), tmp_path)
    assert dp.stats.count(asked, by="x", epsilon=1).value.tolist() == counts


def test_a_boolean_is_true_and_false_or_1_and_0(tmp_path: Path) -> None:
    texts = ["true", "FALSE", "1", "0", "yes"]
    asked = table(texts, dp.Domain({"x": dp.Boolean()}), tmp_path)
    assert dp.stats.count(asked, by="x", epsilon=1).value.tolist() == [2, 2, 1]


def test_several_rows_for_a_person(tmp_path: Path) -> None:
    """Three rows of a person count, and rows of nobody do not."""
    texts = ["anna"] * 5 + ["bert"] * 2 + ["-9", "", "unknown"]
    domain = dp.Domain(
        {"x": dp.Opaque()},
        person="x",
        rows_per_person=3,
        dialect=dp.Dialect(missing=[*EMPTY, "-9", "unknown"]),
    )
    asked = table(texts, domain, tmp_path)
    assert dp.stats.count(asked, epsilon=1).value == 5
