"""Any table becomes plain arrays, in the terms of the domain.

A Number becomes float64 with NaN for what is missing or is no number; a Category
becomes the place of its value in the declared list, -1 for anything else. Once rows are
read nothing here raises, warns or prints because of what is in them: only names and
column types, which are public, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.frame import Array, Frame
from discreto.core.people import PersonFrame
from discreto.data.frames.convert import convert
from discreto.data.frames.file_states import OpenedFiles, note_state
from discreto.data.frames.files import format_of, paths_of
from discreto.data.frames.memory import (
    MemoryFrame,
    array_columns,
    dict_columns,
    native_columns,
)
from discreto.data.frames.memory_view import view_of
from discreto.data.frames.stream import STREAM_ROWS, StreamFrame
from discreto.data.sql.address import connector, file_of, is_address, open_address
from discreto.errors import DomainError


def open_frame(data: Any, domain: Domain) -> Frame:
    """A frame over pandas, polars, pyarrow, a dict or array, files, or a database."""
    if isinstance(data, str | Path):
        if is_address(data):
            return _address_frame(str(data), domain)
        return _files([data], domain)
    if isinstance(data, list | tuple):
        if not data or not all(isinstance(part, str | Path) for part in data):
            raise DomainError(
                "a list must hold the paths of files. For rows give a data frame, a "
                "dict of arrays or a 2-d array."
            )
        return _files(data, domain)
    if isinstance(data, np.ndarray):
        return MemoryFrame(array_columns(data, domain), domain)
    if isinstance(data, Mapping):
        return MemoryFrame(dict_columns(data, domain), domain)
    return _database_frame(data, domain) or MemoryFrame(
        native_columns(data, domain), domain
    )


def _address_frame(address: str, domain: Domain) -> Any:
    """A frame over a table in a database, which can be connected to again."""
    path = file_of(address)  # its state is noted before it is read
    files = (
        None if path is None else OpenedFiles({str(path.absolute()): note_state(path)})
    )
    table = open_address(address)
    return _database_frame(table, domain, connector(address), files)


def stored_columns(data: Any, domain: Domain) -> Mapping[str, Any] | None:
    """The columns of a sheet or a table in memory as stored; None for others."""
    if isinstance(data, str | Path):
        paths = [] if is_address(data) else paths_of(data)
        if len(paths) != 1 or format_of(paths[0]) != "excel":
            return None
        from discreto.data.frames.excel import columns_of

        return columns_of(paths[0], domain.dialect)
    if isinstance(data, Mapping):
        return dict_columns(data, domain)
    if isinstance(data, list | tuple | np.ndarray):
        return None  # paths, or numbers
    return None if _database_frame(data, domain) else native_columns(data, domain)


def _database_frame(
    data: Any,
    domain: Domain,
    connect: Callable[[], Any] | None = None,
    files: OpenedFiles | None = None,
) -> Any:
    """A frame over a lazy table; None for data of another kind."""
    if type(data).__module__.partition(".")[0] in ("numpy", "pandas"):
        return None
    from discreto.data.sql.backends import backend_of
    from discreto.data.sql.frame import DatabaseFrame

    backend = backend_of(data, list(domain))
    if backend is None:
        return None
    backend.connect, backend.files = connect, files
    return DatabaseFrame(backend, domain)


def _files(named: Sequence[str | Path], domain: Domain) -> Frame:
    paths = _listed(named)
    if all(format_of(path) != "excel" for path in paths):
        whole = [Path(path).absolute() for path in named]  # whatever folder is current
        alone = set(whole) == {path.absolute() for path in paths}
        return StreamFrame(paths, domain, None if alone else lambda: _listed(whole))
    if len(paths) > 1:
        raise DomainError("an Excel file is a table of its own: give one of them.")
    from discreto.data.frames.excel import columns_of

    frame = MemoryFrame(
        dict_columns(columns_of(paths[0], domain.dialect), domain), domain
    )
    frame.spelled = True  # any cell of a sheet may be a text
    return frame


def _listed(named: Sequence[str | Path]) -> list[Path]:
    """The files that paths, folders and patterns name."""
    return [path for part in named for path in paths_of(part)]


__all__ = [
    "STREAM_ROWS",
    "Array",
    "Frame",
    "MemoryFrame",
    "PersonFrame",
    "StreamFrame",
    "convert",
    "open_frame",
    "stored_columns",
    "view_of",
]
