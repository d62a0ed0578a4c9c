"""A hospital with a file of its own: every number is right, or noisy, never wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from messy import COLUMNS, DOMAIN, GERMAN, patients, write

import discreto as dp
from discreto.data.frames import open_frame
from discreto.errors import DomainError
from discreto.stats import Count, Histogram, Mean, Quantile, Variance
from discreto.testing import simulate

DATA = patients()
FRAME = pd.DataFrame(DATA)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("hospital") / "patients.csv", DATA)


def truths() -> list[tuple[Any, Any]]:
    known = FRAME.dropna()
    towns = [(FRAME.town == t).sum() for t in ("Köln", "Nürnberg", "Ulm", "Bern")]
    sexes = [(FRAME.sex == s).sum() for s in ("F", "M")]
    crp = known.groupby("sex").crp.mean()
    return [
        (Mean("crp"), known.crp.mean()),
        (Variance("crp", root=True), known.crp.std(ddof=0)),
        (Mean("weight"), FRAME.weight.mean()),
        (Count(("sex",)), [*sexes, 0]),
        (Histogram(("town",)), towns),
        (Mean("crp", ("sex",)), crp.tolist()),
        (Quantile("age"), np.quantile(FRAME.age, 0.5, method="inverted_cdf")),
    ]


def test_without_noise_the_file_says_the_truth(path: Path) -> None:
    table = dp.Table.scan(path, DOMAIN, simulate(noise=False))
    for asked, truth in truths():
        found = np.ravel(table.answer(asked, epsilon=1).value)[: np.size(truth)]
        assert found == pytest.approx(np.ravel(truth), rel=1e-3, abs=0.05), asked


def test_intervals_hold_the_truth_for_a_messy_file(path: Path) -> None:
    """200 runs of seven questions: at least 94 % of all intervals hold the truth."""
    columns = {name: as_read(path, name) for name in COLUMNS}  # once: reading is slow
    asked = truths()
    hits = np.zeros(len(asked))
    for seed in range(200):
        table = dp.Table(columns, dp.Domain(COLUMNS), simulate(seed))
        for place, (question, truth) in enumerate(asked):
            found = table.answer(question, epsilon="0.5")
            low, high = (
                np.ravel(part)[: np.size(truth)] for part in (found.low, found.high)
            )
            slack = 1e-6 * np.abs(truth)
            hits[place] += np.mean((low - slack <= truth) & (truth <= high + slack))
    assert hits.sum() / (200 * len(asked)) >= 0.94
    assert (hits / 200 >= 0.9).all()


def as_read(path: Path, name: str) -> Any:
    """A column as the file is read: codes become the categories that they mean."""
    values, column = open_frame(path, DOMAIN).column(name), COLUMNS[name]
    if isinstance(column, dp.Number):
        return values
    # Codes below 0 count from the end: -1 is missing, -2 is unknown.
    return np.array([*column.categories, "other", None], dtype=object)[values]


def test_what_would_be_wrong_is_refused_for_free(path: Path) -> None:
    ledger = dp.Ledger(epsilon=1)
    wrong: list[Any] = [
        FRAME.assign(weight=FRAME.weight.map(lambda kg: f"{kg:.1f}".replace(".", ","))),
        FRAME.assign(age=pd.Timestamp("2024-01-01")),
        FRAME.assign(sex=(FRAME.sex == "F").astype(int)),
    ]
    for frame in wrong:
        with pytest.raises(DomainError):
            dp.Table(frame, dp.Domain(COLUMNS), ledger)
    with pytest.raises(DomainError, match="separated by ';'"):
        dp.Table(path, dp.Domain(COLUMNS), ledger)
    assert ledger.spent() == dp.Cost()
    text = wrong[0]
    table = dp.Table(text, dp.Domain(COLUMNS), simulate(noise=False), dialect=GERMAN)
    mean = dp.stats.mean(table, "weight", epsilon=1).value
    assert mean == pytest.approx(FRAME.weight.mean())


def test_undeclared_values_show_and_are_said(path: Path) -> None:
    columns = COLUMNS | {"sex": dp.Category(["F", "M"])}
    table = dp.Table(path, dp.Domain(columns, dialect=GERMAN), simulate(1))
    counts = dp.stats.count(table, by="sex", epsilon=1)
    assert counts.keys[-1] == "(missing or other)"
    assert "missing or undeclared" in counts.note
    found = dp.stats.domain_fit(table, epsilon=1)
    assert "was not declared" in found.note
    unknown = np.mean([text not in ("F", "M") for text in spelt(path)])
    assert found["sex", "unknown"].value == pytest.approx(unknown, abs=0.05)


def spelt(path: Path) -> list[str]:
    return pd.read_csv(path, sep=";", encoding="latin-1").sex.tolist()
