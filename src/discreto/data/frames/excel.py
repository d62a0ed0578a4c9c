"""Sheets of Excel files. Cells have types of their own, columns have none."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from discreto.core.domain.dialect import Dialect
from discreto.core.frame import Array
from discreto.core.people import as_objects
from discreto.data.frames.refusal_texts import unreadable
from discreto.errors import DiscretoError, DomainError, MissingExtraError
from discreto.text.install_commands import install_command


def names_of(path: Path, dialect: Dialect | None) -> list[str]:
    """Return the names in the first row of a sheet."""
    with _sheet(path, dialect) as sheet:
        first = next(sheet.iter_rows(max_row=1, values_only=True), ())
    names = ["" if value is None else str(value) for value in first]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise DomainError(f"the first row of {path.name!r} names no columns.")
    return names


def columns_of(path: Path, dialect: Dialect | None) -> dict[str, Array]:
    """Return the columns of a sheet; a row without any value is left out."""
    names = names_of(path, dialect)
    width = len(names)
    several: list[list[Any]] = [[] for _ in names]
    with _sheet(path, dialect) as sheet:
        for row in sheet.iter_rows(min_row=2, values_only=True):
            cells = [*row[:width], *[None] * (width - len(row))]
            if any(cell is not None for cell in cells):
                for column, cell in zip(several, cells, strict=True):
                    column.append(cell)
    return dict(zip(names, map(as_objects, several), strict=True))


@contextmanager
def _sheet(path: Path, dialect: Dialect | None) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError(
            f"Excel files need openpyxl: {install_command('excel')}"
        ) from None
    with warnings.catch_warnings():
        # Of a date beyond the calendar openpyxl says where it is, and what.
        warnings.simplefilter("ignore")
        try:
            with closing(load_workbook(path, read_only=True, data_only=True)) as book:
                yield _named(book, path, dialect)
        except DiscretoError:
            raise
        except Exception:  # it may quote a cell
            raise unreadable(path.name) from None


def _named(book: Any, path: Path, dialect: Dialect | None) -> Any:
    """Return the sheet that the dialect names, or the first."""
    wanted = dialect.sheet if dialect is not None else None
    if wanted is not None and wanted not in book.sheetnames:
        shown = ", ".join(map(repr, book.sheetnames))
        raise DomainError(f"{path.name!r} has no sheet {wanted!r}, but {shown}.")
    return book[wanted or book.sheetnames[0]]
