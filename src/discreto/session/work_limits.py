"""Limits on work, from public facts: how many numbers a question adds up and releases.

Epsilon is not a price for work: a question for ε 1e-9 can have a million cells. The
numbers of a question are its cells times its widths, and follow from the domain. They
are counted in the dry run that comes before every charge, and refused there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from discreto.core.query import MOST_CELLS, Bound, Choice, Derived, Sum
from discreto.errors import ParameterError

WORKING_BYTES = 1 << 10  # of memory for each number of an answer; 560 to 1,100 measured
STORED_BYTES = 80  # of a ledger for each number of an answer; 47 to 80 measured


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """The most numbers of a question, of an answer, and of an answer that is stored.

    Parameters
    ----------
    question
        Numbers that one question of a plan adds up.
    answer
        Numbers that all statistics of one request release together.
    stored
        Numbers of an answer that a ledger stores under a key.
    """

    question: int = MOST_CELLS
    answer: int = 1 << 22
    stored: int = 1 << 18


_USUAL = WorkLimits()
_current: ContextVar[WorkLimits] = ContextVar("work_limits", default=_USUAL)


def work_limits() -> WorkLimits:
    """Return the limits in use."""
    return _current.get()


@contextmanager
def limiting_work(limits: WorkLimits) -> Iterator[None]:
    """Use other limits for a while, such as those of a service."""
    before = _current.set(limits)
    try:
        yield
    finally:
        _current.reset(before)


def numbers_of(bound: Bound) -> int:
    """Return how many numbers are added up for a question."""
    query, sums = bound.query, bound if bound.tally is None else bound.tally
    if isinstance(sums.query, Sum | Derived):
        return sums.cells * sum([block.width for block in sums.blocks])
    tally: Any = query.tally if isinstance(query, Choice) else query
    return bound.once("size", lambda: int(tally.size(bound.domain)))


def check_question(numbers: int, label: str) -> None:
    """Refuse a question that adds up too many numbers."""
    most = work_limits().question
    if numbers > most:
        raise ParameterError(
            f"{label!r} adds up {numbers:,} numbers, and a question here may have "
            f"{most:,}. Ask for fewer cells, columns or groups."
        )


def check_answer(numbers: int, label: str) -> None:
    """Refuse an answer of too many numbers."""
    most = work_limits().answer
    if numbers > most:
        raise ParameterError(
            f"{label!r}: this answer would have {numbers:,} numbers, which take about "
            f"{_size(numbers * WORKING_BYTES)} of memory. An answer here may have "
            f"{most:,}. Ask for fewer cells or groups, or for fewer statistics at once."
        )


def check_stored(numbers: int, label: str) -> None:
    """Refuse to store an answer of too many numbers."""
    most = work_limits().stored
    if numbers > most:
        raise ParameterError(
            f"{label!r} would store {numbers:,} numbers in the ledger for good, about "
            f"{_size(numbers * STORED_BYTES)}. An answer with a key may have {most:,}. "
            "Ask without a key, or for fewer cells."
        )


def _size(count: int) -> str:
    """Return a number of bytes for people."""
    if count >= 10**9:
        return f"{count / 10**9:,.1f} GB"
    return f"{max(count / 10**6, 0.1):,.1f} MB"
