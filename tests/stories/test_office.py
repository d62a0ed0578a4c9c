"""A statistics office: a partitioned census, several kinds of files, one domain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreto as dp
from discreto.stats import Count, Mean
from discreto.testing import simulate

YEARS = (2021, 2022, 2023)
DOMAIN = dp.Domain(
    {
        "year": dp.Category(list(YEARS)),
        "income": dp.Number(0, 100_000),
        "region": dp.Category(["north", "south"]),
    }
)


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """A folder of Parquet, one folder for each year, with gaps and an odd region."""
    folder, frames = tmp_path_factory.mktemp("census"), []
    coins = np.random.default_rng(5)
    for year in YEARS:
        rows = 2000 + year % 7 * 100
        income = np.clip(coins.lognormal(10, 0.5, rows), 0, 100_000)
        income[coins.random(rows) < 0.1] = np.nan
        regions = coins.choice(["north", "south", "N."], rows, p=[0.5, 0.4, 0.1])
        frame = pd.DataFrame({"income": income, "region": regions})
        (folder / f"year={year}").mkdir()
        pq.write_table(
            pa.Table.from_pandas(frame), folder / f"year={year}" / "part.parquet"
        )
        frames.append(frame.assign(year=year))
    return folder, pd.concat(frames)


def test_a_folder_is_one_table(census: tuple[Path, pd.DataFrame]) -> None:
    folder, frame = census
    table = dp.Table.scan(folder, DOMAIN, simulate(noise=False))
    counts = dp.stats.count(table, by="year", epsilon=1)
    assert counts.value[:3].tolist() == frame.groupby("year").size().tolist()
    regions = dict(dp.stats.count(table, by="region", epsilon=1).items())
    assert regions["(missing or other)"] == (frame.region == "N.").sum()
    means = dp.stats.mean(table, "income", by="year", epsilon=1)
    assert means.value[:3] == pytest.approx(frame.groupby("year").income.mean())


def test_every_kind_of_file_says_the_same(
    census: tuple[Path, pd.DataFrame], tmp_path: Path
) -> None:
    _, frame = census
    small = frame.head(400).reset_index(drop=True)
    small.to_csv(tmp_path / "a.csv.gz", index=False)
    small.to_excel(tmp_path / "a.xlsx", index=False)
    small.to_feather(tmp_path / "a.feather")
    small.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv.gz", "a.xlsx", "a.feather", "a.parquet"):
        table = dp.Table(tmp_path / name, DOMAIN, simulate(noise=False))
        mean = dp.stats.mean(table, "income", epsilon=1).value
        assert mean == pytest.approx(small.income.mean(), rel=1e-6), name
        assert dp.stats.count(table, epsilon=1).value == 400, name


def test_intervals_hold_the_truth(census: tuple[Path, pd.DataFrame]) -> None:
    _, frame = census
    means = frame.groupby("year").income.mean()
    sizes = frame.groupby("year").size()
    hits = np.zeros(2)
    for seed in range(200):
        table = dp.Table(frame, DOMAIN, simulate(seed))
        for place, (asked, truth) in enumerate(
            ((Mean("income", ("year",)), means), (Count(("year",)), sizes))
        ):
            found = table.answer(asked, epsilon="0.2")
            low, high = np.ravel(found.low)[:3], np.ravel(found.high)[:3]
            hits[place] += np.mean((low <= truth) & (truth <= high))
    assert hits.sum() / 400 >= 0.94
