"""A second opinion on the history: every entry's hash, in a file kept elsewhere.

A ledger that was put back from a backup has a valid chain, only a shorter one. The
anchor knows better. A line is written after the charge is committed and before anything
is released, so the ledger always holds at least what the anchor holds.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreto.errors import LedgerError


class Anchor:
    """An append-only file of ``<ledger id> <entry> <hash>`` lines."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def write(self, ledger: str, seq: int, link: str) -> None:
        """Append one line and sync it."""
        # The leading line end sets it apart from a line that a crash cut short.
        line = f"\n{ledger} {seq} {link}\n".encode()
        try:
            with open(self.path, "ab", buffering=0) as file:
                if file.write(line) != len(line):
                    raise OSError("cut short")
                os.fsync(file.fileno())
        except OSError as error:
            raise LedgerError(
                f"the anchor {str(self.path)!r} cannot be written ({error}): nothing "
                "was released; the charge stands."
            ) from None

    def read(self) -> list[tuple[str, int, str]] | None:
        """The lines, or None if there is no file."""
        try:
            text = self.path.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(
                f"the anchor {str(self.path)!r} cannot be read ({error})."
            ) from None
        lines = []
        for line in text.split("\n")[:-1]:
            words = line.split()
            if len(words) == 3 and words[1].isdigit() and len(words[2]) == 64:
                lines.append((words[0], int(words[1]), words[2]))
        return lines

    def check(
        self,
        lines: list[tuple[str, int, str]] | None,
        ledger: str,
        links: dict[int, str],
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
