"""S3, chapters 1 and 2: randomised response, Laplace and exponential mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreto.core.cost import Amount
from discreto.errors import ParameterError
from discreto.lab.published._noise import FloatNoise, Floats, amount
from discreto.lab.published._printed import printed

BOTH = ("add-remove", "replace")


@printed(
    "S3",
    "algorithm 1, theorem 1.2",
    "3",
    claim="ln 3",
    add_remove="∞: there are as many answers as people",
    replace="ln 3 for one yes-or-no question, d·ln 3 for d of them",
    holds=("replace",),
    ours="discreto.local.RandomizedResponse",
)
def two_coins(answers: ArrayLike, *, ledger: Any) -> NDArray[np.int64]:
    """Each answer, 0 or 1, is true with one coin and a second coin otherwise."""
    noise = FloatNoise(ledger, "two_coins")
    truth = np.asarray(answers, dtype=np.int64)
    honest = noise.flips(0.5, truth.size).reshape(truth.shape)
    second = noise.random.integers(0, 2, truth.shape)
    return np.where(honest, truth, second)


def two_coin_share(responses: ArrayLike) -> float:
    """The share of true yes answers: 2s - 1/2 for a share s of noisy ones.

    >>> two_coin_share([1, 1, 1, 0])
    1.0
    """
    return 2 * float(np.mean(np.asarray(responses, dtype=np.float64))) - 0.5


@printed(
    "S3",
    "example 2.1",
    "4",
    claim="ε",
    add_remove="ε",
    replace="ε",
    holds=BOTH,
    ours="discreto.stats.count",
)
def count(present: ArrayLike, *, epsilon: Amount, ledger: Any) -> float:
    """How many rows are true (or there at all), plus Laplace(1/ε)."""
    noise = FloatNoise(ledger, "count")
    rows = np.asarray(present)
    number = np.count_nonzero(rows) if rows.dtype == bool else rows.shape[0]
    return float(number + noise.laplace(1 / amount(epsilon)))


@printed(
    "S3",
    "example 2.2",
    "5",
    claim="ε, with Δ = a_max - a_min",
    add_remove="ε·max(|a_min|, |a_max|) / (a_max - a_min): 1.25ε for [18, 90], 101ε "
    "for [100, 101]",
    replace="ε",
    holds=("replace",),
    ours="discreto.stats.sum",
)
def total(
    values: ArrayLike, lower: float, upper: float, *, epsilon: Amount, ledger: Any
) -> float:
    """The sum plus Laplace((upper - lower)/ε). Nothing is clipped, as printed."""
    noise = FloatNoise(ledger, "total")
    scale = _range(lower, upper) / amount(epsilon)
    return float(np.sum(np.asarray(values, dtype=np.float64)) + noise.laplace(scale))


@printed(
    "S3",
    "algorithm 2",
    "6",
    claim="ε = ε/2 + ε/2",
    add_remove="ε/2 + (ε/2)·max(|a_min|, |a_max|) / (a_max - a_min)",
    replace="ε/2: the count is constant, so there is twice the noise that is needed",
    holds=("replace",),
    ours="discreto.stats.mean",
)
def mean(
    values: ArrayLike, lower: float, upper: float, *, epsilon: Amount, ledger: Any
) -> float:
    """Noisy sum, Laplace(2(upper - lower)/ε), over noisy count, Laplace(2/ε)."""
    noise = FloatNoise(ledger, "mean")
    rows, half = np.asarray(values, dtype=np.float64), amount(epsilon) / 2
    top = np.sum(rows) + noise.laplace(_range(lower, upper) / half)
    bottom = rows.size + noise.laplace(1 / half)
    return float(top / bottom) if bottom else float("nan")


@printed(
    "S3, S4",
    "S3 example 2.4; S4 histograms of naive Bayes",
    "7",
    claim="ε, with noise of scale 1/ε for each bin",
    add_remove="ε, if the bins are public",
    replace="2ε: one bin loses a row and another gets one",
    holds=("add-remove",),
    ours="discreto.stats.histogram",
)
def histogram(
    values: ArrayLike, edges: ArrayLike, *, epsilon: Amount, ledger: Any
) -> Floats:
    """Counts between the edges, each plus Laplace(1/ε)."""
    noise = FloatNoise(ledger, "histogram")
    counts, _ = np.histogram(np.asarray(values, dtype=np.float64), np.asarray(edges))
    return counts + noise.laplace(1 / amount(epsilon), counts.size)


@printed(
    "S3",
    "example 2.6",
    "8",
    claim="ε, with Δ = 1",
    add_remove="ε: counts only rise, so exp(ε·n) needs no factor of 2",
    replace="2ε (limit)",
    holds=("add-remove",),
    ours="discreto.stats.mode",
)
def mode(
    values: ArrayLike, candidates: ArrayLike, *, epsilon: Amount, ledger: Any
) -> Any:
    """A candidate with probability proportional to exp(ε · its count)."""
    noise = FloatNoise(ledger, "mode")
    options = np.asarray(candidates)
    order = np.argsort(options)
    place = np.searchsorted(options, np.asarray(values), sorter=order)
    code = order[np.minimum(place, options.size - 1)]
    known = options[code] == np.asarray(values)
    counts = np.bincount(code[known], minlength=options.size)
    return options[noise.choose(amount(epsilon) * counts)]


@printed(
    "S3",
    "example 2.8",
    "9",
    claim="ε; the sensitivity of the score is not stated",
    add_remove="ε·max(α, 1 - α), with Δ = 1",
    replace="ε, with Δ = 1",
    holds=BOTH,
    ours="discreto.stats.quantile",
)
def quantile(
    values: ArrayLike,
    alpha: float,
    candidates: ArrayLike,
    *,
    epsilon: Amount,
    ledger: Any,
    sensitivity: float = 1.0,
) -> float:
    """A candidate o with probability ~ exp(-ε |#(values < o) - α n| / 2Δ).

    The thesis' neighbours replace a row, for which Δ = 1. With ties the score is flat:
    where all values are equal, every candidate is as likely as any other.
    """
    noise = FloatNoise(ledger, "quantile")
    return _quantile(values, alpha, candidates, amount(epsilon) / sensitivity, noise)


@printed(
    "S3",
    "example 2.7",
    "9",
    claim="ε; the sensitivity of the score is not stated",
    add_remove="ε/2, with Δ = 1",
    replace="ε, with Δ = 1",
    holds=BOTH,
    ours="discreto.stats.median",
)
def median(
    values: ArrayLike,
    candidates: ArrayLike,
    *,
    epsilon: Amount,
    ledger: Any,
    sensitivity: float = 1.0,
) -> float:
    """A candidate o with probability ~ exp(-ε |#(values < o) - n/2| / 2Δ)."""
    noise = FloatNoise(ledger, "median")
    return _quantile(values, 0.5, candidates, amount(epsilon) / sensitivity, noise)


def _quantile(
    values: ArrayLike,
    alpha: float,
    candidates: ArrayLike,
    rate: float,
    noise: FloatNoise,
) -> float:
    rows = np.sort(np.asarray(values, dtype=np.float64))
    options = np.asarray(candidates, dtype=np.float64)
    below = np.searchsorted(rows, options, side="left")
    score = -np.abs(below - alpha * rows.size)
    return float(options[noise.choose(rate * score / 2)])


def _range(lower: float, upper: float) -> float:
    if not lower < upper:
        raise ParameterError(f"lower must be below upper. Got {lower} and {upper}.")
    return upper - lower
