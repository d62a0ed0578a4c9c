"""Losses of boosted trees: the curvature and the gradient of each row.

Each function gives (h, g), lines of one number for each row and score. A row without a
target has a gradient of 0 or NaN, which the clamp makes 0. Nothing here is trusted: the
clamp bounds whatever comes out.
"""

from __future__ import annotations

import numpy as np

from discreto.core.aggregate import add_up
from discreto.core.query import Floats, Ints


def squared(
    scores: Floats, target: Floats, clip: float, drop: bool
) -> tuple[Floats, Floats]:
    """Residuals over ``clip``; those beyond it are cut, or with ``drop`` left out."""
    g = (scores - target) / clip
    if drop:
        np.copyto(g, 0.0, where=np.abs(g) > 1)
    return np.ones_like(g), np.clip(g, -1, 1, out=g)


def means_of(scores: Floats, upper: float) -> Floats:
    """Means of which the scores are the logarithms, none above ``upper``."""
    return np.minimum(np.exp(np.clip(scores, -500, 500)), upper)


def poisson(
    scores: Floats, target: Floats, clip: float, upper: float
) -> tuple[Floats, Floats]:
    """Residuals of means, over the mean itself where that is above ``clip``."""
    mean = means_of(scores, upper)
    over = np.maximum(mean, clip)
    g = (mean - target) / over
    return mean / over, np.clip(g, -1, 1, out=g)


def pinball(scores: Floats, target: Floats, quantile: float) -> tuple[Floats, Floats]:
    """Which side of the target the score is on, each side with its own weight."""
    top = max(quantile, 1 - quantile)
    g = np.where(scores > target, (1 - quantile) / top, -quantile / top)
    np.copyto(g, 0.0, where=np.isnan(target))
    return np.ones_like(g), g


def logistic(scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """Chances minus truth, for two classes."""
    p = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
    h = p * (1 - p)
    g = p - (codes == 1)
    np.copyto(g, 0.0, where=codes < 0)
    return h, g


def softmax(scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
    """Chances minus truth, for each class."""
    p = np.exp(np.maximum(scores - scores.max(axis=0), -500))
    p /= add_up(p)
    same = add_up(p * p)[None, :]
    h = same * (1 - same)  # p_k (1 - p_k), for p even over any number of classes
    p -= codes[None, :] == np.arange(len(p))[:, None]
    np.copyto(p, 0.0, where=codes < 0)
    return h, p


__all__ = ["logistic", "means_of", "pinball", "poisson", "softmax", "squared"]
