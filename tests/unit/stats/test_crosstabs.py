"""Tables by several columns: margins agree, least squares are right, errors cover."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto.errors import ParameterError
from discreto.stats import Crosstab, sentence
from discreto.stats.crosstabs import ALL, _fitted, _margin, _subsets
from discreto.testing import simulate

COINS = np.random.default_rng(7)
ROWS = 6000
DATA = {
    "region": COINS.choice(["n", "s", "w"], ROWS, p=[0.5, 0.3, 0.2]),
    "sex": COINS.choice(["f", "m"], ROWS),
    "age": COINS.integers(0, 99, ROWS).astype(float),
}
DATA["age"][::10] = np.nan
DOMAIN = dp.Domain(
    {
        "region": dp.Category(["n", "s", "w"], missing=False),
        "sex": dp.Category(["f", "m"], missing=False),
        "age": dp.Number(0, 120, integer=True, missing=True),
    }
)
FRAME = pd.DataFrame(DATA)


def ask(text, ledger=None, **cost):
    table = dp.Table(DATA, DOMAIN, ledger or simulate(noise=False))
    return table.answer(sentence(text), **({"epsilon": 1} | cost))


def test_without_noise_it_is_the_crosstab():
    found = dict(ask("crosstab(region, sex)").items())
    for (region, sex), count in FRAME.groupby(["region", "sex"]).size().items():
        assert found[region, sex] == pytest.approx(count)
    assert found[ALL, "f"] == pytest.approx((FRAME.sex == "f").sum())
    assert found[ALL, ALL] == pytest.approx(ROWS)


@pytest.mark.parametrize("cost", [{}, {"delta": 1e-5}])
def test_margins_agree_under_noise(cost):
    text = "crosstab(region, sex, cut(age, [18, 65]))"
    found = dict(ask(text, simulate(3), **cost).items())
    lists = [{key[i] for key in found} - {ALL} for i in range(3)]
    for key, value in found.items():
        for place in range(3):
            if key[place] == ALL:
                cells = [(*key[:place], k, *key[place + 1 :]) for k in lists[place]]
                assert sum(found[cell] for cell in cells) == pytest.approx(value)


def test_rows_without_a_number_are_in_no_margin():
    table = dp.Table(DATA, DOMAIN, simulate(noise=False)).with_columns(
        old="floor(age / 60)"
    )
    found = dict(table.answer(Crosstab(("old", "sex")), epsilon=1).items())
    assert found[ALL, ALL] == pytest.approx(FRAME.age.notna().sum())


def test_least_squares_by_brute_force():
    """The same as a plain solution of the normal equations, cell by cell."""
    sizes, coins = (3, 2, 2), np.random.default_rng(1)
    variances = {(0, 1, 2): 2.0, (0, 1): 5.0, (2,): 1.0, (): 3.0}
    margins = {m: coins.normal(50, 9, [sizes[i] for i in m]) for m in variances}
    cells = list(itertools.product(*map(range, sizes)))
    rows, wanted = [], []
    for margin, table in margins.items():
        for place in itertools.product(*[range(sizes[i]) for i in margin]):
            fits = [tuple(cell[i] for i in margin) == place for cell in cells]
            weight = variances[margin] ** -0.5
            rows.append(np.array(fits, dtype=float) * weight)
            wanted.append(float(table[place]) * weight)
    solved = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    covariance = np.linalg.inv(np.array(rows).T @ np.array(rows))
    parts, errors = _fitted(margins, variances, sizes)
    for margin in _subsets((0, 1, 2)):
        table, spread = _margin(margin, parts, errors, sizes)
        for place in itertools.product(*[range(sizes[i]) for i in margin]):
            inside = np.array([tuple(c[i] for i in margin) == place for c in cells])
            assert table[place] == pytest.approx(solved @ inside)
            assert spread**2 == pytest.approx(inside @ covariance @ inside)


@pytest.mark.slow
def test_errors_cover():
    """60 seeded tables: every margin is covered in about 95 of 100."""
    truth = dict(ask("crosstab(region, sex, cut(age, [18, 65]))").items())
    inside = []
    for seed in range(60):
        found = ask("crosstab(region, sex, cut(age, [18, 65]))", simulate(seed))
        wanted = np.array([truth[key] for key in found.keys])
        inside.append((found.low <= wanted) & (wanted <= found.high))
    assert 0.93 < np.mean(inside) < 0.975


def test_other_tables_are_refused():
    with pytest.raises(ParameterError, match="two to five"):
        dp.plan.statistics(DOMAIN, Crosstab(("sex",)), epsilon=1)
