"""Seeds that follow from the facts of a cell, whatever the order cells run in."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from discreto.session.rng import Generator, generator
from discreto.testing import SimulationLedger, simulate


def seed_for(*facts: Any) -> int:
    """Return a number below 2**31 that depends on all facts.

    >>> seed_for("adult", 1.0, 3) == seed_for("adult", 1.0, 3) != seed_for("adult", 3)
    True
    """
    text = json.dumps(facts, sort_keys=True).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1


def ledger_for(*facts: Any, noise: bool = True) -> SimulationLedger:
    """Return a simulation ledger whose noise depends on all facts."""
    return simulate(seed_for("noise", *facts), noise=noise)


def generator_for(*facts: Any) -> Generator:
    """A generator for public choices (folds, synthetic data), made from all facts."""
    return generator(seed_for("coins", *facts))
