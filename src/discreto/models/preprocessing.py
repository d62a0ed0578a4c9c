"""Transformers that learn nothing: they scale and encode by what is public.

A ``MinMaxScaler`` or ``OneHotEncoder`` that is fitted to private rows carries their
smallest and largest values, and who occurs at all, into everything that follows. These
two take bounds and categories from a :class:`~discreto.Domain` instead, so they cost
nothing and leak nothing. All that they give lies in [0, 1], so a model that follows
needs no more than ``bounds=(0, 1)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreto.core.domain.domain import Category, Domain, Number
from discreto.errors import DomainError
from discreto.models.base.features import Space, as_matrix, columns_of


class _PublicTransformer(TransformerMixin, BaseEstimator):
    """Names and shapes are read when it is fitted, and never a value."""

    _kind: type  # of the columns that it takes
    _wanted: str  # public facts that it needs

    def __init__(self, domain: Any = None) -> None:
        self.domain = domain

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read names and shape; no value is looked at.

        Parameters
        ----------
        X
            A data frame, or an array with the columns of the domain that are taken:
            those with bounds by a scaler, those with categories by an encoder.
        y
            Not used; for pipelines.

        Returns
        -------
        self
            Ready to ``transform``.
        """
        kind, wanted = self._kind, self._wanted
        if not isinstance(self.domain, Domain):
            raise DomainError(
                f"{type(self).__name__} needs a Domain with public {wanted}: "
                f"{type(self).__name__}(domain)."
            )
        known = [n for n, c in self.domain.columns.items() if isinstance(c, kind)]
        if not hasattr(X, "columns"):
            as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        given = getattr(self, "feature_names_in_", None)
        names = [n for n in known if n != self.domain.target]
        if given is None and self.n_features_in_ == len(known):
            names = known  # an array with the target among its columns
        self.columns_ = names if given is None else [str(name) for name in given]
        for name in self.columns_:
            if name not in known:
                raise DomainError(
                    f"{type(self).__name__} takes columns with {wanted}; {name!r} is "
                    "none in the domain. A ColumnTransformer gives each its own."
                )
        columns_of(X, self.columns_)  # refuses an array of another width
        return self

    def _batch(self, X: Any) -> dict[str, NDArray[Any]]:
        check_is_fitted(self, "columns_")
        if not hasattr(X, "columns"):
            as_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        batch, _ = Space(self.domain, tuple(self.columns_)).batch(X)
        return batch

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.no_validation = False
        return tags


class PublicScaler(OneToOneFeatureMixin, _PublicTransformer):
    """Number columns on [0, 1], by their public bounds.

    Parameters
    ----------
    domain
        The public bounds. Values outside of them count as the bound; missing values
        stay missing.

    Notes
    -----
    Privacy

    Nothing is learned from rows: each row is scaled by public bounds. It costs nothing,
    and a pipeline with it is as private as the model at its end.

    Examples
    --------
    >>> scaler = PublicScaler(Domain({"age": Number(0, 120)}))
    >>> scaler.fit_transform([[30.0], [240.0]]).tolist()
    [[0.25], [1.0]]
    """

    _kind, _wanted = Number, "bounds"

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the columns on [0, 1].

        Parameters
        ----------
        X
            A data frame or an array with the columns of the fit.
        """
        batch, out = self._batch(X), []
        for name in self.columns_:
            column = self.domain.number(name)
            width = column.upper - column.lower
            out.append(np.clip((batch[name] - column.lower) / width, 0, 1))
        return np.column_stack(out)


class PublicOneHotEncoder(_PublicTransformer):
    """Category columns as zeros and ones, one column for each public category.

    Parameters
    ----------
    domain
        The public categories. A value that is not among them is all zeros; where the
        domain says that values may be missing, that has a column of its own.

    Notes
    -----
    Privacy

    Nothing is learned from rows: which columns come out is public. It costs nothing,
    and a pipeline with it is as private as the model at its end.

    Examples
    --------
    >>> domain = Domain({"sex": Category(["f", "m"], missing=False)})
    >>> encoder = PublicOneHotEncoder(domain)
    >>> encoder.fit_transform([["m"], ["?"]]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    >>> encoder.get_feature_names_out().tolist()
    ['sex_f', 'sex_m']
    """

    _kind, _wanted = Category, "categories"

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return zeros and ones.

        Parameters
        ----------
        X
            A data frame or an array with the columns of the fit.
        """
        batch, out = self._batch(X), []
        for name in self.columns_:
            count = len(self._kinds(name))
            out.append(batch[name][:, None] == np.arange(count)[None, :])
        return np.hstack(out).astype(float)

    def _kinds(self, name: str) -> Sequence[Any]:
        column = self.domain.category(name)
        return (*column.categories, *(("missing",) if column.missing else ()))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each column that comes out: ``sex_f``, ``sex_m``.

        Parameters
        ----------
        input_features
            Not used; for pipelines.
        """
        check_is_fitted(self, "columns_")
        names = [f"{n}_{kind}" for n in self.columns_ for kind in self._kinds(n)]
        return np.array(names, dtype=object)


__all__ = ["PublicOneHotEncoder", "PublicScaler"]
