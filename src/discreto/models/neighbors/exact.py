"""Private nearest neighbours: votes of the rows themselves, paid at every prediction.

For neighbours that are counted once and predict for free, see
:class:`~discreto.models.neighbors.hashed.CellNeighborsClassifier`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from discreto.core.charge import Charger
from discreto.core.cost import Amount, Cost
from discreto.core.domain.domain import Domain
from discreto.core.gate import bind, scale_for
from discreto.core.maps import (
    NearestRows,
    NearestVotes,
    Ones,
    ReachVotes,
    RowsInReach,
)
from discreto.core.query import Block, Choice, Sum
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import keep_all
from discreto.models.base.features import Space
from discreto.models.linear.encoding import INDICATOR, Encoding
from discreto.models.neighbors.pay_per_prediction import Points, Voters
from discreto.session.parameters import Reader
from discreto.session.session import Session
from discreto.stats._base import complete_in, complete_note

_COUNT = Fraction(1, 20)  # the share that counts rows
_MOST_NEIGHBORS = 1 << 20


class KNeighborsClassifier(Voters):
    """The class of most of the k nearest rows, up to noise; every prediction is paid.

    ``fit`` keeps a reference to the table and spends nothing. ``predict(X)`` spends
    ``epsilon`` on all rows of ``X`` together, so the noise on each vote grows with
    their number. Columns are scaled to [-1, 1] by their public bounds; distances are
    Euclidean over the numbers that are there, each of which counts for more where some
    are missing, and two categories of a column are 0.71 apart, whichever they are. A
    row that has none of its numbers does not vote. Equal distances go to the class that
    is declared first, so without a Number column take
    :class:`RadiusNeighborsClassifier`.
    There is no ``predict_proba``: only the winner of a vote leaves the table.

    Parameters
    ----------
    n_neighbors
        How many rows vote. By default four times the scale of the noise, so that a
        clear majority stands out of it, but no more than rows over classes (a noisy
        count of rows takes a twentieth of the cost), and at least 5.
    epsilon, delta
        What each call of ``predict`` costs; ``delta`` above 0 lets the noise grow
        with the root of the number of points only.
    domain, bounds, classes, ledger
        The public facts and the payer when ``fit`` gets arrays or frames. Without a
        ledger there is one of ``epsilon`` in all: enough for a single ``predict``.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         with ``n_neighbors=None`` the number of rows, for a twentieth; one
                 noisy maximum a point, in one question (one each with a delta).
    Bound        a row that comes in may push another out: one class gains a vote while
                 another loses one, so the noise scale is 2 m / epsilon for m points.
    Composition  the cost is shared by the points and charged before a row is read.
    Free         ``fit``; points that are equal are asked once.
    Not covered  choosing ``n_neighbors`` by looking; the rows to predict themselves.

    >>> from discreto import Category, Domain, Number
    >>> domain = Domain({"x": Number(0, 1), "y": Category(["a", "b"])}, target="y")
    >>> plan = KNeighborsClassifier(15, epsilon=1).plan(domain, queries=30)
    >>> [ask.sensitivity for ask in plan], [ask.noise for ask in plan], plan.total
    ([(60,)], [(60.0,)], Cost(ε 1))

    Examples
    --------
    >>> from discreto.testing import simulate
    >>> model = KNeighborsClassifier(
    ...     2, epsilon=100, bounds=(0, 1), classes=["a", "b"], ledger=simulate()
    ... )
    >>> X, y = [[0.1], [0.2], [0.8], [0.9]], ["a", "a", "b", "b"]
    >>> model.fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
    ) -> None:
        keep_all(self, locals())

    def _count_rows(self, ask: Session) -> tuple[float, Fraction]:
        domain = ask.domain
        if self.n_neighbors is not None or domain.neighbours == "replace":
            return float(domain.rows or math.inf), Fraction(1)
        names = (*self.space_.numbers, self.space_.goal)
        cells, gaps = complete_in(names, domain)
        answer = ask.measure(Sum(cells, (Block(Ones()),)), "number of rows", _COUNT)
        rows = answer.tables[0][:, 0]
        if gaps:
            noise = answer.noises[0].variance
            ask.remark(complete_note(names, rows[:1], rows[1:], noise))
        return float(rows.sum()), 1 - _COUNT

    def _votes(self, points: Points, space: Space, cost: Cost, rows: float) -> Choice:
        read, score = Reader(self), NearestVotes(len(points), len(space.classes))
        names = Encoding(space, INDICATOR).names
        if self.n_neighbors is None:
            one = Choice(NearestRows(names, space.goal, points, 1), score)
            scale = float(scale_for(bind(one, space.domain), cost, whole=True))
            # More than the rows of one class cannot all be near.
            few = min(4 * scale, rows / len(space.classes), _MOST_NEIGHBORS)
            k = max(math.ceil(few), 5)
        else:
            k = read.whole("n_neighbors", most=_MOST_NEIGHBORS)
        return Choice(NearestRows(names, space.goal, points, k), score)

    def reference(self) -> Any:
        """Return the estimator without noise, for columns on [-1, 1]."""
        from sklearn import neighbors as plain

        return plain.KNeighborsClassifier(self.n_neighbors or 5)


class RadiusNeighborsClassifier(Voters):
    """The class of most rows within a fixed public radius, up to noise.

    Like :class:`KNeighborsClassifier`, but a row that is added pushes no other out:
    votes only rise, so half the noise is enough. Points that no row can reach together
    (further apart than two radii) do not add to the noise either. A row with a missing
    number does not vote: it could reach points that are far apart.

    Parameters
    ----------
    radius
        The radius, in columns scaled to [-1, 1]; by default a quarter of the root of
        the number of columns. A point that no row reaches gets a random class.
        Points that lack some columns get a smaller one, by the root of those left.
    epsilon, delta, domain, bounds, classes, ledger
        As for :class:`KNeighborsClassifier`.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         one noisy maximum a point, in one question (one each with a delta).
    Bound        a row adds one vote to one class at each point in its reach: the noise
                 scale is m / epsilon, where m is how many points one row can reach
                 (twice that if rows are replaced).
    Composition  the cost is shared by the points and charged before a row is read.
    Free         ``fit``; points that are equal are asked once.
    Not covered  choosing ``radius`` by looking; the rows to predict themselves.

    >>> from discreto import Category, Domain, Number
    >>> domain = Domain({"x": Number(0, 1), "y": Category(["a", "b"])}, target="y")
    >>> plan = RadiusNeighborsClassifier(epsilon=1).plan(domain, queries=30)
    >>> [ask.sensitivity for ask in plan], plan.total
    ([(30,)], Cost(ε 1))

    Examples
    --------
    >>> from discreto.testing import simulate
    >>> model = RadiusNeighborsClassifier(
    ...     epsilon=100, bounds=(0, 1), classes=["a", "b"], ledger=simulate()
    ... )
    >>> X, y = [[0.1], [0.2], [0.8], [0.9]], ["a", "a", "b", "b"]
    >>> model.fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        radius: float | None = None,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
    ) -> None:
        keep_all(self, locals())

    def _votes(self, points: Points, space: Space, cost: Cost, rows: float) -> Choice:
        names = Encoding(space, INDICATOR).names
        whole, wanted = getattr(self, "space_", space), "a number above 0"
        ours = math.sqrt(len(whole.features)) / 4
        radius = Reader(self).number("radius", 1e-300, 1e6, unset=ours, wanted=wanted)
        # In fewer columns all distances are smaller.
        radius *= math.sqrt(len(space.features) / len(whole.features))
        reached = RowsInReach(names, space.goal, points, radius)
        return Choice(reached, ReachVotes(len(points), len(space.classes)))

    def reference(self) -> Any:
        """Return the estimator without noise, for columns on [-1, 1]."""
        from sklearn import neighbors as plain

        return plain.RadiusNeighborsClassifier(self.radius or 1.0)
