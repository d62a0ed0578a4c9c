"""Planted bugs in the noise itself, which only a black box sees. The first is wrong."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.audit.output_features import Matrix
from discreto.core.noise.sampler import Sampler
from discreto.lab.known_bugs.planted_bug import PlantedBug
from discreto.testing import simulate

GRID = 1 << 20
Draw = Callable[[Sampler, Any, int], Matrix]


class Box:
    """A mechanism that draws many outputs at once from seeded noise."""

    def __init__(self, draw: Draw, seed: int) -> None:
        self._draw = draw
        self._sampler = simulate(seed).simulation.sampler

    def __call__(self, data: Any) -> Any:
        return self.many(data, 1)[0]

    def many(self, data: Any, count: int) -> Matrix:
        """``count`` outputs, one a row."""
        return self._draw(self._sampler, data, count)


def _laplace(sampler: Sampler, scale: Fraction, shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape))
    return sampler.laplace(scale * GRID, size).reshape(shape) / GRID


def _count(scale: Fraction) -> Draw:
    def draw(sampler: Sampler, rows: Any, count: int) -> Matrix:
        return len(rows) + _laplace(sampler, scale, (count, 1))

    return draw


def _two_counts(*, reused: bool) -> Draw:
    """All rows, and those below a half: each for half of epsilon."""

    def draw(sampler: Sampler, rows: Any, count: int) -> Matrix:
        exact = np.array([len(rows), sum(x < 0.5 for x in rows)], dtype=float)
        noise = _laplace(sampler, Fraction(2), (count, 1 if reused else 2))
        return exact + noise

    return draw


def _seeded(sampler: Sampler, rows: Any, count: int) -> Matrix:
    """``random_state`` that reaches the noise: the same draw every time."""
    noise = _laplace(simulate(7).simulation.sampler, Fraction(1), (1, 1))
    return np.repeat(len(rows) + noise, count, axis=0)


def _float_noise(sampler: Sampler, rows: Any, count: int) -> Matrix:
    """The textbook: minus the logarithm of a uniform float, added to a float."""
    uniform = ((sampler.entropy.words(count) >> np.uint64(11)) + 1) * 2.0**-53
    signs = np.where(sampler.entropy.words(count) >> np.uint64(63), 1.0, -1.0)
    return (sum(rows) - signs * np.log(uniform))[:, None]


def _grid_noise(sampler: Sampler, rows: Any, count: int) -> Matrix:
    exact = round(sum(rows) * GRID)
    return (exact + sampler.laplace(Fraction(GRID), count))[:, None] / GRID


def _data_bounds(sampler: Sampler, rows: Any, count: int) -> Matrix:
    """Noise for the range that the values happen to have."""
    wide = max(rows) - min(rows)
    scale = Fraction(max(wide, 0.0)).limit_denominator(GRID) + Fraction(1, GRID)
    return sum(rows) + _laplace(sampler, scale, (count, 1))


def _public_bounds(sampler: Sampler, rows: Any, count: int) -> Matrix:
    return sum(rows) + _laplace(sampler, Fraction(1), (count, 1))


def _one_sided(sampler: Sampler, rows: Any, count: int) -> Matrix:
    """Noise that is never negative: whoever sees less than n knows more."""
    return len(rows) + sampler.geometric(Fraction(1), count).astype(float)[:, None]


def _planted_bug(
    name: str, seen: str, wrong: Draw, right: Draw, **more: Any
) -> PlantedBug:
    nine = (0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1, 0.0)
    options = {"first": nine, "second": (*nine, 1.0)} | more
    return PlantedBug(
        name,
        seen,
        "black box",
        lambda seed: Box(wrong, seed),
        lambda seed: Box(right, seed),
        None,
        **options,
    )


PLANTED_BUGS = (
    _planted_bug("halved noise", "a factor 2 lost on the way",
           _count(Fraction(1, 2)), _count(Fraction(1))),
    _planted_bug("noise a third too small", "a scale that is off by 1.5",
           _count(Fraction(2, 3)), _count(Fraction(1))),
    _planted_bug("reused noise", "one draw for two answers",
           _two_counts(reused=True), _two_counts(reused=False)),
    _planted_bug("seeded noise", "random_state reaches the noise",
           _seeded, _count(Fraction(1))),
    _planted_bug("one-sided noise", "the absolute value of noise",
           _one_sided, _count(Fraction(1))),
    _planted_bug("float noise", "Mironov 2012, Haney and others 2022: the low bits",
           _float_noise, _grid_noise, first=(0.0,), second=(0.0, 1.0), bits=True),
    _planted_bug("noise from the range of the data", "scalers fitted on private rows",
           _data_bounds, _public_bounds, first=(0.5,) * 8, second=(*(0.5,) * 8, 1.0)),
)  # fmt: skip
