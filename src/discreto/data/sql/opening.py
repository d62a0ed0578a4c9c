"""Tables in databases as frames: by their address, or as lazy tables.

Backends are loaded when they are needed: they bring data frame libraries along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreto.core.domain.domain import Domain
from discreto.data.sql.address import connector, file_of, open_address

if TYPE_CHECKING:  # readers open databases with this module
    from discreto.data.frames.file_states import OpenedFiles


def address_frame(address: str, domain: Domain) -> Any:
    """Return a frame over a table in a database, which can be connected to again."""
    from discreto.data.frames.file_states import OpenedFiles, note_state

    path = file_of(address)
    files = None
    if path is not None:  # its state is noted before it is read
        files = OpenedFiles({str(path.absolute()): note_state(path)})
    table = open_address(address)
    return database_frame(table, domain, connector(address), files)


def database_frame(
    data: Any,
    domain: Domain,
    connect: Callable[[], Any] | None = None,
    files: OpenedFiles | None = None,
) -> Any:
    """Return a frame over a lazy table; None for data of another kind."""
    if type(data).__module__.partition(".")[0] in ("numpy", "pandas"):
        return None
    from discreto.data.sql.backends import backend_of
    from discreto.data.sql.frame import DatabaseFrame

    backend = backend_of(data, list(domain))
    if backend is None:
        return None
    backend.connect, backend.files = connect, files
    return DatabaseFrame(backend, domain)
