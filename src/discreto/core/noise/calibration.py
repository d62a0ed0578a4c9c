"""How much noise a question needs for its cost, and how it is distributed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreto.core.cost import Cost
from discreto.core.noise.gaussian import GRID_PART, fine_bits, log_tail, range_of
from discreto.core.noise.sampler import Sampler, check_scale
from discreto.core.query import Bound, BoundBlock, Ints, Move, furthest
from discreto.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Noise:
    """The law of the noise on one block: a scale, or for Gauss a variance.

    ``width`` is how many numbers of a cell share one draw of a ``cube``. Gaussian noise
    is drawn in steps of 2^-``bits`` and rounded.
    """

    law: Literal["laplace", "gaussian", "cube"]
    amount: Fraction
    width: int = 1
    bits: int = 0

    @property
    def variance(self) -> float:
        """The variance of each number, in squared grid steps."""
        amount = float(self.amount)
        if self.law == "cube":
            return amount**2 * (self.width + 1) * (self.width + 2) / 3
        if self.law == "gaussian":
            return _rounded_variance(amount) if self.bits else amount
        return 2 * math.exp(-1 / amount) / math.expm1(-1 / amount) ** 2

    def draw(self, sampler: Sampler, count: int) -> Ints:
        """Fresh noise."""
        if self.law == "cube":
            return sampler.cube(self.amount, count // self.width, self.width).ravel()
        if self.law == "gaussian":
            fine = sampler.gaussian(self.amount * 4**self.bits, count)
            return (fine + (1 << self.bits >> 1)) >> self.bits
        return sampler.laplace(self.amount, count)


def noises_for(query: Bound, cost: Cost) -> tuple[Noise, ...]:
    """Return the least noise that makes ``query`` cost no more than ``cost``."""
    return query.once(
        cost, lambda: tuple([_noise_for(part, cost) for part in query.blocks])
    )


def _noise_for(part: BoundBlock, cost: Cost) -> Noise:
    block = part.block
    if cost.rho:
        rho = cost.rho * block.share
        variance = Fraction(part.square) / (2 * rho)
        half = math.sqrt(2 * float(rho)) / 2  # one neighbour's mean is that far off
        bits = fine_bits(variance, part.touched, rho * GRID_PART, half)
        return Noise("gaussian", variance, bits=bits)
    if block.noise == "cube":
        scale = Fraction(part.reach) / (cost.epsilon * block.share)
        check_scale(scale * (part.width + 1))
        return Noise("cube", check_scale(scale), part.width)
    width = Fraction(part.sensitivity)
    return Noise("laplace", check_scale(width / (cost.epsilon * block.share)))


def _rounded_variance(variance: float) -> float:
    """The variance of a Gaussian number that was rounded to a whole one."""
    if variance > 4:
        return variance + 1 / 12
    places = [k - 0.5 for k in range(1, 30)]
    return sum(4 * k * math.exp(log_tail(k / math.sqrt(variance))) for k in places)


def scale_for(query: Bound, cost: Cost, *, whole: bool = False) -> Fraction:
    """Return the noise scale on scores, for a part of a table or for the ``whole``.

    Under rho the choices of several groups compose as Gaussian privacy does, so a row
    that touches m of them costs sqrt(m) times the noise of one, not m times.
    """
    return query.once((cost, whole), lambda: _scale_for(query.moves(whole=whole), cost))


def _scale_for(moves: tuple[Move, ...], cost: Cost) -> Fraction:
    if not cost.rho:
        return check_scale(Fraction(furthest(moves)) / cost.epsilon)
    return max(
        check_scale(Fraction(move.width) / _worth(cost.rho / move.groups))
        for move in moves
    )


def _worth(rho: Fraction) -> Fraction:
    """The range of log-ratios that rho is worth, as a short fraction, rounded down."""
    worth = range_of(float(rho))
    if worth < 1e-12:
        raise ParameterError("this epsilon is too small for a choice.")
    # Short fractions, so that the scale need not be rounded up.
    digits = 10 ** max(0, 6 - math.floor(math.log10(worth)))
    return Fraction(math.floor(worth * digits), digits)
