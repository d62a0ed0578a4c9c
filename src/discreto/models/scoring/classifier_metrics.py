"""Scores of a model from noisy counts and sums, with error bars in two senses.

An interval *for these rows* covers what the score is on the table, over the noise. One
*for the population* covers what it is in the population that the rows were drawn from:
noise and sampling together. Both follow from releases and public distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.gate import Noise
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.losses import SCORE_BINS
from discreto.core.query import Ints
from discreto.release.release import Release
from discreto.stats._intervals import Floats, combined_reach, reach, share_interval

STEP = float(1 << SUM_BITS)
Ends = tuple[Any, Any]
CALIBRATION = "share right by confidence"


@dataclass(frozen=True)
class ModelScore:
    """A value with its two intervals."""

    label: str
    value: Any
    rows: Ends
    population: Ends | None = None  # None: a number about these rows alone
    keys: tuple[Any, ...] = ()
    unit: str = ""
    note: str = ""

    def release(self, level: float, *, population: bool) -> Release:
        """Return the value with one of the intervals."""
        about = population and self.population is not None
        low, high = (self.population if about else None) or self.rows
        return Release(
            self.label,
            self.value,
            low,
            high,
            self.keys,
            self.unit,
            self.note,
            level=level,
            population=about,
        )


def around(
    label: str,
    value: float,
    weights: Floats,
    noise: Noise,
    sampling: float,
    level: float,
    ends: tuple[float, float] = (0.0, 1.0),
    note: str = "",
) -> ModelScore:
    """Return a smooth function of noisy numbers, which moves by ``weights``."""

    def interval(deviation: float) -> Ends:
        far = combined_reach(weights, noise, level, deviation)
        low, high = np.clip([value - far, value + far], *ends).tolist()
        return low, high

    value = float(np.clip(value, *ends))
    return ModelScore(label, value, interval(0.0), interval(sampling), note=note)


def share(
    label: str,
    yes: float,
    no: float,
    cells: tuple[int, int],
    noise: Noise,
    level: float,
) -> ModelScore:
    """Return a share of noisy counts, which are sums of so many cells each."""
    value, *rows = share_interval(yes, no, cells, noise, level)
    population = share_interval(yes, no, cells, noise, level, population=True)[1:]
    return ModelScore(label, value, (rows[0], rows[1]), population)


def stacked(
    label: str, scores: Sequence[ModelScore], keys: tuple[Any, ...]
) -> ModelScore:
    """Return scores side by side under their keys."""
    value = np.array([one.value for one in scores])
    rows, population = (
        tuple(np.array([getattr(one, sense)[end] for one in scores]) for end in (0, 1))
        for sense in ("rows", "population")
    )
    return ModelScore(
        label, value, (rows[0], rows[1]), (population[0], population[1]), keys
    )


def of_confusion(
    counts: Floats, noise: Noise, classes: Sequence[Any], level: float
) -> dict[str, ModelScore]:
    """Return the metrics of a confusion matrix: (groups, true, predicted)."""
    groups, size, _ = counts.shape
    whole = counts.sum(axis=0)
    far = reach(noise, level)
    if groups > 1:
        far = math.ceil(combined_reach([1.0] * groups, noise, level))
    ends = np.maximum(whole - far, 0).ravel(), np.maximum(whole + far, 0).ravel()
    keys = tuple((a, b) for a in classes for b in classes)
    right = np.diagonal(whole)
    recalls = [
        share(
            "recall",
            right[k],
            whole[k].sum() - right[k],
            (groups, groups * (size - 1)),
            noise,
            level,
        )
        for k in range(size)
    ]
    return {
        "accuracy": _accuracy(whole, groups, noise, level),
        "baseline": _most_frequent(whole, groups, noise, level),
        "confusion": ModelScore(
            "confusion matrix (true, predicted)", whole.ravel(), ends, None, keys
        ),
        "recall": stacked("recall", recalls, tuple(classes)),
        "macro_f1": _macro_f1(whole, groups, noise, level),
    }


def _accuracy(counts: Floats, groups: int, noise: Noise, level: float) -> ModelScore:
    size = len(counts)
    right = float(np.trace(counts))
    cells = groups * size, groups * size * (size - 1)
    return share("accuracy", right, float(counts.sum()) - right, cells, noise, level)


def _most_frequent(
    counts: Floats, groups: int, noise: Noise, level: float
) -> ModelScore:
    """Return the accuracy of a model that always names the most frequent class."""
    size, sums = len(counts), counts.sum(axis=1)
    most = float(sums.max())
    cells = groups * size, groups * size * (size - 1)
    rest = float(sums.sum()) - most
    return share("share of the most frequent class", most, rest, cells, noise, level)


def _macro_f1(counts: Floats, groups: int, noise: Noise, level: float) -> ModelScore:
    """Return the mean over classes of 2 TP / (2 TP + FP + FN)."""
    size, right = len(counts), np.diagonal(counts)
    both = np.maximum(counts.sum(axis=0) + counts.sum(axis=1), 1.0)
    pull = (
        2 * right / both**2
    )  # what one more wrong row of a class takes from its score
    slope = -(pull[:, None] + pull[None, :])
    slope[np.diag_indices(size)] = 2 / both - 2 * pull
    slope /= size
    kept = np.maximum(counts, 0.0)
    sampling = math.sqrt(float(np.sum(kept * slope**2)))
    weights = np.repeat(slope.ravel(), groups)
    value = float(np.mean(2 * right / both))
    return around("macro F1", value, weights, noise, sampling, level)


def of_groups(
    counts: Floats,
    noise: Noise,
    classes: Sequence[Any],
    names: Sequence[Any],
    level: float,
) -> dict[str, ModelScore]:
    """Return for each group: accuracy, recall, and how often classes are predicted."""
    size = len(classes)
    accuracy = [_accuracy(group, 1, noise, level) for group in counts]
    pairs = [(group, k) for group in range(len(counts)) for k in range(size)]
    keys = tuple((names[group], classes[k]) for group, k in pairs)
    recall, said = [], []
    for group, k in pairs:
        part = counts[group]
        rest = part[k].sum() - part[k, k]
        recall.append(share("recall", part[k, k], rest, (1, size - 1), noise, level))
        column = part[:, k].sum()
        cells = size, size * (size - 1)
        said.append(share("said", column, part.sum() - column, cells, noise, level))
    return {
        "group_accuracy": stacked("accuracy by group", accuracy, tuple(names)),
        "group_recall": stacked("recall by group", recall, keys),
        "group_rates": stacked("share predicted by group", said, keys),
    }


def of_calibration(
    bins: Floats, noise: Noise, keys: tuple[str, ...], level: float
) -> ModelScore:
    """Return the accuracy in each range of confidence; ``bins`` are (wrong, right)."""
    rows = [share("right", right, wrong, (1, 1), noise, level) for wrong, right in bins]
    return stacked(CALIBRATION, rows, keys)


def of_score_bins(tables: Sequence[Ints], noise: Noise, level: float) -> ModelScore:
    """Return the mean area under the curve of one class against the rest."""
    weights, value, variance = [], 0.0, 0.0
    for table in tables:
        negative, positive = table[:, 0].astype(float).reshape(2, SCORE_BINS)
        area, *slopes = _area(positive, negative)
        value += area / len(tables)
        for slope, counts in zip(slopes, (positive, negative), strict=True):
            weights.append(slope / len(tables))
            variance += float(np.sum(np.maximum(counts, 0) * slope**2)) / len(tables)
    # Areas of several classes share their rows: at worst they err together.
    sampling = math.sqrt(variance)
    note = "" if len(tables) == 1 else "mean of one class against the rest"
    return around(
        "AUC", value, np.concatenate(weights), noise, sampling, level, note=note
    )


def _area(positive: Floats, negative: Floats) -> tuple[float, Floats, Floats]:
    """Return the probability that a positive row scores higher, and its slopes."""
    many, others = max(positive.sum(), 1.0), max(negative.sum(), 1.0)
    below = (np.cumsum(negative) - negative / 2) / others
    above = 1 - (np.cumsum(positive) - positive / 2) / many
    area = float(positive @ below) / many
    return area, (below - area) / many, (above - area) / others


def of_loss_parts(
    label: str,
    table: Ints,
    noise: Noise,
    most: float,
    level: float,
    note: str = "",
    least: float = 0.0,
) -> ModelScore:
    """Return a mean loss of rows that count up to ``most``.

    The variance of a row's loss is known by its noisy square, and taken to be at least
    ``least`` times the squared mean (2 for squares of normal errors).
    """
    parts = table[0] / STEP
    rows = max(float(parts.sum()), 1.0)
    mean = float((parts[1] / 2 + parts[2]) / rows)
    inside = min(max(mean, 0.0), 1.0)
    square = max(float(parts[2] / rows) - inside**2, least * inside**2)
    square = min(square, inside * (1 - inside))
    weights = np.array([-inside, 0.5 - inside, 1 - inside]) * (most / rows / STEP)
    sampling = most * math.sqrt(square / rows)
    return around(label, mean * most, weights, noise, sampling, level, (0, most), note)
