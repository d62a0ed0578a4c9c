"""Private fuzzy c-means: noisy weights and weighted deviations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Charger
from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain
from discreto.core.maps import FuzzyPresence, FuzzyPulls, FuzzyWeights
from discreto.core.maps._distances import memberships_of
from discreto.core.query import Block, Everyone, Floats, Sum
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import keep_all
from discreto.models.base.process_facts import warn_of_fitted_rows
from discreto.models.clusters.rounds import CentreClusterer, Search, as_points
from discreto.session.parameters import Reader
from discreto.session.rng import Seed, generator


class FuzzyCMeans(CentreClusterer):
    """Fuzzy c-means (Bezdek) whose centres are made of noisy sums.

    Every row belongs to every cluster a little: its membership in cluster j is
    proportional to its distance from centre j to the power of -2 / (m - 1). Distances
    are measured in half-ranges and over the values that are there, as in
    :class:`KMeans`.

    Parameters
    ----------
    n_clusters : int, default=8
        How many centres.
    m : float, default=2
        The fuzzifier, above 1. Near 1 this is k-means; large values blur.
    init : 'auto' or array of shape (n_clusters, n_features), default='auto'
        Public starting centres, in the units of the columns; 'auto' as in KMeans.
    max_iter : int, default=2
        How many rounds of noisy sums are paid for. With ``init='auto'`` the first one
        is a hard split that finds the starting centres, the others are fuzzy.
    domain, bounds, ledger, random_state
        See :class:`~discreto.models.base.estimator.PrivateEstimator`.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres, in the units of the columns.
    cluster_sizes_ : array of shape (n_clusters,)
        The noisy sums of the memberships to the power of m.
    n_iter_ : int
        The number of rounds: ``max_iter``.
    privacy_ : Privacy
        What the fit cost. Memberships of training rows are exact functions of the rows,
        so they are not kept: ask for those of rows of your own.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         how many rows have gaps (3 %, where values may be missing), the overall
                 mean (15 %), a typical distance (8 %, a noisy choice), then
                 ``max_iter`` rounds; with given starting centres as in KMeans.
    Bound        a fuzzy round: 1 for all weights together, because memberships add up
                 to one and so their powers add up to at most one; 1 (in units of a
                 released radius, enforced by pulling rows in) for all weighted
                 deviations together.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         everything else: centres follow from releases and public seeds.
    Not covered  choosing ``n_clusters`` or ``m`` by looking; ``memberships`` of
                 private rows.

    >>> from discreto import Domain, Number
    >>> cube = Domain({name: Number(-1, 1, missing=False) for name in "abcde"})
    >>> plan = FuzzyCMeans(3, epsilon=1, max_iter=2).plan(cube)
    >>> [ask.sensitivity for ask in plan][2:] == [(1, 2**30), (2**30, 2**30)]
    True
    >>> sum(ask.cost.epsilon for ask in plan) == plan.total.epsilon == 1
    True

    Examples
    --------
    >>> from discreto.testing import simulate
    >>> rows = np.repeat([[0.2, 0.3], [0.8, 0.7]], 500, axis=0)
    >>> model = FuzzyCMeans(2, epsilon=1, bounds=(0, 1), ledger=simulate(1))
    >>> chances = model.fit(rows).memberships([[0.5, 0.5], [0.2, 0.3]])
    >>> bool(chances[0].max() < 0.8 and chances[1].max() > 0.9)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        m: float = 2,
        init: Any = "auto",
        max_iter: int = 2,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _check(self, read: Reader) -> None:
        super()._check(read)
        self._power()

    def _power(self) -> float:
        """Return the fuzzifier as a number."""
        wanted = "a number above 1 (1.001 to 100; 2 is usual)"
        return Reader(self).number("m", 1.001, 100, wanted=wanted)

    def _query(self, search: Search, centres: Floats, radius: float) -> Sum:
        points, power = as_points(centres), self._power()
        share = search.count_share(0.1)
        weights = FuzzyWeights(search.names, points, power)
        pulls = FuzzyPulls(search.names, points, power, radius, search.norm)
        blocks = (Block(weights, share=share), Block(pulls, share=1 - share))

        def counted(columns: tuple[str, ...]) -> FuzzyPresence:
            return FuzzyPresence(search.names, points, power, columns)

        return Sum(Everyone(), search.gaps.beside(blocks, counted))

    def memberships(self, X: Any) -> NDArray[Any]:
        """Return the membership of each row in each cluster; they add up to one.

        A missing number is left out of the distances. A row without any value is in
        all clusters alike.

        Returns
        -------
        array
            One line for each row, one column for each cluster.
        """
        return self._soft(self._unit(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster in which each row has the largest membership.

        Returns
        -------
        array
            The number of a cluster for each row.
        """
        return self.memberships(X).argmax(axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the fuzzy inertia of the given rows, in squared half-ranges.

        Parameters
        ----------
        y
            Not used; for pipelines.
        """
        warn_of_fitted_rows(self, X, y)
        rows = self._unit(X)
        far = np.nansum((rows[:, None, :] - self._centres[None, :, :]) ** 2, axis=2)
        return -float((self._soft(rows) ** self._power() * far).sum())

    def _soft(self, rows: Floats) -> Floats:
        columns = np.ascontiguousarray(rows.T)
        return memberships_of(columns, self._centres, self._power()).T

    def reference(self) -> PlainFuzzyCMeans:
        """Return the model without privacy, for columns on [-1, 1]."""
        return PlainFuzzyCMeans(
            self.n_clusters, self.m, self.init, self.max_iter, self.random_state
        )


class PlainFuzzyCMeans:
    """Bezdek's fuzzy c-means without privacy, to compare with.

    ``init='auto'`` starts from random rows. There is none in scikit-learn.
    """

    def __init__(
        self,
        n_clusters: int,
        m: float = 2,
        init: Any = "auto",
        max_iter: int = 100,
        random_state: Seed = None,
    ) -> None:
        self.n_clusters, self.m, self.init = n_clusters, m, init
        self.max_iter, self.random_state = max_iter, random_state

    def fit(self, X: Any, y: Any = None) -> PlainFuzzyCMeans:
        """Alternate memberships and weighted means for ``max_iter`` rounds."""
        rows = np.asarray(X, dtype=float)
        if isinstance(self.init, str):
            order = generator(self.random_state).permutation(len(rows))
            centres = rows[order[: self.n_clusters]]
        else:
            centres = np.asarray(self.init, dtype=float)
        for _ in range(self.max_iter):
            self.cluster_centers_ = centres
            weights = self.memberships(rows) ** self.m
            centres = (weights.T @ rows) / weights.sum(axis=0)[:, None]
        self.cluster_centers_ = centres
        return self

    def memberships(self, X: Any) -> NDArray[Any]:
        """u_ij = 1 / sum_l (|x_i - c_j| / |x_i - c_l|)^(2 / (m - 1))."""
        gaps = np.asarray(X, float)[:, None, :] - self.cluster_centers_[None, :, :]
        far = np.maximum(np.sqrt((gaps**2).sum(axis=2)), 1e-15)
        ratios = far[:, :, None] / far[:, None, :]
        return 1 / (ratios ** (2 / (self.m - 1))).sum(axis=2)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster with the largest membership."""
        return self.memberships(X).argmax(axis=1)
