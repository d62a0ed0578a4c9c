"""Values that nobody has listed: those with enough rows are shown, with noisy counts.

Which values occur is private, so no cell may be there because of one row. Every value
that occurs gets noise Z with P[Z = z] proportional to exp(-|z| / scale), |z| <= reach;
its noisy count is shown if it is above ``reach``, and nothing at all if it is not. A
value with one row is shown only if Z = reach, which has a chance of at most delta
(docs/proofs/unknown-keys.md). For one row per person no (epsilon, delta) method shows a
value with a larger chance (Desfontaines, Voss, Gipson, Mandayam 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreto.core.domain.domain import Domain, Opaque
from discreto.core.frame import Array
from discreto.core.noise.sampler import Sampler, check_scale
from discreto.core.query import Ints
from discreto.errors import DomainError, ParameterError

LARGEST_DELTA = Fraction(1, 100)
_COINS = 1 << 40
_CONTEXT = Context(prec=60)
_SAFE = Decimal("1e-40")  # relative; far above the error of 60 digits


@dataclass(frozen=True, slots=True)
class OpenText(Opaque):
    """A column of texts that nobody has listed, such as names of diseases or towns.

    ``stats.unknown_keys`` finds the frequent ones. Nothing else asks about it; declare
    what was found as a ``Category`` to do that.

    Parameters
    ----------
    kind
        What it is, for readers.

    Examples
    --------
    >>> OpenText().to_dict()
    {'type': 'text'}
    """

    kind: str = "text"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the column in a domain file."""
        return {"type": "text"}


@dataclass(frozen=True, slots=True)
class Keys:
    """The frequent values of a column of open texts, with their noisy counts."""

    column: str

    def check(self, domain: Domain) -> None:
        """Refuse a column that is not declared as open texts."""
        if not isinstance(domain[self.column], OpenText):
            raise DomainError(
                f"{self.column!r} is not declared as texts that nobody has listed. "
                f'Declare "{self.column}": dp.OpenText(), or ask for its histogram.'
            )


@dataclass(frozen=True, slots=True)
class KeysNoise:
    """The noise on counts, and above which noisy count a value is shown.

    A whole reach has an end that is less likely than was paid for. So with the chance
    ``shorter`` of 2^40, a public coin, the reach is one less for all values.
    """

    scale: Fraction
    reach: int
    shorter: int = 0

    def settled(self, sampler: Sampler) -> KeysNoise:
        """The noise with the reach that the coin says, which anybody may know."""
        coin = int(sampler.entropy.below(_COINS, 1)[0])
        return KeysNoise(self.scale, self.reach - (coin < self.shorter))

    def draw(self, sampler: Sampler, count: int) -> Ints:
        """Independent draws; a draw is repeated only for what it is itself."""
        out = sampler.laplace(self.scale, count)
        todo = np.flatnonzero(np.abs(out) > self.reach)
        while todo.size:
            out[todo] = sampler.laplace(self.scale, todo.size)
            todo = todo[np.abs(out[todo]) > self.reach]
        return out


def keys_noise(epsilon: Fraction, delta: Fraction, domain: Domain) -> KeysNoise:
    """The noise for a cost, or a refusal.

    ``changes`` rows come and go between neighbours, one after the other. Each may lose
    (e, d); together they lose (changes e, d (1 + exp(e) + ... + exp((changes - 1) e))).
    """
    if not epsilon or not delta:
        raise ParameterError(
            "values that nobody has listed need an epsilon and a delta above 0: "
            "without a delta none of them may be shown."
        )
    if delta > LARGEST_DELTA or epsilon > 256:
        raise ParameterError(
            "unknown keys take delta <= 0.01 and epsilon <= 256. Got epsilon "
            f"{float(epsilon):g} and delta {float(delta):g}."
        )
    changes = domain.rows_per_person * (2 if domain.neighbours == "replace" else 1)
    scale = check_scale(changes / epsilon)
    # The reach is for the noise that is drawn, whose scale may have been rounded up.
    return KeysNoise(scale, *_reach(1 / scale, delta, changes))


@lru_cache(maxsize=256)
def _reach(epsilon: Fraction, delta: Fraction, changes: int) -> tuple[int, int]:
    """The smallest reach at whose end the noise has little enough probability.

    And how often, of 2^40, it may be one less with both together at what is allowed.
    """
    c, rate, chance = _CONTEXT, _decimal(epsilon), _decimal(delta)
    parts = [c.exp(c.multiply(rate, Decimal(i))) for i in range(changes)]
    total = Decimal(0)
    for part in parts:
        total = c.add(total, part)
    allowed = c.multiply(c.divide(chance, total), c.subtract(1, _SAFE))
    low, high = 0, 1
    while end_chance(epsilon, high) > allowed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if end_chance(epsilon, middle) > allowed:
            low = middle
        else:
            high = middle
    if high == 1:
        return high, 0
    far, near = end_chance(epsilon, high), end_chance(epsilon, high - 1)
    spare = c.divide(c.subtract(allowed, far), c.subtract(near, far))
    return high, max(int(c.multiply(spare, Decimal(_COINS))) - 1, 0)


def end_chance(epsilon: Fraction, reach: int) -> Decimal:
    """P[Z = reach], to 40 digits and not below.

    An operator would round to as many digits as the caller's own context has.
    """
    c = _CONTEXT
    q = c.exp(c.minus(_decimal(epsilon)))
    top = c.multiply(c.subtract(1, q), c.power(q, reach))
    rest = c.multiply(2, c.power(q, reach + 1))
    found = c.divide(top, c.subtract(c.add(1, q), rest))
    return c.multiply(found, c.add(1, _SAFE))


def _decimal(number: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def shown_keys(
    texts: Array, noise: KeysNoise, sampler: Sampler | None
) -> tuple[tuple[str, ...], Ints]:
    """The values that are shown and their noisy counts, the largest first.

    Without a sampler there is no noise. ``texts`` are texts or whole numbers; None is
    no value.
    """
    counts: dict[str, int] = {}
    if texts.dtype == object:
        for text in texts.tolist():
            if text is not None:
                counts[text] = counts.get(text, 0) + 1
    else:
        values, sizes = np.unique(texts, return_counts=True)
        pairs = zip(values.tolist(), sizes.tolist(), strict=True)
        counts = {str(value): size for value, size in pairs}
    names = sorted(counts)
    exact = np.array([counts[name] for name in names], dtype=np.int64)
    noisy = exact if sampler is None else exact + noise.draw(sampler, exact.size)
    kept = np.flatnonzero(noisy > noise.reach)
    order = kept[np.argsort(-noisy[kept], kind="stable")]
    return tuple(names[place] for place in order), noisy[order]
