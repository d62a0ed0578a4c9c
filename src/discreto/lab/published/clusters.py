"""S3 and S4: fuzzy c-means and k-means with noise in every step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin

from discreto.core.cost import Amount
from discreto.errors import ParameterError
from discreto.lab.published._noise import FloatNoise, Floats, amount
from discreto.lab.published._printed import printed
from discreto.lab.published.statistics import BOTH


def _squared(rows: Floats, centres: Floats) -> Floats:
    return ((rows[:, None, :] - centres) ** 2).sum(axis=2)


@printed(
    "S3",
    "algorithm 6 (algorithm 5 without noise)",
    "13",
    claim="ε",
    add_remove="ε·d / (3(d + 2)) for rows in [0, 1], if centres alone leave; ∞ with "
    "the memberships of the rows",
    replace="as add/remove",
    holds=BOTH,
    ours="discreto.models.FuzzyCMeans",
)
class PrintedFuzzyCMeans(ClusterMixin, BaseEstimator):
    """Fuzzy c-means: noise on distances and on centres, ε' = ε/(tc(2 + d)) each.

    Distances get Laplace(3√d/ε'), centres Laplace(3/ε'): a scale of 240 for t = 10,
    c = 2, d = 2 and ε = 1, on coordinates in [0, 1]. What comes out is a random corner.
    The exponent is 1/(m - 1) with noise and 2/(m - 1) without, both as printed.

    Parameters
    ----------
    n_clusters, max_iter
        c and t.
    epsilon
        None: algorithm 5, without noise.
    fuzzifier
        m. 1/(m - 1) must be whole: noisy distances may be below zero.
    ledger
        A simulation ledger.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        epsilon: Amount | None = 1,
        max_iter: int = 10,
        fuzzifier: float = 2.0,
        ledger: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.fuzzifier = fuzzifier
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: Any = None) -> PrintedFuzzyCMeans:
        """Run t steps from random memberships or random centres."""
        power = 1 / (self.fuzzifier - 1)
        if abs(power - round(power)) > 1e-9:
            raise ParameterError(
                "FuzzyCMeans: 1/(fuzzifier - 1) must be a whole number, or distances "
                f"below zero have no power. Got fuzzifier={self.fuzzifier}."
            )
        noise = FloatNoise(self.ledger, "FuzzyCMeans")
        rows = np.asarray(X, dtype=np.float64)
        steps = self._plain if self.epsilon is None else self._noisy
        self.cluster_centers_ = steps(rows, noise)
        return self

    def _plain(self, rows: Floats, noise: FloatNoise) -> Floats:
        weights = noise.random.dirichlet(np.ones(self.n_clusters), len(rows))
        centres = self._weighted(rows, weights)
        for _ in range(self.max_iter - 1):
            centres = self._weighted(rows, self._memberships(rows, centres))
        return centres

    def _noisy(self, rows: Floats, noise: FloatNoise) -> Floats:
        clusters, d = self.n_clusters, rows.shape[1]
        part = amount(self.epsilon or 1) / (self.max_iter * clusters * (2 + d))
        power = round(1 / (self.fuzzifier - 1))
        centres: Floats = noise.random.random((clusters, d))
        for _ in range(self.max_iter):
            far = np.sqrt(_squared(rows, centres))
            far += noise.laplace(3 * np.sqrt(d) / part, far.shape)
            far[far == 0] = np.finfo(float).tiny
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                ratio = (far[:, :, None] / far[:, None, :]) ** power
                weights = np.nan_to_num(1 / ratio.sum(axis=2))
            weights = np.clip(weights, 0.0, 1.0)
            sums = weights.sum(axis=1, keepdims=True)
            weights = np.where(
                sums > 0, weights / np.where(sums > 0, sums, 1), 1 / clusters
            )
            centres = self._weighted(rows, weights)
            centres += noise.laplace(3 / part, centres.shape)
            centres = np.clip(centres, 0.0, 1.0)
        return centres

    def _weighted(self, rows: Floats, weights: Floats) -> Floats:
        mass = weights**self.fuzzifier
        sums = np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
        return (mass.T @ rows) / sums[:, None]

    def _memberships(self, rows: Floats, centres: Floats) -> Floats:
        far = np.maximum(_squared(rows, centres), 1e-300)
        inverse = (far.min(axis=1, keepdims=True) / far) ** (1 / (self.fuzzifier - 1))
        return inverse / inverse.sum(axis=1, keepdims=True)

    def memberships(self, X: ArrayLike) -> Floats:
        """How far each row belongs to each cluster (3.15), from the centres alone."""
        rows = np.asarray(X, dtype=np.float64)
        return self._memberships(rows, self.cluster_centers_)

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The nearest centre."""
        return _nearest(np.asarray(X, dtype=np.float64), self.cluster_centers_)


def _nearest(rows: Floats, centres: Floats) -> NDArray[np.intp]:
    return np.argmin(_squared(rows, centres), axis=1)


@printed(
    "S4",
    "simplified ε-DP k-means",
    "16",
    claim="ε",
    add_remove="ε, if rows are in [0, r] and the start comes from the box; ∞ for a "
    "start from the rows, or with their labels",
    replace="2ε",
    holds=("add-remove",),
    ours="discreto.models.KMeans",
)
class PrintedKMeans(ClusterMixin, BaseEstimator):
    """k-means: counts get Laplace(2t/ε), sums Laplace(2drt/ε), in each of t steps.

    A noisy count may come out near zero or below it; nothing is done about that.

    Parameters
    ----------
    n_clusters, max_iter
        k and t.
    epsilon
        None: no noise.
    high
        r: all coordinates are taken to be in [0, r].
    init
        "box": random points of [0, r]^d. "rows": random rows, which costs ∞.
    ledger
        A simulation ledger.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        epsilon: Amount | None = 1,
        max_iter: int = 5,
        high: float = 1.0,
        init: str = "box",
        ledger: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.high = high
        self.init = init
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: Any = None) -> PrintedKMeans:
        """Run t steps, or fewer if the centres stand still."""
        noise = FloatNoise(self.ledger, "KMeans")
        rows = np.asarray(X, dtype=np.float64)
        centres = self._start(rows, noise)
        for _ in range(self.max_iter):
            before = centres
            centres, self.counts_ = self._step(rows, centres, noise)
            if np.array_equal(before, centres):
                break
        self.cluster_centers_ = centres
        return self

    def _start(self, rows: Floats, noise: FloatNoise) -> Floats:
        if self.init == "rows":
            return rows[noise.random.choice(len(rows), self.n_clusters, replace=False)]
        return self.high * noise.random.random((self.n_clusters, rows.shape[1]))

    def _step(
        self, rows: Floats, centres: Floats, noise: FloatNoise
    ) -> tuple[Floats, Floats]:
        member = _nearest(rows, centres) == np.arange(self.n_clusters)[:, None]
        counts = member.sum(axis=1).astype(np.float64)
        sums = member.astype(np.float64) @ rows
        if self.epsilon is None:
            empty = counts[:, None] == 0
            return np.where(
                empty, centres, sums / np.maximum(counts, 1)[:, None]
            ), counts
        scale = 2 * self.max_iter / amount(self.epsilon)
        counts = counts + noise.laplace(scale, counts.size)
        sums = sums + noise.laplace(scale * rows.shape[1] * self.high, sums.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(sums / counts[:, None]), counts

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """The nearest centre."""
        return _nearest(np.asarray(X, dtype=np.float64), self.cluster_centers_)
