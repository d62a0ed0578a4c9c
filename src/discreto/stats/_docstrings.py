"""Descriptions that the docstrings of statistics share.

Short, because it holds nothing else: every function and class of statistics uses it.
"""

from __future__ import annotations

from discreto.text.shared_docstrings import Shared

_PARAMETERS = """
    table : Table
        The rows with their domain and ledger.
    column : str
        A Number column of the domain.
    condition : Expr or str
        ``dp.col("age") >= 65``, or the text ``"age >= 65"``.
    group : str
        A Category column with two categories.
    by : str or list of str, optional
        Category columns; the answer then has one for each group.
    epsilon : int, float, str or Fraction
        The cost of the answer, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0: Gaussian noise, charged as the rho of (ε, δ).
    key : str, optional
        A name for this request. Asked again under its key, it gets the stored answer
        and costs nothing more; another request under the same key is refused. The table
        needs a name (files have their path).
    population : bool
        ``True``: the interval is for the population that the rows were drawn from,
        noise and sampling together. ``False``: it is for this table.
    level : float
        The probability with which the interval covers.
"""
documented_statistic = Shared(
    """
    column
        The name of a Number column.
    condition
        An expression that is true or false in every row.
    group
        The name of a Category column with two categories.
    by
        Names of Category columns; without them all rows are one group.
    """,
    methods={
        "label": "The question, as a ledger and a release name it.",
        "learn": """Ask, and make a release of the answers.

        Parameters
        ----------
        ask
            The session that puts the questions.

        Returns
        -------
        Release
            The answer with its error bar.
        """,
    },
)


def documented(statistic: type) -> Shared:
    """Return the decorator of a function that asks a statistic."""
    asked = f"""
        Charged before a row is read. Questions and bounds:
        :class:`{statistic.__name__}`.
    """
    return Shared(_PARAMETERS, {"Privacy": asked})
