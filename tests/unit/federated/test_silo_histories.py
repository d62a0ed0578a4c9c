"""Earlier rows of the same person in silos: declared by the owner, asked in JSON."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto.errors import DomainError, ParameterError
from discreto.federated import FederatedAveraging, FederatedTable, Federation, Silo
from discreto.federated.config import read_silo
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "unit": dp.Opaque(),
        "day": dp.Number(0, 100, missing=False),
        "x": dp.Number(-4, 4, missing=False),
    },
    target="x",
    person="unit",
    rows_per_person=10,
)
SILO = """
data = "rows.csv"
domain = "domain.json"
ledger = "book.ledger"
epsilon = 60
delta = "1e-4"
rows = 1000
accept_unchecked = true
[history]
order = "day"
before = {lag = "x", rows = 1}
lately = {rolling_mean = "x", rows = 3}
"""


def series(seed: int) -> dict[str, np.ndarray]:
    """100 units of ten days; a day is .8 of the day before, and noise."""
    rng = np.random.default_rng(seed)
    x = np.zeros((100, 10))
    for day in range(1, 10):
        x[:, day] = 0.8 * x[:, day - 1] + rng.normal(0, 0.4, 100)
    units, days = np.divmod(np.arange(1000), 10)
    return {"unit": units, "day": days, "x": x.ravel()}


@pytest.fixture
def config(tmp_path):
    DOMAIN.save(tmp_path / "domain.json")
    pd.DataFrame(series(0)).to_csv(tmp_path / "rows.csv", index=False)
    path = tmp_path / "silo.toml"
    path.write_text(SILO)
    return path


def test_a_silo_with_a_history_answers_about_earlier_rows(config):
    silo = read_silo(config)
    table = FederatedTable(Federation({"one": silo}))
    assert {"before", "lately"} < set(table.domain.columns)
    early = table.where("not is_missing(before)")
    count = dp.stats.count(early, epsilon=10).value
    assert abs(count - 900) < 60
    with pytest.raises(DomainError):
        dp.stats.mean(
            FederatedTable(Federation({"one": plain(1)})), "before", epsilon=1
        )


def plain(seed: int) -> Silo:
    return Silo(dp.Table(series(seed), DOMAIN, simulate(seed)), rows=1000)


def test_silos_learn_from_earlier_rows_what_one_table_tells():
    silos = {}
    for k in range(3):
        table = dp.Table(series(k), DOMAIN, simulate(k, noise=False))
        seen = table.with_history("day", before=dp.lag("x"))
        silos[f"s{k}"] = Silo(seen, rows=1000)
    model = Federation(silos).fit(FederatedAveraging(epsilon=1, rounds=40))
    rows = pd.DataFrame({"day": [5.0, 5.0], "before": [-1.0, 1.0]})
    low, high = model.predict(rows)
    assert 0.7 < (high - low) / 2 < 0.9


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('order = "day"', "", "needs order"),
        ("rows = 1}", "row = 1}", "a column of"),
        ('{lag = "x", rows = 1}', '"x"', "a column of"),
        ("rows = 3}", "rows = 0}", "rows"),
        ('lag = "x"', 'lag = "z"', "z"),
        ("before", "x", "already"),
    ],
)
def test_a_history_that_makes_no_sense_is_refused(config, old, new, says):
    config.write_text(SILO.replace(old, new))
    with pytest.raises((ParameterError, DomainError), match=says):
        read_silo(config)
