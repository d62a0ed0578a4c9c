"""Is the noise that was drawn the noise that was declared?

With the exact sums the noise of every answer is known. Its likelihood ratio under
smaller noise to the declared one is a bet that cannot be won against
honest noise: its gain has mean 1, whatever was asked and in which order, so it is above
10^9 with a probability of at most 10^-9 (Ville). A few hundred numbers decide it,
however many questions share the cost: this test does not get weaker where losses are
spread thin over many answers, as lower bounds on epsilon do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np
from scipy.special import log_ndtr, logsumexp

from discreto.audit.findings import Finding
from discreto.audit.losses import log_probabilities, log_softmax
from discreto.audit.public_path import Answer
from discreto.core.query import Floats
from discreto.errors import ParameterError

FACTORS = (1.25, 1.5, 2.0, 4.0)  # how much smaller the noise may be
RARE = 1e-9  # the probability to accuse noise that is as declared


def noise_law(answers: Iterable[Answer], *, name: str = "") -> Finding:
    """Judge the noise of answers that were recorded on the public path.

    ``shown`` is the factor (1: as declared) under which the noise is likeliest.

    Parameters
    ----------
    answers
        What :meth:`Listener.answers` heard.
    name
        What the finding calls the subject.
    """
    start = time.perf_counter()
    gains, numbers = np.zeros(len(FACTORS)), 0
    for one in answers:
        if one.known and one.seen.size:
            gains += [_gain(one, factor) for factor in FACTORS]
            numbers += one.seen.size
    if not numbers:
        raise ParameterError("there is no noise to judge.")
    bet = float(logsumexp(gains)) - math.log(len(FACTORS))
    best = int(np.argmax(gains))
    return Finding(
        name or "this noise",
        "noise law",
        violation=bet > -math.log(RARE),
        claimed=1.0,
        shown=FACTORS[best] if gains[best] > 0 else 1.0,
        event=f"a bet on smaller noise has gained e^{bet:.3g}, by {numbers} numbers",
        pair="one table",
        pairs=1,
        unit="× the declared loss",
        runs=numbers,
        confidence=1 - RARE,
        seconds=time.perf_counter() - start,
    )


def _gain(one: Answer, factor: float) -> float:
    """Return the log of how much likelier this answer is with so much smaller noise."""
    if one.door in ("select", "gumbel"):
        return _choices(one, factor)
    noise = np.abs((one.seen - one.here).astype(np.float64))
    amount = float(one.noise.amount)
    if (
        one.noise.law == "cube"
    ):  # on a grid so fine that its distribution is that of real numbers
        radii = noise.reshape(-1, one.noise.width).max(axis=1) / amount
        whole = one.noise.width * radii.size * math.log(factor)
        return float(whole - (factor - 1) * radii.sum())
    if one.noise.law == "gaussian":
        wide, deviation = noise.ravel(), math.sqrt(amount)
        return float(
            (_normal(wide, deviation / factor) - _normal(wide, deviation)).sum()
        )
    # The probability of k is tanh(1 / 2b) e^(-|k| / b).
    weight = math.log(math.tanh(factor / (2 * amount)) / math.tanh(1 / (2 * amount)))
    return float(weight * noise.size - (factor - 1) / amount * noise.sum())


def _normal(values: Floats, deviation: float) -> Floats:
    """Log-probabilities of whole numbers from 0 up: a rounded normal distribution."""
    if deviation > 100:
        return -(values**2) / (2 * deviation**2) - math.log(deviation)
    near = log_ndtr((0.5 - values) / deviation)
    far = log_ndtr((-0.5 - values) / deviation)
    scale = math.log(math.sqrt(2 * math.pi))  # as the density above has it
    return near + np.log1p(-np.exp(far - near)) + scale


def _choices(one: Answer, factor: float) -> float:
    probabilities = log_softmax if one.door == "gumbel" else log_probabilities
    scale, total = float(one.noise.amount), 0.0
    for scores, place in zip(one.here, one.seen, strict=True):
        smaller, told = (
            probabilities(scores, scale / factor),
            probabilities(scores, scale),
        )
        total += float(smaller[place] - told[place])
    return total


__all__ = ["FACTORS", "RARE", "noise_law"]
