"""How good is a model on private rows? A question like any other, and paid for.

The rows are compared with the model's predictions behind the gate; what comes out is a
noisy confusion matrix, a noisy mean loss, noisy error sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from discreto.core.cost import Amount, Cost
from discreto.core.domain import Category
from discreto.core.maps import Bernstein, Categories, Cross, Everyone, Ones, Present
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.predictions import (
    CONFIDENCE_BINS,
    LOSS_BOUND,
    Predicted,
    Right,
    RowLoss,
    predictor_of,
)
from discreto.core.query import Block, Sum
from discreto.errors import ParameterError
from discreto.models import persist
from discreto.models._estimator import PrivateEstimator
from discreto.perform import perform
from discreto.release import Release
from discreto.session import Ask
from discreto.stats._intervals import combined_reach, ratio_interval, reach
from discreto.tables import Table

_STEPS = 1 << SUM_BITS


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Private measures of a model, each a Release; ``None`` where it does not apply.

    Parameters
    ----------
    accuracy, confusion
        The share of correct classes, and the counts of true and predicted ones.
    log_loss
        The mean of minus the logarithm of the true class's probability.
    calibration
        For each range of probabilities, how often it was right.
    rmse, r2
        Of a regressor: the root of the mean squared error, and R².
    """

    accuracy: Release | None = None
    confusion: Release | None = None
    log_loss: Release | None = None
    calibration: Release | None = None
    rmse: Release | None = None
    r2: Release | None = None

    def items(self) -> list[tuple[str, Release]]:
        """The measures there are, by name."""
        names = ("accuracy", "log_loss", "rmse", "r2", "confusion", "calibration")
        parts = [(name, getattr(self, name)) for name in names]
        return [(name, part) for name, part in parts if part is not None]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {part}" for name, part in self.items())

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.items())
        return f"Evaluation({names})"

    def _repr_html_(self) -> str:
        return "".join(part._repr_html_() for _, part in self.items())


def evaluate(
    model: PrivateEstimator,
    table: Table,
    *,
    epsilon: Amount,
    delta: Amount = 0,
) -> Evaluation:
    """Measure a fitted model on a private table.

    A classifier gets its confusion matrix and accuracy (half of the cost), mean log
    loss and calibration (a quarter each); a regressor RMSE and R².

    Parameters
    ----------
    model
        A fitted model.
    table
        Rows that the model was not trained on, unless you want its training error.
    epsilon : int, float, str or Fraction
        What it costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the
        same.
    delta : int, float, str or Fraction
        Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.

    Returns
    -------
    Evaluation
        Releases by name.

    Privacy
    -------
    Charged to the table's ledger before a row is read.

    Examples
    --------
    >>> import discreto as dp
    >>> from discreto.models import NaiveBayes, evaluate
    >>> columns = {"x": dp.Number(0, 1), "y": dp.Category([0, 1])}
    >>> domain = dp.Domain(columns, target="y")
    >>> rows = {"x": [0.1, 0.9] * 1000, "y": [0, 1] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> model = NaiveBayes(epsilon=1).fit(table)
    >>> evaluate(model, table, epsilon=1).accuracy.value > 0.9
    True
    """
    text, cost = persist.dumps(model), Cost.of(epsilon, delta)
    goal = model.space_.goal
    judge = (
        _judge_classes if isinstance(table.domain[goal], Category) else _judge_number
    )
    label = f"evaluate {type(model).__name__}"
    done = perform(table, lambda ask: judge(ask, text, goal), cost, label)
    paid = {
        name: part.paid(done.receipt, cost, table.domain.neighbours)
        for name, part in done.result.items()
    }
    return Evaluation(**paid)


def _judge_classes(ask: Ask, text: str, goal: str) -> dict[str, Release]:
    classes = list(predictor_of(text).classes)
    if tuple(classes) != ask.domain.category(goal).categories:
        raise ParameterError("the model's classes are not those of the table's domain.")
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    cells = Cross(Categories((goal,), declared=True), Predicted(text))
    answer = ask.measure(Sum(cells, (Block(Ones()),)), "confusion matrix", half)
    size = len(classes)
    counts = answer.tables[0][:, 0].reshape(size, size).astype(float)
    far = reach(answer.noises[0])
    keys = tuple((a, b) for a in classes for b in classes)
    confusion = Release(
        "confusion matrix (true, predicted)",
        counts,
        np.maximum(counts - far, 0),
        np.maximum(counts + far, 0),
        keys,
    )
    right, noise = np.trace(counts), answer.noises[0]
    accuracy = _share(right, counts.sum() - right, size, size * (size - 1), noise)
    loss = ask.measure(
        Sum(Present((goal,)), (Block(RowLoss(text), "pair"),)), "log loss", quarter
    )
    a, b = loss.tables[0][0]
    mean, low, high = ratio_interval(float(a), float(b), loss.noises[0])
    mean, low, high = ((part + 1) / 2 * LOSS_BOUND for part in (mean, low, high))
    note = f"rows count up to {LOSS_BOUND:.3g}"
    return {
        "accuracy": accuracy,
        "confusion": confusion,
        "log_loss": Release("log loss", mean, low, high, note=note),
        "calibration": _calibration(ask, text, quarter),
    }


def _calibration(ask: Ask, text: str, share: Fraction) -> Release:
    cells = Cross(Predicted(text, confidence=True), Right(text))
    answer = ask.measure(Sum(cells, (Block(Ones()),)), "calibration", share)
    noise = answer.noises[0]
    bins = answer.tables[0][:, 0].reshape(CONFIDENCE_BINS, 2).astype(float)
    rows = [_share(right, wrong, 1, 1, noise) for wrong, right in bins]
    edges = np.linspace(0, 1, CONFIDENCE_BINS + 1)
    keys = tuple(f"{a:.1f} to {b:.1f}" for a, b in pairwise(edges))
    value, low, high = (
        np.array([getattr(row, part) for row in rows])
        for part in ("value", "low", "high")
    )
    return Release("share right by confidence", value, low, high, keys)


def _share(
    right: float, wrong: float, right_cells: int, wrong_cells: int, noise: Any
) -> Release:
    """right / (right + wrong) of noisy counts that are sums of some cells each."""
    rows = right + wrong
    if rows <= 0:
        return Release("accuracy", 0.5, 0.0, 1.0)
    value = min(max(right / rows, 0.0), 1.0)
    weights = [1 - value] * right_cells + [value] * wrong_cells
    far = combined_reach(weights, noise) / rows
    return Release("accuracy", value, max(value - far, 0.0), min(value + far, 1.0))


def _judge_number(ask: Ask, text: str, goal: str) -> dict[str, Release]:
    column = ask.domain.number(goal)
    half = Fraction(1, 2)
    cells = Present((goal,)) if column.missing else Everyone()
    error = ask.measure(
        Sum(cells, (Block(RowLoss(text), "pair"),)), "squared error", half
    )
    a, b = error.tables[0][0]
    parts = np.array(ratio_interval(float(a), float(b), error.noises[0]))
    mse = (parts + 1) / 2 * (2 * column.half) ** 2
    spread = ask.measure(Sum(cells, (Block(Bernstein((goal,), 2)),)), "spread", half)
    b0, b1, b2 = spread.tables[0][0] / _STEPS
    rows = max(b0 + b1 + b2, 1.0)
    variance = max((b0 + b2 - b1) / rows - ((b2 - b0) / rows) ** 2, 1e-9)
    variance *= column.half**2
    value, low, high = np.sqrt(np.maximum(mse, 0)).tolist()
    r2 = 1 - mse / variance
    note = "the interval covers the error's noise, not the spread's"
    return {
        "rmse": Release("rmse", value, low, high, unit=column.unit),
        "r2": Release("r2", float(r2[0]), float(r2[2]), float(r2[1]), note=note),
    }
