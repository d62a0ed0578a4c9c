"""Silos for tests: rows like those of the thesis, cut into parts that differ."""

from __future__ import annotations

import numpy as np

import discreto as dp
from discreto.federated import Federation, Silo
from discreto.testing import simulate

# Table 4.1 of the thesis: balance, days, days left, amortisation, interest.
CORRELATIONS = np.array(
    [
        [1.000, 0.628, 0.675, -0.102, 0.674],
        [0.628, 1.000, 0.881, -0.184, 0.456],
        [0.675, 0.881, 1.000, -0.185, 0.481],
        [-0.102, -0.184, -0.185, 1.000, 0.148],
        [0.674, 0.456, 0.481, 0.148, 1.000],
    ]
)
NAMES = ("days", "left", "paid", "interest")
SIZES = tuple(range(100, 701, 100))
NUMBERS = {name: dp.Number(-4, 4) for name in NAMES}
LINEAR = dp.Domain({**NUMBERS, "balance": dp.Number(-4, 4)}, target="balance")
YES_NO = dp.Domain({**NUMBERS, "late": dp.Category(["no", "yes"])}, target="late")


def parts(seed, sizes=SIZES, shift=0.5):
    """Columns of each silo; silos differ in where their rows lie."""
    coins = np.random.default_rng(seed)
    inner = CORRELATIONS[1:, 1:]
    slopes = np.linalg.solve(inner, CORRELATIONS[1:, 0])
    rest = np.sqrt(1 - CORRELATIONS[0, 1:] @ slopes)
    out = []
    for size in sizes:
        rows = coins.normal(size=(size, 4)) @ np.linalg.cholesky(inner).T
        rows += coins.normal(0, shift, 4)
        balance = rows @ slopes + rest * coins.normal(size=size)
        late = np.where(coins.random(size) < 1 / (1 + np.exp(-3 * balance)), 1, 0)
        columns = dict(zip(NAMES, rows.T, strict=True))
        out.append(
            {**columns, "balance": balance, "late": np.array(["no", "yes"])[late]}
        )
    return out


def columns(part, domain):
    return {name: part[name] for name in domain}


def silo(part, domain=LINEAR, ledger=None, policy=None, rows=0):
    ledger = simulate(0) if ledger is None else ledger
    count = len(part["days"]) if rows == 0 else rows
    return Silo(dp.Table(columns(part, domain), domain, ledger), policy, rows=count)


def federation(several, domain=LINEAR, noise=True):
    return Federation(
        {
            f"silo {k + 1}": silo(part, domain, simulate(k, noise=noise))
            for k, part in enumerate(several)
        }
    )
