"""What a ledger file says of itself: written once, checked whenever it is opened."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from fractions import Fraction

from discreto.core.cost import Amount, read_amount, read_delta, show
from discreto.core.ledger.chain import dump
from discreto.errors import LedgerError, ParameterError

VERSION = "3"
# Version 1 had no parts set aside; before version 3 entries carried no totals.
READS = ("1", "2", "3")
PARTS = ("delta", "pure", "block_delta")
Wanted = Mapping[str, Fraction | None]


def read_aside(
    epsilon: Amount | None,
    delta: Amount | None,
    pure: Amount | None,
    block_delta: Amount | None,
) -> dict[str, Fraction | None]:
    """What is set aside for costs that add up; nothing, or both parts."""
    if pure is None and block_delta is None:
        return {"pure": None, "block_delta": None}
    added = read_amount(0 if pure is None else pure, "pure", zero=True)
    chance = read_delta(0 if block_delta is None else block_delta)
    if epsilon is not None and (
        added > read_amount(epsilon, "epsilon")
        or chance > read_delta(0 if delta is None else delta)
    ):
        raise ParameterError(
            "pure and block_delta are parts of a ledger's epsilon and delta: they "
            "cannot be larger."
        )
    return {"pure": added, "block_delta": chance}


def new_meta(
    wanted: Wanted, population: str, limits: Mapping[str, Fraction], path: str
) -> dict[str, str]:
    """The fixed facts of a new ledger."""
    if wanted["epsilon"] is None:
        raise LedgerError(
            f"there is no ledger {path!r}. Say how much it may spend to make one: "
            "Ledger(path, epsilon=3)."
        )
    meta = {
        "version": VERSION,
        "id": secrets.token_hex(8),
        "population": population,
        "epsilon": str(wanted["epsilon"]),
        "delta": str(wanted["delta"] or 0),
        "analysts": dump({name: str(limit) for name, limit in limits.items()}),
    }
    if wanted["pure"] is not None:
        meta |= {name: str(wanted[name]) for name in ("pure", "block_delta")}
    return meta


def check_version(path: str, meta: Mapping[str, str]) -> None:
    """Refuse a file of a format that is not known here."""
    if meta.get("version") not in READS:
        raise LedgerError(
            f"{path!r} was written by another version of discreto (format "
            f"{meta.get('version')}; this one reads {', '.join(READS)})."
        )


def check_people(path: str, wanted: str | None, found: str) -> None:
    """Refuse the file of another population."""
    if wanted is not None and wanted != found:
        raise LedgerError(
            f"{path!r} is the ledger of population {found!r}, not of {wanted!r}. One "
            "file belongs to one population."
        )


def check_wanted(path: str, wanted: Wanted, have: Mapping[str, Fraction]) -> None:
    """Refuse a file whose budget is another one."""
    for name, value in wanted.items():
        if value is not None and value != have.get(name):
            old = show(have[name]) if name in have else "none"
            raise LedgerError(
                f"{path!r} has {name} {old}, not {show(value)}. Leave {name} out to "
                "use what the file says."
            )
