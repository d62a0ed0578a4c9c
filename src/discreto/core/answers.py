"""What the gate gives: noisy sums, choices, or values that many rows have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.charge import Receipt
from discreto.core.noise.calibration import Noise
from discreto.core.query import Ints
from discreto.core.unknown_keys import KeysNoise


@dataclass(frozen=True, slots=True)
class Measurement:
    """Noisy sums: one (cells x width) integer table and one noise law per block."""

    tables: tuple[Ints, ...]
    noises: tuple[Noise, ...]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidate of each group, and the scale of the noise on scores."""

    indices: Ints
    scale: Fraction
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Discovery:
    """Values that had enough rows, their noisy counts, and the noise on them."""

    keys: tuple[str, ...]
    counts: Ints
    noise: KeysNoise
    receipt: Receipt


def noise_facts(noises: tuple[Noise, ...]) -> dict[str, Any]:
    """Return what a ledger's entry says about the noise of a measurement."""
    return {"noise": [{"law": n.law, "amount": str(n.amount)} for n in noises]}


def stored_tables(text: str) -> tuple[Ints, ...]:
    """Return the tables of an answer that a ledger has kept."""
    return tuple(np.array(table) for table in json.loads(text))
