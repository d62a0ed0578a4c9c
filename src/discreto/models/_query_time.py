"""Models that answer from the rows themselves: every prediction is paid for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.domain import Domain
from discreto.core.maps.neighbors import GRID
from discreto.core.query import Choice
from discreto.errors import ParameterError, UnsafeError
from discreto.models._features import Array, Ready, Space
from discreto.models._kinds import PrivateClassifier
from discreto.models._privacy import Privacy
from discreto.models._terms import INDICATOR, Encoding
from discreto.parameters import Reader, whole
from discreto.perform import perform
from discreto.plan import Plan, rehearse
from discreto.session import Session
from discreto.tables import Table

Points = tuple[tuple[float, ...], ...]
_MOST_POINTS = 1 << 16


class Voters(PrivateClassifier):
    """A classifier that keeps a Table and asks it for a noisy vote at every point.

    ``fit`` spends nothing; ``predict`` spends its epsilon, shared by all its points.
    """

    _source: Table | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep a Table and the name of its target (or arrays, frames). Free of charge.

        Parameters
        ----------
        X
            A :class:`~discreto.Table`, a data frame, or a 2-d array.
        y
            The target column's name for a Table (default: the domain's target), else
            the target values.
        """
        return super().fit(X, y)

    def _fit_table(self, table: Table, target: str | None, cost: Cost) -> Self:
        space = self._space(table.domain, target)
        # Bad parameters are refused now, not when the first prediction is paid.
        self._votes(_one_point(space), space, cost, math.inf)
        simulated = table.ledger.simulation is not None
        label = f"fit {type(self).__name__}"
        self._source = table
        self.space_ = space
        self.classes_ = np.array(space.classes)
        self.n_features_in_ = len(space.features)
        self.privacy_ = Privacy(
            Cost(),
            table.domain.neighbours,
            table.domain.rows_per_person,
            Plan((), Cost(), 0),
            Receipt(0, label, Cost(), "nothing was charged", simulated=simulated),
        )
        return self

    def predict(self, X: Any, epsilon: Any = None) -> NDArray[Any]:
        """The class that most neighbours of each row have, up to noise.

        Parameters
        ----------
        X
            Rows to predict: a data frame or a 2-d array. Equal rows are asked once.
        epsilon
            What this call costs in all, by default the model's ``epsilon``. The
            table's ledger is charged before a row is touched.
        """
        if isinstance(X, Ready | Table):
            raise UnsafeError(
                f"{type(self).__name__} pays for every prediction, so it cannot "
                "predict the rows of a private table. Use CellNeighborsClassifier."
            )
        cost = Reader(self).cost()
        if epsilon is not None:
            cost = Cost.of(epsilon, self.delta)
        X = self._rows(X)
        unit = Encoding(self.space_, INDICATOR).matrix(X)
        if not len(unit):
            return self.classes_[:0]
        if len(unit) > _MOST_POINTS:
            raise ParameterError(
                f"predict at most {_MOST_POINTS} rows at once: their votes share one "
                "budget. Use CellNeighborsClassifier, whose predictions are free."
            )
        points, place = np.unique(np.rint(unit * GRID), axis=0, return_inverse=True)
        winners = self._ask(tuple(map(tuple, (points / GRID).tolist())), cost)
        return self.classes_[winners[place.reshape(-1)]]

    def _ask(self, points: Points, cost: Cost) -> Array:
        table = self._source
        if table is None:
            raise UnsafeError(
                f"this {type(self).__name__} was copied or loaded without the rows it "
                "answers from. Fit it again."
            )
        label = f"{type(self).__name__}: {_count(points)}"
        return perform(table, lambda ask: self._talk(ask, points), cost, label).result

    def _talk(self, ask: Session, points: Points) -> Array:
        rows, left = self._count_rows(ask)
        out = []
        for part, share in shares(points, ask.cost):
            share *= left
            choice = self._votes(part, self.space_, ask.cost * share, rows)
            out.append(ask.select(choice, f"votes at {_count(part)}", share).indices)
        return np.concatenate(out)

    def plan(
        self,
        domain: Domain,
        target: str | None = None,
        *,
        rows: int | None = None,
        queries: int = 1,
    ) -> Plan:
        """What predicting rows would ask and spend, at worst.

        Parameters
        ----------
        domain
            The public description; no rows are needed.
        target
            The column to predict; by default the domain's target.
        rows
            Not used: the plan is that of the worst case.
        queries
            How many different rows will be predicted.

        Returns
        -------
        Plan
            The questions and their cost, which ``predict`` will keep to.
        """
        cost = Reader(self).cost()
        queries = whole(queries, "queries", most=_MOST_POINTS)
        probe = type(self)(**self.get_params(deep=False))
        probe.space_ = self._space(domain, target)
        # Points in one place can all be reached by one row: the worst case.
        points = _one_point(probe.space_) * queries
        return rehearse(domain, lambda ask: probe._talk(ask, points), cost)[0]

    def _count_rows(self, ask: Session) -> tuple[float, Fraction]:
        """About how many rows there are, if that matters, and the share left."""
        return math.inf, Fraction(1)

    def _votes(self, points: Points, space: Space, cost: Cost, rows: float) -> Choice:
        """The question that gets the votes at some points."""
        raise NotImplementedError

    @property
    def predict_proba(self) -> Any:
        """Not offered: only the winner of a vote leaves the table."""
        raise AttributeError(
            f"{type(self).__name__} has no predict_proba: only the winner of a vote "
            "leaves the table. Use CellNeighborsClassifier."
        )

    def __getstate__(self) -> Any:
        # Rows never travel with a pickled model.
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_source"}


def shares(points: Points, cost: Cost) -> Iterator[tuple[Points, Fraction]]:
    """Points that are asked together, and their share of the cost.

    Pure epsilon adds up over points in any case, so one question is enough. Under rho
    each point is a question of its own: then noise grows with the root of their number.
    """
    if not cost.rho:
        yield points, Fraction(1)
        return
    for point in points:
        yield (point,), Fraction(1, len(points))


def _one_point(space: Space) -> Points:
    return ((0.0,) * len(Encoding(space, INDICATOR).names),)


def _count(points: Points) -> str:
    return "1 point" if len(points) == 1 else f"{len(points)} points"
