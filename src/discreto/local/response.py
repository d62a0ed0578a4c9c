"""Randomised response: a survey answer that its owner can always deny."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from discreto.core.cost import read_amount
from discreto.core.domain.domain import Category, Domain
from discreto.errors import ParameterError
from discreto.local._base import RowTransformer, check_is_fitted
from discreto.local._noise import Response
from discreto.models.base.features import as_matrix
from discreto.release.release import Release


class RandomizedResponse(RowTransformer):
    """Answers from a closed list, each kept or exchanged by chance (k-ary).

    An answer stays with probability e^ε / (e^ε + k - 1) and becomes any one of the
    other k - 1 with equal chance. ``two_coins`` gives the classical survey version.

    Parameters
    ----------
    categories
        The public list of answers.
    epsilon
        What one transform costs a row. Several columns share it equally.
    missing
        Whether "no answer" (None) is an answer of its own. If not, anything that is
        not in the list counts as its last answer.
    ledger
        Who pays; without one every transform is paid by a ledger of its own.

    Attributes
    ----------
    truth_
        The chance that an answer is the true one.

    Notes
    -----
    Privacy

    Neighbours   one row replaced by another; the number of rows is public.
    Guarantee    local: each row's output is ε-private whatever the others are and
                 its collector. The owner of the row could run it alone.
    Bound        the odds of any response change by e^(ε/d) at most for each of the d
                 answers of a row, so by e^ε for all of them.
    Not covered  answering the same question again: every transform costs ε once more.

    >>> survey = RandomizedResponse.two_coins(["no", "yes"]).fit()
    >>> round(survey.truth_, 12), round(float(survey.epsilon), 6)
    (0.75, 1.098612)

    Examples
    --------
    >>> from discreto.testing import simulate
    >>> survey = RandomizedResponse(["no", "yes"], epsilon=1, ledger=simulate()).fit()
    >>> replies = survey.transform(["yes"] * 300 + ["no"] * 700)
    >>> survey.frequencies(replies).keys
    ('no', 'yes')
    """

    def __init__(
        self,
        categories: Any = (0, 1),
        *,
        epsilon: Any,
        missing: bool = False,
        ledger: Any = None,
    ) -> None:
        self.categories = categories
        self.epsilon = epsilon
        self.missing = missing
        self.ledger = ledger

    @classmethod
    def two_coins(
        cls, categories: Any = (0, 1), *, missing: bool = False, ledger: Any = None
    ) -> RandomizedResponse:
        """Heads: the truth. Tails: a second throw decides among all answers.

        The truth is told with probability 1/2 + 1/(2k), 3/4 for yes and no, which is
        ε = ln(k + 1), rounded down in the 18th digit.

        Parameters
        ----------
        categories
            The possible answers.
        missing
            Whether no answer is an answer, too.
        ledger
            Who pays.
        """
        choices = len(tuple(categories)) + bool(missing)
        epsilon = read_amount(f"ln {choices + 1}", "epsilon")
        return cls(categories, epsilon=epsilon, missing=missing, ledger=ledger)

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Settle the probabilities; one column without ``X``.

        Parameters
        ----------
        X
            Answers, of which only the shape is read.
        y
            Not used; for pipelines.

        Returns
        -------
        self
            Ready to ``transform``.
        """
        width = 1
        if X is not None and not self._is_one_column(X):
            width = self._matrix_to_fit(X).shape[1]
        try:
            column = Category(tuple(self.categories), missing=bool(self.missing))
        except TypeError:
            raise ParameterError("categories must be a list of answers.") from None
        names = ["answer"] if width == 1 else [f"answer {i + 1}" for i in range(width)]
        domain = Domain(dict.fromkeys(names, column))
        self._prepare(domain, names, "response", None)
        choices = len(column.categories) + column.missing
        self.truth_ = Response.of(self.columns_[names[0]][1], choices).truth
        return self

    def transform(self, X: Any) -> Any:
        """Responses in the shape of ``X``: one column, or several that share ε.

        Parameters
        ----------
        X
            One answer for each row, or a column for each question.

        Privacy
        -------
        Each row is perturbed on its own; a row costs ``epsilon``, whatever it answers.
        """
        check_is_fitted(self, "columns_")
        names = list(self.columns_)
        if len(names) == 1 and self._is_one_column(X):
            array = np.asarray(X, dtype=object)
            table = array.reshape(-1, 1)
        else:
            array = table = as_matrix(X).astype(object)
            self._check_width(table)
        done = self._perturb({n: table[:, i] for i, n in enumerate(names)})
        out = np.column_stack([part.astype(object) for part in done.values()])
        kinds = {type(value) for value in self.categories}
        if len(kinds) == 1 and not self.missing:
            out = out.astype(np.array(list(self.categories)).dtype)
        return out.reshape(array.shape)

    @staticmethod
    def _is_one_column(X: Any) -> bool:
        """Return True for the answers to one question, in a plain list."""
        return not hasattr(X, "tocsr") and np.asarray(X).ndim == 1

    def frequencies(self, responses: Any, column: int = 0) -> Release:
        """Return the true shares of the answers, with 95 % intervals. Free.

        Unbiased but for the clamp to [0, 1].

        Parameters
        ----------
        responses
            What ``transform`` returned.
        column
            The number of the column.
        """
        names = list(self.columns_)
        array = np.asarray(responses, dtype=object)
        part = array if array.ndim == 1 else array[:, column]
        return self._frequencies(part, names[column])
