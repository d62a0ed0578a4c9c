"""What an experiment is: cells to run, and what to make of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreto.lab.study.results import Results

Cell = Mapping[str, Any]
Lines = Mapping[str, Any] | list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean with its standard deviation over ``count`` repeats."""

    mean: float
    spread: float
    count: int

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {"mean": self.mean, "spread": self.spread, "count": self.count}

    def __str__(self) -> str:
        return f"{self.mean:.3g} ± {self.spread:.2g}"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of results; a cell is a number, a text, None or a Spread."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        rows = [
            [c.to_dict() if isinstance(c, Spread) else c for c in r] for r in self.rows
        ]
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": rows,
            "note": self.note,
            "simulated": True,
        }


@dataclass(frozen=True, slots=True)
class Picture:
    """A matplotlib figure with a name, a title and a note."""

    name: str
    title: str
    figure: Any
    note: str = ""


@dataclass(frozen=True, slots=True)
class StudyFinding:
    """What a source claims, what was seen, and why they differ where they do.

    A finding is a test. ``agrees`` is None where the source makes no claim that could
    be checked; ``expected`` is the verdict of ``docs/study.md``: False where the source
    is known to differ. A run whose verdict is another one fails.
    """

    claim: str
    seen: str
    agrees: bool | None
    why: str = ""
    expected: bool = True

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "claim": self.claim,
            "seen": self.seen,
            "agrees": self.agrees,
            "why": self.why,
            "expected": self.expected,
        }


def _nothing(results: Results) -> list[Any]:
    return []


def _alike(cell: Cell) -> float:
    return 1.0


@dataclass(frozen=True)
class Experiment:
    """Independent cells, the function that measures one, and what is made of them.

    The docstring of :mod:`discreto.lab.study` explains every part.
    """

    name: str
    title: str
    source: str
    shows: str
    cells: Callable[[bool], Iterable[Cell]]
    measure: Callable[..., Lines]
    repeats: tuple[str, ...] = ("seed",)
    weight: Callable[[Cell], float] = _alike
    tables: Callable[[Results], Iterable[ResultTable]] = _nothing
    pictures: Callable[[Results], Iterable[Picture]] = _nothing
    findings: Callable[[Results], Iterable[StudyFinding]] = _nothing
    edition: int = 1
