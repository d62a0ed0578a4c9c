"""The three kinds of models: clusterers, classifiers, regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from discreto.core.domain.domain import Category, Domain, Number
from discreto.errors import DomainError, ParameterError
from discreto.models.base.arrays import spans
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.process_facts import warn_of_fitted_rows
from discreto.table.table import Table


class PrivateClusterer(ClusterMixin, PrivateEstimator):
    """A model without a target. Training rows get no labels: those would be exact."""

    _needs_target = False

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> NDArray[Any]:
        """Fit, then predict the same rows, which the caller has anyway.

        Parameters
        ----------
        X
            A data frame or a 2-d array.
        y
            Not used; for pipelines.
        options
            Not used.

        Returns
        -------
        array
            The number of a cluster for each row.
        """
        if isinstance(X, Table):
            raise ParameterError(
                "labels of a Table's rows are private. Use fit(table), then predict "
                "rows of your own."
            )
        return self.fit(X).predict(X)


class _Scored(PrivateEstimator):
    """Base of models that scikit-learn's mixins score on rows of the caller."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return scikit-learn's score on rows of your own: right classes, or R²."""
        if isinstance(X, Table):
            raise ParameterError(
                "an exact score of a Table's rows would be private. Measure the model "
                "for a price: discreto.models.evaluate(model, table, epsilon=0.5)."
            )
        warn_of_fitted_rows(self, X, y)
        return float(super().score(X, y, sample_weight))


class PrivateClassifier(_Scored, ClassifierMixin, PrivateEstimator):
    """A model of a Category target with declared classes."""

    def _check_target(self, domain: Domain, target: str) -> None:
        if not isinstance(domain[target], Category):
            raise DomainError(
                f"{type(self).__name__} needs a Category target; {target!r} is a "
                f"Number. Declare its classes: Category([...])."
            )

    def _target_column(self, y: Any) -> Category:
        classes = self.classes
        if classes is None:
            self._leak("classes", "classes=[0, 1]")
            # From here on this is a simulation, in which errors may look at rows.
            assert_all_finite(np.asarray(y), input_name="y")
            check_classification_targets(y)
            classes = np.unique(np.asarray(y)).tolist()
        return Category(tuple(_plain(value) for value in classes))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row. Free: it uses released numbers.

        Returns
        -------
        array
            One class for each row.
        """
        chances = self.predict_proba(X)
        return self.classes_[np.argmax(chances, axis=1)]

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class. Free: it uses released numbers only.

        Returns
        -------
        array
            One line for each row, one column for each class.
        """
        raise NotImplementedError


class PrivateRegressor(_Scored, RegressorMixin, PrivateEstimator):
    """A model of a Number target with declared bounds."""

    def _check_target(self, domain: Domain, target: str) -> None:
        if not isinstance(domain[target], Number):
            raise DomainError(
                f"{type(self).__name__} needs a Number target; {target!r} is a "
                "Category."
            )

    def _target_column(self, y: Any) -> Number:
        if self.target_bounds is None:
            self._leak("target_bounds", "target_bounds=(0, 100)")
            assert_all_finite(np.asarray(y, dtype=float), input_name="y")
            low, high = spans([np.asarray(y, dtype=float)])
            return Number(float(low[0]), float(high[0]))
        low, high = self.target_bounds
        return Number(float(low), float(high))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the target of each row. Free: it uses released numbers only.

        Returns
        -------
        array
            One number for each row, within the bounds of the target.
        """
        raise NotImplementedError


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
