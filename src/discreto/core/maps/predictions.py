"""What a model predicts, as cells, losses and points: for scores of private rows.

A question holds the JSON text of a model. Whoever knows how to read such texts says so
once (``install_reader``); the core only needs a :class:`Predictor`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from discreto.core.domain.domain import (
    Category,
    Column,
    Domain,
    Neighbours,
    Number,
    Value,
)
from discreto.core.maps.cells import to_cells
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Batch, Floats, Ints, Shape
from discreto.core.rounding import whole
from discreto.core.row_cache import remember
from discreto.errors import DomainError, ParameterError

LOSS_BOUND = math.log(1000)  # a row's log loss counts up to here
CONFIDENCE_BINS = 10
ERROR_STEPS = 1 << 20  # the largest squared error of a row, in steps of a contest
_STEPS = 1 << SUM_BITS


class Predictor(Protocol):
    """A model as the core sees it: columns and row-local predictions."""

    domain: Domain
    features: tuple[str, ...]
    goal: str
    classes: tuple[Value, ...]

    def class_codes(self, batch: Batch) -> Ints: ...
    def probabilities(self, batch: Batch) -> Floats: ...  # (rows, classes)
    def values(self, batch: Batch) -> Floats: ...


_readers: list[Callable[[str], Predictor]] = []


def install_reader(reader: Callable[[str], Predictor]) -> None:
    """Say how the text of a model is read."""
    _readers[:] = [reader]


@lru_cache(maxsize=16)
def predictor_of(text: str) -> Predictor:
    """The model of a JSON text, read once."""
    if not _readers:
        raise ParameterError("questions about models need discreto.models.")
    return _readers[0](text)


def check_model(text: str, domain: Domain) -> None:
    """Refuse a model that could fail on some rows of a table.

    Its columns must be those of the table, category for category: rows come to it as
    the codes of the table. Then it predicts made-up rows that hold every category,
    bound and oddity; what goes wrong does so here, before anything is paid.
    """
    model = predictor_of(text)
    check_columns(model.domain, (*model.features, model.goal), domain)
    if not _predicts(text):
        raise ParameterError("the model cannot predict rows of its own domain.")


def check_columns(own: Domain, names: tuple[str, ...], domain: Domain) -> None:
    """Refuse a table that knows the columns of a model in another way."""
    for name in names:
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
    model = predictor_of(text)
    columns = {name: _odd_values(model.domain[name]) for name in model.features}
    rows = max(map(len, columns.values()))
    batch = {name: np.resize(values, rows) for name, values in columns.items()}
    goal = model.domain[model.goal]
    try:
        with np.errstate(all="ignore"):
            if not isinstance(goal, Category):
                found = model.values(batch)
                return bool(found.shape == (rows,) and found.dtype.kind == "f")
            chances = model.probabilities(batch)
            model.class_codes(batch)
            known = model.classes == goal.categories
            return known and chances.shape == (rows, len(model.classes))
    except Exception:  # all of it is public: no row has been looked at
        return False


def _odd_values(column: Column) -> Floats | Ints:
    if isinstance(column, Category):
        return np.arange(-1, len(column.categories), dtype=np.int64)
    if not isinstance(column, Number):
        raise DomainError("a model cannot predict from an opaque column.")
    odd = (math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, column.centre)
    return np.array([column.lower, column.upper, *odd])


BATCH_ROWS = 1 << 14  # the same for all questions about models: predictions are kept
_MOST_KEPT = 8  # classes whose chances are kept with the rows


def chances_of(text: str, batch: Batch) -> Floats:
    """The probabilities that a model gives to the classes, (rows, classes)."""
    model = predictor_of(text)
    if len(model.classes) > _MOST_KEPT:
        return model.probabilities(batch)
    return remember(
        batch, "chances", (text,), lambda: _kept(model.probabilities(batch))
    )


def classes_of(text: str, batch: Batch) -> Ints:
    """The code of the class that a model predicts."""
    model = predictor_of(text)
    return remember(batch, "classes", (text,), lambda: _kept(model.class_codes(batch)))


def numbers_of(text: str, batch: Batch) -> Floats:
    """The numbers that a model predicts."""
    model = predictor_of(text)
    return remember(batch, "numbers", (text,), lambda: _kept(model.values(batch)))


def _kept(values: Any) -> Any:
    values.flags.writeable = False
    return values


class AboutModels:
    """A map of what a model predicts; that predictions are row-local is believed."""

    __slots__ = ()
    proof = "docs/architecture.md#what-must-be-trusted"

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


@dataclass(frozen=True, slots=True)
class Predicted(AboutModels):
    """Cells of what a model predicts: its class, or the bin of its confidence."""

    model: str
    confidence: bool = False

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)

    def count(self, domain: Domain) -> int:
        if self.confidence:
            return CONFIDENCE_BINS
        return len(predictor_of(self.model).classes)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        if not self.confidence:
            return classes_of(self.model, batch)
        sure = np.max(chances_of(self.model, batch), axis=1)
        return to_cells(sure * CONFIDENCE_BINS, CONFIDENCE_BINS)

    def columns(self) -> tuple[str, ...]:
        return predictor_of(self.model).features


@dataclass(frozen=True, slots=True)
class Right(AboutModels):
    """Two cells: the model is wrong, the model is right."""

    model: str

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)

    def count(self, domain: Domain) -> int:
        return 2

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        model = predictor_of(self.model)
        truth = batch[model.goal]
        right = classes_of(self.model, batch) == truth
        return np.where(truth < 0, -1, right.astype(np.int64))

    def columns(self) -> tuple[str, ...]:
        return all_columns(self.model)


@dataclass(frozen=True, slots=True)
class RowLoss(AboutModels):
    """A row's loss on [-1, 1]: log loss up to a bound, or squared error."""

    model: str

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)

    def shape(self, domain: Domain) -> Shape:
        return Shape(1, _STEPS)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        model = predictor_of(self.model)
        truth, column = batch[model.goal], domain[model.goal]
        if isinstance(column, Category):
            chances = chances_of(self.model, batch)
            place = np.clip(truth, 0, chances.shape[1] - 1)
            chance = np.take_along_axis(chances, place[:, None], axis=1)[:, 0]
            lost = np.minimum(-np.log(np.maximum(chance, 1e-300)), LOSS_BOUND)
            lost = lost / LOSS_BOUND
        else:
            number = domain.number(model.goal)
            inside = np.clip(truth, number.lower, number.upper)
            miss = (inside - numbers_of(self.model, batch)) / (2 * number.half)
            lost = np.minimum(miss * miss, 1.0)
        return (2 * lost - 1)[None, :] * float(_STEPS)

    def columns(self) -> tuple[str, ...]:
        return all_columns(self.model)


def all_columns(text: str) -> tuple[str, ...]:
    """The features and the target of a model."""
    model = predictor_of(text)
    return (*model.features, model.goal)


@dataclass(frozen=True, slots=True)
class Contest(AboutModels):
    """For each model, how many rows it gets right, or minus its error in steps."""

    models: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        names: list[str] = []
        for text in self.models:
            names += Right(text).columns()
        return tuple(dict.fromkeys(names))

    def check(self, domain: Domain) -> None:
        if not self.models:
            raise ParameterError("a contest needs models.")
        for text in self.models:
            check_model(text, domain)

    def size(self, domain: Domain) -> int:
        return len(self.models)

    def empty(self, domain: Domain) -> Ints:
        return np.zeros((len(self.models), 1), dtype=np.int64)

    def fold(self, batch: Batch, length: int, domain: Domain) -> Ints:
        points = [_points(text, batch, domain) for text in self.models]
        return np.array(points, dtype=np.int64)[:, None]

    def merge(self, first: Ints, second: Ints) -> Ints:
        return first + second

    def overlap(self) -> int:
        return 1


def _points(text: str, batch: Batch, domain: Domain) -> int:
    if isinstance(domain[predictor_of(text).goal], Category):
        return int((Right(text).codes(batch, domain) == 1).sum())
    lost = (RowLoss(text).rows(batch, domain)[0] / (1 << SUM_BITS) + 1) / 2
    steps = np.clip(whole(np.nan_to_num(lost) * ERROR_STEPS), 0, ERROR_STEPS)
    return -int(steps.sum())


@dataclass(frozen=True, slots=True)
class MostPoints:
    """The score of a model is its points; one row moves all of them the same way."""

    proof = "docs/proofs/sensitivity.md#choices"

    steps: int

    monotone = True

    def check(self, domain: Domain) -> None:
        if not 1 <= self.steps <= ERROR_STEPS:
            raise ParameterError("points have 1 to 2^20 steps for a row.")

    def check_tally(self, tally: Any, domain: Domain) -> None:
        goals = {predictor_of(text).goal for text in tally.models}
        kinds = {isinstance(domain[goal], Category) for goal in goals}
        # Whoever asks does not say how far a row moves points: the kind of model does.
        if {1 if classes else ERROR_STEPS for classes in kinds} != {self.steps}:
            raise ParameterError("these points are not those of such models.")

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        return sums[:, 0][None, :]

    def fits(self, tally: object) -> bool:
        return isinstance(tally, Contest)

    def groups(self) -> int:
        return 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        return self.steps
