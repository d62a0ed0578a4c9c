"""Planted bugs of silos and files: what a refusal, a key or a line tells."""

from __future__ import annotations

import csv
from fractions import Fraction
from typing import Any

from discreto.audit.neighbours import Data
from discreto.audit.recorder import Recorder
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.noise.sampler import Sampler
from discreto.errors import DiscretoError, KernelFault, ParameterError
from discreto.lab.known_bugs._rows import PEOPLE, numbers
from discreto.lab.known_bugs.planted_bug import PlantedBug
from discreto.testing import simulate

GRID = 1 << 20
SMALL = Fraction(1, 10_000)  # the epsilon of a question: noise hides all but refusals
NOTES = Domain({"x": Number(0, 1), "note": Category(("fine", "good", '"oops'))})


class MiniSilo:
    """A silo of a few lines: a question becomes a release or a refusal."""

    def __init__(self, exact: Any, seed: int) -> None:
        self._exact = exact
        self._sampler: Sampler = simulate(seed).simulation.sampler

    def __call__(self, rows: Any) -> dict[str, Any]:
        try:
            exact = self._exact(rows)
        except DiscretoError as error:
            return {"kind": "refusal", "error": type(error).__name__}
        except (IndexError, ArithmeticError):
            return {"kind": "refusal", "error": KernelFault.__name__}
        noise = self._sampler.laplace(GRID / SMALL, 1)
        return {"kind": "release", "tables": [(exact * GRID + noise[0]) / GRID]}


# A tree that came over the wire: the route of a node has a child for each code

CODES = 3
ROUTES = ((0, 1, 1), (0, 1))  # the first of two trees has a route too short for 2


def _walk(rows: Any) -> float:
    """The children that rows reach, added up; a code outside of a route fails."""
    return float(sum(route[int(code)] for code in rows for route in ROUTES))


def _last_tree_checked(rows: Any) -> float:
    if len(ROUTES[0]) < CODES:
        raise ParameterError("a route needs a child for each code.")
    return _walk(rows)


def _every_tree_checked(rows: Any) -> float:
    if any(len(route) < CODES for route in ROUTES):
        raise ParameterError("a route needs a child for each code.")
    return _walk(rows)


# A proximal point: the solver looks at weights that depend on rows

EDGE, START = 1e12, 1e12


def _minimise(rows: Any, limit: Any) -> float:
    """A few steps towards the minimum, from a weight that the message chose."""
    weight = START
    for _ in range(5):
        weight = limit(weight + sum(rows) - (weight - START) / 2)
    return weight - START


def _refuse_far(weight: float) -> float:
    if abs(weight) > EDGE:
        raise ParameterError("a weight must be within 1e12.")
    return weight


def _iterates_checked(rows: Any) -> float:
    return _minimise(rows, _refuse_far)


def _iterates_clipped(rows: Any) -> float:
    return _minimise(rows, lambda weight: min(max(weight, -EDGE), EDGE))


# A key of a training block: paid once, opened as often as somebody likes


class PaidBlock:
    """Two steps that were paid for once; whoever opens it says how many were taken."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._paid = False
        self._stored: list[float] = []

    def open(self, rows: Any, *, stored: bool) -> list[float]:
        """The answers of both steps: fresh ones, or those that were given before."""
        if not self._paid:
            self._recorder.pay(1)
            self._paid = True
        if stored and self._stored:
            return self._stored
        self._stored = [
            self._recorder.noise("step", len(rows), sensitivity=1, epsilon="1/2")
            for _ in range(2)
        ]
        return self._stored


def _opened_again(data: Data, recorder: Recorder) -> Any:
    block = PaidBlock(recorder)
    return [block.open(numbers(data), stored=False) for _ in range(3)]


def _answered_once(data: Data, recorder: Recorder) -> Any:
    block = PaidBlock(recorder)
    return [block.open(numbers(data), stored=True) for _ in range(3)]


# A file whose lines are not on their own


def _lines(data: Data) -> list[str]:
    return [f"{x},{note}" for x, note in zip(data["x"], data["note"], strict=True)]


def _open_quote(data: Data, recorder: Recorder) -> Any:
    """A quote that nobody closes takes the lines after it into its field."""
    recorder.pay(1)
    rows = sum(1 for _ in csv.reader(line + "\n" for line in _lines(data)))
    return recorder.noise("count", rows, sensitivity=1, epsilon=1)


def _line_by_line(data: Data, recorder: Recorder) -> Any:
    """A field ends where its line does, whatever quotes it has."""
    recorder.pay(1)
    rows = sum(1 for line in _lines(data) for _ in csv.reader([line]))
    return recorder.noise("count", rows, sensitivity=1, epsilon=1)


def _asked(name: str, seen: str, wrong: Any, right: Any, *rows: Any) -> PlantedBug:
    return PlantedBug(
        name,
        seen,
        "black box",
        lambda seed: MiniSilo(wrong, seed),
        lambda seed: MiniSilo(right, seed),
        None,
        first=rows[0],
        second=rows[1],
    )


PLANTED_BUGS = (
    _asked("only the last tree is checked", "a silo: a refusal is an exact bit",
           _last_tree_checked, _every_tree_checked, (0, 1) * 4, (*(0, 1) * 4, 2)),
    _asked("iterates that are refused", "a proximal round fails by the sign of a sum",
           _iterates_checked, _iterates_clipped, (-1, 0) * 2, (*(-1, 0) * 2, 3)),
    PlantedBug("a key that draws again", "a training block is opened again and again",
          "ledger", _opened_again, _answered_once, PEOPLE),
    PlantedBug("a quote that stays open",
          "CSV: a line takes hundreds of others with it",
          "transcript", _open_quote, _line_by_line, NOTES),
)  # fmt: skip
