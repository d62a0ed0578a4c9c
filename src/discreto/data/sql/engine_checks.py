"""Checks of a database's arithmetic, once, when a table is opened.

Settings of a session can change what comparisons and casts mean: a collation for which
"a" is "A", decimals or single precision instead of doubles, casts that round elsewhere.
Rows play no part: the query reads none of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreto.data.sql.row_language import Expr, either, real, whole
from discreto.errors import DomainError

if TYPE_CHECKING:
    from discreto.data.sql.backends import Backend

_FLOATS: dict[str, float] = {
    "doubles are added": 0.1 + 0.2,
    "products are rounded": 0.1 * 3.0,
    "numbers are rounded down": -1.0,
    "halves are rounded down": 2.0,
    "roots are taken": math.sqrt(2.0),
    "large numbers are kept": 2.0**52 + 1.0,
}
_TRUTHS = {
    "small and capital letters are told apart": False,
    "spaces at the end of texts count": False,
    "accents are told apart": False,
    "texts are compared": True,
    "NaN is found": True,
    "what is unknown is not true": False,
}


def check_engine(backend: Backend) -> None:
    """Refuse a database whose session calculates in another way."""
    frame = backend.frame.head(0).select(zero=nw.len())
    frame = frame.with_columns(
        zero=nw.col("zero").cast(nw.Float64), word=nw.lit("ab", dtype=nw.String)
    )
    asked = {f"f{i}": expr for i, expr in enumerate(_floats())}
    asked |= {
        f"t{i}": either(expr, whole(1), whole(0)) for i, expr in enumerate(_truths())
    }
    found = _answer(backend, frame, asked)
    wanted = {f"f{i}": pair for i, pair in enumerate(_FLOATS.items())}
    wanted |= {f"t{i}": pair for i, pair in enumerate(_TRUTHS.items())}
    for name, (what, value) in wanted.items():
        if found[name][0] is None or float(found[name][0]) != float(value):
            raise DomainError(
                f"this database does not calculate as it should: how {what} differs. A "
                "setting of its session (collation, decimals, casts) has changed it. "
                "Use the defaults, or a copy of the table in a file."
            )


def check_texts(backend: Backend, names: Sequence[str]) -> None:
    """Refuse columns whose collation takes different texts for the same.

    Two people would be one, and one of them could move the other's rows.
    """
    # The largest text of no rows is unknown, but has the collation of its column.
    largest = {f"w{i}": nw.col(name).max() for i, name in enumerate(names)}
    asked = {}
    for i in range(len(names)):
        word = nw.coalesce(nw.col(f"w{i}").cast(nw.String), nw.lit("ab"))
        same = (word == nw.lit("AB")) | (word == nw.lit("áb"))
        asked[f"t{i}"] = either(same, whole(1), whole(0))
    found = _answer(backend, backend.frame.head(0).select(**largest), asked)
    for i, name in enumerate(names):
        if found[f"t{i}"][0]:
            raise DomainError(
                f"the collation of column {name!r} takes different texts for the same. "
                "Use a view in which it compares every letter."
            )


def _answer(
    backend: Backend, frame: Any, asked: dict[str, Expr]
) -> dict[str, list[Any]]:
    """Run one query that reads no row."""
    try:
        return backend.collect(backend.prepare(backend.fence(frame).select(**asked)))
    except Exception:  # it may quote a connection string
        raise DomainError(
            "this database does not answer a plain query. Is the connection open, and "
            "may its role see the table?"
        ) from None


def _floats() -> list[Expr]:
    zero = nw.col("zero")
    return [
        (zero + real(0.1)) + real(0.2),
        (zero + real(0.1)) * real(3.0),
        (zero - real(0.5)).floor(),
        (zero + real(2.5)).floor().cast(nw.Int64).cast(nw.Float64),
        (zero + real(2.0)).sqrt(),
        zero + real(2.0**52) + real(1.0),
    ]


def _truths() -> list[Expr]:
    zero, word = nw.col("zero"), nw.col("word")
    unknown = nw.when(zero > 1).then(zero)  # null
    return [
        word == nw.lit("AB"),
        word == nw.lit("ab "),
        word == nw.lit("áb"),
        word == nw.lit("ab"),
        (zero + real(math.nan)).is_nan(),
        unknown < real(5.0),
    ]
