"""Means that a few hostile silos cannot move far.

A silo that sends wrong numbers on purpose can lead a mean anywhere. Three rules bound
what it can do; each of them gives up some accuracy when everybody is honest.

``median``
    Coordinate by coordinate the middle value; how much a silo counts is ignored.
``trimmed``
    Coordinate by coordinate, without the ``hostile`` largest and smallest values. On
    a graph a node leaves out up to so many of its neighbours' values above its own and
    as many below (W-MSR; LeBlanc et al. 2013), but never more than half of them.
``bounded``
    No silo moves the mean farther than the middle distance: on a graph from a node's
    own value (He, Karimireddy and Jaggi 2022), else from where all began.

All of it works on what silos have released, so it is free.
"""

from __future__ import annotations

import numpy as np

from discreto.core.aggregate import add_up
from discreto.core.query import Floats
from discreto.federated.rounds import average

RULES = ("none", "median", "trimmed", "bounded")
_LARGER = 4.0  # than the middle silo: none counts for more rows than that


def counted(rows: Floats, rule: str) -> Floats:
    """Return the rows for which each silo counts: what it says, within reason."""
    some = rows[rows > 0]
    if rule == "none" or not some.size:
        return rows
    return np.minimum(rows, _LARGER * np.median(some))


def silo_mean(
    points: Floats, rows: Floats, start: Floats, rule: str, hostile: int
) -> Floats:
    """The mean of silos' points (seeds, silos, width), by rows; ``start`` is common."""
    rows = counted(rows, rule)
    if rule == "none" or not rows.any():
        return average(points, (rows / max(rows.sum(), 1.0)).tolist())
    points, rows = points[:, rows > 0], rows[rows > 0]
    if rule == "median":
        return np.median(points, axis=1)
    if rule == "trimmed":
        return _trimmed(points, rows, hostile)
    gaps = points - start[:, None]
    moved = average(_bounded(gaps), (rows / rows.sum()).tolist())
    return start + moved


def neighbour_mean(
    points: Floats, shares: list[float], own: int, rule: str, hostile: int
) -> Floats:
    """A node's mean of its own and its neighbours' points (seeds, nodes, width)."""
    if rule == "none" or points.shape[1] == 1:
        return average(points, shares)
    if rule == "median":
        return np.median(points, axis=1)
    here = points[:, own]
    gaps = np.delete(points, own, axis=1) - here[:, None]
    gaps = _near(gaps, hostile) if rule == "trimmed" else _bounded(gaps)
    others = shares[:own] + shares[own + 1 :]
    return here + average(gaps, others)


def moment_mean(moments: Floats, rule: str, hostile: int) -> Floats:
    """One silo's typical moments for each row (seeds, silos, width); not a sum."""
    if rule == "trimmed":
        return _trimmed(moments, np.ones(moments.shape[1]), hostile)
    return np.median(moments, axis=1)


def _trimmed(points: Floats, rows: Floats, hostile: int) -> Floats:
    cut = min(hostile, (points.shape[1] - 1) // 2)
    order = np.argsort(points, axis=1, kind="stable")
    kept = slice(cut, points.shape[1] - cut)
    values = np.take_along_axis(points, order, axis=1)[:, kept]
    weights = rows[order][:, kept]
    total, count = values[:, 0] * weights[:, 0], weights[:, 0].copy()
    for place in range(1, values.shape[1]):
        total += values[:, place] * weights[:, place]
        count += weights[:, place]
    return total / count


def _near(gaps: Floats, hostile: int) -> Floats:
    """Gaps without the largest above 0 and the smallest below, set to 0."""
    count = gaps.shape[1]
    cut = min(hostile, count // 2)
    ranks = np.argsort(np.argsort(gaps, axis=1, kind="stable"), axis=1, kind="stable")
    high = (ranks >= count - cut) & (gaps > 0)
    low = (ranks < cut) & (gaps < 0)
    return np.where(high | low, 0.0, gaps)


def _bounded(gaps: Floats) -> Floats:
    """Gaps (seeds, silos, width) that are no longer than the middle one.

    Not twice as long: on a graph distances could then double with every mix.
    """
    squares = add_up(np.moveaxis(gaps * gaps, -1, 0))
    sizes = np.sqrt(squares)
    most = np.sort(sizes, axis=1)[:, (sizes.shape[1] - 1) // 2][:, None]
    shrink = np.where(sizes > most, most / np.maximum(sizes, 1e-300), 1.0)
    return gaps * shrink[:, :, None]
