"""Noisy cumulative counts on levels of finer and finer cells."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreto.core.gate import Noise
from discreto.core.maps import Edges, Ones, WholeGroups
from discreto.core.query import Block, Cells, Ints, Sum
from discreto.session.rng import generator
from discreto.session.session import Ask
from discreto.stats._base import group_keys, grouped, used_note
from discreto.stats._intervals import Floats
from discreto.stats._quantile_grid import FAN, Places, place_grid

_DRAWS = 400  # possible noises behind an interval


def cumulative(
    ask: Ask,
    column: str,
    by: tuple[str, ...],
    label: str,
    about: list[str] | None = None,
    used: int | None = None,
) -> tuple[Places, Floats, Noise]:
    """Return noisy ranks by group: rows to the left of each edge between places.

    ``about`` gets a remark on how many rows have a value: the first level has a cell
    more, which no bound depends on. Only the first ``used`` groups count as having one.
    """
    domain = ask.domain
    places, groups = place_grid(column, domain), group_keys(by, domain)
    strides = strides_of(places.bins)
    levels = []
    for level, stride in enumerate(strides):
        gaps = about is not None and not level and domain.number(column).missing
        inner = _with_gaps(places.cells(stride)) if gaps else places.cells(stride)
        cells = grouped(by, inner, domain)
        query = Sum(cells, (Block(Ones()),))
        text = f"{label}, level {level + 1}"
        answer = ask.measure(query, text, Fraction(1, len(strides)))
        counts = answer.tables[0].reshape(max(len(groups), 1), -1)
        if gaps and about is not None:
            kept = (slice(used), slice(-1))
            about.append(used_note(counts, answer.noises[0], kept))
            counts = counts[:, :-1]
        levels.append(counts.astype(float))
    return places, _ranks(levels), answer.noises[0]


def _with_gaps(cells: Cells) -> Cells:
    """Return the same cells, and a last one for rows without a value."""
    if isinstance(cells, Edges):
        return replace(cells, gaps=True)
    return WholeGroups(cells.columns()[0])


def strides_of(bins: int) -> list[int]:
    """Return cell sizes of the levels, from coarse to fine."""
    strides = [1]
    while bins > 2 * FAN * strides[0]:
        strides.insert(0, strides[0] * FAN)
    return strides


def _ranks(levels: list[Floats]) -> Floats:
    """Return rows to the left of each edge, from the counts of all levels together.

    The best linear estimate (Hay and others, 2010). From below, a cell's count and the
    sum of its parts are averaged by their variances; from above, what parts lack is
    shared out among them.
    """
    spreads = _spreads(tuple(level.shape[-1] for level in levels))
    best = levels[-1:]
    for counts, spread in zip(levels[-2::-1], spreads[-2::-1], strict=True):
        # A count has variance 1: the variance of the average is also its weight.
        best.insert(0, spread * counts + (1 - spread) * _added(best[0]))
    found = best[0]
    for parts, spread in zip(best[1:], spreads[1:], strict=True):
        lack = (found - _added(parts)) / _added(spread)
        found = parts + spread * lack.repeat(FAN, axis=-1)[..., : spread.size]
    zero = np.zeros((*found.shape[:-1], 1))
    return np.concatenate([zero, np.cumsum(found, axis=-1)], axis=-1)


def _added(parts: Floats) -> Floats:
    """Return the sums of a level's cells over those of the level above."""
    return np.add.reduceat(parts, np.arange(0, parts.shape[-1], FAN), axis=-1)


@lru_cache(maxsize=64)
def _spreads(sizes: tuple[int, ...]) -> list[Floats]:
    """Return the variance of each level's cells, from their own noise and all below."""
    spreads = [np.ones(sizes[-1])]
    for _ in sizes[1:]:
        below = _added(spreads[0])
        spreads.insert(0, below / (1 + below))
    return spreads


@lru_cache(maxsize=64)
def surplus_powers(bins: int, chance: float) -> tuple[Floats, Floats]:
    """Return the powers that ``sum_reach`` needs for the surplus of each edge.

    A surplus is a rank less ``chance`` times all rows. On each level, the parts of one
    cell lie on both sides of the edge; how far each is from the cell's mean adds to
    the variance, independently of the levels above. That is exact; fourth powers are
    those of noise that levels have not averaged, for a reach that is right to some %.
    """
    edge = np.arange(bins + 1)
    spreads = _spreads(tuple(-(-bins // stride) for stride in strides_of(bins)))
    squares, fourths = np.zeros((2, bins + 1))
    place, left = np.minimum(edge, bins - 1), (edge == bins).astype(float)
    for level, spread in reversed(list(enumerate(spreads))):
        first = place // FAN * FAN if level else 0 * place
        stop = np.minimum(first + (FAN if level else bins), spread.size)
        sides = _sides(spread, first, place, stop)
        mean = (sides[0] + left * sides[1]) / sides.sum(axis=0)
        centre = mean if level else chance  # no level above knows how many rows
        apart = np.stack([np.ones_like(left), left, np.zeros_like(left)]) - centre
        squares += (sides * apart**2).sum(axis=0)
        fourths += (_sides(spread**2, first, place, stop) * apart**4).sum(axis=0)
        place, left = place // FAN, mean
    return squares, fourths


def _sides(values: Floats, first: Ints, place: Ints, stop: Ints) -> Floats:
    """Return sums over the cells before a place, at it and after it."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    after = sums[stop] - sums[place + 1]
    return np.stack([sums[place] - sums[first], values[place], after])


def possible_edges(
    chance: float,
    ranks: Floats,
    noise: Noise,
    window: tuple[int, int],
    sampling: float = 0.0,
) -> Ints:
    """Return edges where a quantile may be: one for each of many possible noises.

    The true ranks are the noisy ones less a noise whose distribution is public. With
    ``sampling`` they are those of a population of which the rows are a sample. That
    covers where rows outnumber the noise and lie spread out; ``_descend`` covers
    whatever the rows are.
    """
    law = "laplace" if noise.law == "laplace" else "gaussian"
    size = float(noise.amount) if law == "laplace" else math.sqrt(noise.variance)
    part = slice(window[0], window[1] + 1)
    noises, shifts = _unit_ranks(law, ranks.size - 1)
    moved = (noises - chance * noises[:, -1:])[:, part]
    surplus = (ranks - chance * ranks[-1])[part]
    return window[0] + crossing(surplus - size * moved + sampling * shifts[:, None])


def crossing(surplus: Floats) -> Ints:
    """Return how many numbers come before a rising noisy sequence turns positive.

    That of the nearest sequence that never falls: the least partial sum. A count of the
    negative ones would end in the middle of a gap without rows, where all have about
    the same surplus, and not at the value before it or behind it.
    """
    sums = np.cumsum(surplus, axis=-1)
    least = np.argmin(sums, axis=-1)
    lowest = np.take_along_axis(sums, np.expand_dims(least, -1), axis=-1)[..., 0]
    out: Ints = np.where(lowest < 0, least + 1, 0)
    return out


@lru_cache(maxsize=8)
def _unit_ranks(law: str, bins: int) -> tuple[Floats, Floats]:
    """Return unit noise on the ranks of edges, and normal shifts."""
    rng = generator(0)  # public: the same answer gives the same interval
    draw = rng.laplace if law == "laplace" else rng.normal
    shapes = [(_DRAWS, -(-bins // stride)) for stride in strides_of(bins)]
    noises = _ranks([draw(size=shape) for shape in shapes])
    return noises, rng.normal(size=_DRAWS)
