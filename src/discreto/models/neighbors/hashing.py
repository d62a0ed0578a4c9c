"""Random cuts around the middle of the rows, and votes from noisy counts. All public.

Nothing here sees a row: numbers come from releases, the domain or public seeds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.gate import Measurement
from discreto.core.maps import Sides
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Block, Ones
from discreto.models.base.features import Array, Space
from discreto.models.base.signal_to_noise import likely_counts
from discreto.session.rng import Generator

_TABLES = 8  # tables at epsilon 1
_GROWTH = 0.6  # and how they grow with epsilon
_MOST_TABLES = 64


def table_count(cost: Cost, domain: Domain) -> int:
    """Return how many tables are worth their noise: 8 epsilon^0.6 (measured).

    With Gaussian noise ``n`` tables cost only the root of ``n`` in noise: the count
    is the one whose noise is that of as many tables with Laplace noise.
    """
    count = Block(Ones()).bind(domain, 2)
    if cost.rho:
        spread = math.sqrt(count.square / (2 * float(cost.rho)))
        reach = (_TABLES * (math.sqrt(2) / spread) ** _GROWTH) ** (
            1 / (1 - _GROWTH / 2)
        )
    else:
        epsilon = float(cost.epsilon) / count.sensitivity
        reach = _TABLES * epsilon**_GROWTH
    return min(max(round(reach), 2), _MOST_TABLES)


def cut_count(tables: int) -> int:
    """Return sixteen cells a table, or eight where noise allows few tables."""
    return 4 if tables > 4 else 3


def middle(answer: Measurement, domain: Domain) -> Array:
    """Return the means of the Number features, shrunk by their noise."""
    noise = answer.noises[-1].variance / 4.0**SUM_BITS
    sums = answer.tables[-1][0] / float(1 << SUM_BITS)
    rows = domain.rows if len(answer.tables) == 1 else answer.tables[0][0, 0]
    rows = max(float(rows or 1), 1.0)
    means, noise = sums / rows, noise / rows**2
    # Columns have a common mean (with a prior between -1 and 1) and differ from it.
    common = means.mean() * (1 / 6) / (1 / 6 + noise / means.size)
    differ = max(means.var() - noise, 0.0) if means.size > 1 else 1 / 6
    return np.clip(common + (means - common) * differ / (differ + noise), -1, 1)


def draw_cuts(
    space: Space, centre: Array, tables: int, cuts: int, coins: Generator
) -> tuple[Sides, ...]:
    """Hyperplanes between the middle of the range and the middle of the rows.

    Directions are random, but as many of them as there are numbers are at right angles:
    no two ask the same. Two different categories of a column are half a range apart.
    """
    shape = (tables, cuts)
    normals = _directions(tables * cuts, len(space.numbers), coins)
    normals = normals.reshape(*shape, -1)
    largest = np.abs(normals).max(axis=2, initial=1e-9)
    marks = []
    for name in space.categories:
        size = len(space.domain.category(name).categories)
        part = coins.standard_normal((*shape, size)) / math.sqrt(2)
        marks.append(part - part.mean(axis=2, keepdims=True))
        largest = np.maximum(largest, np.abs(marks[-1]).max(axis=2))
    # Only the direction matters: the largest weight of a cut is 1.
    normals = normals / largest[:, :, None]
    offsets = coins.uniform(size=shape) * (normals * centre).sum(axis=2)
    weights = as_tuples(normals)
    lists = [as_tuples(part / largest[:, :, None]) for part in marks]
    return tuple(
        Sides(
            space.numbers,
            space.categories,
            weights[t],
            tuple(tuple(part[t][i] for part in lists) for i in range(cuts)),
            tuple(offsets[t].tolist()),
            tuple(map(float, centre)),
        )
        for t in range(tables)
    )


def _directions(count: int, width: int, coins: Generator) -> Array:
    """Random directions of length root ``width``, orthogonal in blocks of ``width``."""
    if not width:
        return np.empty((count, 0))
    size = min(count, width)
    blocks = coins.standard_normal((-(-count // size), width, size))
    straight = np.linalg.qr(blocks)[0].transpose(0, 2, 1).reshape(-1, width)
    return straight[:count] * math.sqrt(width)


def as_tuples(array: Array) -> Any:
    """Return an array as nested tuples."""
    out = array.tolist()

    def freeze(part: Any) -> Any:
        return tuple(map(freeze, part)) if isinstance(part, list) else part

    return freeze(out)


def log_votes(counts: Array, variance: float) -> tuple[Array, Array]:
    """Return class shares, and each class's log odds in each cell against its share.

    ``counts`` has tables x cells x classes. The more noise, the more rows a cell needs
    before it may differ from the whole.
    """
    totals = counts.sum(axis=1)
    # Every table counts the same rows, so their class totals agree but for noise.
    shared = totals.mean(axis=0)
    counts = counts + (shared - totals)[:, None, :] / counts.shape[1]
    prior = likely_counts(shared, variance * counts.shape[1] / len(counts))
    prior = prior / prior.sum()
    counts = np.maximum(counts, 0)
    # As many rows for each class, however rare: noise is as large for all of them.
    doubt = (1 + math.sqrt(variance)) / 2
    usual = counts.sum(axis=2, keepdims=True) * prior
    odds = np.log((counts + doubt) / (usual + doubt))
    # Counts below 0 were cut off: rare classes seem frequent everywhere. What rows do
    # to the mean of such logarithms is to make it less than 0.
    return prior, odds - np.maximum(odds.mean(axis=(0, 1)), 0)


def softmax(logs: Array) -> Any:
    """Return probabilities from logs, row by row."""
    out = np.exp(logs - logs.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True)
