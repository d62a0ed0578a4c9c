"""Rows of numbers and categories, perturbed column by column."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from discreto.core.domain.domain import Domain, Number
from discreto.errors import DomainError, ParameterError
from discreto.local._base import RowTransformer, frame_of, known_columns, like
from discreto.models.base.features import as_matrix
from discreto.release.release import Release
from discreto.table.table import Table


class LocalSanitizer(RowTransformer):
    """Every value of every row gets noise of its own; any model may follow.

    Numbers are clipped to their public bounds and get staircase or Laplace noise on a
    grid of 2^20 steps of half their range; categories get randomised response.
    ``transform`` perturbs *always*, also in a pipeline's ``predict``: use
    :class:`LocalLearner` to train on perturbed rows and predict clear ones.

    Parameters
    ----------
    domain
        The public bounds and categories. A frame may have any of its columns, other
        columns are dropped; an array has all of them, with or without the target.
    epsilon
        What one transform costs a row, shared by the columns. A column takes no more
        than 256; what it cannot use is not spent.
    bounds
        Instead of a domain, for numbers: ``(low, high)``, or one pair of lists.
    mechanism
        ``"staircase"`` or ``"laplace"``, or a dict of them by column.
    weights
        How columns share epsilon, by name; equally (1 each) by default.
    ledger
        Who pays for arrays and frames; a Table pays from its own. Without one every
        transform is paid by a ledger of its own.

    Notes
    -----
    Privacy

    Neighbours   one row replaced by another; the number of rows is public.
    Guarantee    local: each row's output is ε-private whatever the others are and
                 its collector. The holder of each row could run it alone.
    Bound        a value moves by its whole public range at most; column j gets
                 ε w_j / Σ w, so the columns of a row cost ε together.
    Composition  everything is charged before a row is touched.
    Free         ``mean``, ``frequencies``, and any model of the perturbed rows.
    Not covered  perturbing the same rows again: every transform costs ε once more.

    >>> from discreto import Category, Domain, Number
    >>> domain = Domain({"age": Number(0, 100), "sex": Category(["f", "m"])})
    >>> cleaner = LocalSanitizer(domain, epsilon=3, weights={"age": 2})
    >>> {n: str(e) for n, (_, e) in cleaner.fit().columns_.items()}
    {'age': '2', 'sex': '1'}

    Examples
    --------
    >>> from discreto.testing import simulate
    >>> cleaner = LocalSanitizer(domain, epsilon=4, ledger=simulate())
    >>> rows = np.array([[20, "f"], [60, "m"]] * 500, dtype=object)
    >>> out = cleaner.fit_transform(rows)
    >>> 30 < float(cleaner.mean(out, "age")) < 50
    True
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any,
        bounds: Any = None,
        mechanism: Any = "staircase",
        weights: Any = None,
        ledger: Any = None,
    ) -> None:
        self.domain = domain
        self.epsilon = epsilon
        self.bounds = bounds
        self.mechanism = mechanism
        self.weights = weights
        self.ledger = ledger

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Settle columns and shares. Reads names and shapes, never a value.

        Parameters
        ----------
        X
            A Table, data frame or array, of which only names and shape are read.
        y
            Not used; for pipelines.

        Returns
        -------
        self
            Ready to ``transform``.
        """
        domain = self.domain
        if isinstance(X, Table):
            domain = X.domain if domain is None else domain
            names = known_columns(domain)
        elif domain is None and self.bounds is not None:
            domain = self._from_bounds(X)
            names = list(domain)
        else:
            names = self._names(X, domain)
        self._prepare(domain, names, self.mechanism, self.weights)
        return self

    def transform(self, X: Any) -> Any:
        """The rows perturbed: a frame like ``X``, or an array; of a Table, a dict.

        Parameters
        ----------
        X
            A Table, a data frame or a 2-d array.

        Privacy
        -------
        Each row is perturbed on its own; a row costs ``epsilon`` over all its columns.
        """
        if not hasattr(self, "columns_"):
            self._perturb({})
        if isinstance(X, Table):
            return self._perturb(X)
        names = list(self.columns_)
        frame = frame_of(X)
        if frame is not None:
            columns = {
                n: frame.get_column(n).to_numpy() for n in names if n in frame.columns
            }
        else:
            array = as_matrix(X)
            self._check_width(array)
            columns = dict(zip(names, array.T, strict=True))
        if len(columns) != len(names):
            raise ParameterError(
                f"X does not have the {len(names)} columns that were fitted: "
                f"{', '.join(names)}."
            )
        return like(X, self._perturb(columns))

    def mean(self, responses: Any, column: str) -> Release:
        """The true mean of a Number column, with a 95 % interval over the noise. Free.

        Values outside the bounds count as clipped, missing ones as the middle.

        Parameters
        ----------
        responses
            What ``transform`` returned.
        column
            The name of a Number column.
        """
        return self._mean(self._column(responses, column), column)

    def frequencies(self, responses: Any, column: str) -> Release:
        """Return the true shares of a Category column, with 95 % intervals. Free.

        Parameters
        ----------
        responses
            What ``transform`` returned.
        column
            The name of a Category column.
        """
        return self._frequencies(self._column(responses, column), column)

    def _column(self, responses: Any, name: str) -> Any:
        if name not in self.columns_:
            raise ParameterError(f"{name!r} is not one of the perturbed columns.")
        if isinstance(responses, dict):
            return responses[name]
        frame = frame_of(responses)
        if frame is not None:
            return frame.get_column(name).to_numpy()
        return as_matrix(responses)[:, list(self.columns_).index(name)]

    def _names(self, X: Any, domain: Any) -> list[str]:
        names = known_columns(domain)
        if X is None:
            return names
        frame = frame_of(X)
        if frame is not None:
            return [name for name in names if name in frame.columns]
        width = self._matrix_to_fit(X).shape[1]
        if width == len(names) - 1 and domain.target in names:
            names.remove(domain.target)
        if width != len(names):
            raise ParameterError(
                f"X has {width} columns, the domain {len(names)}: {', '.join(names)}."
            )
        return names

    def _from_bounds(self, X: Any) -> Domain:
        if X is None:
            raise ParameterError("fit needs X to know how many columns there are.")
        frame = frame_of(X)
        if frame is not None:
            names = list(frame.columns)
        else:
            names = [f"x{i}" for i in range(self._matrix_to_fit(X).shape[1])]
        try:
            low, high = (
                np.broadcast_to(np.asarray(end, dtype=float), len(names))
                for end in self.bounds
            )
        except (TypeError, ValueError):
            raise DomainError(
                "bounds must be (low, high): two numbers, or two lists with one number "
                f"for each of the {len(names)} columns."
            ) from None
        ends = zip(names, low.tolist(), high.tolist(), strict=True)
        return Domain({name: Number(a, b) for name, a, b in ends})
