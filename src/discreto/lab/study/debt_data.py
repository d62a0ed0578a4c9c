"""A table like the public debt of S3, chapter 4, drawn from its printed correlations.

The original could not be had. What is printed of it is the correlation of five columns
(table 4.1), that they are normalised, and that seven creditors hold the rows. A linear
regression depends on the correlations alone, so a table that has exactly these has the
same best error: 0.376 of the variance, where the source reaches 0.379. How many rows
creditors have, and how much they differ, is not printed; that is chosen such that the
tables 4.2 and 4.3 come out about as printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for
from discreto.core.domain.domain import Domain, Number

COLUMNS = ("balance", "days", "days_left", "repayments", "interest")
TARGET = COLUMNS[0]
CORRELATIONS = np.array(
    [
        [1.000, 0.628, 0.675, -0.102, 0.674],
        [0.628, 1.000, 0.881, -0.184, 0.456],
        [0.675, 0.881, 1.000, -0.185, 0.481],
        [-0.102, -0.184, -0.185, 1.000, 0.148],
        [0.674, 0.456, 0.481, 0.148, 1.000],
    ]
)
SIZES = (280, 320, 360, 400, 440, 480, 520)  # rows of the seven creditors
BOUND = 3.5  # standard deviations; further values are clipped


@dataclass(frozen=True)
class Debt:
    """Seven creditors' rows: features with a leading one, and balances."""

    X: tuple[Any, ...]
    y: tuple[Any, ...]

    @property
    def pooled(self) -> tuple[Any, Any]:
        """All rows in one table."""
        return np.concatenate(self.X), np.concatenate(self.y)

    @property
    def best(self) -> Any:
        """The coefficients of least squares on the pooled rows."""
        X, y = self.pooled
        return np.linalg.lstsq(X, y, rcond=None)[0]

    def error(self, coefficients: Any) -> float:
        """The mean squared error on the pooled rows."""
        X, y = self.pooled
        return float(np.mean((y - X @ coefficients) ** 2))


def debt(seed: int = 0, sizes: tuple[int, ...] = SIZES) -> Debt:
    """Rows with exactly the printed correlations, shared out among creditors.

    Creditors differ: some have longer contracts, and are owed more than those explain.

    >>> table = debt()
    >>> round(table.error(table.best), 3), len(table.X)
    (0.376, 7)
    """
    rng, rows = generator_for("debt", seed, sizes), sum(sizes)
    raw = rng.normal(size=(rows, len(COLUMNS)))
    raw -= raw.mean(axis=0)
    # Remove the correlations that chance made, then put in the printed ones.
    raw = np.linalg.solve(np.linalg.cholesky(np.cov(raw.T, bias=True)), raw.T)
    values = (np.linalg.cholesky(CORRELATIONS) @ raw).T
    fit = np.linalg.solve(CORRELATIONS[1:, 1:], CORRELATIONS[1:, 0])
    unexplained = values[:, 0] - values[:, 1:] @ fit
    unexplained /= unexplained.std()
    order = np.argsort(values[:, 1] + unexplained + rng.normal(size=rows))
    parts = np.split(values[order], np.cumsum(sizes)[:-1])
    X = tuple(np.column_stack([np.ones(len(p)), p[:, 1:]]) for p in parts)
    return Debt(X, tuple(p[:, 0] for p in parts))


def domain() -> Domain:
    """Public bounds of the normalised columns."""
    columns = {name: Number(-BOUND, BOUND) for name in COLUMNS}
    return Domain(columns, target=TARGET)
