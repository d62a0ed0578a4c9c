"""Contribution bounding inside of a database: at most a few rows of a person.

Which rows of a person stay is decided by a keyed hash of their content, and where
hashes agree by the content itself: never by other people's rows, nor by an order in
which a database happens to read. Rows that agree in everything that can be asked are
the same row to every question, so it does not matter which of them stays.
"""

from __future__ import annotations

import hashlib
from typing import Any

import narwhals as nw

from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Domain
from discreto.core.frame import asked
from discreto.core.unknown_keys import OpenText
from discreto.data.frames.cells import gaps_of
from discreto.data.sql import Untranslated
from discreto.data.sql.backend import Backend
from discreto.data.sql.cells import unit_rows
from discreto.data.sql.columns import Columns, Expr, kind_of
from discreto.data.sql.sql_terms import either, real

_PRIME = (1 << 31) - 1
_STEPS = float(1 << 29)  # of half a range; products with a key stay below 2^62


def bounded(backend: Backend, frame: Any, domain: Domain, key: bytes) -> Any:
    """The same columns with at most ``rows_per_person`` rows of each person."""
    schema, person = frame.collect_schema(), str(domain.person)
    kind = kind_of(schema[person])
    if kind not in ("whole", "text"):
        raise Untranslated(f"identifiers of type {schema[person]}")
    names = [name for name, column in domain.columns.items() if asked(column)]
    who = nw.col(person)
    known = frame.filter(~who.is_null())
    known = _with_names(known, who, schema[person], domain)
    rows = Columns(backend, known, domain, names, beside=True)
    words = [n for n, c in domain.columns.items() if isinstance(c, OpenText)]
    texts = [nw.col(name).cast(nw.String) for name in words]
    # What a question can see of a row, as it is stored.
    content = [nw.col(name) for name in names]
    order = rows.named([_hash(rows, names, key), *content, *texts])
    (rank,) = rows.let([nw.col(order[0]).cum_count().over(person, order_by=order)])
    rows.keep(rank <= domain.rows_per_person)
    return rows.frame.select(*schema)


def _with_names(frame: Any, who: Expr, dtype: Any, domain: Domain) -> Any:
    """Rows whose identifier is neither empty nor one of the words for gaps."""
    words = gaps_of(domain.dialect or Dialect()).names
    if kind_of(dtype) == "text":
        for word in sorted({"", *words}):
            frame = frame.filter(who.cast(nw.String) != nw.lit(word))
        return frame
    for word in sorted(words):
        # A constant that the column's type cannot hold would make the query fail.
        if _is_whole(word) and _holds(dtype, int(word)):
            frame = frame.filter(who != nw.lit(int(word), dtype=dtype))
    return frame


def _is_whole(word: str) -> bool:
    """Return True if a word is a whole number, written as identifiers are."""
    digits = word.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(word)) == word


def _holds(dtype: Any, number: int) -> bool:
    """Return True if a type of whole numbers of up to 64 bits holds a number."""
    bits = next(n for n in (8, 16, 32, 64) if str(dtype).endswith(f"nt{n}"))
    if dtype.is_unsigned_integer():
        return 0 <= number < 2**bits
    return -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)


def _hash(rows: Columns, names: list[str], key: bytes) -> Expr:
    """A keyed number below 2^31 - 1: pairwise independent, whole numbers only."""
    numbers = tuple(n for n in names if not isinstance(rows.domain[n], Category))
    units = dict(zip(numbers, unit_rows(numbers, rows), strict=True)) if numbers else {}
    state: Expr | None = None
    for place, name in enumerate(names):
        if name in units:
            step = ((units[name] + real(1.0)) * real(_STEPS) + real(0.5)).floor()
            step = either(rows.absent(name), real(2 * _STEPS + 1), step)
        else:
            step = rows.code(name) + 1
        step = step.cast(nw.Int64)
        mixed = step if state is None else (state + step) % _PRIME
        factor, shift = _keys(key, place)
        (state,) = rows.let([(mixed % _PRIME * factor + shift) % _PRIME])
    if state is None:
        raise Untranslated("people without a column to tell their rows apart")
    return state


def _keys(key: bytes, place: int) -> tuple[int, int]:
    """Two secret numbers for a column."""
    found = hashlib.sha256(key + place.to_bytes(4, "little")).digest()
    first, second = (int.from_bytes(found[i : i + 8], "little") for i in (0, 8))
    return 1 + first % (_PRIME - 1), second % _PRIME
