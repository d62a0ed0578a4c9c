"""Choosing among models privately: every fit and the choice itself are paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from discreto.core.cost import Amount, Cost
from discreto.core.domain import Category, Domain, Neighbours
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Batch, Choice, Ints
from discreto.errors import ParameterError
from discreto.models import persist
from discreto.models.evaluation import Loss, Right, check_columns, check_model, model_of
from discreto.tables import Table

ERROR_STEPS = 1 << 20  # the largest squared error of a row, in steps


@dataclass(frozen=True, slots=True)
class Contest:
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
    if isinstance(domain[model_of(text).space_.goal], Category):
        return int((Right(text).codes(batch, domain) == 1).sum())
    lost = (Loss(text).rows(batch, domain)[0] / (1 << SUM_BITS) + 1) / 2
    steps = np.clip(np.rint(np.nan_to_num(lost) * ERROR_STEPS), 0, ERROR_STEPS)
    return -int(steps.sum())


@dataclass(frozen=True, slots=True)
class MostPoints:
    """The score of a model is its points; one row moves all of them the same way."""

    steps: int

    monotone = True

    def check(self, domain: Domain) -> None:
        if not 1 <= self.steps <= ERROR_STEPS:
            raise ParameterError("points have 1 to 2^20 steps for a row.")

    def check_tally(self, tally: Any, domain: Domain) -> None:
        goals = {model_of(text).space_.goal for text in tally.models}
        kinds = {isinstance(domain[goal], Category) for goal in goals}
        if kinds != {self.steps == 1}:
            raise ParameterError("these points are not those of such models.")

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        return sums[:, 0][None, :]

    def fits(self, tally: object) -> bool:
        return isinstance(tally, Contest)

    def groups(self) -> int:
        return 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        return self.steps


def select(
    candidates: list[Any],
    table: Table,
    y: str | None = None,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    validation: Table | None = None,
    choice_share: Fraction = Fraction(1, 5),
) -> Any:
    """Fit every candidate and keep the best, for ``epsilon`` in all.

    The candidates' own ``epsilon`` is not used: each is fitted with an equal part of
    ``1 - choice_share`` of the cost. The rest pays for a noisy choice by correct
    predictions (or squared error) on ``validation``, or on the same table. The winner's
    ``selection_cost_`` is the whole cost; its ``privacy_`` covers its own fit alone.
    """
    if not candidates:
        raise ParameterError("select needs at least one candidate.")
    choice_share = Fraction(choice_share)
    if not 0 < choice_share < 1:
        raise ParameterError(f"choice_share must be in (0, 1). Got {choice_share}.")
    cost = Cost.of(epsilon, delta)
    share = cost * choice_share
    here = cost if validation is None else cost * (1 - choice_share)
    part = cost * ((1 - choice_share) / len(candidates))
    for model in candidates:  # whatever can be refused is refused before it is paid
        space = model._space(table.domain, y)
        clone(model)._rehearse(space, part, 0)
        check_columns(space, (validation or table).domain)
    reservation = table.reserve(here, f"select among {len(candidates)} models")
    own = table.paid_by(reservation)
    judge = own
    if validation is not None:  # a choice that cannot be paid must not come last
        judge = validation.paid_by(validation.reserve(share, "best candidate"))
    fitted = [clone(model)._fit_table(own, y, part) for model in candidates]
    texts = tuple(persist.dumps(model) for model in fitted)
    classes = isinstance(table.domain[fitted[0].space_.goal], Category)
    choice = Choice(Contest(texts), MostPoints(1 if classes else ERROR_STEPS))
    best = judge.gate().select(choice, share, "best candidate")
    winner = fitted[int(best.indices[0])]
    winner.selection_cost_ = str(cost)
    return winner
