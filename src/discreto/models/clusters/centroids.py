"""Arithmetic on released centres: starting points, merging, shrinking. No rows here."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreto.core.maps._distances import nearest
from discreto.core.query import Floats

CAUTION = 0.5  # shrinking by the whole noise variance was too much in measurements
_REPEL = 30  # steps that spread directions out
_TRIES = 8  # starts of the merge; they cost nothing


@dataclass(frozen=True)
class Overall:
    """The mean of all rows and their number, as far as they are known by now."""

    mean: Floats
    precision: Floats  # one over the noise variance of each coordinate; 0: not known
    rows: float
    rows_variance: float

    @property
    def safe_rows(self) -> float:
        """The number of rows, but no less than its noise."""
        return max(self.rows, math.sqrt(self.rows_variance), 1.0)


@dataclass(frozen=True)
class Round:
    """One noisy round: new centres, their noise, their rows."""

    centres: Floats
    sizes: Floats
    overall: Overall


def starts(count: int, width: int, coins: Any) -> Floats:
    """``count`` directions of length one that keep away from each other.

    Cells around points at one distance from the mean depend on directions only. On a
    line there are but two directions, so there the points are spread evenly.
    """
    if count == 1:
        return np.zeros((1, width))
    if width == 1:
        return np.linspace(-2, 2, count)[:, None]
    points = coins.normal(size=(count, width))
    if count <= width:
        points = np.linalg.qr(points.T)[0].T
        points = points - points.mean(axis=0)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for _ in range(_REPEL if width < count <= 512 else 0):
        gaps = np.maximum(2 - 2 * (points @ points.T), 1e-6) ** -1.5
        np.fill_diagonal(gaps, 0.0)
        push = gaps.sum(axis=1, keepdims=True) * points - gaps @ points
        points = points + 0.1 / count * push
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points)


def merge(points: Floats, weights: Floats, count: int, coins: Any) -> Floats:
    """``count`` centres of weighted points: k-means on releases, the best of a few."""
    weights = np.maximum(weights, 1e-9)
    best, lowest = points[:count], np.inf
    for _ in range(_TRIES):
        chosen = [int(coins.choice(len(points), p=weights / weights.sum()))]
        far = ((points - points[chosen[0]]) ** 2).sum(axis=1)
        while len(chosen) < count:
            odds = far * weights + 1e-12 * weights
            chosen.append(int(coins.choice(len(points), p=odds / odds.sum())))
            gap = ((points - points[chosen[-1]]) ** 2).sum(axis=1)
            far = np.minimum(far, gap)
        centres = points[chosen]
        for _ in range(_TRIES):
            centres = _move(points, weights, centres)
        place = nearest(points.T, centres)
        cost = float((weights * ((points - centres[place]) ** 2).sum(axis=1)).sum())
        if cost < lowest:
            best, lowest = centres, cost
    return best


def _move(points: Floats, weights: Floats, centres: Floats) -> Floats:
    one_hot = np.zeros((len(points), len(centres)))
    one_hot[np.arange(len(points)), nearest(points.T, centres)] = weights
    total = one_hot.sum(axis=0)[:, None]
    moved = (one_hot.T @ points) / np.maximum(total, 1e-12)
    return np.where(total > 0, moved, centres)


def centred_ratio(sums: Floats, noise: float, rows: float) -> tuple[Floats, Floats]:
    """Return a noisy mean and its variance, from noisy sums.

    The coordinates are shrunk towards their common mean, and that towards 0, by as much
    as the noise explains of their differences (James and Stein).
    """
    mean = np.clip(sums / rows, -1, 1)
    variance = noise / rows**2
    common = float(mean.mean())
    common *= max(0.0, 1 - variance / len(mean) / max(common**2, 1e-300))
    apart = mean - common
    size = max(float((apart**2).sum()), 1e-300)
    apart *= max(0.0, 1 - len(mean) * variance / size)
    return common + apart, np.full(len(mean), variance)


def precise(variance: Floats) -> Floats:
    """One over a variance that may be 0."""
    return 1 / np.maximum(variance, 1e-30)


def shrink(
    centres: Floats,
    sizes: Floats,
    size_noise: float,
    sums: Floats,
    sum_noise: Any,
    overall: Overall,
    hard: bool,
) -> Round:
    """New centres from noisy sizes and deviations, and what they say about the whole.

    Each centre moves towards the overall mean by as much as noise explains of its
    distance, so that noise alone makes one cluster and not several wrong ones.
    """
    count = len(centres)
    if hard:
        sizes, overall = _agree_on_rows(sizes, size_noise, overall)
    safe = np.maximum(sizes, max(np.sqrt(size_noise), 1.0 if hard else 1e-6))
    positive = np.maximum(sizes, 0)
    rows = max(overall.safe_rows if hard else 1e-6, float(positive.sum()))
    here = np.clip((positive[:, None] * centres + sums).sum(axis=0) / rows, -1, 1)
    variance = np.full(centres.shape, sum_noise)
    if hard:
        typical = sum_noise if np.ndim(sum_noise) == 0 else sum_noise.mean(axis=0)
        fresh = precise(np.full(len(here), count * typical / rows**2))
        both = overall.precision + fresh
        mean = (overall.precision * overall.mean + fresh * here) / both
        # Sums that add up to the better mean: the noise they share goes away.
        sums = sums + (mean - here) * rows / count
        variance = variance * (1 - 1 / count) + rows**2 / both / count**2
        overall = replace(overall, mean=mean, precision=both)
    target = overall.mean if overall.precision.any() else here
    moved = np.clip(centres + sums / safe[:, None], -1, 1)
    apart = moved - target
    noise = (variance / safe[:, None] ** 2).sum(axis=1)
    kept = 1 - CAUTION * noise / np.maximum((apart**2).sum(axis=1), 1e-300)
    final = target + np.maximum(kept, 0)[:, None] * apart
    return Round(final, np.maximum(sizes, 0), overall)


def textbook(centres: Floats, sizes: Floats, sums: Floats, overall: Overall) -> Round:
    """Centres move to the means of their rows, noise and all; nothing is shrunk."""
    sizes = np.maximum(sizes, 0)
    moved = np.clip(centres + sums / np.maximum(sizes, 1.0)[:, None], -1, 1)
    return Round(moved, sizes, overall)


def _agree_on_rows(
    sizes: Floats, size_noise: float, overall: Overall
) -> tuple[Floats, Overall]:
    """Sizes that add up to the number of rows, as both releases together see it."""
    spread = len(sizes) * size_noise
    total, known = float(sizes.sum()), overall.rows_variance
    weight = spread / max(spread + known, 1e-300)
    rows = total + weight * (overall.rows - total)
    overall = replace(overall, rows=rows, rows_variance=weight * known)
    return sizes + (rows - total) / len(sizes), overall


def distances_of(rows: Floats, centres: Floats) -> Floats:
    """Return the distance of each row from each centre, the same beside any rows.

    A missing number counts as much as those of the row that are there, on average.
    """
    out, there = np.zeros((len(rows), len(centres))), np.zeros(len(rows))
    for column, places in zip(rows.T, centres.T, strict=True):
        here = ~np.isnan(column)
        there += here
        out += np.where(here[:, None], (column[:, None] - places) ** 2, 0.0)
    out *= (rows.shape[1] / np.maximum(there, 1.0))[:, None]
    return np.sqrt(out, out=out)
