"""The check of a ledger's chain by itself, without the ledger.

An auditor runs it on the result of ``Ledger.proof``. No charge depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreto.core.ledger.chain import Chain, History, check_history
from discreto.errors import LedgerError


def check_proof(proof: Mapping[str, Any], key: bytes | None = None) -> int:
    """Check a chain that ``Ledger.proof`` wrote; return the number of its entries.

    Parameters
    ----------
    proof
        The result of ``proof``, or the JSON of it.
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
