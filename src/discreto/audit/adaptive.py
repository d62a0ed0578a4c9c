"""The exact delta of an adaptive analyst's best strategy against a ledger.

A ledger says which charges still fit. An analyst who sees the answers decides how the
rest is spent: Gaussian noise (rho), pure epsilon, or blocks of (epsilon, delta). The
worst mechanisms of each kind are known (a Gaussian shift, randomised response, a secret
that is told with probability delta). So the best strategy is a problem of optimal
stopping over one number, the privacy loss so far. ``worst_delta`` solves it by dynamic
programming.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, log_ndtr

from discreto.audit.findings import Finding
from discreto.core.cost import Amount, Cost, read_amount, read_delta
from discreto.errors import DiscretoError

Floats = NDArray[np.float64]
Fits = Callable[[Sequence[Cost]], bool]
Charges = Callable[[Fraction], list[Cost]]  # of an amount that is looked for
_FINE = 10**15
_JUMPS = (1.2, 2.0, 4.0)  # how far one pure question goes on the scale of rho
_TINY = Cost(epsilon=Fraction(1, 10**12))
SLACK = 1e-3  # numerical error of the programme, relatively; see the tests


def worst_delta(
    fits: Fits,
    epsilon: Amount,
    delta: Amount,
    *,
    smallest_rho: float = 1e-3,
    ratio: float = 1.03,
    pure_first: int = 4,
    points: int = 1601,
) -> float:
    """Return the delta, at ``epsilon``, of the best strategy found against a filter.

    A result above ``delta`` is a strategy that breaks the claim; one below proves
    nothing about other strategies.

    Parameters
    ----------
    fits
        Whether a ledger accepts these charges, one after the other.
    epsilon, delta
        The whole budget.
    smallest_rho, ratio
        The first Gaussian question costs about ``smallest_rho``, and after each the
        rho spent has grown by ``ratio``. Finer questions show more.
    pure_first
        In how many parts pure epsilon may be spent before the first Gaussian question.
    points
        Values of the privacy loss in the programme.
    """
    budget, probability = read_amount(epsilon, "epsilon"), read_delta(delta)
    tree = _Programme(fits, float(budget), probability, smallest_rho, ratio, points)
    return max(tree.pure_then_rest(pure_first), *map(tree.block_then_rest, (1, 2)))


def conversation(
    fits: Fits, epsilon: Amount, delta: Amount, *, name: str = "", **options: Any
) -> Finding:
    """Audit a ledger's filter: is an adaptive analyst's delta within the budget?

    Parameters
    ----------
    fits
        Whether a ledger accepts these charges, one after the other; see
        :func:`accepts`.
    epsilon, delta
        The whole budget.
    name
        What the finding calls the subject.
    options
        Further parameters of :func:`worst_delta`.
    """
    start = time.perf_counter()
    claimed = float(read_delta(delta))
    shown = worst_delta(fits, epsilon, delta, **options)
    return Finding(
        name or "this ledger",
        "conversation",
        violation=shown > claimed * (1 + SLACK),
        claimed=claimed,
        shown=shown,
        event=f"after the answers seen so far the rest is spent on rho, pure epsilon "
        f"or a block: delta is {shown / claimed:.4g} times the budget's",
        pair="the worst pair of each question",
        pairs=1,
        relation="any",
        unit="δ",
        seconds=time.perf_counter() - start,
    )


def accepts(make: Callable[[], Any]) -> Fits:
    """Return the filter of a ledger: charge a fresh one, and see whether it refuses.

    Parameters
    ----------
    make
        Makes a fresh ledger.

    Returns
    -------
    callable
        Takes a list of costs, and says whether all of them are accepted.

    Examples
    --------
    >>> import discreto as dp
    >>> fits = accepts(lambda: dp.Ledger(epsilon=1))
    >>> fits([Cost.of("0.6"), Cost.of("0.4")]), fits([Cost.of("0.6"), Cost.of("0.5")])
    (True, False)
    """

    def fits(charges: Sequence[Cost]) -> bool:
        ledger = make()
        try:
            for place, cost in enumerate(charges):
                ledger.charge(cost, f"question {place + 1}")
        except DiscretoError:
            return False
        return True

    return fits


@dataclass(frozen=True, slots=True)
class _Rest:
    """Return the remaining budget at each point of the Gaussian path."""

    rhos: Floats  # spent so far
    pure: Floats  # epsilon that would still fit
    told: Floats  # delta of a block that would still fit
    jumps: tuple[tuple[tuple[int, float], ...], ...]  # (place, epsilon) of pure moves


class _Programme:
    """Values of the loss on a grid, backwards from the end of the budget."""

    def __init__(
        self,
        fits: Fits,
        epsilon: float,
        delta: Fraction,
        smallest: float,
        ratio: float,
        points: int,
    ) -> None:
        self._fits, self._epsilon, self._delta = fits, epsilon, delta
        self._smallest, self._ratio = smallest, ratio
        self._z = np.linspace(-8.0, 14.0, points)
        self._move = _transition(self._z, ratio)

    def pure_then_rest(self, parts: int) -> float:
        """Pure questions of equal size first; after each, the rest may be Gaussian."""
        each = Fraction(self._epsilon).limit_denominator(_FINE) / (parts + 1)
        up = float(expit(float(each)))
        after: Floats = np.zeros(parts + 2)  # all of it spent purely: no delta at all
        for spent in range(parts, -1, -1):
            # After so many questions the loss is one of -spent, -spent + 2, ...
            losses = float(each) * np.arange(-spent, spent + 1, 2.0)
            go_on = up * after[1:] + (1 - up) * after[:-1]
            before = [Cost(epsilon=each)] * spent
            after = np.maximum(self._gaussian(before, losses), go_on)
        return float(after[0])

    def block_then_rest(self, quarters: int) -> float:
        """First a block that tells a secret with a part of delta."""
        part = self._delta * Fraction(quarters, 4)
        block = Cost(block_epsilon=_TINY.epsilon, delta=part)
        if not self._fits([block]):
            return 0.0
        rest = float(self._gaussian([block], np.zeros(1))[0])
        return float(part) + (1 - float(part)) * rest

    def _gaussian(self, before: list[Cost], losses: Floats) -> Floats:
        """Return the best delta from here on, for each loss so far."""
        rest = self._rest(before)
        values: list[Floats] = []
        for place in range(len(rest.rhos) - 1, -1, -1):
            spent = rest.rhos[place]
            loss = losses[:, None] + spent + self._z * math.sqrt(2 * spent)
            best = self._stop(loss, rest.pure[place], rest.told[place])
            if values:
                best = np.maximum(best, (self._move @ values[0].T).T)
                for far, pure in rest.jumps[place]:
                    there = values[far - place - 1]
                    gain = self._jump(loss, losses, pure, rest.rhos[far], there)
                    best = np.maximum(best, gain)
            values.insert(0, best)
        if not values:
            return np.zeros(len(losses))
        weights = np.exp(-self._z * self._z / 2)
        return values[0] @ (weights / weights.sum())

    def _stop(self, loss: Floats, pure: float, told: float) -> Floats:
        """The best end: all of the rest in one pure question, or in one block."""
        up = float(expit(pure))
        end = up * self._over(loss + pure) + (1 - up) * self._over(loss - pure)
        return np.maximum(end, told + (1 - told) * self._over(loss))

    def _over(self, loss: Floats) -> Floats:
        return -np.expm1(np.minimum(self._epsilon - loss, 0.0))

    def _jump(
        self, loss: Floats, losses: Floats, pure: float, spent: float, there: Floats
    ) -> Floats:
        """Return one pure question that counts as rho, then the rest from there."""
        up, out = float(expit(pure)), np.empty_like(loss)
        logs = np.log(np.maximum(there, 1e-300))  # lines between logs: never above
        for row, start in enumerate(losses):
            parts = []
            for way in (pure, -pure):
                z = (loss[row] + way - start - spent) / math.sqrt(2 * spent)
                found = np.exp(np.interp(z, self._z, logs[row], left=-690.0))
                parts.append(found)
            out[row] = up * parts[0] + (1 - up) * parts[1]
        return out

    # What the filter lets through

    def _rest(self, before: list[Cost]) -> _Rest:
        most = self._largest(lambda x: [*before, Cost(rho=x)], 2 * self._epsilon + 100)
        steps = 0
        if most > self._smallest:
            steps = int(math.log(most / self._smallest) / math.log(self._ratio))
        if most <= 0:
            none = np.zeros(0)
            return _Rest(none, none, none, ())
        rhos = most * self._ratio ** -np.arange(steps, -1, -1.0)
        pure, told = np.zeros(len(rhos)), np.zeros(len(rhos))
        above, tell = self._epsilon, float(self._delta)
        for place, rho in enumerate(rhos):
            so_far = [*before, Cost(rho=_exact(rho))]
            above = self._largest(_then_pure(so_far), above)
            tell = self._largest(_then_block(so_far), tell)
            pure[place], told[place] = above, tell
        jumps = tuple(self._jumps(before, rhos, pure, i) for i in range(len(rhos)))
        return _Rest(rhos, pure, told, jumps)

    def _jumps(
        self, before: list[Cost], rhos: Floats, pure: Floats, place: int
    ) -> tuple[tuple[int, float], ...]:
        """Pure questions in the middle, where the filter counts them as rho."""
        out = []
        for factor in _JUMPS:
            far = place + round(math.log(factor) / math.log(self._ratio))
            if far >= len(rhos):
                continue
            half = math.sqrt(2 * (rhos[far] - rhos[place])) / 2
            amount = float(log_ndtr(half) - log_ndtr(-half)) * (1 - 1e-9)
            so_far = [*before, Cost(rho=_exact(rhos[place]))]
            so_far.append(Cost(epsilon=_exact(amount)))
            left = _exact(max(rhos[-1] - rhos[far], 0) * (1 - 1e-6))
            ends = [Cost(rho=left) if left else _TINY]
            if pure[far] > 1e-9:
                ends.append(Cost(epsilon=_exact(pure[far] * (1 - 1e-3))))
            if all(self._fits([*so_far, end]) for end in ends):
                out.append((far, amount))
        return tuple(out)

    def _largest(self, charges: Charges, most: float) -> float:
        """The largest amount that fits, from below, to four digits and better."""
        if most <= 0:
            return 0.0
        if self._fits(charges(_exact(most))):
            return most
        low, high = 0.0, most
        while high - low > 1e-5 * high and high > 1e-13:
            middle = (low + high) / 2
            if self._fits(charges(_exact(middle))):
                low = middle
            else:
                high = middle
        return low


def _exact(amount: float) -> Fraction:
    return Fraction(math.floor(amount * _FINE), _FINE)


def _then_pure(so_far: list[Cost]) -> Charges:
    return lambda amount: [*so_far, Cost(epsilon=amount)]


def _then_block(so_far: list[Cost]) -> Charges:
    tiny = _TINY.epsilon
    return lambda amount: [*so_far, Cost(block_epsilon=tiny, delta=amount)]


def _transition(z: Floats, ratio: float) -> Any:
    """Return one Gaussian question, as a matrix over losses in their own deviations.

    From rho to ``ratio * rho`` the loss gains a normal number; in z = (loss - rho) /
    sqrt(2 rho) that is the same matrix at every step. Quadrature on the grid's own
    points needs no interpolation.
    """
    spread, gap = math.sqrt(ratio - 1), z[1] - z[0]
    reach = math.ceil(8 * spread / gap) + 1
    rows, columns = np.meshgrid(np.arange(len(z)), np.arange(-reach, reach + 1))
    centre = np.rint((z / math.sqrt(ratio) - z[0]) / gap).astype(np.int64)
    columns = columns + centre[rows]
    inside = (columns >= 0) & (columns < len(z))
    rows, columns = rows[inside], columns[inside]
    far = (z[columns] * math.sqrt(ratio) - z[rows]) / spread
    weight = np.exp(-far * far / 2) * gap * math.sqrt(ratio / (2 * math.pi)) / spread
    return csr_array((weight, (rows, columns)), shape=(len(z), len(z)))


__all__ = ["Fits", "accepts", "conversation", "worst_delta"]
