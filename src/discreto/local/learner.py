"""Any scikit-learn classifier, trained on rows that were perturbed before."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Domain
from discreto.data.frames import convert
from discreto.errors import DomainError, ParameterError
from discreto.local._base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    check_is_fitted,
    clone,
    frame_of,
)
from discreto.local.sanitizer import LocalSanitizer


class LocalLearner(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Perturb the features *and* the class of every row, then fit any classifier.

    Predictions are free and read clear rows. Without the class among the perturbed
    columns the training set would not be private at all.

    Parameters
    ----------
    estimator
        A scikit-learn classifier, for example ``GaussianNB()``.
    epsilon
        What one fit costs a row, shared equally by its d features and its class.
    bounds, classes
        The public bounds of the features and the public list of classes.
    domain
        Instead of both: a domain with a target.
    mechanism, weights, ledger
        As for :class:`LocalSanitizer`.

    Notes
    -----
    Privacy

    Neighbours   one row replaced by another; the number of rows is public.
    Guarantee    local: each training row is ε-private before the classifier sees it.
    Bound        ε / (d + 1) for each of d features and the class.
    Free         the fit of ``estimator`` and its predictions: post-processing.
    Not covered  choosing ``estimator`` by its score on clear rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from discreto.testing import simulate
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalLearner(
    ...     GaussianNB(), epsilon=50, bounds=(0, [8, 5, 7, 3]), classes=[0, 1, 2],
    ...     ledger=simulate(),
    ... )
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    >>> {str(e) for _, e in model.sanitizer_.columns_.values()}
    {'10'}
    """

    def __init__(
        self,
        estimator: Any,
        *,
        epsilon: Any,
        bounds: Any = None,
        classes: Any = None,
        domain: Any = None,
        mechanism: Any = "staircase",
        weights: Any = None,
        ledger: Any = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.bounds = bounds
        self.classes = classes
        self.domain = domain
        self.mechanism = mechanism
        self.weights = weights
        self.ledger = ledger

    def fit(self, X: Any, y: Any) -> Self:
        """Perturb the rows, pay, and fit the classifier on what is left of them.

        Parameters
        ----------
        X
            A data frame or a 2-d array of features.
        y
            The class of each row.

        Returns
        -------
        self
            The fitted learner.

        Privacy
        -------
        Every row is perturbed on its own before anything else happens, for ``epsilon``.
        """
        domain = self._domain(X)
        names, target = domain.features(), str(domain.target)
        columns = dict(zip(names, _columns(X, names), strict=True))
        columns[target] = np.asarray(y, dtype=object)
        if columns[target].shape != (len(columns[names[0]]),):
            raise ParameterError("y should be a 1d array with one value for each row.")
        cleaner = LocalSanitizer(
            domain,
            epsilon=self.epsilon,
            mechanism=self.mechanism,
            weights=self.weights,
            ledger=self.ledger,
        )
        out = cleaner.fit()._perturb(columns)
        kinds = domain.category(target).categories
        code = {kind: i for i, kind in enumerate(kinds)}
        # What came out as missing teaches nothing; it was perturbed as well.
        there = np.array([value is not None for value in out[target]], dtype=bool)
        labels = np.array(kinds)[[code[value] for value in out[target][there]]]
        features = np.column_stack([out[name] for name in names])[there]
        self.sanitizer_, self.domain_ = cleaner, domain
        self.estimator_ = clone(self.estimator).fit(features, labels)
        self.classes_ = self.estimator_.classes_
        self.n_features_in_ = len(names)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes of clear rows. Free.

        Parameters
        ----------
        X
            Rows to predict: a data frame or a 2-d array with the features of the fit.

        Returns
        -------
        array
            One class for each row.
        """
        return self.estimator_.predict(self._clear(X))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the classifier's probabilities for clear rows. Free.

        Parameters
        ----------
        X
            Rows to predict: a data frame or a 2-d array with the features of the fit.

        Returns
        -------
        array
            One line for each row, one column for each class.
        """
        return self.estimator_.predict_proba(self._clear(X))

    def _clear(self, X: Any) -> Any:
        """Rows in the terms of the domain, as the classifier was trained on."""
        check_is_fitted(self, "domain_")
        names, out = self.domain_.features(), []
        for name, values in zip(names, _columns(X, names), strict=True):
            column = self.domain_.number(name)
            numbers = convert(values, column, self.domain_.dialect)
            numbers = np.clip(numbers, column.lower, column.upper)
            out.append(np.where(np.isnan(numbers), column.centre, numbers))
        return np.column_stack(out)

    def _domain(self, X: Any) -> Domain:
        domain = self.domain
        if domain is None:
            if self.bounds is None or self.classes is None:
                raise DomainError(
                    "LocalLearner needs public bounds and classes: bounds=(0, 100), "
                    "classes=[0, 1], or a domain with a target."
                )
            cleaner = LocalSanitizer(epsilon=self.epsilon, bounds=self.bounds)
            columns = cleaner.fit(X).domain_.columns
            target = "y"
            while target in columns:
                target += "_"
            goal = {target: Category(tuple(self.classes), missing=False)}
            domain = Domain({**columns, **goal}, target=target)
        if domain.target is None:
            raise DomainError("the domain needs target='COLUMN' for a LocalLearner.")
        for name in domain.features():
            domain.number(name)
        return domain.select([*domain.features(), domain.target])


def _columns(X: Any, names: list[str]) -> list[Any]:
    frame = frame_of(X)
    if frame is not None:
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise DomainError(f"the table lacks the column {absent[0]!r}.")
        return [frame.get_column(name).to_numpy() for name in names]
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise ParameterError(f"X must be a 2D array with {len(names)} features.")
    return list(array.T)
