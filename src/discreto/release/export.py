"""Releases as tables: data frames, CSV text and Excel sheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreto.data.native_frames import new_frame
from discreto.data.written_csv import FORMULA, harmless
from discreto.errors import MissingExtraError
from discreto.text.install_commands import install_command

Columns = Mapping[str, Sequence[Any]]


def to_frame(columns: Columns, library: str | None) -> Any:
    """Return a pandas, polars or pyarrow table; by default the first installed one."""
    return new_frame({name: list(part) for name, part in columns.items()}, library)


def to_csv(columns: Columns, path: str | Path | None) -> str:
    """Return CSV with harmless texts, a line for each row; write it to a path."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_plain(cell) for cell in row])
    if path is not None:
        Path(path).write_text(text.getvalue(), encoding="utf-8")
    return text.getvalue()


def to_excel(columns: Columns, path: str | Path, about: Mapping[str, str]) -> None:
    """Write a sheet with the rows, and one with facts about them."""
    try:
        from openpyxl import Workbook
    except ImportError:
        raise MissingExtraError(
            f"Excel files need openpyxl: {install_command('excel')}"
        ) from None
    book = Workbook()
    sheet = book.active
    sheet.title = "release"
    sheet.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        sheet.append([_plain(cell) for cell in row])
    facts = book.create_sheet("about")
    for name, value in about.items():
        facts.append([name, harmless(value)])
    book.save(path)


def _plain(cell: Any) -> Any:
    return harmless(cell) if isinstance(cell, str) else cell


__all__ = ["FORMULA", "harmless", "to_csv", "to_excel", "to_frame"]
