"""Distributions by class from noisy class tables: post-processing of a release.

Everything here is post-processing. Without ``shrink`` it is the textbook; with it,
every estimate is pulled toward a safer one as far as the known noise says: class means
toward the common mean, class variances toward the common variance, that one toward a
guess, class histograms toward the common histogram. As the noise goes to nothing, so
does the pull.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.models.base.signal_to_noise import likely_counts

Array = NDArray[Any]

GUESS = 0.08  # variance of a column on [-1, 1] before anything is known: range = 7 sd
GUESS_TRUST = 0.5  # (sd of true variances around the guess / guess)^2
CLASS_TRUST = 0.5  # the same for the variance of a class around the common one
MEAN_PRIOR = 0.25  # variance of column means around the middle of the range
SPREAD = 0.1  # the most that class means vary, as a variance: columns are on [-1, 1]
RATIO_PRIOR = 4.0  # the most that P[value | class] / P[value] varies, as a variance
VOTE_SPREAD = 0.05  # the most that votes vary from class to class, as a variance
RATIO_LEAST = 0.5
CAUTION = 1.0  # sds added to a variance: too small a variance does most harm
TINY = 1e-12


@dataclass(frozen=True)
class Counts:
    """Sizes of the classes, as released and as possible; the variance of the noise."""

    raw: Array
    size: Array
    noise: float

    @property
    def prior(self) -> Array:
        return self.size / self.size.sum()


@dataclass(frozen=True)
class Normals:
    """Normal distributions of Number columns on [-1, 1], all (classes, columns).

    ``doubt`` is the variance of the noise that is left in ``mean``.
    """

    mean: Array
    var: Array
    doubt: Array
    middle: Array
    common: Array
    noise: Array


def class_counts(raw: Array, noise: float, rows: int | None, shrink: bool) -> Counts:
    """Possible class sizes from noisy ones; ``rows`` is their public sum, if known."""
    if shrink:
        return Counts(raw, likely_counts(raw, noise, float(rows or 0)), noise)
    many = len(raw)
    total = float(rows) if rows else max(float(raw.sum()), float(many))
    size = raw + (total - raw.sum()) / many if rows else raw
    return Counts(raw, np.maximum(size, 0.5), noise)


def normals(
    parts: Array, there: Array, counts: Counts, noise: float, shrink: bool
) -> Normals:
    """Return normal distributions from tables of parts, (classes, columns, 3).

    ``there`` is how many rows of each class have the column.
    """
    low, middle, high = np.moveaxis(parts, 2, 0)
    sums, sums_noise = high - low, 2 * noise
    # The sum of the three parts is known better than each of them: use that.
    squares = (2 * (low + high) - 4 * middle + there) / 3
    squares_noise = (8 * noise + counts.noise / 3) / 3
    raw = sums / there
    if not shrink:
        raw = np.clip(raw, -1, 1)
        var = np.maximum(squares / there - raw**2, 0)
        zero = np.zeros_like(var)
        whole = there.sum(axis=0)
        centre = sums.sum(axis=0) / whole
        total = np.maximum(squares.sum(axis=0) / whole - centre**2, 0)
        return Normals(raw, var, zero, centre, total, zero)
    mean, doubt, centre, mean_noise = _means(sums, sums_noise, raw, there)
    weight = there / there.sum(axis=0)
    bounded = np.clip(raw, -1, 1) ** 2 - mean_noise
    rough = squares.sum(axis=0) / there.sum(axis=0) - (weight * bounded).sum(axis=0)
    wobble = 4 * mean**2 * mean_noise + 2 * mean_noise**2
    rough_noise = len(parts) * squares_noise / there.sum(axis=0) ** 2
    rough_noise = rough_noise + (weight**2 * wobble).sum(axis=0)
    common = pulled(rough, rough_noise, GUESS, GUESS_TRUST)
    own = squares / there - bounded
    var = pulled(own, squares_noise / there**2 + wobble, common, CLASS_TRUST)
    return Normals(mean, var, doubt, centre, common, mean_noise)


def _means(
    sums: Array, noise: float, raw: Array, there: Array
) -> tuple[Array, Array, Array, Array]:
    """Return class means pulled toward the common mean, and how unsure they are."""
    whole = there.sum(axis=0)
    common_noise = len(sums) * noise / whole**2
    trust = MEAN_PRIOR / (MEAN_PRIOR + common_noise)
    centre = np.clip(sums.sum(axis=0) / whole, -1, 1) * trust
    mean_noise = noise / there**2
    away = raw - centre
    # One signal for all: few of them say little on their own, and a class whose
    # distribution is wider by noise alone would win or lose every row.
    weight = 1 / mean_noise
    signal = (weight * (away**2 - mean_noise)).sum() / max(weight.sum(), TINY)
    # What noise leaves of it may not exceed what columns have.
    signal = np.clip(signal, 0, SPREAD) + 1e-9
    trust = signal / (signal + mean_noise)
    mean = np.clip(centre + trust * away, -1, 1)
    return mean, trust * mean_noise, centre, mean_noise


def pulled(rough: Array, noise: Array, toward: Any, trust: float) -> Array:
    """Variances pulled toward safer ones, rather too large than too small."""
    prior = trust * np.square(toward) + TINY**2
    weight = prior / (prior + noise)
    value = np.maximum(
        weight * rough + (1 - weight) * toward, (1 - weight) * toward / 2
    )
    return np.maximum(value + CAUTION * np.sqrt(weight * noise), 0)


@dataclass(frozen=True)
class ClassHistogram:
    """Histograms of a Category column, by class and common; noise in log-ratios."""

    chance: Array
    common: Array
    doubt: Array


def histogram(
    table: Array, counts: Counts, noise: float, alpha: float, shrink: bool
) -> ClassHistogram:
    """Return class histograms from noisy counts, with ``alpha`` added."""
    found, common, doubt = _pulled_counts(table, counts, noise, shrink)
    smooth = found + alpha
    whole = smooth.sum(axis=1, keepdims=True)
    # A class of which nothing is known says nothing.
    chance = np.where(whole > 0, smooth / np.maximum(whole, TINY), common)
    return ClassHistogram(chance, common, doubt)


def _pulled_counts(
    table: Array, counts: Counts, noise: float, shrink: bool
) -> tuple[Array, Array, Array]:
    many, values = table.shape
    whole = max(float(counts.size.sum()), 1.0)
    common_noise = many * noise / whole**2 if shrink else 0.0
    trust = values**-2.0 / (values**-2.0 + common_noise)
    common = trust * table.sum(axis=0) / whole + (1 - trust) / values
    common = np.maximum(common, 0.2 * (1 - trust) / values + 1e-9)
    common = common / common.sum()
    if not shrink:
        return np.maximum(table, 0), common, np.zeros_like(table)
    size = counts.size[:, None]
    own_noise = noise / size**2
    # How far the classes' shares are from the common ones, in units of these, beyond
    # what noise does: one number for the column.
    away = (table / size - common) ** 2 - own_noise
    sure = common / (common + np.sqrt(own_noise))
    ratio = float((sure * away / common**2).sum() / sure.sum())
    signal = np.clip(ratio, RATIO_LEAST, RATIO_PRIOR) * common**2
    weight = signal / (signal + own_noise)
    own = common + weight * (table / size - common)
    own = np.maximum(own, 0.2 * (1 - weight) * common)
    own = own / np.maximum(own.sum(axis=1, keepdims=True), TINY)
    return own * size, common, (weight / common) ** 2 * own_noise


def call(
    table: Array, noise: float, first: Counts, rows: int | None
) -> tuple[Array, Array, Counts]:
    """Return discriminant analysis of soft votes from sums of their products by class.

    Returns slopes and starts, and the class sizes by both releases together.
    """
    many, width = table.shape
    upper = np.triu_indices(many)
    half = np.where(upper[0] == upper[1], 1.0, 0.5)
    products = np.zeros((many, many, many))
    products[:, upper[0], upper[1]] = table * half
    products[:, upper[1], upper[0]] = table * half
    counts = _together(table.sum(axis=1), width * noise, first, rows)
    size, prior = counts.size[:, None], counts.prior
    rough = products.sum(axis=2) / size
    centre = prior @ rough
    away = rough - centre
    # Each q_i is one part and halves of the (many - 1) mixed ones.
    mean_noise = noise * (1 + (many - 1) / 4) / size**2
    weight = 1 / mean_noise
    signal = (weight * (away**2 - mean_noise)).sum() / (weight.sum() * many)
    signal = np.clip(signal, 0, VOTE_SPREAD) + 1e-9
    away = away * signal / (signal + mean_noise)
    second = products.sum(axis=0) / size.sum()
    spread = second - np.einsum("c,ci,cj->ij", prior, rough, rough)
    inverse = _inverse(spread, many * noise / float(size.sum()) ** 2)
    slopes = away @ inverse
    starts = np.log(prior) - slopes @ centre - (slopes * away).sum(axis=1) / 2
    return slopes, starts, counts


def _together(raw: Array, noise: float, first: Counts, rows: int | None) -> Counts:
    """Return class sizes from two releases, each weighed by how sure it is."""
    weight = first.noise / max(first.noise + noise, TINY)
    both = weight * raw + (1 - weight) * first.raw
    return class_counts(both, weight * noise, rows, shrink=True)


def _inverse(spread: Array, noise: float) -> Array:
    """Return the inverse of a noisy covariance of votes, within their plane."""
    many = len(spread)
    plane = np.eye(many) - 1 / many
    even = float(np.clip(np.trace(spread) / (many - 1), 0.01, 0.25))
    trust = 0.1 * even**2 / (0.1 * even**2 + noise)
    basis = np.linalg.svd(plane)[0][:, : many - 1]
    mixed = basis.T @ (trust * spread + (1 - trust) * even * plane) @ basis
    values, vectors = np.linalg.eigh((mixed + mixed.T) / 2)
    # A spread below the noise in it would make the votes too sure by any factor.
    least = max(0.25 * even * (1 - 0.9 * trust), 2 * float(np.sqrt(noise)))
    values = np.maximum(values, least)
    return basis @ (vectors / values) @ vectors.T @ basis.T
