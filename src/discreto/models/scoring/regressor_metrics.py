"""RMSE and R² of a regressor, whose errors are clipped where noise begins to matter.

The squared error over the whole declared range would need noise of that range. So a
part of the cost finds out how large errors are, and how wide the target is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.expressions import Clip, Col, Named, WithColumns
from discreto.core.gate import Noise
from discreto.core.maps import Bernstein, Cross, Ones, Ranks, present_in
from discreto.core.maps.losses import ErrorSizes, LossParts
from discreto.core.query import Block, Choice, Sum
from discreto.models.scoring.classifier_metrics import STEP, ModelScore, of_loss_parts
from discreto.session.session import Ask
from discreto.stats._intervals import Floats, combined_reach
from discreto.stats._quantile_grid import place_grid

_WINDOW = 6  # sizes of errors that are looked at together
_SEEN = "(clipped target)"


def number_scores(
    ask: Ask, text: str, goal: str, parts: Mapping[str, Fraction], level: float
) -> dict[str, ModelScore]:
    """RMSE and R², each for its part of the cost; R² needs both."""
    column, cells = ask.domain.number(goal), present_in((goal,), ask.domain)
    spread_part = parts.get("r2", Fraction(0)) / (1 if "rmse" in parts else 2)
    part = 1 - spread_part
    sizes = ask.measure(
        Sum(_inside(cells, ErrorSizes(text)), (Block(Ones()),)),
        "sizes of errors",
        part / 4,
    )
    most = _clip(sizes.tables[0][:, 0].astype(float), sizes.noises[0])
    block = Block(LossParts(text, "squared", most))
    answer = ask.measure(Sum(cells, (block,)), "squared error", part * 3 / 4)
    span = 2 * column.half
    note = f"errors count up to {span * math.sqrt(most):.3g}"
    mse = _skewed(
        of_loss_parts(
            "mse", answer.tables[0], answer.noises[0], most * span**2, level, note, 2.0
        )
    )
    out = {"rmse": _root(mse, column.unit)} if "rmse" in parts else {}
    if "r2" in parts:
        out["r2"] = _r_squared(ask, goal, mse, spread_part, level)
    return out


def _inside(cells: Any, inner: Any) -> Any:
    """Cells of the rows whose target is known."""
    return Cross(cells, inner) if hasattr(cells, "names") else inner


def _clip(counts: Floats, noise: Noise) -> float:
    """Return where squared errors are cut off, from noisy counts by falling size.

    Nearly three times the size of error beyond which no rows can be told from the
    noise: what is cut off is then the far end of a few rows.
    """
    sums = np.convolve(counts, np.ones(_WINDOW))[: counts.size]
    clear = sums > 3 * math.sqrt(noise.variance * _WINDOW)
    first = int(np.argmax(np.append(clear, True)))
    return float(2.0 ** -max(first - 3, 0))


def _skewed(mse: ModelScore) -> ModelScore:
    """Return the same, with ends for the population that are as far in logarithms.

    The spread of squared errors from sample to sample grows with their mean, so that a
    sample with a small mean looks surer than it is.
    """
    low, high = mse.population or mse.rows
    far = max(high - mse.value, mse.value - low)
    if not 0 < far < 2 * mse.value:
        return mse
    ratio = math.exp(far / mse.value)
    return replace(mse, population=(mse.value / ratio, mse.value * ratio))


def _root(mse: ModelScore, unit: str) -> ModelScore:
    rows, population = (
        (math.sqrt(low), math.sqrt(high))
        for low, high in (mse.rows, mse.population or mse.rows)
    )
    value = math.sqrt(mse.value)
    return ModelScore("rmse", value, rows, population, unit=unit, note=mse.note)


def _window(ask: Ask, goal: str, part: Fraction) -> tuple[float, float]:
    """Return a range about the median, six times as wide as the middle half."""
    places = place_grid(goal, ask.domain)
    tally, centres = Sum(places.cells(), (Block(Ones()),)), places.centres()
    found = []
    for quarter in (1, 2, 3):
        choice = Choice(tally, Ranks((quarter,), 4))
        chosen = ask.select(choice, f"quartile {quarter} of the target", part / 3)
        found.append(float(centres[int(chosen.indices[0])]))
    low, middle, high = sorted(found)
    column = ask.domain.number(goal)
    reach = 6 * max(high - middle, middle - low, column.half * 2.0**-20)
    return max(middle - reach, column.lower), min(middle + reach, column.upper)


def _r_squared(
    ask: Ask, goal: str, mse: ModelScore, part: Fraction, level: float
) -> ModelScore:
    """1 - mse / variance; the errors of both are taken as independent."""
    low, high = _window(ask, goal, part / 2)
    ask = ask.seen(WithColumns((Named(_SEEN, Clip(Col(goal), low, high)),)))
    column, cells = ask.domain.number(_SEEN), present_in((_SEEN,), ask.domain)
    block = Block(Bernstein((_SEEN,), 2))
    answer = ask.measure(Sum(cells, (block,)), "spread of the target", part / 2)
    b = answer.tables[0][0] / STEP
    rows = max(float(b.sum()), 1.0)
    mean, square = float(b[2] - b[0]) / rows, float(b[0] + b[2] - b[1]) / rows
    centre = np.array([-1 - mean, -mean, 1 - mean])  # by how much the mean moves
    weights = (np.array([1.0, -1.0, 1.0]) - square - 2 * mean * centre) / rows / STEP
    variance = max(square - mean**2, 1e-3)
    scale = variance * column.half**2
    value = 1 - mse.value / scale

    def ends(of_mse: tuple[float, float], sampling: float) -> tuple[float, float]:
        far = combined_reach(weights, answer.noises[0], level, sampling) / variance
        off = max(abs(end - mse.value) for end in of_mse) / max(mse.value, 1e-300)
        # Of a quotient, in logarithms; beyond e^3 nothing is known.
        ratio = math.exp(min(math.hypot(far, off), 3.0))
        return 1 - (1 - value) * ratio, 1 - (1 - value) / ratio

    # From sample to sample a normal target's variance varies by sqrt(2 / n) of itself.
    deviation = variance * math.sqrt(2 / rows)
    whole = ends(mse.population or mse.rows, deviation)
    return ModelScore("r2", value, ends(mse.rows, 0.0), whole, note=mse.note)
