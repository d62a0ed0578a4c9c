"""Shared descriptions stand in docstrings as if they had been written there."""

from __future__ import annotations

from typing import Any

from discreto.text.shared_docstrings import Shared

SHARED = Shared(
    """
    table : Table
        The rows.
    epsilon : float
        The cost.
    first, second : str
        Columns.
    """,
    {"Returns": "\nRelease\n    The answer."},
    {"learn": "Ask.", "label": "The name."},
)


@SHARED
def mean(table: Any, column: str, *, epsilon: float, other: int = 0) -> None:
    """Return the mean.

    Two paragraphs.

    Parameters
    ----------
    column : str
        A column.

        With a blank line.

    Examples
    --------
    >>> 1
    1
    """


@SHARED
def plain(epsilon: float) -> None:
    """Return nothing."""


@SHARED
def own(table: Any, epsilon: float) -> None:
    """Return all.

    Parameters
    ----------
    epsilon : int
        A price of its own.
    """


@SHARED
class Kind:
    """A kind.

    Parameters
    ----------
    size
        A size.
    """

    def __init__(self, table: Any, size: int) -> None: ...

    @property
    def label(self) -> str:
        return ""

    def learn(self) -> None: ...


def test_entries_come_in_the_order_of_the_signature() -> None:
    assert mean.__doc__ is not None
    assert mean.__doc__.splitlines() == [
        "Return the mean.",
        "",
        "Two paragraphs.",
        "",
        "Parameters",
        "----------",
        "table : Table",
        "    The rows.",
        "column : str",
        "    A column.",
        "",
        "    With a blank line.",
        "epsilon : float",
        "    The cost.",
        "",
        "Returns",
        "-------",
        "Release",
        "    The answer.",
        "",
        "Examples",
        "--------",
        ">>> 1",
        "1",
    ]


def test_a_docstring_without_parameters_gets_a_section() -> None:
    assert "Parameters\n----------\nepsilon : float" in (plain.__doc__ or "")


def test_an_own_description_stays() -> None:
    assert "A price of its own." in (own.__doc__ or "")
    assert "The cost." not in (own.__doc__ or "")


def test_one_entry_may_describe_two_parameters() -> None:
    text = SHARED.complete("Add.", ["first", "second"])
    assert text.count("first, second : str") == 1


def test_a_class_has_its_fields_and_methods_described() -> None:
    assert "table : Table\n    The rows.\nsize" in (Kind.__doc__ or "")
    assert (Kind.learn.__doc__, Kind.label.__doc__) == ("Ask.", "The name.")


def test_without_docstrings_nothing_happens() -> None:
    def bare(table: Any) -> None: ...

    assert SHARED(bare).__doc__ is None
