"""Released products of columns: they add up over batches, and so does their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.gate import Measurement
from discreto.core.maps.features import SUM_BITS
from discreto.errors import DomainError
from discreto.models.base.features import Space
from discreto.models.linear.least_squares import Moments, moments_of


@dataclass(frozen=True)
class Products:
    """Sums of products, and sums of the target with a noise of their own.

    ``ends``: for a target y on [-1, 1] the sums of (1 - y) / 2 and (1 + y) / 2 and the
    variance of their noise, or nothing where these were not asked for.
    """

    moments: Moments
    ends: tuple[float, ...] = ()

    @classmethod
    def of(cls, answer: Measurement, weights: Any, step: float) -> Products:
        """What was released for columns that were multiplied by ``weights``."""
        variance = answer.noises[0].variance
        moments = moments_of(answer.tables[0][0], variance, step, weights)
        if len(answer.tables) == 1:
            return cls(moments)
        low, high = answer.tables[1][0] / float(1 << SUM_BITS)
        spread = answer.noises[1].variance / float(1 << (2 * SUM_BITS))
        return cls(moments, (float(low), float(high), spread))

    @classmethod
    def kept_in(cls, model: Any) -> Products:
        """What a fitted model holds."""
        moments = Moments(model.moments_, model.moments_noise_)
        return cls(moments, tuple(model.target_sums_.tolist()))

    def keep_in(self, model: Any) -> None:
        """Let a model hold this."""
        model.moments_, model.moments_noise_ = self.moments.sums, self.moments.noise
        model.target_sums_ = np.array(self.ends, dtype=float)

    def with_(self, other: Products) -> Products:
        """The products of both batches."""
        one, two = self.moments, other.moments
        both = Moments(one.sums + two.sums, one.noise + two.noise)
        if not self.ends or not other.ends:
            return Products(both)
        low, high, spread = np.add(self.ends, other.ends).tolist()
        return Products(both, (low, high, spread))

    def mean(self) -> tuple[float, float] | None:
        """The plain mean of the target on [-1, 1] and how uncertain it is."""
        if not self.ends:
            return None
        low, high, spread = self.ends
        rows = max(low + high, 2 * math.sqrt(spread), 1.0)
        value = float(np.clip((high - low) / rows, -1, 1))
        # Weighted rows have another mean than all rows: by a fiftieth, say.
        return value, 2 * spread * (1 + value**2) / rows**2 + 0.02**2


def check_same(before: Space, now: Space) -> None:
    """Refuse a batch of other columns, from public facts."""
    same = (before.features, before.target) == (now.features, now.target)
    names = (*before.features, before.goal)
    if not same or any(before.domain[n] != now.domain[n] for n in names):
        raise DomainError("partial_fit: the columns are not those of earlier batches.")


__all__ = ["Products", "check_same"]
