"""Answers as plain data: what a file or a message has of them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreto.core.cost import Cost

if TYPE_CHECKING:
    from discreto.release.release import Release

_WHERE_SAID = ("unit", "note", "population", "level", "checked", "counts")


def form_of(release: Release) -> dict[str, Any]:
    """Return an answer and its receipt as JSON data."""
    out = {
        "label": release.label,
        **{name: _plain(part) for name, part in written_numbers(release).items()},
        "level": release.level,
        "cost": release.cost.to_dict(),
        "neighbours": release.neighbours,
    }
    for name in ("unit", "note", "population", "counts"):
        out |= {name: getattr(release, name)} if getattr(release, name) else {}
    out |= {} if release.checked else {"checked": False}
    if release.keys:
        out["keys"] = _plain(list(release.keys))
    if release.names:
        out["names"] = list(release.names)
    if release.receipt is not None:
        out["receipt"] = release.receipt.to_dict()
    return out


def written_numbers(release: Release) -> dict[str, Any]:
    """Return the value and the ends of its interval as files have them.

    Counts are whole numbers. The ends are rounded outward, so they cover as before.
    """
    parts = {"value": release.value, "low": release.low, "high": release.high}
    numbers = [np.asarray(part).dtype.kind in "fiu" for part in parts.values()]
    if not release.counts or not all(numbers):
        return parts
    tiny = 1e-6  # what sums of floats leave beside a whole number
    rounds: dict[str, Any] = {
        "value": np.rint,
        "low": lambda low: np.floor(low + tiny),
        "high": lambda high: np.ceil(high - tiny),
    }
    return {name: _whole(rounds[name](np.asarray(p))) for name, p in parts.items()}


def _whole(numbers: Any) -> Any:
    """Return whole numbers as integers; what 64 bits do not hold stays as it is."""
    fits = np.isfinite(numbers).all() and (np.abs(numbers) < 2.0**62).all()
    return numbers.astype(np.int64) if fits else numbers


def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a release from its JSON data, without the receipt."""
    keys = data.get("keys", [])
    cost = {name: _exact(part) for name, part in data["cost"].items()}
    return {
        "label": data["label"],
        **{name: _numbers(data[name]) for name in ("value", "low", "high")},
        "keys": tuple(tuple(key) if isinstance(key, list) else key for key in keys),
        "cost": Cost.from_dict(cost),
        "neighbours": data["neighbours"],
        "names": tuple(data.get("names", ())),
        **{name: data[name] for name in _WHERE_SAID if name in data},
    }


def _numbers(part: Any) -> Any:
    many = isinstance(part, list) and not any(isinstance(p, str) for p in part)
    return np.array(part) if many else part


def _exact(amount: Any) -> Any:
    """Return an amount of a cost, which a shell prints as a number, as a fraction."""
    number = isinstance(amount, int | float) and not isinstance(amount, bool)
    return str(Fraction(str(amount))) if number else amount


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()  # of no dimension: a number
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value
