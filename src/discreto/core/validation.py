"""Everything that can be wrong with a question, found before it is paid for.

A question is walked once, from its smallest parts up. Each field must have the form
that its annotation names; then the part's own ``check(domain)`` says whether it fits
the domain: kinds of columns, numbers of codes, ranges, sizes. What passes can be folded
over any rows without an error. After the charge there is nothing left to refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from discreto.core.domain.domain import Category, Domain, Number, Opaque
from discreto.core.field_types import fields_of, is_part
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
    check_parts(query, domain)
    columns = query.columns()
    for name in columns:
        if name not in domain._open and isinstance(domain[name], Opaque):
            raise DomainError(f"{name!r} is opaque: it cannot be asked about.")
    return columns


def check_parts(part: Any, domain: Domain, deepest: int = DEEPEST) -> None:
    """Refuse a part of which anything does not fit, however deep inside."""
    if not is_part(part):
        raise ParameterError(f"a question cannot be a {type(part).__name__}.")
    _walk(part, domain, DEEPEST - deepest)


def _walk(part: Any, domain: Domain, depth: int) -> None:
    # Grids and trees remember it: a growing ensemble is asked about again and again.
    memory = getattr(part, "__dict__", None)
    if memory is not None and memory.get("_valid") is domain:
        return
    kind: Any = type(part)
    if depth > DEEPEST:
        raise ParameterError("this question is nested too deeply.")
    for field in fields_of(kind):
        value = getattr(part, field.name)
        plain = type(value) is field.plain
        test = field.of if plain else field.fits
        if test is not None and not test(value):
            raise ParameterError(
                f"{kind.__name__}: {field.name!r} is not of the right form."
            )
        if not field.holds_parts:
            continue
        if isinstance(value, tuple):
            # Most trees of a growing ensemble are known: no call for each of them.
            several = [v for v in value if getattr(v, "_valid", None) is not domain]
        else:
            several = [value]
        for inner in several:
            if hasattr(type(inner), "__dataclass_fields__"):  # is a part
                _walk(inner, domain, depth + 1)
    own = _own_check(kind)
    if own is not None:
        own(part, domain)
    elif hasattr(part, "check"):
        part.check(domain)
    else:
        raise ParameterError(f"{kind.__name__} cannot be asked: it has no check.")
    if memory is not None:
        memory["_valid"] = domain


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


@cache
def _own_check(kind: Any) -> Callable[[Any, Domain], None] | None:
    found = [check for parent, check in _KERNEL.items() if issubclass(kind, parent)]
    return found[0] if found else None
