"""The files that commands read and write: domains, ledgers, new files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from discreto.cli import signals as interrupt
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Domain
from discreto.core.ledger import Ledger
from discreto.core.ledger.sqlite import ANSWERS
from discreto.data.domain_file import unfilled
from discreto.data.ledger_marks import refuse_second
from discreto.errors import DomainError, LedgerError, ParameterError
from discreto.table.table import Table

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv")


def read_domain(path: Path, dialect: Sequence[str] | None = None) -> Domain:
    """Return the domain of a file; refuse a file that is not filled in.

    ``dialect`` says anew how the data is written, in words such as ``decimal=,``.
    """
    lacking = unfilled(path)
    if lacking:
        texts = [f"{name!r} needs {', '.join(what)}" for name, what in lacking.items()]
        raise DomainError(
            f"{str(path)!r} is not filled in: {'; '.join(texts)}. Take them from a "
            "code book or from what is physically possible, never from the rows. A "
            'column that no question needs can have "type": "Opaque". In "dialect" say '
            "how the file writes decimals, thousands, dates and gaps."
        )
    return written_in(Domain.load(path), dialect)


def written_in(domain: Domain, words: Sequence[str] | None) -> Domain:
    """Return the domain, with what words such as ``decimal=,`` say about its files."""
    if not words:
        return domain
    return domain.with_(dialect=read_dialect(words, domain.dialect))


def read_dialect(words: Sequence[str], base: Dialect | None = None) -> Dialect:
    """Return a dialect from words such as ``separator=;``."""
    parts: dict[str, Any] = {} if base is None else base.to_dict()
    for word in words:
        name, equal, value = word.partition("=")
        if not equal:
            raise ParameterError(f"write --dialect NAME=VALUE. Got {word!r}.")
        value = {"tab": "\t", "space": " "}.get(value, value)
        several = name in ("missing", "symbols")
        parts[name] = value.split("|") if several else value
        if name in ("quoted", "brackets"):
            parts[name] = {"true": True, "false": False}.get(value.lower(), value)
    return Dialect.from_dict(parts)


def open_ledger(
    path: Path,
    *,
    budget: str | None = None,
    budget_delta: str | None = None,
    anchor: Path | None = None,
    chain_key: Path | None = None,
) -> Ledger:
    """Return the ledger file; it is made only when a budget is given."""
    if budget is None and not path.exists():
        raise LedgerError(
            f"there is no ledger {str(path)!r}. Say how much may be spent on these "
            "people in all to make one: --budget 3, with the command that asks."
        )
    key = read_key(chain_key)
    return interrupt.watch(
        Ledger(path, epsilon=budget, delta=budget_delta, anchor=anchor, key=key)
    )


def open_ledger_for(
    data: str, domain: Domain, path: Path, *, another: bool = False, **given: Any
) -> Ledger:
    """Return the ledger that pays for a table, made only when a budget is given.

    Whatever can be refused about the table is refused before a ledger is made.
    """
    if not path.exists():
        Table(data, domain, Ledger(epsilon=1))
        refuse_second(data, another=another)
    return open_ledger(path, **given)


def read_key(path: Path | None) -> bytes | None:
    """Return the secret of a chain: the bytes of a file, without the line end."""
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
    """Yield a ledger to look at; where this user cannot write, a copy of it.

    A ledger that is opened writes a log beside itself, so an auditor who may only read
    looks at a copy of the file and its log.
    """
    if not path.exists() or _writable(path):
        yield open_ledger(path, anchor=anchor, chain_key=chain_key)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        for _ in range(100):  # until no other user has written in between
            before = _parts(path)
            for part in before:
                shutil.copyfile(f"{path}{part}", f"{copy}{part}")
            if _parts(path) == before:
                break
            Path(f"{copy}-wal").unlink(missing_ok=True)
        # Large answers are read where they are; they never change.
        os.symlink(os.path.realpath(path) + ANSWERS, os.path.realpath(copy) + ANSWERS)
        with open_ledger(copy, anchor=anchor, chain_key=chain_key) as book:
            yield book


def _parts(path: Path) -> dict[str, tuple[int, int]]:
    """Return the parts of a ledger file that there are, with their sizes and times."""
    found = {}
    for part in ("", "-wal"):
        with suppress(FileNotFoundError):
            facts = Path(f"{path}{part}").stat()
            found[part] = (facts.st_size, facts.st_mtime_ns)
    return found


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


@contextmanager
def reserved(path: Path) -> Iterator[TextIO]:
    """Yield a new file that exists before a charge; delete it after a failure."""
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
