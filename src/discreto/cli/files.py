"""The files that commands read and write: schemas without values, domains, ledgers."""

from __future__ import annotations

import csv
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from discreto.cli import interrupt
from discreto.core.domain import Domain
from discreto.core.ledger import Ledger
from discreto.errors import DomainError, LedgerError, ParameterError

TODO = "TODO"
PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv")


def schema_of(data: str, *, header: bool = False) -> dict[str, Any]:
    """Column names and Arrow fields of a table, or None for the columns of a text file.

    No row is read, and of a Parquet file not even the smallest and largest values that
    it keeps beside its schema. ``header`` trusts the first line of a text file.
    """
    path = _first_file(data)
    if path.suffix.lower() in PARQUET:
        return _parquet_schema(path)
    if path.suffix.lower() in TEXT:
        return dict.fromkeys(_header(path, trusted=header))
    raise DomainError(f"{path.name!r} is neither .parquet nor .csv nor .tsv.")


def _first_file(data: str) -> Path:
    names = sorted(glob.glob(data)) if glob.has_magic(data) else [data]
    for name in names:
        if Path(name).is_file():
            return Path(name)
    raise DomainError(f"there is no file {data!r}.")


def _parquet_schema(path: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        raise DomainError(f"{path.name!r} cannot be read as a table.") from None
    if len(set(schema.names)) < len(schema.names):
        raise DomainError(f"{path.name!r} has two columns of one name. Rename one.")
    return {field.name: field for field in schema}


def _header(path: Path, *, trusted: bool) -> list[str]:
    tab = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
            names = next(csv.reader(file, delimiter=tab), [])
    except csv.Error:
        names = []
    if not names or len(set(names)) < len(names) or not all(names):
        raise DomainError(
            f"the first line of {path.name!r} must name every column, each differently."
        )
    # A file without a header begins with somebody's row: it must not become names.
    if not trusted and any(map(_is_number, names)):
        raise DomainError(
            f"the first line of {path.name!r} has a number in it, so it may be a row "
            "and not the column names. Add a line of names, or say --header if it is."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_domain(path: Path) -> Domain:
    """A domain file; one that is not filled in is refused with all that it lacks."""
    lacking = unfilled(path)
    if lacking:
        texts = [f"{name!r} needs {', '.join(what)}" for name, what in lacking.items()]
        raise DomainError(
            f"{str(path)!r} is not filled in: {'; '.join(texts)}. Take them from a "
            "code book or from what is physically possible, never from the rows. A "
            'column that nobody asks about can have "type": "identifier".'
        )
    return Domain.load(path)


def unfilled(path: Path) -> dict[str, list[str]]:
    """What each column of a drafted domain file still needs."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        columns = dict(data["columns"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # Domain.load says what is wrong
    out = {}
    for name, column in columns.items():
        if isinstance(column, dict) and (lacks := _lacks(column)):
            out[str(name)] = lacks
    return out


def _lacks(column: dict[str, Any]) -> list[str]:
    needs = {"numeric": ["lower", "upper"], "categorical": ["categories"]}
    kind = column.get("type")
    if kind in (None, TODO):
        return ["type"]
    wanted = needs.get(str(kind), [])
    return [name for name in wanted if column.get(name) in (None, TODO, [], [TODO])]


def open_ledger(
    path: Path,
    *,
    budget: str | None = None,
    budget_delta: str | None = None,
    anchor: Path | None = None,
    chain_key: Path | None = None,
) -> Ledger:
    """The ledger file; it is made only when a budget is given."""
    if budget is None and not path.exists():
        raise LedgerError(
            f"there is no ledger {str(path)!r}. Say how much may be spent on these "
            "people in all to make one: discreto query ... --budget 3"
        )
    key = read_key(chain_key)
    return interrupt.watch(
        Ledger(path, epsilon=budget, delta=budget_delta, anchor=anchor, key=key)
    )


def read_key(path: Path | None) -> bytes | None:
    """The secret of a chain: the bytes of a file, without the line end."""
    if path is None:
        return None
    try:
        return path.read_bytes().rstrip(b"\r\n")
    except OSError:
        raise LedgerError(f"the chain key {str(path)!r} cannot be read.") from None


@contextmanager
def readable_ledger(
    path: Path, *, anchor: Path | None = None, chain_key: Path | None = None
) -> Iterator[Ledger]:
    """A ledger to look at; where nothing can be written, a copy of it.

    A ledger that is opened writes a log beside itself. On a disk that cannot be
    written to nobody else writes either, so a copy is the ledger.
    """
    if not path.exists() or _writable(path):
        yield open_ledger(path, anchor=anchor, chain_key=chain_key)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        for part in ("", "-wal"):
            if Path(f"{path}{part}").exists():
                shutil.copyfile(f"{path}{part}", f"{copy}{part}")
        with open_ledger(copy, anchor=anchor, chain_key=chain_key) as book:
            yield book


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


@contextmanager
def reserved(path: Path) -> Iterator[TextIO]:
    """A new file that is there before something is paid for, and gone if that fails."""
    try:
        file = open(path, "x", encoding="utf-8", newline="")  # noqa: SIM115
    except FileExistsError:
        raise _taken(path) from None
    interrupt.unfinished(path)
    try:
        with file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        interrupt.finished(path)


def refuse_existing(path: Path) -> None:
    """Refuse to write over a file."""
    if path.exists():
        raise _taken(path)


def _taken(path: Path) -> ParameterError:
    return ParameterError(
        f"{str(path)!r} exists already. Choose another name or move it away."
    )


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet; nothing is ever overwritten."""
    try:
        with open(path, "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise _taken(path) from None
