"""Choosing among models privately: every fit and the choice itself are paid for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from sklearn.base import clone

from discreto.core.cost import Amount, Cost
from discreto.core.domain import Category
from discreto.core.maps.predictions import (
    ERROR_STEPS,
    Contest,
    MostPoints,
    check_columns,
)
from discreto.core.query import Choice
from discreto.errors import ParameterError
from discreto.models import persist
from discreto.models._estimator import PrivateEstimator
from discreto.tables import Table

Model = TypeVar("Model", bound=PrivateEstimator)


def select(
    candidates: Sequence[Model],
    table: Table,
    y: str | None = None,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    validation: Table | None = None,
    choice_share: Fraction = Fraction(1, 5),
) -> Model:
    """Fit every candidate and keep the best, for ``epsilon`` in all.

    Each candidate is fitted with an equal part of ``1 - choice_share`` of the cost. The
    rest pays for a noisy choice by correct predictions (or squared error). The winner's
    ``selection_cost_`` is the whole cost; its ``privacy_`` covers its own fit alone.

    Parameters
    ----------
    candidates
        Unfitted models; their own ``epsilon`` is not used.
    table
        The rows to learn from.
    y
        The target column; by default the domain's target.
    epsilon : int, float, str or Fraction
        What all fits and the choice cost together, as pure ε: ``"1/2"``, ``0.5`` and
        ``Fraction(1, 2)`` are the same.
    delta : int, float, str or Fraction
        Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
    validation
        Other rows to choose on, paid by their own ledger; by default the same table.
    choice_share
        The part of the cost that pays for the choice.

    Returns
    -------
    model
        The winner, fitted.

    Privacy
    -------
    All fits and the choice are charged before the first row is read. What the losers
    cost is paid for, too.

    Examples
    --------
    >>> import discreto as dp
    >>> from discreto.models import NaiveBayes
    >>> columns = {"x": dp.Number(0, 1), "y": dp.Category([0, 1])}
    >>> domain = dp.Domain(columns, target="y")
    >>> rows = {"x": [0.1, 0.9] * 1000, "y": [0, 1] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> models = [NaiveBayes(epsilon=1), NaiveBayes(epsilon=1, shrink=False)]
    >>> winner = dp.models.select(models, table, epsilon=1)
    >>> type(winner).__name__, winner.selection_cost_
    ('NaiveBayes', 'ε 1')
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
        model._plan_for(space, part)
        names = (*space.features, *([space.target] if space.target else []))
        check_columns(space.domain, names, (validation or table).domain)
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
