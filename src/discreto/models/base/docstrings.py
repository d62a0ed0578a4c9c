"""Descriptions that the docstrings of models share, filled in when a class is made.

A model describes what is particular to it. Parameters that all models have, and methods
that say the same of every model, are described here; ``help()`` and the reference show
the whole.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from discreto.text.shared_docstrings import Shared

_CLASS = Shared(
    """
    epsilon, delta
        The cost of a fit. With ``delta`` above 0 the noise is Gaussian, otherwise
        Laplace.
    settings
        :class:`~discreto.models.BoostingSettings`: how splits are found, which values
        leaves hold, how the cost and the rows are divided.
    domain
        The public description of the columns, where ``fit`` gets arrays or frames.
    bounds
        Instead of a domain: ``(low, high)``, two numbers or one pair for each feature.
    classes
        Instead of a domain: the values of the target.
    target_bounds
        Instead of a domain: ``(low, high)`` of the target.
    ledger
        The ledger that pays where ``fit`` gets arrays or frames. Without one, a fit is
        paid from a ledger of its own, so several fits are not added up.
    random_state
        The seed of public random numbers, such as random splits. Noise never depends
        on it.
    """
)
_FIT = Shared(
    """
    X
        A :class:`~discreto.Table`, a data frame, or a 2-d array.
    y
        The target column's name for a Table (default: the domain's target), else
        the target values.
    sample_weight
        The weight of each row: for a Table the name of a Number column from 0 up,
        which is not a feature then, else one number for each row. Only its ratio to
        the largest possible weight matters; a missing weight is 0.
    max_weight
        The largest possible weight, a public number, where ``sample_weight`` is an
        array: larger ones count as this. 1 by default. A column has its bounds.
    """,
    {
        "Returns": """
            self
                The fitted model, with ``privacy_``: its plan, its cost and its receipt.
            """,
    },
)
_PLAN = Shared(
    """
    domain
        The public description; no rows are needed.
    target
        The column to predict; by default the domain's target.
    rows
        A guess of the number of rows.
    sample_weight
        The column with the weights of rows, if any.
    """,
    {
        "Returns": """
            Plan
                The questions and their cost, which ``fit`` will keep to.
            """
    },
)
_SCORE = Shared(
    """
    X
        Rows of your own: a data frame, a dict of columns, or a 2-d array with the
        features of the fit.
    y
        The targets of these rows.
    sample_weight
        The weights of these rows.
    """,
    {
        "Raises": """
            ParameterError
                The rows are a Table: an exact score of private rows has no price. Use
                ``evaluate``.
            """,
        "Warns": """
            PrivacyWarning
                These are all the rows of the fit, as arrays or frames. A part of them,
                or the rows of a Table, are not recognised.
            """,
    },
)
_ROWS = Shared(
    """
    X
        Rows of your own: a data frame, a dict of columns, or a 2-d array with the
        features of the fit.
    """
)
_BY_NAME = {"fit": _FIT, "plan": _PLAN, "score": _SCORE}
# Methods that are the same for every model that has them.
_METHODS = {
    "reference": "Return the comparable model without privacy, from scikit-learn.",
    "decision_function": (
        "Return the scores of rows: one for two classes, else one for each class."
    ),
}


def complete(cls: type) -> None:
    """Complete the docstrings of a class and of its public methods.

    A method without one has that of the nearest base class, or a shared one.
    """
    if "__doc__" in vars(cls):
        _CLASS(cls)
    for name, member in list(vars(cls).items()):
        if name.startswith("_") or not isinstance(member, FunctionType):
            continue
        if member.__doc__:
            _BY_NAME.get(name, _ROWS)(member)
        else:
            member.__doc__ = _inherited(cls, name) or _METHODS.get(name)
            if name in _METHODS:
                _ROWS(member)


def _inherited(cls: type, name: str) -> str | None:
    """Return the docstring of a method in the nearest base class of this package."""
    for base in cls.__mro__[1:]:
        member: Any = vars(base).get(name)
        if member is not None and base.__module__.startswith("discreto."):
            return inspect.getdoc(member)
    return None


__all__ = ["complete"]
