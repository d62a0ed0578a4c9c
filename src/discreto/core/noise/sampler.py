"""Exact integer noise, many draws at a time.

Every sampler has *exactly* the law it names. Floating point is only a filter: it
decides a draw when a margin shows that rounding cannot matter, and otherwise the same
uniform number, extended with more bits, is decided with decimal arithmetic of growing
precision (about one draw in 10^5). Nothing here sees private data, and the work for
a draw does not depend on the value that comes out.

The margins rest on one assumption, which a test checks against ``decimal``:
``numpy.log`` and ``numpy.exp`` are within 2^-48 of the truth, relatively.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler_exact import (
    ONE,
    below_exp,
    below_ratio,
    first,
    floor_of_log,
    times,
)
from discreto.errors import ParameterError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SCALE_LIMIT = 1 << 54  # keeps |noise| below 2^62 but for a chance of e^-256
CHUNK = 1 << 15  # draws that stay in the cache together
FEW_BITS = 1 << 44  # a word below this leaves too much of its logarithm unknown
SLACK = 2.0**-42  # relative; 64 times the assumed error of log and exp
_LOG2_64 = 64 * math.log(2.0)


def _waits(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """-log(1 - U) at both ends of [word, word + 1) / 2^64, to a few last bits."""
    done, left = words.astype(np.float64), (~words).astype(np.float64)
    low = words < 1 << 63
    part = 2.0**-64
    return (
        np.where(low, -np.log1p(-done * part), -np.log((left + 1) * part)),
        np.where(low, -np.log1p(-(done + 1) * part), -np.log(left * part)),
    )


class Sampler:
    """Exact integer noise from one entropy stream.

    ``exact_always`` sends every draw through the decimal path: slow, for tests.
    """

    def __init__(self, entropy: Entropy, *, exact_always: bool = False) -> None:
        self.entropy = entropy
        self._exact_always = exact_always

    def geometric(self, scale: Fraction, count: int) -> Ints:
        """``P[k]`` proportional to ``exp(-k / scale)`` for k = 0, 1, 2, ..."""
        scale = check_scale(scale)
        out = np.empty(count, dtype=np.int64)
        for start in range(0, count, CHUNK):
            part = out[start : start + CHUNK]
            part[:] = self._geometric(scale, part.size)
        return out

    def _geometric(self, scale: Fraction, count: int) -> Ints:
        # floor(G / d) of a geometric with scale n is geometric with scale n / d.
        top, divisor = scale.numerator, scale.denominator
        if divisor > 1 and top < 1 << 20:
            return self._short_geometric(scale, count)
        # The binary digits of a geometric are independent, so its low digits can be
        # drawn apart. That keeps the scale of the high part below 2^21.
        low_bits = max(0, top.bit_length() - 21)
        high = self._short_geometric(Fraction(top, 1 << low_bits), count)
        if low_bits:
            high <<= low_bits
            high += self._low_digits(top, low_bits, count)
        return high // divisor if divisor > 1 else high

    def _short_geometric(self, scale: Fraction, count: int) -> Ints:
        words = self.entropy.words(count)
        tag = self.entropy.bytes(32)
        factor = float(scale)
        exact = words.astype(np.float64)
        np.log(np.maximum(exact, 0.5, out=exact), out=exact)
        np.subtract(_LOG2_64, exact, out=exact)
        exact *= factor
        floor = np.floor(exact)
        # Unknown bits of U move log U by at most 1 / word; rounding by 45 * SLACK.
        # The last term is for the two subtractions that follow.
        margin = factor * (1.5 / FEW_BITS + 48.0 * SLACK) + 2.0**-50
        exact -= floor
        exact -= 0.5
        unsure = np.abs(exact, out=exact) >= 0.5 - margin
        unsure |= words < FEW_BITS
        out = floor.astype(np.int64)
        if self._exact_always:
            unsure[:] = True
        for i in np.flatnonzero(unsure):
            out[i] = floor_of_log(int(words[i]), scale, tag, int(i))
        return out

    def _low_digits(self, top: int, bits: int, count: int) -> Ints:
        """Integers below 2^bits with P[k] proportional to exp(-k / top)."""
        out = self._digits(bits, count)
        wrong = np.flatnonzero(~self._keep_digits(out, top))
        while wrong.size:  # a draw is rejected with probability below 2^-20
            out[wrong] = again = self._digits(bits, wrong.size)
            wrong = wrong[~self._keep_digits(again, top)]
        return out

    def _digits(self, bits: int, count: int) -> Ints:
        """Whole numbers, uniform below 2^bits."""
        return (self.entropy.words(count) >> np.uint64(64 - bits)).view(np.int64)

    def _keep_digits(self, draw: Ints, top: int) -> Bools:
        """True with probability exp(-draw / top), which is at least 1 - 2^-20.

        So only words at the very top need a closer look.
        """
        words, tag = self.entropy.words(draw.size), self.entropy.bytes(32)
        keep: Bools = words < np.uint64(2**64 - 2**44 - 1)
        if self._exact_always:
            keep[:] = False
        for i in np.flatnonzero(~keep):
            rate = Fraction(int(draw[i]), top)
            keep[i] = below_exp(int(words[i]), rate, tag, int(i), ONE)
        return keep

    def bernoulli_exp(
        self,
        rate: Floats,
        exact_rate: Callable[[int], Fraction],
        factor: Fraction = ONE,
    ) -> Bools:
        """True with probability factor * exp(-rate), elementwise, if that is below 1.

        ``exact_rate(i)`` is the exact rational that ``rate[i]`` rounds: the float must
        be within ``2^-48 * (1 + rate)`` of it.
        """
        words = self.entropy.words(rate.size)
        tag = self.entropy.bytes(32)
        uniform = words.astype(np.float64) * 2.0**-64
        chance = np.exp(-rate) * float(factor)
        margin = SLACK * (chance * (1.0 + rate) + 2.0**-20)
        out: Bools = uniform < chance
        unsure = np.abs(uniform - chance) <= margin
        if self._exact_always:
            unsure[:] = True
        for i in np.flatnonzero(unsure):
            exact = exact_rate(int(i))
            out[i] = below_exp(int(words[i]), exact, tag, int(i), factor)
        return out

    def laplace(self, scale: Fraction, count: int) -> Ints:
        """``P[k]`` proportional to ``exp(-|k| / scale)``, as geometric - geometric."""
        out = self.geometric(scale, count)
        out -= self.geometric(scale, count)
        return out

    def gaussian(self, variance: Fraction, count: int) -> Ints:
        """``P[k]`` proportional to ``exp(-k^2 / (2 variance))``.

        Rejection from the discrete Laplace (Canonne, Kamath, Steinke 2020). Each trial
        is independent of how many came before, so the number of trials tells nothing.
        """
        variance = Fraction(variance)
        if not 0 < variance < 1 << 100:
            raise ParameterError(
                f"noise variance must be in (0, 2^100), not {variance}."
            )
        width = math.isqrt(int(variance)) + 1
        centre, spread = variance / width, 2 * variance
        float_centre, float_spread = float(centre), float(spread)
        out = np.empty(count, dtype=np.int64)
        done = 0
        while done < count:
            draw = self.laplace(
                Fraction(width), min(CHUNK, 64 + 3 * (count - done) // 2)
            )
            offset = np.abs(draw) - float_centre

            def exact(i: int, draw: Ints = draw) -> Fraction:
                return (abs(int(draw[i])) - centre) ** 2 / spread

            keep = draw[self.bernoulli_exp(offset * offset / float_spread, exact)]
            keep = keep[: count - done]
            out[done : done + keep.size] = keep
            done += keep.size
        return out

    def cube(self, scale: Fraction, rows: int, width: int) -> Ints:
        """Vectors z of ``width`` whole numbers, ``P[z]`` ~ ``exp(-max|z_i| / scale)``.

        exp(-m / scale) is a mixture over R >= m of even spreads over the cube of all z
        with max|z_i| <= R, where R has weight (2R + 1)^width exp(-R / scale). A sum of
        width + 1 geometric draws has weight (R+1)...(R+width) exp(-R / scale) but for
        constants, so it is kept with the chance of (2R + 1)^width against 2R + 2i.
        """
        sizes = np.empty(rows, dtype=np.int64)
        todo = np.arange(rows)
        while todo.size:
            draws = self.geometric(scale, todo.size * (width + 1))
            size = draws.reshape(todo.size, width + 1).sum(axis=1)
            keep = self._keep_cube(size, width)
            sizes[todo[keep]] = size[keep]
            todo = todo[~keep]
        spread = self._below(np.repeat(2 * sizes + 1, width).astype(np.uint64))
        return spread.reshape(rows, width) - sizes[:, None]

    def _keep_cube(self, size: Ints, width: int) -> Bools:
        """True with probability prod_i (2 size + 1) / (2 size + 2 i), exactly."""
        words, tag = self.entropy.words(size.size), self.entropy.bytes(32)
        steps = np.arange(1, width + 1)
        parts = (2 * steps - 1) / (2.0 * size[:, None] + 2 * steps)
        chance = np.exp(np.log1p(-parts).sum(axis=1))
        uniform = words.astype(np.float64) * 2.0**-64
        out: Bools = uniform < chance
        unsure = np.abs(uniform - chance) <= SLACK * width
        if self._exact_always:
            unsure[:] = True
        for i in np.flatnonzero(unsure):
            number = int(size[i])
            top = (2 * number + 1) ** width
            bottom = math.prod(2 * number + 2 * k for k in range(1, width + 1))
            out[i] = below_ratio(int(words[i]), top, bottom, tag, int(i))
        return out

    def _below(self, limits: NDArray[np.uint64]) -> Ints:
        """Whole numbers, exactly uniform on 0 .. limit - 1 for each limit below 2^63.

        floor(U * limit) for U of 64 bits; the few draws that further bits of U could
        move to the next number get those bits. The work does not depend on the limit.
        """
        words, tag = self.entropy.words(limits.size), self.entropy.bytes(32)
        half, low_half = np.uint64(32), np.uint64(0xFFFFFFFF)
        a, b = words >> half, words & low_half
        c, d = limits >> half, limits & low_half
        middle = (b * d >> half) + (a * d & low_half) + (b * c & low_half)
        high = a * c + (a * d >> half) + (b * c >> half) + (middle >> half)
        low = words * limits
        out = high.astype(np.int64)
        unsure = low > np.uint64(2**64 - 1) - limits
        if self._exact_always:
            unsure[:] = True
        for i in np.flatnonzero(unsure):
            out[i] = times(int(words[i]), int(limits[i]), tag, int(i))
        return out

    def noisy_max(self, scores: Ints, scale: Fraction) -> Ints:
        """For each row of ``scores``, the index of the largest score + geometric noise.

        Ties fall by a random order. On the integers this is permute-and-flip.
        """
        rows, candidates = scores.shape
        noise = self.geometric(scale, rows * candidates).reshape(rows, candidates)
        noisy = scores + noise
        order = self.entropy.words(rows * candidates).reshape(rows, candidates)
        best = noisy.max(axis=1, keepdims=True)
        # Among the largest, the one whose random word is largest; words never tie in
        # practice (2^-64), and if they do the first of the two is taken.
        ranked = np.where(noisy == best, order >> np.uint64(1), np.uint64(0))
        chosen: Ints = ranked.argmax(axis=1)
        return chosen

    def gumbel_max(self, scores: Ints, scale: Fraction) -> Ints:
        """For each row of ``scores``, an index with weight ``exp(score / scale)``.

        A race: candidate i comes at exp(-score_i / scale) times an exponential time,
        and the first one wins. That is the largest score with Gumbel noise.
        """
        rows, candidates = scores.shape
        words = self.entropy.words(rows * candidates).reshape(rows, candidates)
        tag = self.entropy.bytes(32)
        behind = scores.max(axis=1, keepdims=True) - scores
        delay = behind.astype(np.float64) / float(scale)
        margin = SLACK * (64.0 + delay)
        with np.errstate(divide="ignore"):  # the first and the last word: unsure
            early, late = (np.log(end) + delay for end in _waits(words))
        early -= margin
        late += margin
        out: Ints = late.argmin(axis=1)
        rival = early <= late.min(axis=1, keepdims=True)
        unsure = np.count_nonzero(rival, axis=1) > 1
        for row in np.flatnonzero(unsure | self._exact_always):
            near = np.flatnonzero(rival[row] | self._exact_always)
            racers = [
                (int(words[row, i]), Fraction(int(behind[row, i])) / scale)
                for i in near
            ]
            place = [int(row) * candidates + int(i) for i in near]
            out[row] = near[first(racers, tag, place)]
        return out

    def staircase(self, epsilon: Fraction, width: int, step: int, count: int) -> Ints:
        """Staircase noise for sensitivity ``width``, with a first tread of ``step``.

        ``P[k] = a exp(-epsilon * floor((|k| + width - step) / width))`` (Geng and
        Viswanath 2014, on the integers): flat for |k| < step, then one step down
        for each further ``width``.
        """
        if not 1 <= step <= width:
            raise ParameterError(f"staircase step must be 1 to {width}, not {step}.")
        epsilon = Fraction(epsilon)
        if not 0 < epsilon <= 256:
            raise ParameterError(
                f"staircase epsilon must be in (0, 256], not {epsilon}."
            )
        # A magnitude lies in block b = 0, 1, 2, ... of `width` values, the first `step`
        # of them with weight exp(-eps b), the others exp(-eps (b + 1)). Places are
        # drawn with a weight just above exp(-eps) for the others, which are thinned
        # then. 0 has one sign only, so it is halved. The work does not depend on what
        # comes out.
        bits = 40
        rare = min(math.ceil(math.exp(-float(epsilon)) * (1 << bits)) + 1, 1 << bits)
        thinning = Fraction(1 << bits, rare)
        out = np.empty(count, dtype=np.int64)
        todo = np.arange(count)
        while todo.size:
            block = self.geometric(1 / epsilon, todo.size)
            draw = self.entropy.below((step << bits) + (width - step) * rare, todo.size)
            later = step + (draw - (step << bits)) // rare
            place = np.where(draw < step << bits, draw >> bits, later)
            thin = self.bernoulli_exp(
                np.full(todo.size, float(epsilon)), lambda _: epsilon, thinning
            )
            signs = self.entropy.below(2, todo.size).astype(bool)
            size = block * width + place
            keep = ((place < step) | thin) & ~((size == 0) & signs)
            out[todo[keep]] = np.where(signs, -size, size)[keep]
            todo = todo[~keep]
        return out

    def respond(self, codes: Ints, choices: int, epsilon: Fraction) -> Ints:
        """k-ary randomised response: odds e^epsilon for the truth against each lie."""
        epsilon = Fraction(epsilon)
        if not 0 < epsilon <= 256:
            raise ParameterError(f"epsilon must be in (0, 256], not {epsilon}.")
        codes = np.clip(codes, 0, choices - 1)
        out = np.empty(codes.size, dtype=np.int64)
        todo = np.arange(codes.size)
        # Draw a code; keep it if it is the truth, else keep it with chance e^-epsilon.
        # The number of trials does not depend on the truth.
        while todo.size:
            draw = self.entropy.below(choices, todo.size)
            lie = self.bernoulli_exp(
                np.full(todo.size, float(epsilon)), lambda _: epsilon
            )
            keep = (draw == codes[todo]) | lie
            out[todo[keep]] = draw[keep]
            todo = todo[~keep]
        return out


def check_scale(scale: Fraction) -> Fraction:
    """The scale, rounded up to some 53 binary digits where it has too many."""
    scale = Fraction(scale)
    if scale.numerator >= SCALE_LIMIT:
        digits = 1 << max(0, 53 - math.ceil(scale).bit_length())
        scale = Fraction(math.ceil(scale * digits), digits)
    if not 0 < scale < SCALE_LIMIT:
        raise ParameterError(
            "the noise would be too large for exact integers (scale 2^54 or more). "
            "Ask with a larger epsilon."
        )
    return scale
