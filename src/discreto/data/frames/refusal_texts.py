"""Texts of refusals: what is wrong with a table, and what to do about it.

They are given names, types and paths, which are public. Which table is refused, and
which names may be shown, is decided where they are raised.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreto.errors import DomainError

_WORDS = {
    "number": "number",
    "truth": "true and false",
    "date": "date",
    "other": "other (nested, binary, durations)",
}


def some(names: Sequence[str], most: int = 12) -> str:
    """Return names for a message, not too many of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def lacking(absent: Sequence[str], shown: Sequence[str], hint: str) -> DomainError:
    """Return the refusal of a table with ``shown`` columns and without others."""
    has = f"; it has {some(shown)}" if shown else ""
    return DomainError(
        f"the table lacks the column{'s' if len(absent) > 1 else ''} "
        f"{some(absent)} of the domain{has}. Take them out of the domain or give a "
        "table that has them." + hint
    )


def separator_hint(mark: str) -> str:
    """Return the advice for a header that was not cut at its separator."""
    decimal = "," if mark == ";" else "."
    name = "tab" if mark == "\t" else mark
    return (
        f" Its first line seems to be separated by {mark!r}. Say so, and how "
        f"decimals are written: Dialect(separator={mark!r}, decimal="
        f"{decimal!r}), or --dialect 'separator={name}' --dialect "
        f"'decimal={decimal}'."
    )


def unusable(name: str, wanted: str, kind: str | None) -> DomainError:
    """Return the refusal of a column of another type than the domain says."""
    found = _WORDS.get(str(kind), "other")
    return DomainError(
        f"column {name!r} is {wanted} in the domain but holds {found} values. Change "
        "the domain or convert the column."
    )


def not_a_number(name: str, kind: str | None) -> DomainError:
    """Return the refusal of a Number column of another type."""
    if kind == "date":
        return DomainError(
            f"column {name!r} is a Number in the domain but holds dates or times. "
            "Declare it Date('2020-01-01', '2029-12-31') or DateTime(...), or make a "
            "number of it."
        )
    if kind == "text":
        return DomainError(
            f"column {name!r} is a Number in the domain but holds texts (or texts "
            "among others). With decimal commas, say so: Table(..., "
            "dialect=dp.Dialect(decimal=',')), or pd.read_csv(..., decimal=',') where "
            "pandas reads the file. Without them, convert it first: "
            "pd.to_numeric(column, errors='coerce') makes a gap of what is no number, "
            "and of '72,4'."
        )
    return unusable(name, "a Number", kind)


def not_a_category(name: str, kind: str | None, first: object) -> DomainError:
    """Return the refusal of numbers where the categories are texts."""
    found = "true and false" if kind == "truth" else "numbers"
    return DomainError(
        f"column {name!r} holds {found}, and none of its categories is a number: "
        f"{first!r}, ... Declare the values as they are stored, such as "
        "Category([0, 1]), or convert the column."
    )


def not_a_table(kind: str) -> DomainError:
    """Return the refusal of an object that is not a table."""
    return DomainError(
        f"cannot read a {kind}. Give a pandas, polars or pyarrow table with different "
        "column names, a dict of arrays, the path of files, or a lazy table of DuckDB, "
        "Polars, Ibis, Spark, Dask or pyarrow.dataset."
    )


def not_paths() -> DomainError:
    """Return the refusal of a list that does not hold paths."""
    return DomainError(
        "a list must hold the paths of files. For rows give a data frame, a dict of "
        "arrays or a 2-d array."
    )


def wrong_shape(columns: int, shape: Sequence[int]) -> DomainError:
    """Return the refusal of an array with another number of columns."""
    return DomainError(
        f"an array needs the {columns} columns of the domain, in its order. Got shape "
        f"{('rows', *shape[1:])}."
    )


def wide_letters(name: str, encoding: str) -> DomainError:
    """Return the refusal of a file with two or four bytes for a letter."""
    return DomainError(
        f"{name!r} is written in {encoding}, which is not read. Save it as UTF-8 "
        "(Excel calls it 'CSV UTF-8')."
    )


def unreadable(name: str) -> DomainError:
    """Return the refusal of a file that cannot be opened; its error may quote a row."""
    return DomainError(f"{name!r} cannot be read as a table.")
