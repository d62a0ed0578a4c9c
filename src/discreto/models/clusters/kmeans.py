"""Private k-means: noisy counts and deviations, a few rounds from a noisy start."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Charger
from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import keep_all
from discreto.models.base.process_facts import warn_of_fitted_rows
from discreto.models.clusters.centroids import distances_of
from discreto.models.clusters.rounds import CentreClusterer
from discreto.session.rng import Seed


class KMeans(CentreClusterer):
    """k-means whose centres are made of noisy sums.

    Distances are measured in half-ranges: every column is scaled to [-1, 1] by its
    public bounds first, and taken over the values that are there. A centre is the mean
    of the values that its rows have.

    Parameters
    ----------
    n_clusters : int, default=8
        How many centres. With too few rows for so many, the noise says so and the
        centres that cannot be told apart are put next to the largest clusters.
    init : 'auto' or array of shape (n_clusters, n_features), default='auto'
        Public starting centres, in the units of the columns. 'auto' pays for a noisy
        mean and a typical distance, and splits the rows by public random directions
        around that mean.
    max_iter : int, default=2
        How many rounds of noisy sums are paid for. Nothing is stopped early. With
        ``init='auto'`` the first round finds the starting centres: it splits the rows
        in up to eight cells for each cluster and merges them for free. There is no
        ``n_init``: another start would have to be paid for.
    shrink : bool, default=True
        ``False``: the textbook. Rows are never pulled in, and a centre moves to the
        noisy mean of its rows, however noisy: with given starting centres and without
        noise (``simulate(noise=False)``) these are Lloyd's steps.
    domain, bounds, ledger, random_state
        See :class:`~discreto.models.base.estimator.PrivateEstimator`.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres, in the units of the columns.
    cluster_sizes_ : array of shape (n_clusters,)
        How many rows each centre stands for, with noise. 0 for an extra centre.
    n_iter_ : int
        The number of rounds: ``max_iter``.
    privacy_ : Privacy
        What the fit cost. There are no ``labels_`` and no ``inertia_``: those of the
        training rows would be exact.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         where values may be missing, how many rows have gaps (3 %). Then the
                 overall mean (15 %), a typical distance (8 %, a noisy choice),
                 ``max_iter`` rounds. With given starting centres: the number of rows
                 (3 %), the distance (8 %), the rounds. If there are gaps, the mean
                 and the rounds also count the values of each column.
    Bound        a round: 1 for the counts, 1 (in units of a released radius, enforced
                 by pulling rows in) for the deviations. The mean: 1 for
                 the count and 1 for each column at once (cube noise). Counts of values:
                 1 for each column that may be missing, at once.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         everything else: centres follow from releases and public seeds.
    Not covered  choosing ``n_clusters`` by looking; ``predict`` on private rows.

    >>> from discreto import Domain, Number
    >>> cube = Domain({name: Number(-1, 1, missing=False) for name in "abcde"})
    >>> plan = KMeans(3, epsilon=1, max_iter=2).plan(cube)
    >>> step = 2**30  # grid steps of a half-range, and of the radius
    >>> [ask.sensitivity for ask in plan]
    [(1, 1073741824), (2,), (1, 1073741824), (1, 1073741824)]
    >>> step == 1073741824 and plan.total.epsilon == 1
    True
    >>> sum(ask.cost.epsilon for ask in plan) == 1
    True

    Examples
    --------
    >>> import numpy as np
    >>> from discreto.testing import simulate
    >>> rows = np.repeat([[0.2, 0.3], [0.8, 0.7]], 500, axis=0)
    >>> model = KMeans(2, epsilon=1, bounds=(0, 1), ledger=simulate(1), random_state=0)
    >>> centres = model.fit(rows).cluster_centers_
    >>> bool(np.abs(centres[model.predict(rows[:1])] - rows[0]).max() < 0.1)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        init: Any = "auto",
        max_iter: int = 2,
        shrink: bool = True,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def distances(self, X: Any) -> NDArray[Any]:
        """Return the distance of each row to each centre, in half-ranges.

        Returns
        -------
        array
            One line for each row, one column for each centre.
        """
        return distances_of(self._unit(X), self._centres)

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the inertia of the given rows, in squared half-ranges.

        What is missing adds nothing.

        Parameters
        ----------
        y
            Not used; for pipelines.
        """
        warn_of_fitted_rows(self, X, y)
        rows = self._unit(X)
        near = self._centres[self.predict(X)]
        return -float(np.nansum((rows - near) ** 2))

    def reference(self) -> Any:
        """Return the model without privacy, for columns on [-1, 1]."""
        start = "k-means++" if isinstance(self.init, str) else np.asarray(self.init)
        from sklearn.cluster import KMeans as Plain

        return Plain(
            self.n_clusters,
            init=start,
            n_init=1,
            max_iter=self.max_iter,
            tol=0,
            random_state=self.random_state,
        )
