"""Models whose rows may have weights."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone

from discreto.core.domain.domain import Domain
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.sample_weights import weighted_space
from discreto.session.parameters import Reader
from discreto.session.plan import TYPICAL_ROWS, Plan


class TakesWeights(PrivateEstimator):
    """A model whose rows may have weights."""

    def plan(
        self,
        domain: Domain,
        target: str | None = None,
        *,
        rows: int | None = None,
        sample_weight: str | None = None,
    ) -> Plan:
        """What a fit would ask and spend; nothing is spent.

        Parameters
        ----------
        domain
            The public description; no rows are needed.
        target
            The column to predict; by default the domain's target.
        rows
            A guess of how many rows there are.
        sample_weight
            The column with the weights of rows, if any.

        Returns
        -------
        Plan
            The questions and their cost, which ``fit`` will keep to.
        """
        if sample_weight is None:
            return super().plan(domain, target, rows=rows)
        cost = Reader(self).cost()
        space = weighted_space(self._space(domain, target), sample_weight)
        number = domain.rows or TYPICAL_ROWS if rows is None else rows
        return clone(self)._rehearse(space, cost, number)

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, max_weight: Any = None
    ) -> Self:
        """Learn from a Table and the name of its target, or from arrays or frames.

        Parameters
        ----------
        X
            A :class:`~discreto.Table`, a data frame, or a 2-d array.
        y
            The target column's name for a Table (default: the domain's target), else
            the target values.
        sample_weight
            How much each row counts: for a Table the name of a Number column from 0 up,
            which is no feature then, else one number for each row. What matters is
            which part of the largest possible weight it is; a missing weight is 0.
        max_weight
            The largest possible weight, a public number, where ``sample_weight`` is an
            array: larger ones count as this. 1 by default. A column has its bounds.

        Returns
        -------
        self
            The fitted model, with ``privacy_``: its plan, its cost and its receipt.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The whole cost is charged before a row is read, to the Table's ledger or the
        model's. No row counts for more than one without weights would, so weights cost
        nothing; but sums of small weights are small against the same noise.
        """
        return self._fit(X, y, sample_weight, max_weight)


__all__ = ["TakesWeights"]
