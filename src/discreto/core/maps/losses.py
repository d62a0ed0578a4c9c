"""How far a model is off, row by row: cells of scores and errors, parts of losses.

Like the maps of ``predictions`` these hold the JSON text of a model, and are asked of
tables here, never sent. A row is in one cell, or is split into parts of one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreto.core.domain.domain import Category, Domain
from discreto.core.maps.cells import to_cells
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.predictions import (
    AboutModels,
    all_columns,
    chances_of,
    check_model,
    numbers_of,
    predictor_of,
)
from discreto.core.query import Batch, Floats, Ints, Shape
from discreto.errors import ParameterError

SCORE_BINS = 24  # on the logit scale, where most models' scores are spread out
SCORE_END = 6.0  # the logit beyond which chances are alike
ERROR_SIZES = 48  # half powers of two of the target's range
LOG_BOUND = math.log(1000)  # a row's log loss counts up to here


@dataclass(frozen=True, slots=True)
class ScoreBins(AboutModels):
    """Cells of the chance that a model gives to one class, on the logit scale.

    First the bins of rows of other classes, then those of rows of this class.
    """

    model: str
    place: int

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)
        if not 0 <= self.place < len(predictor_of(self.model).classes):
            raise ParameterError("the model has no class in this place.")

    def count(self, domain: Domain) -> int:
        return 2 * SCORE_BINS

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        model = predictor_of(self.model)
        truth = batch[model.goal]
        chance = chances_of(self.model, batch)[:, self.place]
        with np.errstate(all="ignore"):
            logit = np.log(chance) - np.log1p(-chance)
        place = (np.clip(logit, -SCORE_END, SCORE_END) / SCORE_END + 1) / 2
        bins = to_cells(place * SCORE_BINS, SCORE_BINS)
        codes = bins + SCORE_BINS * (truth == self.place)
        return np.where((truth < 0) | (bins < 0), -1, codes)

    def columns(self) -> tuple[str, ...]:
        return all_columns(self.model)


@dataclass(frozen=True, slots=True)
class ErrorSizes(AboutModels):
    """Cells of the size of a model's error, in half powers of two of the range.

    Cell k holds errors of at most 2^(-k/2) of the target's range that are above
    2^(-(k+1)/2); the last one holds all that are smaller.
    """

    model: str

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)
        domain.number(predictor_of(self.model).goal)

    def count(self, domain: Domain) -> int:
        return ERROR_SIZES

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        size = np.abs(_misses(self.model, batch, domain))
        with np.errstate(all="ignore"):
            power = -2 * np.log2(np.maximum(size, 1e-300))
        return to_cells(power, ERROR_SIZES)

    def columns(self) -> tuple[str, ...]:
        return all_columns(self.model)


@dataclass(frozen=True, slots=True)
class LossParts(AboutModels):
    """A row's loss x, from 0 to ``most``, as (1 - x)^2, 2 x (1 - x) and x^2 of most.

    The parts add up to one, so a row moves their sums by one in all; they give the mean
    loss and its spread over the rows. ``log`` is minus the logarithm of the true
    class's chance, ``brier`` half the squared distance of the chances from the truth,
    ``squared`` the squared error in units of the target's range.
    """

    model: str
    loss: Literal["log", "brier", "squared"]
    most: float = 1.0

    def check(self, domain: Domain) -> None:
        check_model(self.model, domain)
        classes = isinstance(domain[predictor_of(self.model).goal], Category)
        if classes == (self.loss == "squared"):
            raise ParameterError(f"{self.loss} is not a loss of such a model.")
        if not 1e-30 <= self.most <= 1e3:
            raise ParameterError("the largest loss of a row is a number above 0.")

    def shape(self, domain: Domain) -> Shape:
        return Shape(3, 1 << SUM_BITS, total=1 << SUM_BITS, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        with np.errstate(all="ignore"):
            lost = self._losses(batch, domain) / self.most
        x = np.clip(np.nan_to_num(lost, nan=1.0), 0.0, 1.0)
        parts = np.stack([(1 - x) ** 2, 2 * x * (1 - x), x**2]) * float(1 << SUM_BITS)
        return np.floor(parts, out=parts)

    def _losses(self, batch: Batch, domain: Domain) -> Floats:
        if self.loss == "squared":
            return _misses(self.model, batch, domain) ** 2
        model = predictor_of(self.model)
        chances = chances_of(self.model, batch)
        truth = np.clip(batch[model.goal], 0, chances.shape[1] - 1)[:, None]
        if self.loss == "log":
            chance = np.take_along_axis(chances, truth, axis=1)[:, 0]
            return -np.log(np.maximum(chance, 1e-300))
        right = np.arange(chances.shape[1])[None, :] == truth
        squares: Floats = (chances - right) ** 2
        # One class after the other: the order of a sum must not depend on the batch.
        total = np.zeros(len(squares))
        for k in range(squares.shape[1]):
            total += squares[:, k]
        return total / 2

    def columns(self) -> tuple[str, ...]:
        return all_columns(self.model)


def _misses(text: str, batch: Batch, domain: Domain) -> Floats:
    """Truth minus prediction, in units of the target's range; NaN where unknown."""
    model = predictor_of(text)
    column = domain.number(model.goal)
    truth = np.clip(batch[model.goal], column.lower, column.upper)
    return (truth - numbers_of(text, batch)) / (2 * column.half)
