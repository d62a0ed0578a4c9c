"""The chain of hashes through a ledger: every entry has the hash of the one before."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from discreto.core.cost import Budget
from discreto.errors import ParameterError

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
POPULATION = ""  # the account that every charge falls on


class Chain:
    """Hashes that follow from each other, under a secret key if there is one."""

    def __init__(self, key: bytes | None) -> None:
        if key is not None and (not isinstance(key, bytes) or not key):
            raise ParameterError("the key of a ledger must be bytes, at least one.")
        self.key = key

    def link(self, before: str, body: str, key: str | None) -> str:
        """The hash of an entry that follows ``before``."""
        return self._hash([before, body, key])

    def seal(self, meta: Mapping[str, str]) -> str:
        """The hash of a ledger's fixed facts, which the first entry follows."""
        facts = {name: value for name, value in meta.items() if name != "seal"}
        return self._hash(["discreto ledger", facts])

    def state(self, accounts: Mapping[str, tuple[str, str]]) -> str:
        """Return the hash of all limits and totals, which every entry carries."""
        rows = [[name, *accounts[name]] for name in sorted(accounts)]
        return self._hash(["accounts", rows])

    def answer(self, link: str, body: str) -> str:
        """The hash of the answer to the entry with this link."""
        return self._hash(["answer", link, body])

    def _hash(self, parts: list[Any]) -> str:
        text = dump(parts).encode()
        if self.key:
            return hmac.new(self.key, text, "sha256").hexdigest()
        return hashlib.sha256(text).hexdigest()


def payers(analyst: str, accounts: Iterable[str]) -> dict[str, None]:
    """The accounts that a charge falls on, each once."""
    return dict.fromkeys((analyst, *accounts, POPULATION))


def budget_of(meta: Mapping[str, str], name: str, limit: Fraction) -> Budget:
    """The budget of an account. Only the population's can have parts set aside."""
    delta = Fraction(meta["delta"])
    if name != POPULATION or "pure" not in meta:
        return Budget(limit, delta)
    return Budget(limit, delta, Fraction(meta["pure"]), Fraction(meta["block_delta"]))


def dump(data: Any) -> str:
    """JSON in one fixed form, plain ASCII so that any text can be hashed and stored."""
    return _encode(data)
