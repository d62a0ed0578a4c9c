"""Private k-means: noisy counts and sums, a few steps from public starting points."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreto.errors import ParameterError
from discreto.kernel.query import Block, Sum
from discreto.models._base import PrivateClusterer
from discreto.models._space import Space
from discreto.planning import Ask, coins
from discreto.queries import Nearest, Ones, Values
from discreto.queries.features import SUM_BITS


class KMeans(PrivateClusterer):
    """k-means whose centres are made of noisy sums."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Any,
        delta: Any = 0,
        max_iter: int = 3,
        domain: Any = None,
        bounds: Any = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.max_iter = max_iter
        self.domain = domain
        self.bounds = bounds
        self.ledger = ledger
        self.random_state = random_state

    def _learn(self, ask: Ask, space: Space) -> None:
        if not isinstance(self.n_clusters, int) or self.n_clusters < 1:
            raise ParameterError(
                "KMeans: n_clusters must be a whole number from 1 up. "
                f"Got {self.n_clusters!r}."
            )
        names = space.only_numbers("KMeans").numbers
        centres = coins(self.random_state).uniform(
            -0.5, 0.5, (self.n_clusters, len(names))
        )
        blocks = (
            Block(Ones(), share=Fraction(1, 5)),
            Block(Values(names), share=Fraction(4, 5)),
        )
        for step in range(self.max_iter):
            cells = Nearest(names, tuple(map(tuple, centres.tolist())))
            answer = ask.measure(
                Sum(cells, blocks), f"step {step + 1}", Fraction(1, self.max_iter)
            )
            counts = np.maximum(answer.tables[0], 1)
            sums = answer.tables[1] / float(1 << SUM_BITS)
            centres = np.clip(sums / counts, -1, 1)
        self._centres = centres
        self.n_iter_ = self.max_iter
        self.cluster_centers_ = space.unscale(centres)

    def predict(self, X: Any) -> Any:
        """The nearest centre of each row."""
        X = self._rows(X)
        far = (
            (self.space_.matrix(X)[:, None, :] - self._centres[None, :, :]) ** 2
        ).sum(axis=2)
        return far.argmin(axis=1)
