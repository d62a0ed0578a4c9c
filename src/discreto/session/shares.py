"""Shares of one cost for statistics that are asked together, from public facts.

The error of a statistic falls with its share of the cost. *Weighed* shares make the sum
of the errors, each against the error that is wanted, as small as can be. Errors come
from dry runs with made-up rows, so nothing about the real rows is needed or used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreto.core.cost import Amount, Cost, read_amount
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.session.dry_run import dry_run_gate
from discreto.session.session import Ask, Session

Split = str | Sequence[Amount]
_PARTS = 10_000  # shares are multiples of 1 / this


class Askable(Protocol):
    """A statistic: it asks a session and makes a release."""

    @property
    def label(self) -> str: ...
    def learn(self, ask: Ask) -> Release: ...


@dataclass(frozen=True, slots=True)
class _Curve:
    """The relative error of a statistic as size * share ** -power."""

    size: float
    power: float


def shares_of(
    several: Sequence[Askable],
    split: Split,
    domain: Domain,
    cost: Cost,
    rows: int,
    precision: Sequence[Amount | None] | None = None,
) -> list[Fraction]:
    """Return the share of each statistic. They add up to 1.

    Parameters
    ----------
    several
        The statistics.
    split
        ``"equal"``, ``"weighed"``, or a number for each, to which shares are in
        proportion.
    domain, cost, rows
        What a dry run needs; ``rows`` is a guess.
    precision
        For ``"weighed"``: the error that is wanted of each; where there is none, its
        expected size.
    """
    count = len(several)
    if isinstance(split, str):
        if split not in ("equal", "weighed"):
            raise ParameterError(
                f"split is 'equal', 'weighed' or a number for each. Got {split!r}."
            )
        if split == "equal" or count == 1:
            if precision is not None and split == "equal":
                raise ParameterError("precision goes with split='weighed'.")
            return [Fraction(1, count)] * count
        return _weighed(several, domain, cost, rows, precision or [None] * count)
    numbers = [read_amount(number, "split") for number in split]
    if len(numbers) != count:
        raise ParameterError(f"split needs {count} numbers. Got {len(numbers)}.")
    return [number / sum(numbers) for number in numbers]


def _weighed(
    several: Sequence[Askable],
    domain: Domain,
    cost: Cost,
    rows: int,
    precision: Sequence[Amount | None],
) -> list[Fraction]:
    if len(precision) != len(several):
        raise ParameterError(f"precision needs {len(several)} numbers, or None each.")
    curves = [
        _curve(statistic, domain, cost, rows, len(several), wanted)
        for statistic, wanted in zip(several, precision, strict=True)
    ]
    return _whole_shares(_best(curves))


def _curve(
    statistic: Askable,
    domain: Domain,
    cost: Cost,
    rows: int,
    count: int,
    wanted: Amount | None,
) -> _Curve:
    """Return how the error falls with the share, from two dry runs."""
    shares = [Fraction(1, count), Fraction(1, 2) + Fraction(1, 2 * count)]
    found = [_dry(statistic, domain, cost * share, rows) for share in shares]
    errors = [_size(np.asarray(release.error, dtype=float)) for release in found]
    if wanted is not None:
        scale = float(read_amount(wanted, "precision"))
    else:
        scale = _scale(found[0].value)
    if not errors[0] > 0:  # no error bar: an ordinary share
        return _Curve(1.0 / count, 1.0)
    ratio, times = errors[0] / max(errors[1], 1e-300), float(shares[1] / shares[0])
    # Noise falls as 1 / share, or its root under rho; grids and limits bend it.
    power = min(max(math.log(ratio) / math.log(times), 0.25), 1.5)
    scale = scale if scale > 0 else errors[0]
    return _Curve(errors[0] / scale * float(shares[0]) ** power, power)


def _dry(statistic: Askable, domain: Domain, cost: Cost, rows: int) -> Release:
    session = Session(dry_run_gate(domain, rows), cost)
    session.limit_answer()
    return statistic.learn(session)


def _size(errors: Any) -> float:
    finite = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0


def _scale(value: Any) -> float:
    if isinstance(value, str):
        return 0.0
    return _size(np.asarray(value, dtype=float))


def _best(curves: Sequence[_Curve]) -> list[float]:
    """Return the shares with the least sum of errors."""

    def at(price: float) -> list[float]:
        # The error falls by size * power * share ** -(power + 1) with the share.
        return [(c.size * c.power / price) ** (1 / (c.power + 1)) for c in curves]

    low, high = 1e-12, 1e12
    for _ in range(200):
        price = math.sqrt(low * high)
        if sum(at(price)) > 1:
            low = price
        else:
            high = price
    return at(high)


def _whole_shares(shares: Sequence[float]) -> list[Fraction]:
    """Return shares as exact fractions that add up to 1, none too small to use."""
    least = max(_PARTS // (20 * len(shares)), 1)
    total = sum(shares)
    whole = [max(math.floor(_PARTS * share / total), least) for share in shares]
    return [Fraction(part, sum(whole)) for part in whole]
