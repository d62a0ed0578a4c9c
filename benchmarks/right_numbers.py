"""Files as people have them: do 95 % intervals hold the exact value, from every source?

    python benchmarks/right_numbers.py [--draws 400] [--rows 5000] [--only SOURCE ...]

A survey as European spreadsheets write it (semicolons, decimal commas, dots of
thousands, 31/12/2024, gaps as nothing, NA and -999), declared as its owner would; a
table whose half is -999; and the files of ``tests/properties/csv_cases.py``. The exact
values are worked out without discreto, from the cells as they were made. Prints the
share of intervals that hold them, by source, and whether all sources gave the same
answers. PostgreSQL is started for the run (``tests/postgres.py``).
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreto as dp
from discreto.testing import simulate

TESTS = Path(__file__).parents[1] / "tests"
SOURCES = ("csv", "excel", "parquet", "pandas", "polars", "duckdb", "postgresql")
GAPS = ["", "NA", "-999"]
SPELLINGS = {"F": ["F", "f", "Female", "female "], "M": ["M", "m", "Male", "MALE"]}
REGIONS = ["North", "South", "East", "West"]
SURVEY = dp.Domain(
    {
        "person_id": dp.Opaque(),
        "Sex": dp.Category(
            ["F", "M"], aliases={"Female": "F", "Male": "M"}, case=False, strip=True
        ),
        "Age": dp.Number(0, 120, integer=True, unit="years"),
        "Region": dp.Category(REGIONS, case=False),
        "Weight kg": dp.Number(20, 250, unit="kg"),
        "Income €": dp.Number(0, 20000, unit="EUR"),
        "Visit date": dp.Date("2021-01-01", "2023-12-31"),
    },
    person="person_id",
    dialect=dp.Dialect(
        separator=";",
        decimal=",",
        thousands=".",
        encoding="windows-1252",
        dates="dmy",
        missing=GAPS,
    ),
)


@dataclass(frozen=True)
class Question:
    """A question, and the exact answer to it."""

    ask: Callable[[dp.Table], Any]
    exact: tuple[float, ...]

    def holds(self, release: Any) -> np.ndarray:
        """Return, for each part of an answer, whether its interval holds the value."""
        size, exact = len(self.exact), np.array(self.exact)
        low, high = (np.ravel(end)[:size] for end in (release.low, release.high))
        return (low <= exact) & (exact <= high)


def people(rows: int, seed: int = 7) -> list[dict[str, Any]]:
    """Return the survey as it was answered: None where there was no answer."""
    coins = random.Random(seed)

    def often(value: Any, share: float) -> Any:
        return value if coins.random() > share else None

    out = []
    for number in range(rows):
        sex, age = coins.choice("FM"), coins.randint(18, 94)
        weight = coins.gauss(64 if sex == "F" else 76, 12)
        income = math.exp(coins.gauss(7.9 + 0.1 * (sex == "M"), 0.5))
        day = dt.date(2021, 1, 1) + dt.timedelta(days=coins.randrange(1095))
        out.append(
            {
                "person_id": f"P{number:06d}",
                "Sex": sex,
                "Age": often(age, 0.02),
                "Region": often(coins.choices(REGIONS, [4, 3, 2, 1])[0], 0.01),
                "Weight kg": often(round(weight, 1), 0.05),
                "Income €": often(round(income, 2), 0.08),
                "Visit date": day,
            }
        )
    out[0]["Income €"] = 9_876_543.21  # clipped, as the domain says
    return out


def write_survey(rows: list[dict[str, Any]], path: Path) -> None:
    """Write the survey as a spreadsheet would, with gaps in three spellings."""
    coins = random.Random(1)

    def spell(name: str, value: Any) -> str:
        if value is None:
            return coins.choice(GAPS)
        if name == "Sex":
            return coins.choices(SPELLINGS[value], [70, 10, 15, 5])[0]
        if name == "Region":
            return coins.choice([value, value.upper(), value.lower()])
        if isinstance(value, dt.date):
            return value.strftime("%d/%m/%Y")
        if isinstance(value, float):
            digits = f"{value:,.{2 if name == 'Income €' else 1}f}"
            return digits.translate(str.maketrans(",.", ".,"))
        return str(value)

    lines = [";".join(spell(n, v) for n, v in row.items()) for row in rows]
    text = "\n".join([";".join(rows[0]), *lines]) + "\n"
    path.write_text(text, encoding="windows-1252")


def typed(path: Path) -> pd.DataFrame:
    """Return the file as pandas reads it: -999 is a number, as people leave it."""
    frame = pd.read_csv(
        path,
        sep=";",
        decimal=",",
        thousands=".",
        encoding="windows-1252",
        keep_default_na=False,
        na_values=["", "NA"],
    )
    days = pd.to_datetime(frame["Visit date"], format="%d/%m/%Y")
    return frame.assign(**{"Visit date": days.dt.date})


def survey_questions(rows: list[dict[str, Any]], epsilon: float) -> dict[str, Question]:
    """Return questions with their exact answers, from the answers that were given."""

    def values(name: str, sex: str = "FM") -> np.ndarray:
        found = [r[name] for r in rows if r["Sex"] in sex and r[name] is not None]
        column: Any = SURVEY[name]
        if isinstance(found[0], dt.date):
            found = [(day - dt.date(1970, 1, 1)).days for day in found]
        return np.clip(np.array(found, dtype=float), column.lower, column.upper)

    def mean(name: str, by: str | None = None) -> Question:
        groups = ["F", "M"] if by else ["FM"]
        exact = tuple(float(values(name, group).mean()) for group in groups)
        return Question(
            lambda table: dp.stats.mean(table, name, by=by, epsilon=epsilon), exact
        )

    income = values("Income €")
    regions = [r["Region"] for r in rows]
    counts = [regions.count(region) for region in REGIONS]
    return {
        "mean age by sex": mean("Age", "Sex"),
        "mean weight by sex": mean("Weight kg", "Sex"),
        "mean income": mean("Income €"),
        "mean date": mean("Visit date"),
        "sum of income": Question(
            lambda table: dp.stats.sum(table, "Income €", epsilon=epsilon),
            (float(income.sum()),),
        ),
        "median income": Question(
            lambda table: dp.stats.median(table, "Income €", epsilon=epsilon),
            (float(np.median(income)),),
        ),
        "count by region": Question(
            lambda table: dp.stats.count(table, by="Region", epsilon=epsilon),
            tuple(map(float, counts)),
        ),
    }


def halves(rows: int) -> tuple[pd.DataFrame, dp.Domain, dict[str, Question]]:
    """Return a table whose half is -999, a word for a gap."""
    cells = [50.5] * (rows // 2) + [-999.0] * (rows // 2)
    frame = pd.DataFrame({"x": cells, "n": [50] * len(cells)})
    domain = dp.Domain(
        {"x": dp.Number(0, 100), "n": dp.Number(0, 100)},
        dialect=dp.Dialect(missing=["-999"]),
    )
    ask = Question(lambda table: dp.stats.mean(table, "x", epsilon=0.5), (50.5,))
    return frame, domain, {"mean of a half": ask}


@contextmanager
def opened(source: str, frame: pd.DataFrame, csv: Path) -> Iterator[Any]:
    """Yield the same rows as they lie in a source."""
    import pyarrow as pa

    with ExitStack() as stack:
        if source == "csv":
            yield csv
        elif source == "pandas":
            yield frame
        elif source == "excel":
            frame.to_excel(csv.with_suffix(".xlsx"), index=False)
            yield csv.with_suffix(".xlsx")
        elif source == "parquet":
            frame.to_parquet(csv.with_suffix(".parquet"))
            yield csv.with_suffix(".parquet")
        elif source == "polars":
            import polars as pl

            yield pl.from_pandas(frame)
        elif source == "duckdb":
            import duckdb

            connection = stack.enter_context(duckdb.connect())
            connection.register("given", pa.Table.from_pandas(frame))
            connection.execute("CREATE TABLE survey AS SELECT * FROM given")
            yield connection.table("survey")
        else:
            yield _in_postgresql(stack, pa.Table.from_pandas(frame))


def _in_postgresql(stack: ExitStack, table: Any) -> Any:
    import ibis
    import psycopg

    sys.path[:0] = [str(TESTS), str(TESTS / "contract")]
    from engine_tables import fill
    from postgres import Postgres

    server = Postgres()
    stack.callback(server.stop)
    connection = stack.enter_context(psycopg.connect(server.url, autocommit=True))
    fill(connection, "survey", table)
    return ibis.postgres.from_connection(connection).table("survey")


def covered(
    table: dp.Table, questions: dict[str, Question], draws: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return how often intervals hold the exact value, and the first answers."""
    shares, first = {}, {}
    for name, question in questions.items():
        held = []
        for draw in range(draws):
            release = question.ask(table)
            held.append(question.holds(release))
            if draw == 0:
                first[name] = np.ravel(release.value).tolist()
        shares[name] = np.mean(held, axis=0).tolist()
    return shares, first


def csv_files(draws: int, copies: int = 100) -> dict[str, float]:
    """Return the coverage of means of the files of the tests of dialects."""
    sys.path.insert(0, str(TESTS / "properties"))
    from csv_cases import CASES

    out: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            name = next((n for n in ("x", "d") if n in case.cells), "")
            there = [v for v in case.cells.get(name, []) if v is not None]
            if not there or isinstance(case.data, bytes) or "alone" in case.name:
                continue
            lines = case.data.replace("\r\n", "\n").replace("\r", "\n")
            head, _, body = lines.partition("\n")
            body = body if body.endswith("\n") else body + "\n"
            path = Path(folder) / "a.csv"
            path.write_text(f"{head}\n{body * copies}", encoding="utf-8", newline="")
            if isinstance(there[0], dt.date):
                there = [(day - dt.date(1970, 1, 1)).days for day in there]
            exact = float(np.mean(np.array(there, dtype=float)))
            ask = Question(
                lambda t, n=name: dp.stats.mean(t, n, epsilon=1),  # type: ignore[misc]
                (exact,),
            )
            table = dp.Table(path, case.domain, simulate(len(out)))
            shares, _ = covered(table, {"mean": ask}, draws)
            out[case.name] = shares["mean"][0]
    return out


def main() -> int:
    """Print the shares, their mean, and the largest and smallest."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--draws", type=int, default=400)
    words.add_argument("--rows", type=int, default=5000)
    words.add_argument("--epsilon", type=float, default=0.5)
    words.add_argument("--only", nargs="*", default=[*SOURCES, "files"])
    given = words.parse_args()
    rows, parts, firsts = people(given.rows), [], {}
    asked = survey_questions(rows, given.epsilon)
    frame, small, half = halves(given.rows)
    for source in [s for s in SOURCES if s in given.only]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "survey.csv"
            write_survey(rows, path)
            other = Path(folder) / "halves.csv"
            frame.to_csv(other, index=False)
            tables = [(typed(path), path, SURVEY, asked), (frame, other, small, half)]
            for data, file, domain, questions in tables:
                with opened(source, data, file) as lies:
                    table = dp.Table(lies, domain, simulate(0))
                    shares, first = covered(table, questions, given.draws)
                for name, several in shares.items():
                    parts += several
                    firsts.setdefault(name, []).append(first[name])
                    shown = " ".join(f"{share:.3f}" for share in several)
                    print(f"{source:10}  {name:20}  {shown}", flush=True)
    if "files" in given.only:
        files = csv_files(given.draws)
        shares = np.array(list(files.values()))
        parts.append(float(shares.mean()))
        low, high = shares.min(), shares.max()
        print(f"{len(files)} files of the tests: {shares.mean():.4f} ({low}, {high})")
    same = all(len({tuple(a) for a in several}) == 1 for several in firsts.values())
    print(f"all sources gave the same first answers: {same}")
    print(f"mean {np.mean(parts):.4f}, least {min(parts):.3f}, most {max(parts):.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
