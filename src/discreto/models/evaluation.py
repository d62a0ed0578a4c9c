"""How good is a model on private rows? A question like any other, and paid for.

The rows are compared with the model's predictions behind the gate; what comes out is a
noisy confusion matrix, a noisy mean loss, noisy error sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from discreto.errors import DomainError, ParameterError
from discreto.kernel.cost import Amount, Cost
from discreto.kernel.domain import Category, Domain
from discreto.kernel.query import Batch, Block, Floats, Ints, Shape, Sum
from discreto.models import persist
from discreto.models._base import PrivateEstimator
from discreto.models._space import Ready, Space
from discreto.planning import Ask, Conversation, paper_gate
from discreto.queries import Bernstein, Categories, Cross, Everyone, Ones, Present
from discreto.queries.cells import to_cells
from discreto.queries.features import SUM_BITS
from discreto.release import Release
from discreto.stats._intervals import combined_reach, ratio_interval, reach
from discreto.tables import Table

LOSS_BOUND = math.log(1000)  # a row's log loss counts up to here
CONFIDENCE_BINS = 10
_STEPS = 1 << SUM_BITS


@lru_cache(maxsize=16)
def model_of(text: str) -> Any:
    """The model of a JSON text, read once."""
    return persist.loads(text)


def check_model(text: str, domain: Domain) -> None:
    """Refuse a model that could fail on some rows of a table.

    Its columns must be those of the table, category for category: rows come to it as
    the codes of the table. Then it predicts made-up rows that hold every category,
    bound and oddity; what goes wrong does so here, before anything is paid.
    """
    check_columns(model_of(text).space_, domain)
    if not _predicts(text):
        raise ParameterError("the model cannot predict rows of its own domain.")


def check_columns(space: Space, domain: Domain) -> None:
    """Refuse a table that knows the columns of a model in another way."""
    own = space.domain
    for name in (*space.features, *([space.target] if space.target else [])):
        mine, theirs = own[name], domain[name]
        same = type(mine) is type(theirs)
        if isinstance(mine, Category) and isinstance(theirs, Category):
            same = mine.categories == theirs.categories
        if not same:
            raise DomainError(
                f"the model knows {name!r} in another way than the table."
            )


@lru_cache(maxsize=16)
def _predicts(text: str) -> bool:
    """Whether a model predicts made-up rows of its domain, all of them odd."""
    model = model_of(text)
    space = model.space_
    columns = {name: _odd_values(space.domain[name]) for name in space.features}
    rows = max(map(len, columns.values()))
    batch = {name: np.resize(values, rows) for name, values in columns.items()}
    goal = space.domain[space.goal]
    try:
        with np.errstate(all="ignore"):
            if not isinstance(goal, Category):
                found = model.predict(Ready(batch, rows))
                return bool(found.shape == (rows,) and found.dtype.kind == "f")
            chances = model.predict_proba(Ready(batch, rows))
            classes = tuple(model.classes_.tolist())
            return classes == goal.categories and chances.shape == (rows, len(classes))
    except Exception:  # all of it is public: no row has been looked at
        return False


def _odd_values(column: Any) -> Any:
    if isinstance(column, Category):
        return np.arange(-1, len(column.categories), dtype=np.int64)
    odd = (math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, column.centre)
    return np.array([column.lower, column.upper, *odd])


def _ready(model: Any, batch: Batch) -> Ready:
    columns = {name: batch[name] for name in model.space_.features}
    return Ready(columns, len(next(iter(columns.values()))))


@dataclass(frozen=True, slots=True)
class Predicted:
    """Cells of what a model predicts: its class, or the bin of its confidence."""

    model: str
    confidence: bool = False

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)

    def count(self, domain: Domain) -> int:
        if self.confidence:
            return CONFIDENCE_BINS
        return len(model_of(self.model).space_.classes)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        model = model_of(self.model)
        rows = _ready(model, batch)
        if not self.confidence:
            return _class_codes(model, rows)
        sure = np.max(model.predict_proba(rows), axis=1)
        return to_cells(sure * CONFIDENCE_BINS, CONFIDENCE_BINS)

    def columns(self) -> tuple[str, ...]:
        return model_of(self.model).space_.features


@dataclass(frozen=True, slots=True)
class Right:
    """Two cells: the model is wrong, the model is right."""

    model: str

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)

    def count(self, domain: Domain) -> int:
        return 2

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        model = model_of(self.model)
        truth = batch[model.space_.goal]
        right = _class_codes(model, _ready(model, batch)) == truth
        return np.where(truth < 0, -1, right.astype(np.int64))

    def columns(self) -> tuple[str, ...]:
        space = model_of(self.model).space_
        return (*space.features, space.goal)


@dataclass(frozen=True, slots=True)
class Loss:
    """A row's loss on [-1, 1]: log loss up to a bound, or squared error."""

    model: str

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)

    def shape(self, domain: Domain) -> Shape:
        return Shape(1, _STEPS)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        model = model_of(self.model)
        rows, truth = _ready(model, batch), batch[model.space_.goal]
        column = domain[model.space_.goal]
        if isinstance(column, Category):
            chances = model.predict_proba(rows)
            place = np.clip(truth, 0, chances.shape[1] - 1)
            chance = np.take_along_axis(chances, place[:, None], axis=1)[:, 0]
            lost = np.minimum(-np.log(np.maximum(chance, 1e-300)), LOSS_BOUND)
            lost = lost / LOSS_BOUND
        else:
            width = 2 * column.half  # type: ignore[union-attr]
            miss = (np.clip(truth, *_ends(column)) - model.predict(rows)) / width
            lost = np.minimum(miss * miss, 1.0)
        return (2 * lost - 1)[None, :] * float(_STEPS)

    def columns(self) -> tuple[str, ...]:
        space = model_of(self.model).space_
        return (*space.features, space.goal)


def _ends(column: Any) -> tuple[float, float]:
    return column.lower, column.upper


def _class_codes(model: Any, rows: Ready) -> Ints:
    places = {value: code for code, value in enumerate(model.space_.classes)}
    found = [places.get(value, -1) for value in model.predict(rows).tolist()]
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class Evaluation:
    """Private measures of a model, each a Release; ``None`` where it does not apply."""

    accuracy: Release | None = None
    confusion: Release | None = None
    log_loss: Release | None = None
    calibration: Release | None = None
    rmse: Release | None = None
    r2: Release | None = None

    def __str__(self) -> str:
        names = ("accuracy", "log_loss", "rmse", "r2", "confusion", "calibration")
        parts = [(name, getattr(self, name)) for name in names]
        return "\n".join(f"{name}: {part}" for name, part in parts if part is not None)


def evaluate(
    model: PrivateEstimator,
    table: Table,
    *,
    epsilon: Amount,
    delta: Amount = 0,
) -> Evaluation:
    """Measure a fitted model on a private table.

    A classifier gets its confusion matrix and accuracy (half of the cost), mean log
    loss and calibration (a quarter each); a regressor RMSE and R². Use rows that the
    model was not trained on, unless you want its training error.
    """
    text, cost = persist.dumps(model), Cost.of(epsilon, delta)
    goal = model.space_.goal
    judge = (
        _judge_classes if isinstance(table.domain[goal], Category) else _judge_number
    )
    rehearsal = Conversation(paper_gate(table.domain, 0), cost)
    judge(rehearsal, text, goal)
    facts = {"questions": [question.to_dict() for question in rehearsal.asked]}
    label = f"evaluate {type(model).__name__}"
    reservation = table.reserve(cost, label, facts)
    ask = Conversation(table.gate(reservation), cost, rehearsal.asked)
    parts = judge(ask, text, goal)
    relation, receipt = table.domain.neighbours, reservation.receipt
    paid = {k: part.paid(receipt, cost, relation) for k, part in parts.items()}
    return Evaluation(**paid)


def _judge_classes(ask: Ask, text: str, goal: str) -> dict[str, Release]:
    classes = list(model_of(text).space_.classes)
    if tuple(classes) != ask.domain.category(goal).categories:
        raise ParameterError("the model's classes are not those of the table's domain.")
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    cells = Cross(Categories((goal,)), Predicted(text))
    answer = ask.measure(Sum(cells, (Block(Ones()),)), "confusion matrix", half)
    size = len(classes)
    counts = answer.tables[0][:, 0].reshape(-1, size)[:size].astype(float)
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
        Sum(Present((goal,)), (Block(Loss(text), "pair"),)), "log loss", quarter
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
    error = ask.measure(Sum(cells, (Block(Loss(text), "pair"),)), "squared error", half)
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
