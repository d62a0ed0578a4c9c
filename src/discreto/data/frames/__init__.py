"""Readers: any table becomes plain arrays, in the terms of the domain.

A Number becomes float64, with NaN where a value is missing or is not a number. A
Category becomes the place of its value in the declared list, or a negative code. Rows
never make a reader raise, warn or print. Only names and types of columns, which are
public, are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.frame import Array, Frame
from discreto.core.people import PersonFrame
from discreto.data.frames.convert import convert
from discreto.data.frames.files import format_of, paths_of
from discreto.data.frames.memory import (
    MemoryFrame,
    array_columns,
    dict_columns,
    native_columns,
    view_of,
)
from discreto.data.frames.refusal_texts import not_paths
from discreto.data.frames.stream import StreamFrame
from discreto.data.sql.address import is_address
from discreto.data.sql.opening import address_frame, database_frame
from discreto.errors import DomainError


def open_frame(data: Any, domain: Domain) -> Frame:
    """Open pandas, polars, pyarrow, a dict, an array, files, or a database."""
    if isinstance(data, str | Path):
        if is_address(data):
            return address_frame(str(data), domain)
        return _files([data], domain)
    if isinstance(data, list | tuple):
        if not data or not all(isinstance(part, str | Path) for part in data):
            raise not_paths()
        return _files(data, domain)
    if isinstance(data, np.ndarray):
        return MemoryFrame(array_columns(data, domain), domain)
    if isinstance(data, Mapping):
        return MemoryFrame(dict_columns(data, domain), domain)
    lazy = database_frame(data, domain)
    return lazy or MemoryFrame(native_columns(data, domain), domain)


def _files(named: Sequence[str | Path], domain: Domain) -> Frame:
    paths = _listed(named)
    if all(format_of(path) != "excel" for path in paths):
        whole = [Path(path).absolute() for path in named]  # whatever folder is current
        alone = set(whole) == {path.absolute() for path in paths}
        return StreamFrame(paths, domain, None if alone else lambda: _listed(whole))
    if len(paths) > 1:
        raise DomainError("an Excel file is a table of its own: give one of them.")
    from discreto.data.frames.excel import columns_of

    columns = dict_columns(columns_of(paths[0], domain.dialect), domain)
    frame = MemoryFrame(columns, domain)
    frame.spelled = True  # any cell of a sheet may be a text
    return frame


def _listed(named: Sequence[str | Path]) -> list[Path]:
    """Return the files that paths, folders and patterns name."""
    return [path for part in named for path in paths_of(part)]


__all__ = [
    "Array",
    "Frame",
    "MemoryFrame",
    "PersonFrame",
    "StreamFrame",
    "convert",
    "open_frame",
    "view_of",
]
