"""Everything that can be wrong with a question, found before it is paid for.

A question is walked once, from its smallest parts up. Each field must have the form
that its annotation names; then the part's own ``check(domain)`` says whether it fits
the domain: kinds of columns, numbers of codes, ranges, sizes. What passes can be folded
over any rows without an error. After the charge there is nothing left to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from discreto.core.domain import Category, Domain, Number, Opaque
from discreto.core.field_types import fits, forms_of, is_part
from discreto.core.query import (
    Block,
    Choice,
    Derived,
    Everyone,
    Ones,
    Query,
    Randomise,
    Sum,
    Tally,
)
from discreto.errors import DomainError, ParameterError

DEEPEST = 16
MOST_BLOCKS = 256


def validate(query: Query | Tally, domain: Domain) -> tuple[str, ...]:
    """The columns that a question reads, or a refusal if any of its parts does not fit.

    ``check`` of a part comes after those of the parts in it, and before its ``shape``
    or ``count`` is asked for: these need not check anything again.
    """
    _walk(query, domain, 0)
    columns = query.columns()
    for name in columns:
        if isinstance(domain[name], Opaque):
            raise DomainError(f"{name!r} is opaque: it cannot be asked about.")
    return columns


def _walk(part: Any, domain: Domain, depth: int) -> None:
    # Grids and trees remember it: a growing ensemble is asked about again and again.
    memory = getattr(part, "__dict__", None)
    if memory is not None and memory.get("_valid") is domain:
        return
    kind = type(part).__name__
    if depth > DEEPEST:
        raise ParameterError("this question is nested too deeply.")
    if not is_part(part):
        raise ParameterError(f"a question cannot be a {kind}.")
    for name, form in forms_of(type(part)).items():
        value = getattr(part, name)
        if not fits(value, form):
            raise ParameterError(f"{kind}: {name!r} is not of the right form.")
        for inner in _parts(value):
            _walk(inner, domain, depth + 1)
    own = [check for parent, check in _KERNEL.items() if isinstance(part, parent)]
    if own:
        own[0](part, domain)
    elif hasattr(part, "check"):
        part.check(domain)
    else:
        raise ParameterError(f"{kind} cannot be asked: it has no check.")
    if memory is not None:
        memory["_valid"] = domain


def _parts(value: Any) -> Iterator[Any]:
    if is_part(value):
        yield value
    elif isinstance(value, tuple) and value and is_part(value[0]):
        yield from value


def _check_sum(query: Sum, domain: Domain) -> None:
    if len(query.blocks) > MOST_BLOCKS:
        raise ParameterError(f"a Sum has at most {MOST_BLOCKS} blocks.")


def _check_choice(query: Choice, domain: Domain) -> None:
    query.score.check_tally(query.tally, domain)  # type: ignore[attr-defined]


def _check_row(query: Randomise, domain: Domain) -> None:
    if isinstance(domain[query.column], Category | Number):
        return
    raise DomainError(f"{query.column!r} is opaque: it cannot be asked about.")


def _nothing(part: Any, domain: Domain) -> None:
    """A part that fits every domain."""


_KERNEL: dict[type, Callable[[Any, Domain], None]] = {
    Everyone: _nothing,
    Ones: _nothing,
    Block: _nothing,
    Sum: _check_sum,
    Derived: _nothing,
    Choice: _check_choice,
    Randomise: _check_row,
}
