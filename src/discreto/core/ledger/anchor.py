"""A second opinion on the history: every entry's hash, in a file kept elsewhere.

A ledger that was put back from a backup has a valid chain, only a shorter one. The
anchor knows better. A line is written after the charge is committed and before anything
is released, so the ledger always holds at least what the anchor holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from discreto.core.ledger.store import sync_folder
from discreto.errors import LedgerError

_LINE = re.compile(r"^(\S+) (\d{1,18}) ([0-9a-f]{64})$", re.MULTILINE | re.ASCII)
Line = tuple[str, int, str]


class Anchor:
    """An append-only file of ``<ledger id> <entry> <hash>`` lines."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    def create(self) -> None:
        """Make an empty anchor, for a ledger without entries."""
        try:
            open(self.path, "ab").close()
            sync_folder(self.path)
        except OSError as error:
            raise LedgerError(
                f"the anchor {str(self.path)!r} cannot be made ({error})."
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
                f"the anchor {str(self.path)!r} cannot be written ({error}): nothing "
                "was released; the charge stands."
            ) from None

    def read(self) -> list[Line] | None:
        """The lines, or None if there is no file."""
        try:
            text = self.path.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                f"the anchor {str(self.path)!r} cannot be read ({error})."
            ) from None
        return [(name, int(seq), link) for name, seq, link in _LINE.findall(text)]

    def check(
        self, lines: list[Line] | None, ledger: str, links: dict[int, str]
    ) -> None:
        """Refuse a ledger that lacks what the anchor knows."""
        if lines is None and links:
            raise LedgerError(
                f"the anchor {str(self.path)!r} is missing although the ledger has "
                "entries. If you are adding an anchor, make an empty file there first."
            )
        for name, seq, link in lines or ():
            if name != ledger:
                raise LedgerError(
                    f"the anchor {str(self.path)!r} belongs to another ledger."
                )
            if links.get(seq) != link:
                raise LedgerError(
                    f"the anchor knows an entry {seq} that is not in the ledger: a "
                    "backup was restored or the history was rewritten."
                )
