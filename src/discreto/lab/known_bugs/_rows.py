"""What planted bugs share: a small public domain, and rows in its terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.audit.neighbours import Data
from discreto.core.domain.domain import Category, Column, Domain, Number, Opaque

LABELS = ("a", "b", "c")
COLUMNS: dict[str, Column] = {"x": Number(0, 1), "label": Category(LABELS)}
PEOPLE = Domain(COLUMNS, target="label")
REPLACED = Domain(COLUMNS, target="label", neighbours="replace", rows=6)
VISITS = Domain(COLUMNS | {"id": Opaque()}, person="id", rows_per_person=2)
FAR = Domain({"x": Number(100, 101)})


def numbers(data: Data, low: float = 0.0, high: float = 1.0) -> Any:
    """A column clipped to public bounds; what is no number is the middle."""
    values = np.array([_number(v) for v in data["x"]], dtype=float)
    return np.where(np.isnan(values), (low + high) / 2, np.clip(values, low, high))


def raw(data: Data) -> Any:
    """A column as it comes."""
    return np.array([_number(v) for v in data["x"]], dtype=float)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


def codes(data: Data) -> Any:
    """The place of each label in the public list, or -1."""
    places = {label: i for i, label in enumerate(LABELS)}
    return np.array([places.get(v, -1) for v in data["label"]], dtype=np.int64)


def counts(places: Any, size: int) -> Any:
    """How many rows have each of the codes 0 .. size - 1."""
    places = np.asarray(places, dtype=np.int64)
    return np.bincount(places[places >= 0], minlength=size).astype(float)
