"""Questions as data: ``Sum`` and ``Choice``, and how far neighbours can move them.

A question names row-local maps; it never holds a callable, a bound or a row. The maps
read bounds from the domain of whoever answers, so a question sent by a stranger cannot
bring its own.

The sensitivities below are theorems about what :mod:`discreto.core.aggregate` does to
*any* numbers the maps return; ``docs/proofs/sensitivity.md`` proves them and the tests
search for counterexamples by brute force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Domain, Neighbours
from discreto.errors import ParameterError

Batch = Mapping[str, NDArray[Any]]  # float64 (NaN: missing) or int64 codes (-1: none)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Form = Literal["linear", "pair", "gram"]
_FORMS = ("linear", "pair", "gram")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a feature map promises and the clamp enforces, in whole grid steps.

    A row becomes ``width`` integers, each at most ``limit`` in absolute value, whose
    absolute values add up to at most ``total`` and their squares to at most ``square``.
    Unless ``signed``, none of them is negative.
    """

    width: int
    limit: int
    total: int = 0
    square: int = 0
    signed: bool = True

    def __post_init__(self) -> None:
        total = self.total or self.width * self.limit
        square = self.square or min(self.width * self.limit**2, total * self.limit)
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "square", square)


class Features(Protocol):
    """A row-local map to numbers, in grid steps. Must return a fresh array."""

    def shape(self, domain: Domain) -> Shape: ...
    def rows(self, batch: Batch, domain: Domain) -> Floats: ...  # (width, n)
    def columns(self) -> tuple[str, ...]: ...


class Cells(Protocol):
    """A row-local map to at most one of ``count`` cells; other codes mean none."""

    def count(self, domain: Domain) -> int: ...
    def codes(self, batch: Batch, domain: Domain) -> Ints: ...
    def columns(self) -> tuple[str, ...]: ...


class Score(Protocol):
    """A map from exact cell sums to integer scores, one row of scores per group.

    ``monotone``: adding a row never lowers one score while it raises another.
    """

    @property
    def monotone(self) -> bool: ...

    def scores(self, sums: Ints, domain: Domain) -> Ints: ...
    def fits(self, tally: object) -> bool: ...  # its sensitivity holds for this tally
    def groups(self) -> int: ...
    def sensitivity(self, neighbours: Neighbours) -> int: ...


@dataclass(frozen=True, slots=True)
class Everyone:
    """One cell with every row in it."""

    def count(self, domain: Domain) -> int:
        return 1

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        raise NotImplementedError  # the clamp knows that all rows are in

    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Ones:
    """The number 1 for every row: its sum is a count."""

    def shape(self, domain: Domain) -> Shape:
        return Shape(1, 1, signed=False)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        raise NotImplementedError  # the clamp counts

    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Block:
    """Features that share one noise scale, and the form in which they are summed.

    ``linear``: the sums. ``pair``: for each feature q with limit M the two sums of
    M + q and M - q, both never negative. ``gram``: the sums of all products i <= j.
    ``share`` is this block's part of the cost of the whole question.

    ``noise`` under pure epsilon: ``laplace`` fits features that share one bound
    (``total``); ``cube`` fits many features that can all be large at once, where it has
    up to six times less variance. With a delta both give way to Gaussian noise.
    """

    features: Features
    form: Form = "linear"
    share: Fraction = Fraction(1)
    noise: Literal["laplace", "cube"] = "laplace"

    def __post_init__(self) -> None:
        bounded = hasattr(self.features, "rows") or hasattr(self.features, "compute")
        if not bounded or self.form not in _FORMS:
            raise ParameterError(f"a Block needs features and one of {_FORMS}.")
        if self.noise not in ("laplace", "cube"):
            raise ParameterError("the noise of a Block is laplace or cube.")
        if not isinstance(self.share, Fraction) or not 0 < self.share <= 1:
            raise ParameterError("the share of a Block is a Fraction in (0, 1].")

    def bind(self, domain: Domain, cells: int) -> BoundBlock:
        """What neighbours can do to this block of so many cells."""
        shape = self.features.shape(domain)
        double = 2 if domain.neighbours == "replace" else 1
        person = domain.rows_per_person
        width = self._width(shape)
        return BoundBlock(
            self,
            shape,
            width,
            touched=width * double * person,
            sensitivity=self._sensitivity(shape, double, cells) * person,
            reach=self._reach(shape) * double * person,
            square=self._square(shape, double) * person**2,
        )

    def _width(self, shape: Shape) -> int:
        if self.form == "gram":
            return shape.width * (shape.width + 1) // 2
        return 2 * shape.width if self.form == "pair" else shape.width

    def _sensitivity(self, shape: Shape, double: int, cells: int) -> int:
        if self.form == "gram":
            # Upper triangle of z z' for z in a box: a replaced row that stays in its
            # cell moves it no further than an added one (docs/proofs/sensitivity.md).
            box = shape.width * (shape.width + 1) // 2 * shape.limit**2
            box *= double if cells > 1 else 1
            # For z of bounded norm: half of the squared l1 plus half of the squared l2.
            ball = (shape.total**2 + shape.square + 1) // 2 * double
            return min(box, ball)
        if self.form == "pair":
            return 2 * shape.width * shape.limit * double
        return shape.total * double

    def _reach(self, shape: Shape) -> int:
        if self.form == "gram":
            return shape.limit**2
        return 2 * shape.limit if self.form == "pair" else shape.limit

    def _square(self, shape: Shape, double: int) -> int:
        if self.form == "gram":
            # Replace, in a box: an entry moves by at most 2, all of them by the l1
            # bound (Hölder). In a ball: z z' and y y' have no negative inner product.
            one = shape.width * (shape.width + 1) // 2 * shape.limit**4
            one, factor = min(one, shape.square**2), 2
        elif self.form == "pair":
            one, factor = 4 * shape.width * shape.limit**2, 2
        else:
            # |a - b|^2 <= |a|^2 + |b|^2 where neither has negative entries.
            one, factor = shape.square, 4 if shape.signed else 2
        return one * (factor if double == 2 else 1)


@dataclass(frozen=True, slots=True)
class BoundBlock:
    """What neighbours can do to a block of a question, in grid steps.

    ``width``: how many numbers a cell of the answer has. ``touched``: how many numbers
    of the answer can differ. ``sensitivity``: how far they move it in the l1 norm;
    ``square``: the square of how far in the l2 norm. ``reach``: how far they move any
    one number. Over cells that is the sum of each cell's largest move: a replaced row
    may leave one cell and enter another, or cross its cell from end to end.
    """

    block: Block
    shape: Shape
    width: int
    touched: int
    sensitivity: int
    reach: int
    square: int

    def told(self, law: str) -> int:
        """How far neighbours can move it, in the norm that noise of this law is for."""
        if law == "gaussian":
            return self.square
        return self.reach if law == "cube" else self.sensitivity


@dataclass(frozen=True, slots=True)
class Sum:
    """For each cell, the sums of the features of the rows in it."""

    cells: Cells
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not hasattr(self.cells, "codes") or not isinstance(self.blocks, tuple):
            raise ParameterError("a Sum needs cells and a tuple of blocks.")
        shares = Fraction(0)
        for block in self.blocks:
            if not isinstance(block, Block) or not hasattr(block.features, "rows"):
                raise ParameterError("a Sum is made of Blocks of features.")
            shares += block.share
        if shares != 1:
            raise ParameterError("a Sum needs blocks whose shares add up to 1.")

    def columns(self) -> tuple[str, ...]:
        """The columns that this question reads."""
        names = list(self.cells.columns())
        for block in self.blocks:
            names += block.features.columns()
        return tuple(dict.fromkeys(names))


class Function(Protocol):
    """A function of exact sums whose own sensitivity is proven: a mean, a minimiser.

    ``shape`` bounds how far a row that comes or goes moves the answer, inside the one
    cell that it is in. Nothing can enforce that, so each such function has a proof and
    a search for counterexamples. It must be total: no rows may make it fail.
    """

    def shape(self, domain: Domain) -> Shape: ...
    def columns(self) -> tuple[str, ...]: ...
    def compute(self, fold: Fold, cells: Cells, domain: Domain) -> Ints: ...


Fold = Callable[["Sum"], list[Ints]]


@dataclass(frozen=True, slots=True)
class Derived:
    """For each cell, a function of sums over the rows in it."""

    cells: Cells
    function: Function

    def __post_init__(self) -> None:
        if not hasattr(self.cells, "codes") or not hasattr(self.function, "compute"):
            raise ParameterError("a Derived needs cells and a function of sums.")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The block that has the same bounds, from which the noise follows."""
        return (Block(self.function),)  # type: ignore[arg-type]

    def columns(self) -> tuple[str, ...]:
        """The columns that this question reads."""
        return tuple(dict.fromkeys((*self.cells.columns(), *self.function.columns())))


class Tally(Protocol):
    """Exact integers that are not plain sums, such as the nearest rows to a point.

    Parts of a table are folded apart and merged; the order must not matter. ``overlap``
    is how many groups of a choice one row can touch.
    """

    def columns(self) -> tuple[str, ...]: ...
    def size(self, domain: Domain) -> int: ...
    def empty(self, domain: Domain) -> Ints: ...
    def fold(self, batch: Batch, length: int, domain: Domain) -> Ints: ...
    def merge(self, first: Ints, second: Ints) -> Ints: ...
    def overlap(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """For each group, the candidate whose score is largest, up to noise."""

    tally: Sum | Tally
    score: Score

    def __post_init__(self) -> None:
        tally = isinstance(self.tally, Sum) or hasattr(self.tally, "merge")
        if not tally or not hasattr(self.score, "scores"):
            raise ParameterError("a Choice needs a Sum or a tally, and a score.")
        # A score's sensitivity is a theorem about one kind of tally only.
        if not self.score.fits(self.tally):
            raise ParameterError("this score is not about this tally.")

    def columns(self) -> tuple[str, ...]:
        """The columns that this question reads."""
        return self.tally.columns()

    def moves(self, domain: Domain, *, whole: bool = False) -> tuple[Move, ...]:
        """The worst that a person's rows can do to the scores, in each of two ways.

        A replaced row changes its groups, or it leaves some and enters others. Unless
        the table is ``whole`` it may leave one part and enter another, so that both
        parts together see twice the groups, however few there are in one.
        """
        score, person = self.score, domain.rows_per_person
        touched = 1 if isinstance(self.tally, Sum) else self.tally.overlap()
        adding = score.sensitivity("add-remove") * (1 if score.monotone else 2)
        if domain.neighbours == "add-remove":
            return (Move(touched, adding * person),)
        changed = Move(touched, 2 * score.sensitivity("replace") * person)
        if whole and score.groups() == touched:  # there is no other group to enter
            return (changed,)
        return (changed, Move(2 * touched, adding * person))

    def width(self, domain: Domain, *, whole: bool = True) -> int:
        """How far neighbours move scores, over all groups: the scale under epsilon."""
        return furthest(self.moves(domain, whole=whole))


@dataclass(frozen=True, slots=True)
class Move:
    """How many groups of a choice change, and how far scores of one move apart."""

    groups: int
    width: int


def furthest(moves: tuple[Move, ...]) -> int:
    """How far scores move over all groups, in the worse way."""
    return max([move.groups * move.width for move in moves])


@dataclass(frozen=True, slots=True)
class Randomise:
    """Every row's value of one column, perturbed on its own (local privacy)."""

    column: str
    mechanism: Literal["response", "laplace", "staircase"]

    def __post_init__(self) -> None:
        known = ("response", "laplace", "staircase")
        if self.mechanism not in known or not isinstance(self.column, str):
            raise ParameterError(f"unknown row mechanism {self.mechanism!r}.")

    def columns(self) -> tuple[str, ...]:
        """The columns that this question reads."""
        return (self.column,)


Query = Sum | Derived | Choice | Randomise
CORE_KINDS: dict[str, type] = {
    kind.__name__: kind for kind in (Everyone, Ones, Block, Sum, Choice, Randomise)
}
