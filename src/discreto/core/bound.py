"""Questions bound to a domain: all that follows from public facts, worked out once.

``bind`` refuses a question that does not fit, or that exact integers cannot hold, and
then asks each map once: how many cells, how wide, how far can neighbours move it. The
gate, the noise, plans and engines read the same facts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import InitVar, dataclass, field
from typing import Any, TypeVar

from discreto.core.beliefs import beliefs_of
from discreto.core.domain.domain import Domain
from discreto.core.query import (
    BoundBlock,
    Choice,
    Derived,
    Move,
    Query,
    Randomise,
    Sum,
    Tally,
)
from discreto.core.validation import validate
from discreto.errors import ParameterError, UnsafeError

T = TypeVar("T")
_CORE = object()  # shows that a question was bound here

CODE_LIMIT = 1 << 31  # a batch of such codes stays below 2^53
GRAM_LIMIT = 1 << 15  # and so do products of such codes
WIDEST = 1 << 22  # numbers of one row that are held at once
MOST_CELLS = 1 << 26
_TOO_MANY = "this question has too many cells: {:,} (at most 2^26)."


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A question and what follows from it for one domain; only ``bind`` makes one.

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
    """A question in the terms of a domain, or a refusal before anything is spent.

    A question that is bound to this very domain stays as it is.
    """
    if isinstance(query, Bound):
        if query.checked and query.domain is domain:
            return query
        return bind(query.query, domain)
    columns = validate(query, domain)
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
