"""Remember which ledgers pay for a data file, in a small file beside it.

A second ledger for the same rows is a second budget for the same people. This finds
accidents, not intent: copies and renamed files, tables in databases and ledgers in
memory are not seen (``docs/ledger.md``).
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreto.core.ledger import AnalystLedger, Ledger
from discreto.core.ledger.sqlite import MEMORY
from discreto.data.frames.files import paths_of
from discreto.data.sql.address import is_address
from discreto.errors import LedgerError, PrivacyWarning

SUFFIX = ".ledgers"
_MOST = 100  # files of one table that get a mark


@dataclass(frozen=True)
class LedgerMark:
    """One line of a mark: a ledger that pays for the rows of a file."""

    ledger: str  # its id
    path: str
    domain: str  # the fingerprint of the domain when the file was first asked
    time: float

    def to_json(self) -> str:
        """Return the line, without its end."""
        return json.dumps(vars(self), ensure_ascii=False)


def remember_ledger(
    source: Any, domain: str, payer: Any, *, another: bool = False
) -> None:
    """Note that a ledger pays for these files, or refuse a second one.

    ``domain`` is the fingerprint of the domain. ``another`` accepts a second ledger.
    """
    ledger = payer.ledger if isinstance(payer, AnalystLedger) else payer
    if not isinstance(ledger, Ledger) or ledger.path == MEMORY:
        return  # a simulation, or a ledger that ends with its process
    mark = LedgerMark(ledger.id, _address(ledger), domain, round(time.time(), 3))
    new = []
    for place in _places(source):
        known = _read_marks(place)
        if all(one.ledger != mark.ledger for one in known):
            if known and not another:
                raise _refusal(place, known)
            new.append((place, bool(known)))
    for place, more in new:
        _write_mark(place, mark, more=more)


def refuse_second(source: Any, *, another: bool = False) -> None:
    """Refuse to make a ledger for files that have one; nothing is written."""
    for place in () if another else _places(source):
        known = _read_marks(place)
        if known:
            raise _refusal(place, known)


def forget_ledgers(path: Path) -> None:
    """Delete the marks of a file. For public data: a real mark is never deleted."""
    for mark in _mark_files(Path(os.path.realpath(path))):
        mark.unlink(missing_ok=True)


def _refusal(place: Path, known: list[LedgerMark]) -> LedgerError:
    shown = ", ".join(repr(one.path) for one in known)
    several = "ledgers" if len(known) > 1 else "ledger"
    return LedgerError(
        f"{str(place)!r} has the {several} {shown} already. Another ledger would be "
        "another budget for the same people. Use the one that there is; or say "
        "--another-ledger (in Python another_ledger=True) if what both spend may add "
        "up."
    )


def _address(ledger: Ledger) -> str:
    """Return where a ledger is: an absolute path, or the address of a database."""
    return ledger.path if "://" in ledger.path else os.path.realpath(ledger.path)


def _places(source: Any) -> list[Path]:
    """The files and folders that have a mark; none for what is not a file."""
    several = list(source) if isinstance(source, list | tuple) else [source]
    found: list[str | Path] = []
    for one in several:
        if not isinstance(one, str | Path) or is_address(one):
            return []
        plain = not glob.has_magic(str(one)) or os.path.exists(one)
        found += [one] if plain else paths_of(one)
    return [Path(os.path.realpath(one)) for one in found[:_MOST]]


def _mark_files(place: Path) -> tuple[Path, Path]:
    """Where a mark may be: beside the file, or in the user's state folder."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    folder = Path(os.path.expanduser(base)) / "discreto" / "ledgers"
    name = hashlib.sha256(str(place).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return place.with_name(place.name + SUFFIX), folder / (name + SUFFIX)


def _read_marks(place: Path) -> list[LedgerMark]:
    out = []
    for path in _mark_files(place):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError:
            continue  # there is none, or it is not ours to read
        except ValueError:
            raise _damaged(path) from None
        for line in lines:
            try:
                out.append(LedgerMark(**json.loads(line)))
            except (ValueError, TypeError):
                raise _damaged(path) from None
    return out


def _damaged(path: Path) -> LedgerError:
    return LedgerError(
        f"{str(path)!r} says which ledgers pay for a file, and cannot be read. Restore "
        "it, or delete it if you know the ledger."
    )


def _write_mark(place: Path, mark: LedgerMark, *, more: bool) -> None:
    for path in _mark_files(place):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "a" if more else "x", encoding="utf-8") as file:
                file.write(mark.to_json() + "\n")
        except FileExistsError:
            if not path.is_file():
                continue
            # Another process was faster: with which ledger?
            known = _marks_soon(place)
            if all(one.ledger != mark.ledger for one in known):
                raise _refusal(place, known) from None
        except OSError:
            continue  # the data may lie where nothing can be written
        return
    warnings.warn(
        f"no note could be written that {mark.path!r} pays for {str(place)!r}: a "
        "second ledger for the same rows would not be noticed.",
        PrivacyWarning,
        stacklevel=4,
    )


def _marks_soon(place: Path) -> list[LedgerMark]:
    """The marks of a file that another process is writing at this moment."""
    for _ in range(50):
        known = _read_marks(place)
        if known:
            return known
        time.sleep(0.02)
    return []
