"""Outputs as an outside observer sees them, in a form that can be compared."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.gate import Gate
from discreto.core.ledger import Ledger
from discreto.table.table import Table
from discreto.testing import SimulationLedger

# Not output: what a fitted model was given, or keeps to ask again.
_INSIDE = (Table, Gate, Ledger, SimulationLedger)


def shown_as(thing: Any, depth: int = 0) -> Any:
    """Nested dicts, tuples and texts that are equal if and only if ``thing`` is.

    A fitted model shows all of its attributes, private ones included: they are in its
    pickle. The table a model may ask again, and its ledger, are not output.
    """
    if depth > 30:
        return "(too deep)"
    if thing is None or isinstance(thing, bool | int | str | bytes | Fraction):
        return thing
    if isinstance(thing, float | complex):
        return repr(thing)
    if isinstance(thing, _INSIDE):
        return "(private)"
    if isinstance(thing, np.generic | np.ndarray):
        return _array(np.asarray(thing), depth)
    if isinstance(thing, dict):
        return {str(k): shown_as(v, depth + 1) for k, v in thing.items()}
    if isinstance(thing, list | tuple):
        return tuple(shown_as(part, depth + 1) for part in thing)
    if isinstance(thing, set | frozenset):
        return tuple(sorted(map(repr, thing)))
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}
        return shown_as(fields, depth + 1)
    if hasattr(thing, "__dict__") and not callable(thing):
        return {"is": type(thing).__name__} | shown_as(vars(thing), depth + 1)
    return type(thing).__name__


def _array(array: Any, depth: int) -> Any:
    if array.dtype == object:
        inner = tuple(shown_as(part, depth + 1) for part in array.ravel().tolist())
        return ("array", array.shape, inner)
    if array.dtype.kind == "f":
        # Equal numbers are equal, whatever sign a zero or bits a NaN has.
        array = np.where(np.isnan(array), np.nan, array + 0.0)
    return ("array", array.dtype.str, array.shape, array.tobytes())
