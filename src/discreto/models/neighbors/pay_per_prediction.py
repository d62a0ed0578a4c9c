"""Models that answer from the rows themselves: every prediction is paid for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.maps import Categories, Largest
from discreto.core.maps.neighbors import GRID
from discreto.core.query import Block, Choice, Ones, Sum
from discreto.errors import ParameterError, UnsafeError
from discreto.models.base.features import Array, Ready, Space
from discreto.models.base.kinds import PrivateClassifier
from discreto.models.base.privacy import Privacy
from discreto.models.base.warnings import warn_of_gaps
from discreto.models.linear.encoding import INDICATOR, Encoding
from discreto.session.parameters import Reader, whole
from discreto.session.perform import perform
from discreto.session.plan import Plan, rehearse
from discreto.session.session import Session
from discreto.table.table import Table

Points = tuple[tuple[float, ...], ...]
Groups = list[tuple[Space, Points]]  # points, and the columns that they have
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
            checked=table.checked,
        )
        return self

    def predict(self, X: Any, epsilon: Any = None) -> NDArray[Any]:
        """Return the class that most neighbours of each row have, up to noise.

        Parameters
        ----------
        X
            Rows to predict: a data frame or a 2-d array. Equal rows are asked once. A
            row that lacks some numbers is compared by the others; one without any
            value gets the class of most rows.
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
        unit = Encoding(self.space_, INDICATOR).with_gaps(X)
        if not len(unit):
            return self.classes_[:0]
        if len(unit) > _MOST_POINTS:
            raise ParameterError(
                f"predict at most {_MOST_POINTS} rows at once: their votes share one "
                "budget. Use CellNeighborsClassifier, whose predictions are free."
            )
        groups, places, first = [], np.empty(len(unit), dtype=np.int64), 0
        for space, rows, there in _by_gaps(self.space_, unit):
            some = np.rint(unit[np.ix_(rows, there)] * GRID)
            points, place = np.unique(some, axis=0, return_inverse=True)
            places[rows] = first + place.reshape(-1)
            groups.append((space, tuple(map(tuple, (points / GRID).tolist()))))
            first += len(points)
        return self.classes_[self._ask(groups, cost)[places]]

    def _ask(self, groups: Groups, cost: Cost) -> Array:
        table = self._source
        if table is None:
            raise UnsafeError(
                f"this {type(self).__name__} was copied or loaded without the rows it "
                "answers from. Fit it again."
            )
        label = f"{type(self).__name__}: {_count(sum(len(p) for _, p in groups))}"
        done = perform(table, lambda ask: self._talk(ask, groups), cost, label)
        warn_of_gaps("; ".join(done.remarks))
        return done.result

    def _talk(self, ask: Session, groups: Groups) -> Array:
        rows, left = self._count_rows(ask)
        out, total = [], sum(len(points) for _, points in groups)
        for space, points in groups:
            for part, share in shares(points, ask.cost):
                share *= left * Fraction(len(points), total)
                if space.features:
                    choice = self._votes(part, space, ask.cost * share, rows)
                else:
                    choice = everybody(self.space_.goal)
                label = f"votes at {_count(len(part))}"
                out.append(ask.select(choice, label, share).indices)
        return np.concatenate(out)

    def plan(
        self,
        domain: Domain,
        target: str | None = None,
        *,
        rows: int | None = None,
        queries: int = 1,
    ) -> Plan:
        """Return what predicting rows would ask and spend, at worst.

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
        groups = [(probe.space_, _one_point(probe.space_) * queries)]
        return rehearse(domain, lambda ask: probe._talk(ask, groups), cost)[0]

    def _count_rows(self, ask: Session) -> tuple[float, Fraction]:
        """Return about how many rows there are, if that matters, and the share left."""
        return math.inf, Fraction(1)

    def _votes(self, points: Points, space: Space, cost: Cost, rows: float) -> Choice:
        """Return the question that gets the votes at some points."""
        raise NotImplementedError  # each kind of neighbours has its own

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
    """Yield points that are asked together, and their share of the cost.

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


def _by_gaps(space: Space, unit: Array) -> Iterator[tuple[Space, Array, Array]]:
    """Return groups of rows that lack the same columns: space, rows and terms left.

    Rows without gaps come first; a row without any value has a space without features.
    """
    terms = Encoding(space, INDICATOR).names
    lacks, place = np.unique(np.isnan(unit), axis=0, return_inverse=True)
    for number, lack in enumerate(lacks):
        gone = {term for term, absent in zip(terms, lack, strict=True) if absent}
        kept = tuple(name for name in space.features if name not in gone)
        rows = np.flatnonzero(place.reshape(-1) == number)
        yield replace(space, features=kept), rows, np.flatnonzero(~lack)


def everybody(target: str) -> Choice:
    """Return the votes of all rows, for a point of which nothing is known."""
    classes = Categories((target,), declared=True)
    return Choice(Sum(classes, (Block(Ones()),)), Largest())


def _count(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"
