"""The base of local transformers: public columns in, perturbed columns out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from discreto.core.cost import Cost, read_amount
from discreto.core.domain.domain import Domain, Opaque
from discreto.core.maps.cells import MISSING
from discreto.data.native_frames import frame_of, like
from discreto.errors import DomainError, ParameterError
from discreto.local._estimates import counts_of, frequencies, mean
from discreto.local._noise import (
    MOST_EPSILON,
    NoiseSpread,
    Response,
    answers,
    mechanism_for,
    perturb,
)
from discreto.models.base.features import as_matrix
from discreto.models.base.ledgers import own_ledger
from discreto.release.release import Release
from discreto.table.table import Table


class RowTransformer(TransformerMixin, BaseEstimator):
    """A transformer whose output is private, row by row.

    ``fit`` reads names and shapes only. ``transform`` perturbs whatever it is given,
    every time, and every time it costs ``epsilon`` for the rows it is given.
    """

    def _prepare(
        self, domain: Domain, names: list[str], wanted: Any, weights: Any
    ) -> None:
        """Settle what each column gets; refuses whatever can be refused."""
        epsilon = Cost.of(self.epsilon).epsilon
        weights = {} if weights is None else dict(weights)
        unknown = [n for n in weights if n not in names]
        if unknown:
            raise ParameterError(f"weights name {unknown[0]!r}, which is not a column.")
        parts = {n: read_amount(weights.get(n, 1), f"weight of {n}") for n in names}
        whole = sum(parts.values(), Fraction(0))
        kinds = wanted if isinstance(wanted, dict) else dict.fromkeys(names, wanted)
        plan = {}
        for name in names:
            kind = mechanism_for(domain, name, kinds.get(name, "staircase"))
            part = epsilon * parts[name] / whole
            plan[name] = (kind, min(part, Fraction(MOST_EPSILON)))
        self.domain_ = domain.select(names)
        self.columns_ = plan
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)

    def _perturb(self, columns: Any) -> dict[str, Any]:
        """Columns of a Table or a dict, perturbed and paid for."""
        check_is_fitted(self, "columns_")
        label = f"{type(self).__name__} of rows"
        if isinstance(columns, Table):
            return perturb(columns, self.columns_, label)
        rows = len(next(iter(columns.values())))
        if not rows:
            return {name: np.empty(0) for name in self.columns_}
        ledger = self.ledger
        if ledger is None:
            ledger = own_ledger(self, self.epsilon)
        domain = self.domain_.with_(neighbours="replace", rows=rows)
        return perturb(Table(columns, domain, ledger), self.columns_, label)

    def _matrix_to_fit(self, X: Any) -> Any:
        """Return a 2-d array with a row in it; how many there are is public here."""
        array = as_matrix(X)
        if not len(array):
            raise ParameterError(
                "Found array with 0 sample(s) while a minimum of 1 is required."
            )
        return array

    def _check_width(self, array: Any) -> None:
        if array.shape[1] != self.n_features_in_:
            raise ParameterError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.non_deterministic = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns, which stay as they are.

        Parameters
        ----------
        input_features
            Not used; for pipelines.
        """
        check_is_fitted(self, "columns_")
        return self.feature_names_in_

    def _frequencies(self, responses: Any, name: str) -> Release:
        column = self.domain_.category(name)
        keys = answers(column)
        law = Response.of(self.columns_[name][1], len(keys))
        shown = [MISSING if key is None else key for key in keys]
        out = frequencies(
            f"frequencies of {name}", counts_of(responses, keys), law, shown
        )
        return self._marked(out, name)

    def _mean(self, responses: Any, name: str) -> Release:
        column = self.domain_.number(name)
        law = NoiseSpread.of(*self.columns_[name])
        ends = (column.lower, column.upper)
        out = mean(f"mean of {name}", responses, law, *ends, column.unit)
        return self._marked(out, name)

    def _marked(self, release: Release, name: str) -> Release:
        """Return the release with what was paid when the rows were perturbed."""
        cost = Cost(epsilon=self.columns_[name][1])
        return replace(release, cost=cost, neighbours="replace", note="local")


def known_columns(domain: Any) -> list[str]:
    """Return the columns of a domain that can be perturbed."""
    if not isinstance(domain, Domain):
        raise DomainError(
            "perturbing rows needs public bounds and categories: give a Domain, or "
            "bounds=(low, high)."
        )
    return [n for n, c in domain.columns.items() if not isinstance(c, Opaque)]


__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "MetaEstimatorMixin",
    "RowTransformer",
    "check_is_fitted",
    "clone",
    "frame_of",
    "known_columns",
    "like",
]
