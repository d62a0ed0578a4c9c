"""Questions as data, their sensitivities, and questions bound to a domain.

A question names row-local maps. It never holds a callable, a bound or a row: the maps
read bounds from the domain of the table that answers. The sensitivities are theorems
about what :mod:`discreto.core.aggregate` does to *any* numbers the maps return
(``docs/proofs/sensitivity.md``). ``bind`` asks each map once for its cells, width and
sensitivity, and the gate, the noise, plans and engines read them from the ``Bound``.

Other scores than ``CountScore``, tallies, functions of sums, loops that add up by
themselves, and predictions are believed: each names its ``proof``, or is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import Annotated, Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Domain, Neighbours, Number, Opaque
from discreto.core.validation import Length, check_parts, fields_of
from discreto.errors import DomainError, ParameterError, UnsafeError

T = TypeVar("T")
_CORE = object()  # shows that a question was bound here

Batch = Mapping[str, NDArray[Any]]  # float64 (NaN: missing) or int64 codes (-1: none)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Form = Literal["linear", "pair", "gram"]

CODE_LIMIT = 1 << 31  # a batch of such codes stays below 2^53
GRAM_LIMIT = 1 << 15  # and so do products of such codes
WIDEST = 1 << 22  # numbers of one row that are held at once
MOST_CELLS = 1 << 26
MOST_BLOCKS = 256
_DEEPEST_BELIEF = 9  # levels of parts that are looked at
_TOO_MANY = "this question has too many cells: {:,} (at most 2^26)."


@dataclass(frozen=True, slots=True)
class Shape:
    """The bounds of a feature map that the clamp enforces, in whole grid steps.

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


@dataclass(frozen=True, slots=True)
class Moved:
    """Bounds on how far one row moves any number of an expression.

    A row that is added moves it by ``least`` to ``most``; one that is put in the place
    of another of the same group by at most ``replaced``, either way.
    """

    least: int
    most: int
    replaced: int


class CountExpression(Protocol):
    """A table (groups x candidates) of whole numbers, from the counts of all cells."""

    def values(self, counts: Ints) -> Ints: ...
    def moved(self) -> Moved: ...


class Score(Protocol):
    """A map from exact cell sums to integer scores, one row of scores per group.

    ``monotone``: adding a row never lowers one score while it raises another.
    """

    @property
    def monotone(self) -> bool: ...

    def scores(self, sums: Ints, domain: Domain) -> Ints: ...
    def fits(self, tally: object) -> bool: ...  # its sensitivity holds for this tally
    def check_tally(self, tally: Any, domain: Domain) -> None: ...
    def groups(self) -> int: ...
    def sensitivity(self, neighbours: Neighbours) -> int: ...


class _FitsAll:
    """A part that fits every domain."""

    __slots__ = ()

    def check(self, domain: Domain) -> None:
        """Accept every domain."""


@dataclass(frozen=True, slots=True)
class Everyone(_FitsAll):
    """One cell with every row in it."""

    def count(self, domain: Domain) -> int:
        return 1

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        raise NotImplementedError  # the clamp knows that all rows are in

    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Ones(_FitsAll):
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

    def check(self, domain: Domain) -> None:
        """Refuse a share of the cost outside of (0, 1]."""
        if not 0 < self.share <= 1:
            raise ParameterError("the share of a Block is a Fraction in (0, 1].")

    def bind(self, domain: Domain, cells: int) -> BoundBlock:
        """Return the bounds of this block, as part of a question with ``cells``."""
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
    """The largest change of a block between neighbours, in grid steps.

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
        """Return the sensitivity in the norm of this noise distribution."""
        if law == "gaussian":
            return self.square
        return self.reach if law == "cube" else self.sensitivity


@dataclass(frozen=True, slots=True)
class Sum:
    """For each cell, the sums of the features of the rows in it."""

    cells: Cells
    blocks: Annotated[tuple[Block, ...], Length(1, MOST_BLOCKS)]

    def check(self, domain: Domain) -> None:
        """Refuse blocks whose shares are not the whole cost."""
        # Noise is calibrated to each share, so more than 1 in all would be unpaid.
        if sum([block.share for block in self.blocks]) != 1:
            raise ParameterError("a Sum needs blocks whose shares add up to 1.")

    def columns(self) -> tuple[str, ...]:
        """Return the columns that this question reads."""
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
class Derived(_FitsAll):
    """For each cell, a function of sums over the rows in it."""

    cells: Cells
    function: Function

    @property
    def blocks(self) -> tuple[Block, ...]:
        """A block with the same bounds, from which the noise follows."""
        return (Block(self.function),)  # type: ignore[arg-type]

    def columns(self) -> tuple[str, ...]:
        """Return the columns that this question reads."""
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

    def check(self, domain: Domain) -> None:
        """Refuse a score that is about another kind of tally."""
        # A score's sensitivity is a theorem about one kind of tally only.
        if not self.score.fits(self.tally):
            raise ParameterError("this score is not about this tally.")
        self.score.check_tally(self.tally, domain)

    def columns(self) -> tuple[str, ...]:
        """Return the columns that this question reads."""
        return self.tally.columns()

    def moves(self, domain: Domain, *, whole: bool = False) -> tuple[Move, ...]:
        """Return the largest changes of scores by a person's rows, in each of two ways.

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
        """Return the largest change of scores over all groups: the scale of noise."""
        return furthest(self.moves(domain, whole=whole))


@dataclass(frozen=True, slots=True)
class Move:
    """The number of groups that change, and how far scores of one move apart."""

    groups: int
    width: int


def furthest(moves: tuple[Move, ...]) -> int:
    """Return the largest change of scores over all groups."""
    return max([move.groups * move.width for move in moves])


@dataclass(frozen=True, slots=True)
class Randomise:
    """Every row's value of one column, perturbed on its own (local privacy)."""

    column: str
    mechanism: Literal["response", "laplace", "staircase"]

    def check(self, domain: Domain) -> None:
        """Refuse a column that has no declared values."""
        if not isinstance(domain[self.column], Category | Number):
            raise DomainError(f"{self.column!r} is opaque: it cannot be asked about.")

    def columns(self) -> tuple[str, ...]:
        """Return the columns that this question reads."""
        return (self.column,)


class CountScore:
    """A score of choices that is an expression of the counts of cells.

    A subclass says ``expression``; its sensitivity follows.
    """

    __slots__ = ()

    def expression(self) -> CountExpression:
        """Return the score as an expression."""
        raise NotImplementedError

    def groups(self) -> int:
        """Return into how many groups the cells divide."""
        return 1

    def check(self, domain: Domain) -> None:
        """Accept every domain: the score is about counts."""

    def check_tally(self, tally: Any, domain: Domain) -> None:
        """Accept every tally: whether its cells divide is seen when it is bound."""

    def fits(self, tally: object) -> bool:
        """Return True if ``tally`` counts rows by cell, and nothing else."""
        return isinstance(tally, Sum) and tally.blocks == (Block(Ones()),)

    def scores(self, sums: Ints, domain: Domain) -> Ints:
        """Return the score of each candidate of each group."""
        return self.expression().values(sums[:, 0].reshape(self.groups(), -1))

    @property
    def monotone(self) -> bool:
        """True if one more row lowers no score."""
        return self.expression().moved().least >= 0

    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return how far one row moves any score."""
        moved = self.expression().moved()
        if neighbours == "replace":
            return moved.replaced
        return max(moved.most, -moved.least)


Query = Sum | Derived | Choice | Randomise
CORE_KINDS: dict[str, type] = {
    kind.__name__: kind for kind in (Everyone, Ones, Block, Sum, Choice, Randomise)
}


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A question and its facts for one domain. Only ``bind`` makes one.

    ``cells`` and ``blocks`` are those of sums; ``tally`` is what a choice is made from.
    Unless ``checked``, it is part of an answer that the gate is computing, and cannot
    be asked. The noise follows from these facts, so they are never a caller's.
    ``beliefs`` name what the bound rests on besides the clamp.
    """

    query: Any
    domain: Domain
    checked: bool
    columns: tuple[str, ...]
    cells: int = 0
    blocks: tuple[BoundBlock, ...] = ()
    tally: Bound | None = None
    beliefs: tuple[str, ...] = ()
    kept: dict[Any, Any] = field(default_factory=dict, repr=False, init=False)
    _facts: dict[Any, Any] = field(default_factory=dict, repr=False, init=False)
    made_by: InitVar[object] = None

    def __post_init__(self, made_by: object) -> None:
        if made_by is not _CORE:
            raise UnsafeError("only the core binds questions: hand the gate a query.")

    def once(self, name: Hashable, compute: Callable[[], T]) -> T:
        """Return what ``compute`` returned the first time for this ``name``."""
        if name not in self._facts:
            self._facts[name] = compute()
        found: T = self._facts[name]
        return found

    def moves(self, *, whole: bool) -> tuple[Move, ...]:
        """Return what neighbours can do to the scores of a choice."""
        return self.once(
            ("moves", whole), lambda: self.query.moves(self.domain, whole=whole)
        )


def bind(query: Query | Tally | Bound, domain: Domain) -> Bound:
    """Return a question bound to a domain, or refuse it before anything is spent."""
    if isinstance(query, Bound):
        if query.checked and query.domain is domain:
            return query  # it was bound here, and to this very domain
        return bind(query.query, domain)
    check_parts(query, domain)
    columns = query.columns()
    for name in columns:  # a name that is not in the domain has no column: refused
        if name not in domain._open and isinstance(domain[name], Opaque):
            raise DomainError(f"{name!r} is opaque: it cannot be asked about.")
    out = _facts(query, domain, columns, True, beliefs_of(query))
    if isinstance(query, Choice):
        _check_choice(query, out)
    elif isinstance(query, Sum | Derived):
        _check_sums(out)
    elif not isinstance(query, Randomise):
        _check_tally(query, out)
    return out


def inside(query: Sum | Tally, domain: Domain) -> Bound:
    """Facts of what the gate asks of rows on the way to an answer that was paid for.

    It may depend on rows, so it is not checked: refusing it would tell about them. The
    question that it serves was.
    """
    return _facts(query, domain, query.columns(), checked=False)


def _facts(
    query: Query | Tally,
    domain: Domain,
    columns: tuple[str, ...],
    checked: bool,
    beliefs: tuple[str, ...] = (),
) -> Bound:
    made: dict[str, Any] = {"beliefs": beliefs, "made_by": _CORE}
    if isinstance(query, Sum | Derived):
        cells = query.cells.count(domain)
        blocks = tuple([block.bind(domain, cells) for block in query.blocks])
        return Bound(query, domain, checked, columns, cells, blocks, **made)
    if isinstance(query, Choice):
        tally = _facts(query.tally, domain, columns, checked)  # it reads the same
        return Bound(query, domain, checked, columns, tally=tally, **made)
    return Bound(query, domain, checked, columns, **made)


def _check_sums(sums: Bound) -> None:
    width = 0
    for part in sums.blocks:
        allowed = GRAM_LIMIT if part.block.form == "gram" else CODE_LIMIT
        limit = part.shape.limit
        if not 1 <= limit <= allowed or not 1 <= part.shape.width <= WIDEST:
            raise ParameterError("a feature of this question is outside of the grid.")
        width += part.width
    if not 1 <= sums.cells * width <= MOST_CELLS:
        raise ParameterError(_TOO_MANY.format(sums.cells * width))


def _check_tally(tally: Tally, asked: Bound) -> None:
    size = asked.once("size", lambda: tally.size(asked.domain))
    if size > MOST_CELLS:
        raise ParameterError(_TOO_MANY.format(size))
    tally.empty(asked.domain)


def _check_choice(query: Choice, choice: Bound) -> None:
    tally = choice.tally
    if tally is None or not isinstance(query.tally, Sum):
        _check_tally(query.tally, choice)  # type: ignore[arg-type]
        return
    _check_sums(tally)
    if tally.cells % query.score.groups():
        raise ParameterError("the cells do not divide into the groups.")


def beliefs_of(query: Query | Tally) -> tuple[str, ...]:
    """Return the name and proof of each belief that a question rests on."""
    found: dict[str, str] = {}
    for part in [*_believed(query), *_inside(query)]:
        name, proof = type(part).__name__, getattr(type(part), "proof", None)
        if not isinstance(proof, str) or not proof:
            raise UnsafeError(f"the bound of {name} rests on no proof.")
        found[name] = proof
    return tuple([f"{name}: {proof}" for name, proof in found.items()])


def _believed(query: Query | Tally) -> list[Any]:
    """Return the parts whose moves neither the clamp nor an expression bounds."""
    if isinstance(query, Choice):
        parts = (query.score, query.tally)
        return [part for part in parts if not isinstance(part, CountScore | Sum)]
    if isinstance(query, Derived):
        return [query.function]
    return [] if isinstance(query, Sum | Randomise) else [query]  # else a tally


def _inside(query: Query | Tally) -> list[Any]:
    """Return parts that name a proof, and maps that add up by themselves."""
    out, level, depth = [], [query], 0
    while level and depth < _DEEPEST_BELIEF:
        below: list[Any] = []
        depth += 1
        for part in level:
            kind: Any = type(part)
            if hasattr(kind, "proof") or hasattr(kind, "add_to"):
                out.append(part)
            for one_field in fields_of(kind):
                if one_field.holds_parts:
                    value = getattr(part, one_field.name)
                    several = value if isinstance(value, tuple) else (value,)
                    # One of each kind is enough: an ensemble has thousands of trees.
                    below += {type(one): one for one in several}.values()
        level = [one for one in below if hasattr(type(one), "__dataclass_fields__")]
    return out
