"""Is the noise that was drawn the noise that was declared?

Whoever knows the exact sums knows the noise of every answer. Under the declared law
each noise number is below its median in absolute value with a known chance of about one
half, and a choice is among the likeliest candidates with a known chance; noise that is
too small is there too often. A few hundred numbers of any runs decide it, however many
questions share the cost: this test does not get weaker where losses are spread thin.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np
from scipy.special import gammaincinv

from discreto.audit.findings import Finding
from discreto.audit.hearing import Answer
from discreto.audit.losses import log_chances, log_softmax
from discreto.errors import ParameterError

Trials = tuple[int, int, float]  # hits, trials, hits that the law expects
RARE = 1e-9  # the chance to accuse noise that is as declared


def noise_law(answers: Iterable[Answer], *, name: str = "") -> Finding:
    """Judge the noise of answers that were heard on the public path."""
    start = time.perf_counter()
    hits = trials = 0
    expected = 0.0
    for one in answers:
        got, tried, told = _trials(one)
        hits, trials, expected = hits + got, trials + tried, expected + told
    if not trials:
        raise ParameterError("there is no noise to judge.")
    excess = (hits - expected) / trials
    # Hoeffding's bound holds for questions that depend on earlier answers, too.
    chance = math.exp(-2 * trials * excess**2) if excess > 0 else 1.0
    # Of a Laplace law, the scale at which so many numbers are below the median.
    share = min(max(0.5 + excess, 1e-3), 1 - 1e-3)
    return Finding(
        name or "this noise",
        "noise law",
        violation=chance < RARE,
        claimed=1.0,
        shown=-math.log2(1 - share),
        event=f"{hits} of {trials} numbers are small, {expected:.0f} should be: "
        f"chance below {max(chance, 1e-300):.1e}",
        pair="one table",
        pairs=1,
        unit="× the declared loss",
        runs=trials,
        confidence=1 - RARE,
        seconds=time.perf_counter() - start,
    )


def _trials(one: Answer) -> Trials:
    if one.door in ("select", "gumbel"):
        return _choices(one)
    if not one.known:
        return 0, 0, 0.0
    noise = np.abs((one.seen - one.here).astype(np.float64))
    amount = float(one.law.amount)
    if not noise.size:
        return 0, 0, 0.0
    if one.law.law == "cube":
        noise = noise.reshape(-1, one.law.width).max(axis=1)
        # The largest of a cube's numbers has a Gamma law; its grid is far finer.
        edge, chance = amount * float(gammaincinv(one.law.width, 0.5)), 0.5
    elif one.law.law == "gaussian":
        deviation = math.sqrt(amount)
        edge = max(0.0, round(0.6745 * deviation))
        chance = math.erf((edge + 0.5) / (deviation * math.sqrt(2)))
    else:
        fall = math.exp(-1 / amount)
        edge = float(round(amount * math.log(2)))
        chance = 1 - 2 * fall ** (edge + 1) / (1 + fall)
    return int((noise <= edge).sum()), noise.size, chance * noise.size


def _choices(one: Answer) -> Trials:
    chances = log_softmax if one.door == "gumbel" else log_chances
    hits, expected = 0, 0.0
    for scores, place in zip(one.here, one.seen, strict=True):
        likely = np.exp(chances(scores, one.law.amount))
        order = np.argsort(-likely, kind="stable")
        kept = max(1, int(np.searchsorted(np.cumsum(likely[order]), 0.5)))
        hits += int(place in order[:kept])
        expected += float(likely[order[:kept]].sum())
    return hits, len(one.here), expected


__all__ = ["RARE", "noise_law"]
