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
from discreto.data.sql.backends import Backend
from discreto.data.sql.cell_maps import unit_rows
from discreto.data.sql.columns import Columns, kind_of
from discreto.data.sql.row_language import Expr, either, real, whole
from discreto.data.sql.stages import StayingRows

_PRIME = (1 << 31) - 1
_STEPS = float(1 << 29)  # of half a range; products with a key stay below 2^62


def bounded(
    backend: Backend, frame: Any, domain: Domain, key: bytes
) -> tuple[Any, StayingRows]:
    """Return the same rows with two more columns: who stays, and how many do.

    At most ``rows_per_person`` rows of each person stay. No row is dropped, so that the
    core can count all of them.
    """
    schema, person = frame.collect_schema(), str(domain.person)
    if kind_of(schema[person]) not in ("whole", "text"):
        raise Untranslated(f"identifiers of type {schema[person]}")
    names = [name for name, column in domain.columns.items() if asked(column)]
    rows = Columns(backend, frame, domain, names, beside=True)
    words = [n for n, c in domain.columns.items() if isinstance(c, OpenText)]
    texts = [nw.col(name).cast(nw.String) for name in words]
    # What a question can see of a row, as it is stored.
    content = [nw.col(name) for name in names]
    order = rows.named([_hash(rows, names, key), *content, *texts])
    rank = rows.rank(person, order)
    known = _named(nw.col(person), schema[person], domain)
    few = known & (rank <= domain.rows_per_person)
    (stays,) = rows.named([either(few, whole(1), whole(0)).cast(nw.Int64)])
    kept = StayingRows(stays, rows.total(person, nw.col(stays)))
    return rows.frame.select(*schema, kept.stays, kept.person), kept


def _named(who: Expr, dtype: Any, domain: Domain) -> Expr:
    """Return True if an identifier is neither empty nor one of the words for gaps."""
    words, known = gaps_of(domain.dialect or Dialect()).names, ~who.is_null()
    if kind_of(dtype) == "text":
        for word in sorted({"", *words}):
            known = known & (who.cast(nw.String) != nw.lit(word))
        return known
    for word in sorted(words):
        # A constant that the column's type cannot hold would make the query fail.
        if _is_whole(word) and _holds(dtype, int(word)):
            known = known & (who != nw.lit(int(word), dtype=dtype))
    return known


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
    """Return a keyed hash below 2^31 - 1: pairwise independent, in whole numbers."""
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
    """Return two secret numbers for a column."""
    found = hashlib.sha256(key + place.to_bytes(4, "little")).digest()
    first, second = (int.from_bytes(found[i : i + 8], "little") for i in (0, 8))
    return 1 + first % (_PRIME - 1), second % _PRIME
