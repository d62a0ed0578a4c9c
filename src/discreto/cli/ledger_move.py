"""``discreto ledger move``: go on with what is left of a budget in another place.

The old ledger is closed before the new one is made, so that no moment has two that can
be spent. Entries stay in the old one, which is kept as the record.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto.cli import options, terminal
from discreto.cli.files import read_key
from discreto.core.cost import Cost, show
from discreto.core.ledger import Ledger
from discreto.core.ledger.sqlite import ANSWERS
from discreto.errors import LedgerError, ParameterError
from discreto.text.language import number, tr

EXAMPLE = """Example:

`discreto ledger move patients.ledger 'postgresql://discreto@db.example.org/x#patients'`
"""
_MOVED, _CONTINUES = "moved to another ledger", "continues another ledger"
_LEAST = Fraction(1, 10**9)  # a limit is above 0


def move(
    ledger: Annotated[
        str, typer.Argument(metavar="LEDGER", help="The ledger to close.")
    ],
    new: Annotated[
        str,
        typer.Argument(metavar="NEW", help="A new file, or an address in PostgreSQL."),
    ],
    anchor: options.AnchorFile = None,
    chain_key: options.ChainKey = None,
) -> None:
    """Close a ledger and make a new one with what is left, in a file or PostgreSQL.

    The chain is verified first. Limits of analysts go along, less what they spent.
    Entries and stored answers stay in the old ledger: keep it.
    """
    key = read_key(chain_key)
    if "://" not in ledger and not Path(ledger).is_file():
        raise ParameterError(f"there is no ledger {ledger!r}.")
    with Ledger(ledger, key=key) as old:
        budgets = closed(old, new)
        facts = {"ledger": old.id, "entries": len(old.entries())}
        facts["hash"] = old.entries(1)[0]["hash"]
        delta, people = old.delta, old.population or None
    population = budgets.pop("")
    with Ledger(
        new,
        epsilon=population,
        delta=delta,
        population=people,
        anchor=anchor,
        key=key,
    ) as book:
        if book.find(_CONTINUES) is None:
            book.note(f"continues ledger {facts['ledger']}", facts, _CONTINUES)
        for name, amount in budgets.items():
            if name not in book.accounts():
                book.allow(name, amount)
        left = number(show(book.remaining()))
    terminal.out().print(
        terminal.plain(
            tr(
                "{old} is closed. {new} has ε {left}. Keep {old}: it is the record.",
                old=_with_answers(ledger),
                new=_without_password(new),
                left=left,
            )
        ),
        soft_wrap=True,
    )


def _with_answers(ledger: str) -> str:
    """Return a ledger's name, and that of the folder of its large answers if any."""
    folder = ledger + ANSWERS
    return f"{ledger} + {folder}" if Path(folder).is_dir() else ledger


def closed(old: Ledger, new: str) -> dict[str, Fraction]:
    """Close a ledger, and return what is left for each account; ``""`` is for all.

    A move that broke off is taken up again: the limits are in the entry of the move.
    """
    old.verify()
    _refuse_what_cannot_move(old)
    entry = old.find(_MOVED)
    if entry is None:
        _refuse_existing(new)
        names = dict.fromkeys(["", *old.accounts()])
        limits = {name: str(old.limit(name)) for name in names}
        facts: dict[str, Any] = {"new": _without_password(new), "limits": limits}
        old.note(f"moved to {facts['new']}", facts, _MOVED)
    else:
        facts = entry["event"]
        if facts["new"] != _without_password(new):
            raise LedgerError(
                f"this ledger was moved to {facts['new']!r} before. Use that one."
            )
    if old.limit("") > max(old.spent().epsilon, _LEAST):
        old.allow("", max(old.spent().epsilon, _LEAST))
    return _left(old, facts["limits"])


def _left(old: Ledger, limits: dict[str, str]) -> dict[str, Fraction]:
    """Read after the closing: no charge can come in between."""
    _refuse_what_cannot_move(old)
    out = {}
    for name, limit in limits.items():
        rest = Fraction(limit) - max(old.spent(name).epsilon, _LEAST)
        if rest > 0:
            out[name] = rest
    if "" not in out:
        raise LedgerError("nothing is left in this ledger: there is nothing to move.")
    return out


def _refuse_what_cannot_move(old: Ledger) -> None:
    spent = old.spent()
    if old.shut:
        raise LedgerError("this ledger is shut: reopen it first.")
    if old.simulation is not None:
        raise ParameterError("a simulation has no budget to move.")
    if spent != Cost(epsilon=spent.epsilon):
        raise ParameterError(
            "questions with a delta were asked of this ledger. What they leave cannot "
            "be divided exactly between two ledgers. Go on with this one."
        )


def _refuse_existing(new: str) -> None:
    if "://" not in new:
        if Path(new).exists():
            raise ParameterError(f"{new!r} exists already. Choose another name.")
        return
    try:
        Ledger(new).close()
    except LedgerError as error:
        if "there is no ledger" in str(error):
            return
        raise
    raise ParameterError("there is a ledger at that address already.")


def _without_password(address: str) -> str:
    """Return an address as it may be written down.

    >>> _without_password("postgresql://ana:secret@db/x#p"), _without_password("a.l")
    ('postgresql://ana@db/x#p', 'a.l')
    """
    scheme, found, rest = address.partition("://")
    if not found:
        return address
    who, at, place = rest.rpartition("@")
    return f"{scheme}://{who.partition(':')[0]}{at}{place}"


__all__ = ["move"]
