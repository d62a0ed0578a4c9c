"""Addresses of tables in databases: ``duckdb:///people.db?table=visits``.

An address may hold a password. What is shown, kept in ledgers or said in messages is
``public_name``, which has neither user nor password nor options.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from discreto.errors import DomainError, MissingExtraError, ParameterError
from discreto.text.install_commands import install_command

_SCHEMES = {"duckdb": "duckdb", "postgres": "postgresql", "postgresql": "postgresql"}
_SESSION = {
    "server_encoding": "",
    "client_encoding": "UTF8",
    "DateStyle": "ISO",
    "standard_conforming_strings": "on",
}
_ATTACHED = '"discreto attached"'
_FORMS = (
    "duckdb:///people.db?table=visits or "
    "postgresql://reader@host/database?table=visits (schema.visits)"
)


def is_address(data: object) -> bool:
    """Return True if a text is the address of a table and not a path."""
    scheme, mark, _ = str(data).partition("://")
    return isinstance(data, str) and bool(mark) and scheme.isalnum()


def public_name(address: str) -> str:
    """Return an address without user, password and options, or a path as it is."""
    if not is_address(address):
        return address
    parts, options = _parts(address)
    port = f":{parts.port}" if parts.port else ""
    table = urlencode({"table": options.get("table", "")})
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}?{table}"


def open_address(address: str) -> Any:
    """Return the lazy table at an address, for reading only."""
    parts, options = _parts(address)
    table = options.pop("table", "")
    if _SCHEMES.get(parts.scheme) is None or not table or parts.fragment:
        raise ParameterError(
            f"{public_name(address)!r} is not the address of a table. Write {_FORMS}."
        )
    if _SCHEMES[parts.scheme] == "duckdb":
        return _duckdb(parts, table, options)
    return _postgresql(parts, table, options, address)


def connector(address: str) -> Callable[[], Any] | None:
    """Return what makes a new connection to PostgreSQL; None for a DuckDB file."""
    parts, options = _parts(address)
    if _SCHEMES[parts.scheme] == "duckdb":
        return None
    options.pop("table", "")
    return partial(_connected, parts, options, public_name(address))


def file_of(address: str) -> Path | None:
    """Return the file of a DuckDB address, if there is one; None for a server."""
    parts, _ = _parts(address)
    path = _duckdb_path(parts)
    return path if _SCHEMES.get(parts.scheme) == "duckdb" and path.is_file() else None


def within(folder: Path, data: str) -> str:
    """Return data that a file in ``folder`` names; paths are relative to it."""
    if not is_address(data):
        return str(folder / data)
    parts, _ = _parts(data)
    relative = parts.path[1:]
    if parts.scheme != "duckdb" or parts.netloc or relative.startswith("/"):
        return data
    return f"duckdb:///{quote(str(folder.absolute()))}/{relative}?{parts.query}"


def schema_at(address: str) -> dict[str, Any]:
    """Return the columns of a table as Arrow fields; no row is read."""
    table = open_address(address)
    if hasattr(table, "limit") and hasattr(table, "to_arrow_table"):
        schema = table.limit(0).to_arrow_table().schema
    else:
        schema = table.schema().to_pyarrow()
    return {field.name: field for field in schema}


def _parts(address: str) -> tuple[Any, dict[str, str]]:
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - it is read, and may be refused, here
        return parts, dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:  # it would be quoted with its password
        raise ParameterError(
            f"this is not the address of a table. Write {_FORMS}."
        ) from None


def _duckdb_path(parts: Any) -> Path:
    return Path(unquote(parts.path[1:] if parts.netloc == "" else parts.path))


def _duckdb(parts: Any, table: str, options: dict[str, str]) -> Any:
    path = _duckdb_path(parts)
    if parts.netloc or options or not path.name:
        raise ParameterError(
            "a DuckDB address has a path and a table: "
            "duckdb:///people.db?table=visits, duckdb:////data/people.db?table=visits"
        )
    try:
        import duckdb
    except ImportError:
        raise _missing("DuckDB") from None
    if not path.is_file():
        raise DomainError(f"there is no file {str(path)!r}.")
    try:
        # Attached, not connected to: DuckDB would give the same path an old file again.
        connection = duckdb.connect()
        place = str(path).replace("'", "''")
        connection.execute(f"ATTACH '{place}' AS {_ATTACHED} (READ_ONLY)")
        connection.execute(f"USE {_ATTACHED}")
        return connection.sql(f"SELECT * FROM {_quoted(table)}")  # noqa: S608
    except Exception:
        raise DomainError(
            f"{path.name!r} cannot be opened as a DuckDB database with a table "
            f"{table!r}."
        ) from None


def _postgresql(parts: Any, table: str, options: dict[str, str], address: str) -> Any:
    try:
        import ibis  # noqa: F401
        import psycopg  # noqa: F401
    except ImportError:
        raise _missing("PostgreSQL") from None
    shown = public_name(address)
    return _table_of(_connected(parts, options, shown), table, shown)


def _connected(parts: Any, options: dict[str, str], shown: str) -> Any:
    """Return a new read-only connection to PostgreSQL with a fitting session."""
    import psycopg

    query = urlencode(options)
    plain = parts._replace(scheme="postgresql", query=query, fragment="").geturl()
    try:
        connection = psycopg.connect(plain, autocommit=True)
        for name, value in list(_SESSION.items())[1:]:
            connection.execute(f"SET {name} TO '{value}'")
        # What ANSI SQL promises is all that is used; nothing is ever written.
        connection.execute("SET default_transaction_read_only = on")
    except Exception:  # its text may have the password in it
        raise DomainError(
            f"{shown!r} cannot be reached. Is the server up, are host, port and "
            "database right, and may the role connect?"
        ) from None
    try:
        check_session(connection)
    except DomainError:
        connection.close()
        raise
    return connection


def check_session(connection: Any) -> None:
    """Refuse a session with PostgreSQL in which some rows cannot be read.

    Texts in SQL_ASCII have no known encoding, other encodings have bytes for nothing,
    and a client's may lack letters; the driver reads dates of one style; backslashes in
    texts of a query must mean nothing.
    """
    found = {name: connection.info.parameter_status(name) for name in _SESSION}
    if found["server_encoding"] not in ("UTF8", "LATIN1"):
        raise DomainError(
            f"this PostgreSQL database is {found['server_encoding']}: nobody can say "
            "what some of its texts mean. Copy it into one whose encoding is UTF8."
        )
    for name, wanted in _SESSION.items():
        if not str(found[name]).startswith(wanted):
            raise DomainError(
                f"the session with PostgreSQL has {name} = {found[name]!r}, and some "
                f"rows could not be read. SET {name} TO '{wanted}' first."
            )


def _table_of(connection: Any, table: str, shown: str) -> Any:
    import ibis

    schema, _, name = table.rpartition(".")
    try:
        client = ibis.postgres.from_connection(connection)
        weakref.finalize(client, connection.close)
        return client.table(name, database=schema or None)
    except Exception:
        connection.close()
        raise DomainError(
            f"{shown!r} cannot be read. Is there such a table in this schema "
            "(?table=schema.visits names another one), and may the role SELECT from it?"
        ) from None


def _quoted(table: str) -> str:
    return ".".join(f'"{part.replace(chr(34), chr(34) * 2)}"' for part in _split(table))


def _split(table: str) -> list[str]:
    schema, _, name = table.rpartition(".")
    return [schema, name] if schema else [name]


def _missing(what: str) -> MissingExtraError:
    return MissingExtraError(
        f"tables in {what} need more packages: {install_command('sql')}"
    )
