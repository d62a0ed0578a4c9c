"""A chain by itself: written by a ledger, checked by anybody, without its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreto.core.ledger.chain import Chain
from discreto.core.ledger.verification import History, check_history
from discreto.errors import LedgerError


def proof_of(history: History) -> dict[str, Any]:
    """Everything but the answers, as JSON data."""
    return {
        "discreto_ledger_proof": 1,
        "meta": dict(history.meta),
        "entries": [list(row) for row in history.entries],
        "accounts": [list(row) for row in history.accounts],
    }


def check_proof(proof: Mapping[str, Any], key: bytes | None = None) -> int:
    """Check a chain that ``Ledger.proof`` wrote; the number of its entries.

    Parameters
    ----------
    proof
        What ``proof`` returned, or the JSON of it.
    key
        The chain's secret, if it has one.

    Raises
    ------
    LedgerError
        Something in it does not follow.

    Examples
    --------
    >>> from discreto import Cost, Ledger
    >>> ledger = Ledger(epsilon=1)
    >>> _ = ledger.charge(Cost.of("0.5"), "a look")
    >>> check_proof(ledger.proof())
    1
    """
    try:
        entries = [(int(a), str(b), c, str(d)) for a, b, c, d in proof["entries"]]
        accounts = [(str(a), str(b), str(c)) for a, b, c in proof["accounts"]]
        history = History(dict(proof["meta"]), entries, accounts, [])
        return len(check_history(Chain(key), history).links)
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError):
        raise LedgerError("this is not a chain that a ledger wrote.") from None
