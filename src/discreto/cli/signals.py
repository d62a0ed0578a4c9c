"""Ctrl-C: the command ends within a second and says what was charged.

Work in threads and in compiled code does not notice an interrupt. So the first one
raises KeyboardInterrupt, as ever, and starts a clock: when it has run out, whatever is
left of the process is ended. A ledger is safe at any moment: what it committed stands,
and nothing else does.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextvars import copy_context
from pathlib import Path
from typing import Any

from discreto.core.cost import Cost
from discreto.core.ledger import Ledger
from discreto.errors import LedgerError
from discreto.release.labels import label_in_words
from discreto.text.language import number, tr

CODE = 130  # what a shell calls a process that Ctrl-C ended
PATIENCE = 0.6  # seconds
_opened: list[tuple[Ledger, int]] = []
_unfinished: set[Path] = set()
_said = threading.Lock()


def watch(book: Ledger) -> Ledger:
    """Remember a ledger, and how many entries it had."""
    _opened.append((book, len(book.entries())))
    return book


def unfinished(path: Path) -> None:
    """Remember a file that is not worth keeping if the command ends now."""
    _unfinished.add(path)


def finished(path: Path) -> None:
    """Forget a file that is complete or deleted."""
    _unfinished.discard(path)


def charges() -> str:
    """Return a sentence with what was charged since the ledgers were opened."""
    lines = []
    for book, before in _opened:
        try:
            entries = book.entries()[before:]
        except LedgerError:
            return tr("See `discreto ledger show` for what was charged.")
        lines += [
            tr(
                "entry {seq}, {label}, {cost}",
                seq=entry["seq"],
                label=label_in_words(entry["label"]),
                cost=number(Cost.from_dict(entry["cost"])),
            )
            for entry in entries
            if entry["cost"]
        ]
    if not lines:
        return tr("Nothing was charged.")
    return tr("Charged, and not given back: {names}.", names="; ".join(lines))


def install() -> None:
    """Take Ctrl-C from here on."""
    _opened.clear()
    signal.signal(signal.SIGINT, _interrupted)


def _interrupted(number: int, frame: Any) -> None:
    clock = threading.Timer(PATIENCE, end)
    clock.daemon = True
    clock.start()
    raise KeyboardInterrupt


def end() -> None:
    """Say what was charged and end the process, threads and all."""
    say()
    for path in _unfinished:
        path.unlink(missing_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(CODE)


def say() -> None:
    """Print what was charged, once."""
    if not _said.acquire(blocking=False):
        return
    found: list[str] = []
    # The ledger may be held by the work that does not stop.
    reader = threading.Thread(
        target=copy_context().run,
        args=(lambda: found.append(charges()),),
        daemon=True,
    )
    reader.start()
    reader.join(0.25)
    told = found[0] if found else tr("See `discreto ledger show` for what was charged.")
    stopped = tr("Stopped.")
    sys.stderr.write(f"\n{stopped} {told}\n")
