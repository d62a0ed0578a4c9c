"""Noisy cumulative counts on levels of finer and finer cells."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreto.core.gate import Noise
from discreto.core.maps import Ones
from discreto.core.query import Block, Ints, Sum
from discreto.rng import generator
from discreto.session import Ask
from discreto.stats._base import group_keys, grouped
from discreto.stats._intervals import Floats
from discreto.stats._places import FAN, Places, place_grid

_DRAWS = 400  # possible noises behind an interval


def cumulative(
    ask: Ask, column: str, by: tuple[str, ...], label: str
) -> tuple[Places, list[int], Floats, Noise]:
    """Noisy cumulative counts of a column, by group, on levels of finer cells.

    For each group and edge: the counts left and right of it, and how many noisy cells
    either adds up; before that the places between edges and the strides of the levels.
    """
    domain = ask.domain
    places = place_grid(column, domain)
    strides, groups = _strides(places.bins), group_keys(by, domain)
    sums = np.zeros((max(len(groups), 1), 4, places.bins + 1))
    above = places.bins + FAN * strides[0]  # the whole range is one cell above
    for level, stride in enumerate(strides):
        cells = grouped(by, places.cells(stride), domain)
        query = Sum(cells, (Block(Ones()),))
        text = f"{label}, level {level + 1}"
        answer = ask.measure(query, text, Fraction(1, len(strides)))
        counts = answer.tables[0].reshape(len(sums), -1).astype(float)
        parts = _level_sums(counts, stride, above, places.bins)
        for which, part in enumerate(parts):
            sums[:, which] += np.asarray(part, dtype=float)
        above = stride
    return places, strides, sums, answer.noises[0]


def possible_edges(
    chance: float,
    sums: Floats,
    strides: list[int],
    noise: Noise,
    window: tuple[int, int],
    sampling: float = 0.0,
) -> Ints:
    """Where a quantile may be: its edge for many possible noises.

    The true ranks are the noisy ones less a noise whose distribution is public. With
    ``sampling`` they are those of a population of which the rows are a sample. That
    covers where rows outnumber the noise and lie spread out; ``_descend`` covers
    whatever the rows are.
    """
    law = "laplace" if noise.law == "laplace" else "gaussian"
    size = float(noise.amount) if law == "laplace" else math.sqrt(noise.variance)
    part = slice(window[0], window[1] + 1)
    lefts, rights, shifts = _unit_ranks(law, sums.shape[1] - 1, tuple(strides))
    surplus = (1 - chance) * sums[0, part] - chance * sums[1, part]
    moved = (1 - chance) * lefts[:, part] - chance * rights[:, part]
    below = surplus - size * moved + sampling * shifts[:, None] < 0
    edges: Ints = window[0] + below.sum(axis=1)
    return edges


@lru_cache(maxsize=8)
def _unit_ranks(
    law: str, bins: int, strides: tuple[int, ...]
) -> tuple[Floats, Floats, Floats]:
    """Unit noise on the ranks of edges, left and right, and normal shifts."""
    coins = generator(0)  # public: the same answer gives the same interval
    lefts, rights = np.zeros((2, _DRAWS, bins + 1))
    above = bins + FAN * strides[0]
    for stride in strides:
        shape = (_DRAWS, -(-bins // stride))
        drawn = (
            coins.laplace(size=shape) if law == "laplace" else coins.normal(size=shape)
        )
        left, right, _, _ = _level_sums(drawn, stride, above, bins)
        lefts, rights, above = lefts + left, rights + right, stride
    return lefts, rights, coins.normal(size=_DRAWS)


def _strides(bins: int) -> list[int]:
    """Cell sizes of the levels, from coarse to fine."""
    strides = [1]
    while bins > 2 * FAN * strides[0]:
        strides.insert(0, strides[0] * FAN)
    return strides


def _level_sums(
    counts: Floats, stride: int, above: int, bins: int
) -> tuple[Floats, Floats, Ints, Ints]:
    """For each edge: counts to its left and right within its cell of the level above.

    The first two are the noisy counts, the last two how many noisy cells they add up.
    """
    edge = np.arange(bins + 1)
    # An edge on a boundary of the level above needs nothing from this level.
    first = edge // above * above
    last = np.minimum(first + above, bins)
    inside = edge % above != 0
    inside[-1] = False
    whole = edge // stride * stride  # the last cell boundary at or left of the edge
    zero = np.zeros((*counts.shape[:-1], 1))
    cells = np.concatenate([zero, np.cumsum(counts, axis=-1)], axis=-1)
    start, middle = first // stride, whole // stride
    stop = -(-last // stride)
    # The cell that holds the edge is split by the level below, if there is one.
    beyond = middle + (edge % stride != 0)
    left = np.where(inside, cells[..., middle] - cells[..., start], 0.0)
    right = np.where(inside, cells[..., stop] - cells[..., beyond], 0.0)
    left_count = np.where(inside, middle - start, 0)
    right_count = np.where(inside, stop - beyond, 0)
    return left, right, left_count, right_count
