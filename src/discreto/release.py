"""What a person gets: a number, how sure it is, and what it cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.dates import is_date_unit, show_date

LEVEL = 0.95
NOTHING = Cost()
Numbers = float | NDArray[np.float64]


@dataclass(frozen=True)
class Release:
    """A private answer with its error bar.

    Parameters
    ----------
    label
        What was asked.
    value
        The answer: a number, or an array with one number for each of ``keys``. The
        mode of a column of texts is a text.
    low, high
        Ends of the interval that covers the *true value in this table* with 95 %
        probability over the noise (for each key on its own). Sampling error of the
        table itself is not part of it.
    keys
        The names of the parts of an array answer: categories, or edges of bins.
    cost, neighbours, receipt
        What was charged, what it protects, and the ledger's proof.
    unit
        The unit of the column, if the domain says one.
    note
        A remark that belongs to the number.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> table = dp.Table({"age": [40] * 100}, domain, dp.testing.simulate(0))
    >>> count = dp.stats.count(table, epsilon=1)
    >>> count.low <= count.value <= count.high, count.cost, count.simulated
    (True, Cost(ε 1), True)
    """

    label: str
    value: Numbers
    low: Numbers
    high: Numbers
    keys: tuple[Any, ...] = ()
    unit: str = ""
    note: str = ""
    cost: Cost = NOTHING
    neighbours: str = ""
    receipt: Receipt | None = None

    @property
    def error(self) -> Numbers:
        """Half the width of the 95 % interval."""
        return (np.asarray(self.high) - np.asarray(self.low)) / 2

    @property
    def epsilon(self) -> float:
        """The pure epsilon spent (0 if it was rho)."""
        return float(self.cost.epsilon)

    @property
    def simulated(self) -> bool:
        """Whether this comes from a simulation, and protects nobody."""
        return self.receipt is not None and self.receipt.simulated

    def paid(self, receipt: Receipt, cost: Cost, neighbours: str) -> Release:
        """The same answer with the proof of its payment.

        Parameters
        ----------
        receipt
            The ledger's proof.
        cost
            What was charged.
        neighbours
            What the cost protects.
        """
        return replace(self, receipt=receipt, cost=cost, neighbours=neighbours)

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype)

    def items(self) -> list[tuple[Any, float]]:
        """Pairs of key and value of an array answer."""
        return list(zip(self.keys, np.ravel(self.value).tolist(), strict=True))

    def dates(self) -> list[str]:
        """The values of an answer that is made of dates, as texts."""
        return [show_date(value, self.unit) for value in np.ravel(self.value).tolist()]

    def to_dict(self) -> dict[str, Any]:
        """A JSON form, read back by ``from_dict``."""
        out = {
            "label": self.label,
            "value": _plain(self.value),
            "low": _plain(self.low),
            "high": _plain(self.high),
            "level": LEVEL,
            "cost": self.cost.to_dict(),
            "neighbours": self.neighbours,
        }
        for name in ("unit", "note"):
            out |= {name: getattr(self, name)} if getattr(self, name) else {}
        if self.keys:
            out["keys"] = _plain(list(self.keys))
        if self.receipt is not None:
            out["receipt"] = self.receipt.to_dict()
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Release:
        """The inverse of ``to_dict``, without the receipt.

        Parameters
        ----------
        data
            What ``to_dict`` returned, or the JSON of it.

        Returns
        -------
        Release
            An equal release, but for the receipt.
        """

        def number(part: Any) -> Any:
            many = isinstance(part, list) and not any(isinstance(p, str) for p in part)
            return np.array(part) if many else part

        keys = data.get("keys", [])
        return cls(
            data["label"],
            number(data["value"]),
            number(data["low"]),
            number(data["high"]),
            tuple(tuple(key) if isinstance(key, list) else key for key in keys),
            data.get("unit", ""),
            data.get("note", ""),
            Cost.from_dict(data["cost"]),
            data["neighbours"],
        )

    def to_json(self) -> str:
        """``to_dict`` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        stamp = "SIMULATED " if self.simulated else ""
        tail = f"(95 %), {self.cost}"
        note = f"; {self.note}" if self.note else ""
        if not self.keys:
            return f"{stamp}{self._one(self.value, self.low, self.high)} {tail}{note}"
        parts = zip(
            self.keys,
            np.ravel(self.value).tolist(),
            np.ravel(self.low).tolist(),
            np.ravel(self.high).tolist(),
            strict=True,
        )
        names = [(show_key(key), self._one(v, a, b)) for key, v, a, b in parts]
        wide = max(len(name) for name, _ in names)
        shown = [f"  {name:<{wide}}  {text}" for name, text in names[:40]]
        more = [f"  ... {len(names) - 40} more"] if len(names) > 40 else []
        return "\n".join([f"{stamp}{self.label} {tail}{note}", *shown, *more])

    def _one(self, value: Any, low: Any, high: Any) -> str:
        if is_date_unit(self.unit) and not isinstance(value, str):
            ends = [show_date(part, self.unit) for part in (value, low, high)]
            return f"{ends[0]} [{ends[1]}, {ends[2]}]"
        unit = f" {self.unit}" if self.unit else ""
        if isinstance(value, str) or isinstance(low, str):
            return f"{value}{unit}"
        half, middle = (high - low) / 2, (high + low) / 2
        whole = all(float(part).is_integer() for part in (value, low, high))
        digits = 0 if whole else _digits(half)
        if abs(value - middle) <= 0.02 * half + 1e-12 * abs(value):
            return f"{value:.{digits}f} ± {half:.{digits}f}{unit}"
        return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]{unit}"

    def __repr__(self) -> str:
        return f"Release({self.label}: {self})"


def show_key(key: Any) -> str:
    """A key as a person reads it."""
    if isinstance(key, tuple):
        return " × ".join(show_key(part) for part in key)
    return f"{key:.6g}" if isinstance(key, float) else str(key)


def _digits(error: float) -> int:
    """Decimals that show two digits of the error."""
    if not error or not np.isfinite(error):
        return 2
    return int(np.clip(1 - np.floor(np.log10(error)), 0, 12))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value
