"""Named beliefs: what a bound rests on that the core does not enforce.

Sums of rows are clamped, and the sensitivity of a ``CountScore`` is computed. Other
scores, tallies and functions of sums, compiled loops that add up by themselves, and
predictions of models are believed. Each names its proof in a class attribute
``proof``; without one a question is refused. A plan shows what it rests on.
"""

from __future__ import annotations

from typing import Any

from discreto.core.field_types import fields_of
from discreto.core.lipschitz import CountScore
from discreto.core.query import Choice, Derived, Sum
from discreto.errors import UnsafeError


def beliefs_of(query: Any) -> tuple[str, ...]:
    """Return the name and proof of each belief that a question rests on."""
    found: dict[str, str] = {}
    for part in _believed(query):
        name, proof = type(part).__name__, getattr(type(part), "proof", None)
        if not isinstance(proof, str) or not proof:
            raise UnsafeError(f"the bound of {name} rests on no proof.")
        found[name] = proof
    return tuple(f"{name}: {proof}" for name, proof in found.items())


def _believed(query: Any) -> list[Any]:
    out: list[Any] = []
    if isinstance(query, Choice):
        out += [] if isinstance(query.score, CountScore) else [query.score]
        out += [] if isinstance(query.tally, Sum) else [query.tally]
    elif isinstance(query, Derived):
        out.append(query.function)
    elif not isinstance(query, Sum) and hasattr(query, "merge"):
        out.append(query)
    return out + _inside(query, 0)


def _inside(part: Any, depth: int) -> list[Any]:
    """Return parts that name a proof, and maps that add up by themselves."""
    out = []
    kind: Any = type(part)
    if hasattr(kind, "proof") or hasattr(kind, "add_to"):
        out.append(part)
    if depth < 8:
        for field in fields_of(kind):
            if field.holds_parts:
                value = getattr(part, field.name)
                several = value if isinstance(value, tuple) else (value,)
                # One of each kind is enough: an ensemble has thousands of trees.
                for one in {type(one): one for one in several}.values():
                    if hasattr(type(one), "__dataclass_fields__"):
                        out += _inside(one, depth + 1)
    return out
