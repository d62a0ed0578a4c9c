"""S0: nearest neighbours whose votes get Laplace noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from discreto.core.cost import Amount
from discreto.errors import ParameterError
from discreto.lab.published._noise import FloatNoise, amount
from discreto.lab.published._printed import printed

_BLOCK = 1 << 22  # distances held at a time


@printed(
    "S0",
    "encoding of attributes that are not numbers",
    "1c",
    claim="none; the step is left out of the budget",
    add_remove="∞: codes follow the order in which values first appear",
    replace="∞",
    ours="discreto.Category",
)
def factorize(values: ArrayLike, *, ledger: Any) -> NDArray[np.int64]:
    """Number the values of a column 0, 1, 2, ... in the order of first appearance.

    The slides call ``pandas.factorize``; they speak of codes 1 to n, the call counts
    from 0. One row in front renames every code.
    """
    FloatNoise(ledger, "factorize")
    _, first, codes = np.unique(
        np.asarray(values), return_index=True, return_inverse=True
    )
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[codes.reshape(-1)]


@printed(
    "S0",
    "pseudo-code, steps 2 to 7",
    "1, 1b, 1c",
    claim="ε, with Δ = 1, for any number of test points",
    add_remove="∞ with classes read from the labels; with public classes 2ε for each "
    "test point (limit), so 2mε for m",
    replace="as add/remove",
    ours="discreto.models.RadiusNeighborsClassifier",
)
class KNNVotes(ClassifierMixin, BaseEstimator):
    """k nearest neighbours, Laplace(1/ε) on each class's votes, the largest wins.

    One row that comes in pushes the k-th neighbour out, so one count rises by one and
    another falls by one. Every test point asks the training rows anew.

    Parameters
    ----------
    n_neighbors
        The number k of neighbours that vote.
    epsilon
        Sets the scale b = 1/ε. None: the traditional vote without noise.
    classes
        None: the classes found in the training labels, as printed. A list: public
        classes, which leaves the votes themselves as the only fault.
    ledger
        A simulation ledger.
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        epsilon: Amount | None = 1,
        classes: ArrayLike | None = None,
        ledger: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon
        self.classes = classes
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike) -> KNNVotes:
        """Keep the training rows in memory."""
        if self.n_neighbors < 1:
            raise ParameterError(
                f"KNNVotes: n_neighbors must be 1 or more. Got {self.n_neighbors}."
            )
        FloatNoise(self.ledger, "KNNVotes.fit")
        labels = np.asarray(y)
        self.classes_ = np.unique(labels if self.classes is None else self.classes)
        self._codes = np.searchsorted(self.classes_, labels)
        self._rows = np.asarray(X, dtype=np.float64)
        return self

    def votes(self, X: ArrayLike) -> NDArray[np.int64]:
        """The true votes: one line for each test point, one column for each class."""
        points = np.asarray(X, dtype=np.float64)
        counts = np.zeros((len(points), len(self.classes_)), dtype=np.int64)
        keep = min(self.n_neighbors, len(self._rows))
        if keep == 0:
            return counts
        step = max(1, _BLOCK // max(1, len(self._rows)))
        for start in range(0, len(points), step):
            part = points[start : start + step]
            far = np.zeros((len(part), len(self._rows)))
            for mine, theirs in zip(part.T, self._rows.T, strict=True):
                far += (mine[:, None] - theirs) ** 2
            nearest = np.argsort(far, axis=1, kind="stable")[:, :keep]
            lines = np.repeat(np.arange(start, start + len(part)), keep)
            np.add.at(counts, (lines, self._codes[nearest].reshape(-1)), 1)
        return counts

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with the most noisy votes, for each test point."""
        noise = FloatNoise(self.ledger, "KNNVotes.predict")
        votes = self.votes(X).astype(np.float64)
        if self.epsilon is not None:
            votes += noise.laplace(1 / amount(self.epsilon), votes.shape)
        return self.classes_[np.argmax(votes, axis=1)]
