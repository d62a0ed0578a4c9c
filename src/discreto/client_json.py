"""What travels between a service and its clients, as JSON data."""

from __future__ import annotations

from typing import Any

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.release.release import Release


def release_from(data: dict[str, Any]) -> Release:
    """A release as a service sent it, with its receipt."""
    numbers = ("value", "low", "high")
    data = data | {name: _number(data[name]) for name in numbers}
    release = Release.from_dict(data)
    paid = data.get("receipt")
    if paid is None:
        return release
    cost = Cost.from_dict(paid["cost"])
    receipt = Receipt(int(paid["seq"]), str(paid["label"]), cost, str(paid["hash"]))
    return release.paid(receipt, release.cost, release.neighbours)


def releases_from(data: dict[str, Any]) -> dict[str, Any]:
    """Several releases by name, as a service sent them."""
    return {name: release_from(one) for name, one in data.items()}


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(one) for one in value]
    return float(value) if value in ("nan", "inf", "-inf") else value


def without_nones(data: Any) -> Any:
    """A question without the parts that are None."""
    if isinstance(data, dict):
        return {
            key: without_nones(value)
            for key, value in data.items()
            if value is not None
        }
    return [without_nones(one) for one in data] if isinstance(data, list) else data


def sendable(params: dict[str, Any]) -> dict[str, Any]:
    """A model's parameters as data; settings only where they were set."""
    out = dict(params)
    if "settings" in out:
        settings = vars(out["settings"])
        out["settings"] = {k: v for k, v in settings.items() if v is not None}
    return out
