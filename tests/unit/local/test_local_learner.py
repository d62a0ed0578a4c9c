"""A local learner sees perturbed rows and nothing else."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from discreto.local import LocalLearner
from discreto.testing import simulate


class Keeps(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what it was given."""

    def fit(self, X, y):
        self.seen_ = np.array(X), np.array(y)
        self.classes_ = np.unique(y)
        return self


def test_features_and_classes_are_perturbed():
    coins = np.random.default_rng(0)
    X, y = coins.random((300, 2)), coins.integers(0, 4, 300)
    learner = LocalLearner(
        Keeps(), epsilon="0.1", bounds=(0, 1), classes=[0, 1, 2, 3], ledger=simulate(1)
    )
    features, classes = learner.fit(X, y).estimator_.seen_
    # With so little epsilon about a quarter of the classes are right by chance.
    assert 0.1 < (classes == y).mean() < 0.5
    assert (features != X).all()
    assert (np.abs(features - X) > 0.5).mean() > 0.8
