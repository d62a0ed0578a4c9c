"""The chain of hashes through a ledger, its verification, and the anchor elsewhere.

Every entry has the hash of the one before, and carries the totals of the accounts that
it changes. So limits and totals follow from the chain alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreto.core.ledger.accounts import (
    POPULATION,
    Rows,
    Totals,
    dump,
    plain_sums,
)
from discreto.core.ledger.sqlite import sync_folder
from discreto.errors import LedgerError, ParameterError
from discreto.text import ledger_messages as say

Entry = tuple[int, str, str | None, str]  # seq, body, key, hash


class Chain:
    """Hashes that follow from each other, under a secret key if there is one."""

    def __init__(self, key: bytes | None) -> None:
        if key is not None and (not isinstance(key, bytes) or not key):
            raise ParameterError("the key of a ledger must be bytes, at least one.")
        self.key = key
        # The row that a charge changes is the one that the last charge made.
        self._row = lru_cache(maxsize=1024)(self._number)

    def link(self, before: str, body: str, key: str | None) -> str:
        """Return the hash of an entry that follows ``before``."""
        return self._hash([before, body, key])

    def seal(self, meta: Mapping[str, str]) -> str:
        """Return the hash of a ledger's fixed facts, which the first entry follows."""
        facts = {name: value for name, value in meta.items() if name != "seal"}
        return self._hash(["discreto ledger", facts])

    def state(self, accounts: Rows) -> str:
        """Return the hash of all limits and totals, which entries of version 3 have."""
        rows = [[name, *accounts[name]] for name in sorted(accounts)]
        return self._hash(["accounts", rows])

    def digest(self, accounts: Rows) -> int:
        """Return the digest of all limits and totals, which every entry carries.

        It is a sum of hashes, so that a changed account changes it in constant time.
        """
        out = 0
        for name, row in accounts.items():
            out = self.moved(out, name, None, row)
        return out

    def moved(
        self, digest: int, name: str, old: tuple[str, str] | None, new: tuple[str, str]
    ) -> int:
        """Return the digest after one account was changed, or added."""
        digest += self._row(name, *new) - (0 if old is None else self._row(name, *old))
        return digest % 2**256

    def _number(self, *row: str) -> int:
        return int(self._hash(["account", *row]), 16)

    def answer(self, link: str, body: str) -> str:
        """Return the hash of the answer to the entry with this link."""
        return self._hash(["answer", link, body])

    def large_answer(self, link: str, name: str) -> str:
        """Return the hash of an answer that is kept elsewhere under ``name``.

        It differs from that of an answer with the same text, so that no stored answer
        can pass for the name of another one.
        """
        return self._hash(["large answer", link, name])

    def _hash(self, parts: list[Any]) -> str:
        text = dump(parts).encode()
        if self.key:
            return hmac.new(self.key, text, "sha256").hexdigest()
        return hashlib.sha256(text).hexdigest()


# Verification


@dataclass(frozen=True, slots=True)
class History:
    """The rows of a ledger as they were read: all of them, or the ``recent`` ones.

    Recent entries begin with the one before an entry that has totals.
    """

    meta: Mapping[str, str]
    entries: list[Entry]
    accounts: list[tuple[str, str, str]]  # name, limit, spent
    answers: list[tuple[int, str, str]]  # seq, body, hash
    recent: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """A history that follows: links by number, totals, and the large answers.

    ``stale`` are totals of an older version, which are to be brought up.
    """

    links: dict[int, str]
    rows: Rows
    stale: dict[str, str]
    large: dict[int, str]  # entries and the names of their answers


def check_history(chain: Chain, history: History) -> Checked:
    """Return what follows from a history, or refuse one that does not follow."""
    seal = chain.seal(history.meta)
    if history.meta.get("seal") != seal:
        raise LedgerError(say.CHANGED_BUDGET)
    bodies = _check_links(chain, history, seal)
    found: Rows = {name: (limit, spent) for name, limit, spent in history.accounts}
    expected = _add_up(chain, history, bodies)
    # Version 1 added everything up; such totals are brought up to date when read.
    old = history.meta["version"] == "1" and not history.recent
    if found != expected and not (old and found == plain_sums(expected, bodies)):
        raise LedgerError(say.CHANGED_TOTALS)
    links = {seq: link for seq, _, _, link in history.entries}
    large = {}
    for seq, body, link in history.answers:
        if seq in links and link == chain.large_answer(links[seq], body):
            large[seq] = body
        elif seq not in links or link != chain.answer(links[seq], body):
            raise LedgerError(f"the answer stored for entry {seq} was changed.")
    stale = {} if found == expected else {n: s for n, (_, s) in expected.items()}
    return Checked(links, expected, stale, large)


def _check_links(chain: Chain, history: History, seal: str) -> list[dict[str, Any]]:
    """Return the contents of all entries, each of which follows the one before."""
    entries, before = history.entries, seal
    if history.recent:
        before, entries = entries[0][3], entries[1:]
    first, bodies = (history.entries[0][0] + 1 if history.recent else 1), []
    for place, (seq, body, key, link) in enumerate(entries, start=first):
        if seq != place or link != chain.link(before, body, key):
            raise LedgerError(say.BROKEN_LINK.format(place=place, before=place - 1))
        before = link
        bodies.append(json.loads(body))
    return bodies


def _start(history: History, bodies: list[dict[str, Any]]) -> Rows:
    """Return the limits and totals before the first of the entries."""
    if history.recent:
        said = bodies[0]["totals"]
        return {name: (limit, spent) for name, (limit, spent) in said.items()}
    limits = {POPULATION: history.meta["epsilon"]}
    limits |= json.loads(history.meta["analysts"])
    return {name: (limit, "{}") for name, limit in limits.items()}


def _add_up(chain: Chain, history: History, bodies: list[dict[str, Any]]) -> Rows:
    """Return the limits and totals after all entries, each of which must follow."""
    totals = Totals(history.meta, _start(history, bodies))
    first = history.entries[0][0] + history.recent if bodies else 0
    for number, entry in enumerate(bodies, start=first):
        if not totals.add(entry):
            raise LedgerError(say.FALSE_TOTALS.format(number=number))
    rows = totals.rows()
    last = bodies[-1] if bodies else {}
    # Version 3 carries a hash of all accounts, version 4 their digest.
    state, digest = last.get("state"), last.get("digest")
    if (state is not None and state != chain.state(rows)) or (
        digest is not None and int(digest, 16) != chain.digest(rows)
    ):
        raise LedgerError(say.FALSE_DIGEST)
    return rows


# The anchor

_LINE = re.compile(r"^(\S+) (\d{1,18}) ([0-9a-f]{64})$", re.MULTILINE | re.ASCII)
Line = tuple[str, int, str]


class Anchor:
    """An append-only file of ``<ledger id> <entry> <hash>`` lines, kept elsewhere.

    A ledger that was put back from a backup has a valid chain, only a shorter one. The
    anchor knows better. A line is written after the charge is committed and before
    anything is released, so the ledger always holds at least what the anchor holds.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    def create(self) -> None:
        """Make an empty anchor, for a ledger without entries."""
        try:
            open(self.path, "ab").close()
            sync_folder(self.path)
        except OSError as error:
            raise LedgerError(
                say.ANCHOR_NOT_MADE.format(anchor=str(self.path), error=error)
            ) from None

    def write(self, ledger: str, links: Iterable[tuple[int, str]]) -> None:
        """Append a line for each entry, and sync them."""
        # The leading line end sets them apart from a line that a crash cut short.
        text = "".join(f"\n{ledger} {seq} {link}\n" for seq, link in links).encode()
        try:
            # Never made here: an anchor that is gone has forgotten what it knew.
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                if os.write(handle, text) != len(text):
                    raise OSError("cut short")
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise LedgerError(
                say.ANCHOR_NOT_WRITTEN.format(anchor=str(self.path), error=error)
            ) from None

    def read(self) -> list[Line] | None:
        """Return the lines, or None if there is no file."""
        try:
            text = self.path.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                say.ANCHOR_NOT_READ.format(anchor=str(self.path), error=error)
            ) from None
        return [(name, int(seq), link) for name, seq, link in _LINE.findall(text)]

    def check(
        self, lines: list[Line] | None, ledger: str, links: dict[int, str]
    ) -> None:
        """Refuse a ledger that lacks an entry of the anchor."""
        if lines is None and links:
            raise LedgerError(say.NO_ANCHOR.format(anchor=str(self.path)))
        for name, seq, link in lines or ():
            if name != ledger:
                raise LedgerError(say.OTHER_ANCHOR.format(anchor=str(self.path)))
            if links.get(seq) != link:
                raise LedgerError(say.ANCHOR_KNOWS_MORE.format(seq=seq))
