"""Choosing among models privately: every fit and the choice itself are paid for.

A few candidates are all fitted, each with its part of the cost, and a noisy choice
takes one. Many are fitted as hidden runs: only the best of a secret random part of
them is ever shown, which costs about three fits for any number of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Generic, Literal, TypeVar

from sklearn.base import clone

from discreto.core.charge import Reservation
from discreto.core.cost import Amount, Cost, read_amount, read_delta
from discreto.core.domain.domain import Category
from discreto.core.hidden_runs import HiddenRuns
from discreto.core.maps import Everyone, Ones, Present
from discreto.core.maps.predictions import (
    ERROR_STEPS,
    Contest,
    MostPoints,
    Right,
    RowLoss,
    check_columns,
)
from discreto.core.query import Block, Choice, Sum
from discreto.errors import ParameterError, UnsafeError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import CLOSE_STRENGTHS, row_counts, way_of
from discreto.models.interop import json as persist
from discreto.models.neighbors.pay_per_prediction import Voters
from discreto.session.parameters import choice, whole
from discreto.session.perform import choosy_gate
from discreto.session.plan import Plan
from discreto.table.table import Table

Model = TypeVar("Model", bound=PrivateEstimator)
Method = Literal["auto", "all", "hidden"]
Form = tuple[Plan, tuple[int, ...]]  # what is asked, and the way at each fork
_COUNT_SHARE = Fraction(1, 40)  # of epsilon, for a row count that all hidden runs share
_SHARE = {"all": Fraction(1, 5), "hidden": Fraction(1, 10)}


def select(
    candidates: Sequence[Model],
    table: Table,
    y: str | None = None,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    validation: Table | None = None,
    choice_share: Amount | None = None,
    method: Method = "auto",
    repeats: int = 2,
) -> Model:
    """Fit every candidate and keep the best, for ``epsilon`` in all.

    ``method="all"`` fits each candidate once with an equal part of the cost; a noisy
    choice by correct predictions (or squared error) takes one. ``method="hidden"`` fits
    each ``repeats`` times, scores every fit, and shows the best of a secret random part
    of the fits: each fit then has a third of ``epsilon``, for 4 candidates as for 400.
    ``"auto"`` takes the one that leaves more for a fit: ``"all"`` for two candidates.

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
        Above 0 the noise is Gaussian. The charge is the rho that (ε, δ) allows, or for
        hidden runs an (ε, δ) block (and ε/40 of pure ε, where rows are counted).
    validation
        Other rows to choose on, paid by their own ledger; by default the same table.
    choice_share : int, float, str or Fraction, optional
        The part of the cost that pays for scores: 1/5, or 1/10 of each hidden run.
    method
        ``"auto"``, ``"all"`` or ``"hidden"``.
    repeats
        How often each candidate is fitted in hidden runs. More cost time, not privacy,
        and make it likelier that the best one is among those that are drawn.

    Returns
    -------
    model
        The winner, fitted. Its ``privacy_`` has the cost of the whole selection.

    Raises
    ------
    BudgetError
        A ledger has less left. Nothing was charged.
    UnsafeError
        A candidate pays for every prediction. Nothing was charged.

    Privacy
    -------
    All of it is charged in one entry before the first row is read. In hidden runs
    neither the other fits nor any score nor the number of runs that were drawn is
    shown, and all fits are made in any case, so the time does not tell it
    either: ``docs/proofs/selection.md``. Where the domain does not declare ``rows``,
    a noisy row count for ε/40 comes first. It is public, and all fits use it instead
    of counts of their own.

    Examples
    --------
    >>> import discreto as dp
    >>> from discreto.models import NaiveBayes
    >>> columns = {"x": dp.Number(0, 1), "y": dp.Category([0, 1])}
    >>> domain = dp.Domain(columns, target="y")
    >>> rows = {"x": [0.1, 0.9] * 1000, "y": [0, 1] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> models = [NaiveBayes(epsilon=1, shrink=shrink) for shrink in (True, False)]
    >>> winner = dp.models.select(models, table, epsilon=1)
    >>> type(winner).__name__, winner.selection_cost_
    ('NaiveBayes', 'ε 1')
    """
    if not candidates:
        raise ParameterError("select needs at least one candidate.")
    for candidate in candidates:
        if isinstance(candidate, Voters):
            raise UnsafeError(
                f"select scores predictions of private rows, and "
                f"{type(candidate).__name__} pays for every prediction. Use "
                "CellNeighborsClassifier, which is trained once."
            )
    choice(method, "method", ("auto", *_SHARE), of="select")
    repeats = whole(repeats, "repeats", of="select")
    amount, chance = read_amount(epsilon, "epsilon"), read_delta(delta)
    contest = _HiddenContest(candidates, table, y, validation, repeats)
    if method == "auto":
        method = _kinder_method(len(candidates), contest.runs, amount, chance)
    share = _SHARE[method] if choice_share is None else Fraction(choice_share)
    if not 0 < share < 1:
        raise ParameterError(f"choice_share must be in (0, 1). Got {share}.")
    if method == "hidden":
        return contest.winner(amount, chance, share)
    return _best_of_all(
        candidates, table, y, Cost.of(amount, chance), share, validation
    )


def _kinder_method(
    count: int, runs: HiddenRuns, epsilon: Fraction, delta: Fraction
) -> Method:
    """Return the method that leaves a fit more of the cost, from public facts."""
    hidden = runs.each(epsilon, delta) * (1 - _SHARE["hidden"])
    plain = Cost.of(epsilon, delta) * ((1 - _SHARE["all"]) / count)
    return "all" if plain.covers(hidden) else "hidden"


def _check(
    candidates: Sequence[Model],
    table: Table,
    y: str | None,
    part: Cost,
    judge: Table,
) -> None:
    """Refuse what cannot be done, before anything is paid."""
    for model in candidates:
        space = model._space(table.domain, y)
        model._plan_for(space, part)
        names = (*space.features, *([space.target] if space.target else []))
        check_columns(space.domain, names, judge.domain)


def _whole(winner: Model, cost: Cost, paid: Reservation) -> Model:
    """Return the winner; its privacy is that of all fits and the choice together."""
    winner.selection_cost_ = str(cost)
    receipt = paid.receipt
    winner.privacy_ = replace(winner.privacy_, cost=receipt.cost, receipt=receipt)
    return winner


def _best_of_all(
    candidates: Sequence[Model],
    table: Table,
    y: str | None,
    cost: Cost,
    choice_share: Fraction,
    validation: Table | None,
) -> Model:
    """Fit all candidates and let a noisy choice take one."""
    share = cost * choice_share
    here = cost if validation is None else cost * (1 - choice_share)
    part = cost * ((1 - choice_share) / len(candidates))
    _check(candidates, table, y, part, validation or table)
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
    return _whole(fitted[int(best.indices[0])], cost, reservation)


class _HiddenContest(Generic[Model]):
    """Fits and scores of candidates as hidden runs."""

    def __init__(
        self,
        candidates: Sequence[Model],
        table: Table,
        y: str | None,
        validation: Table | None,
        repeats: int,
    ) -> None:
        self.candidates, self.table, self.y = candidates, table, y
        self.validation = validation
        self.runs = HiddenRuns(len(candidates) * repeats)

    def winner(self, epsilon: Fraction, delta: Fraction, share: Fraction) -> Model:
        """Pay for all runs, make them, and show the best of those that are drawn."""
        count = self._count_cost(epsilon, delta)
        each = self.runs.each(epsilon - count.epsilon, delta)
        fit, score = each * (1 - share), each * share
        # For every possible count, every fit was rehearsed before it is paid for.
        forms = [self._forms(fit, rows) for rows in _rows_of(fit, count)]
        label = f"select among {len(self.candidates)} models, hidden"
        facts = self._facts(each) | ({"rows": count.to_dict()} if count else {})
        if self.validation is None:
            costs = [each]
            paid = [self.table.reserve(self._whole(each, delta, count), label, facts)]
        else:  # both must be paid before the first run
            costs = [fit, score]
            paid = [
                here.reserve(self._whole(cost, delta, more), label, facts)
                for here, cost, more in zip(
                    (self.table, self.validation), costs, (count, Cost()), strict=True
                )
            ]
        chosen = forms[self._count_rows(paid[0], count, fit)]

        def work(number: int, payers: tuple[Reservation, ...]) -> tuple[int, Model]:
            model = clone(self.candidates[number % len(self.candidates)])
            space, form = chosen[number % len(self.candidates)]
            model._fit_space(self.table.paid_by(payers[0]), space, fit, form)
            model.space_ = replace(space, domain=self.table.domain)
            judge = (self.validation or self.table).paid_by(payers[-1])
            return _noisy_score(model, judge, score), model

        best = self.runs.best(paid, costs, work)
        return _whole(best, paid[0].receipt.cost, paid[0])

    def _whole(self, each: Cost, delta: Fraction, count: Cost) -> Cost:
        return self.runs.total(each, delta) + count

    def _count_cost(self, epsilon: Fraction, delta: Fraction) -> Cost:
        """Return the cost of counting rows before the runs; 0 if no fit depends on it.

        Each fit would otherwise count for itself, out of sight, and how long it takes
        would depend on what it found.
        """
        domain = self.table.domain
        if domain.rows is not None:
            return Cost()
        fit = self.runs.each(epsilon, delta)
        forks = any(m._forks(m._space(domain, self.y), fit) for m in self.candidates)
        return Cost(epsilon=epsilon * _COUNT_SHARE) if forks else Cost()

    def _count_rows(self, paid: Reservation, count: Cost, fit: Cost) -> int:
        """Count rows with noise; the place of the count in the public list."""
        if not count:
            return 0
        target = self.candidates[0]._space(self.table.domain, self.y).goal
        asked = Sum(Present((target,)), (Block(Ones()),))
        answer = self.table.gate(paid).measure(asked, count, "rows")
        # Too few rows are taken for many by one noise in six, not by half of them.
        doubt = math.sqrt(answer.noises[0].variance)
        return way_of(float(answer.tables[0][0, 0]) - doubt, fit, CLOSE_STRENGTHS)

    def _forms(self, fit: Cost, rows: int | None) -> list[tuple[Space, Form]]:
        """Return the space and the form of each candidate's fits, from public facts."""
        gate, out = choosy_gate(self.table), []
        judge = (self.validation or self.table).domain
        for model in self.candidates:
            space = model._space(self.table.domain, self.y)
            check_columns(space.domain, (*space.features, space.goal), judge)
            if rows is not None:
                space = replace(space, domain=space.domain.with_(rows=rows))
            out.append((space, model._longest_form(space, fit, gate)))
        return out

    def _facts(self, each: Cost) -> dict[str, object]:
        return {"hidden_runs": self.runs.count, "each": each.to_dict()}


def _rows_of(fit: Cost, count: Cost) -> tuple[int | None, ...]:
    """Return the row counts among which a noisy count chooses, if there is one."""
    return row_counts(fit, CLOSE_STRENGTHS) if count else (None,)


def _noisy_score(model: PrivateEstimator, table: Table, cost: Cost) -> int:
    """Right minus wrong predictions, or minus the squared error, with noise."""
    text, gate = persist.dumps(model), table.gate()
    if isinstance(table.domain[model.space_.goal], Category):
        asked = Sum(Right(text), (Block(Ones()),))
        wrong, right = gate.measure(asked, cost, "score of a run").tables[0][:, 0]
        return int(right) - int(wrong)
    asked = Sum(Everyone(), (Block(RowLoss(text)),))
    return -int(gate.measure(asked, cost, "score of a run").tables[0][0, 0])
