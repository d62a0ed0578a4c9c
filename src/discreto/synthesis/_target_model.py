"""Labels for drawn rows: by a private classifier, or by a private regressor.

A regressor gives each row a guess. Guesses vary less than the target does, so normal
noise is added until they vary as much, and then every value becomes the value of the
same rank among the released counts of the target. So labels follow the model row by
row, and the released counts as a whole. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreto.core.domain.domain import Category
from discreto.core.maps import Categories
from discreto.core.query import Block, Ones, Sum
from discreto.models.auto import AutoClassifier, AutoRegressor
from discreto.models.base.features import Ready, Space
from discreto.session.rng import Generator, generator
from discreto.session.session import Session
from discreto.synthesis._columns import (
    Coding,
    codings,
    fine,
    group,
    has_gaps,
    nearest_law,
    view,
    within,
)
from discreto.synthesis._junction_tree import Floats

Labeller = AutoClassifier | AutoRegressor
REFERENCE = 10_000  # rows that tell how guesses are spread
_COUNTS = Fraction(1, 5)  # of what labels cost, for the counts of a Number target


def learn_labeller(ask: Session, space: Space, epsilon: Any, delta: Any) -> Labeller:
    """Return a model that was trained on the private rows."""
    wanted = isinstance(space.domain[space.goal], Category)
    kind: type[Labeller] = AutoClassifier if wanted else AutoRegressor
    model = kind(epsilon=epsilon, delta=delta)
    domain = space.domain.select([*space.features, space.goal])
    model._learn(ask, replace(space, domain=domain.with_(target=space.goal)))
    model.space_ = model.model_.space_
    model.n_features_in_ = len(space.features)
    if isinstance(model, AutoClassifier):
        model.classes_ = np.array(space.classes, dtype=object)
    return model


def target_share(space: Space) -> Fraction:
    """Return the share of the labels' cost for counts of the target."""
    return Fraction(0) if isinstance(space.domain[space.goal], Category) else _COUNTS


def count_target(ask: Session, space: Space, bins: Any) -> tuple[Floats, float]:
    """Return the noisy counts of the cells of a Number target, and their spread."""
    coding = target_coding(space, bins)
    step = view([coding], [fine(coding)])
    asked = ask if step is None else ask.seen(step)
    query = Sum(Categories((coding.name,)), (Block(Ones()),))
    answer = asked.measure(query, f"counts of {coding.name}")
    spread = math.sqrt(answer.noises[0].variance)
    return answer.tables[0][:, 0].astype(float), spread


def target_coding(space: Space, bins: Any) -> Coding:
    """Return the cells of the target."""
    own = {name: cut for name, cut in (bins or {}).items() if name == space.goal}
    return codings(space.domain, [space.goal], own)[0]


def feature_bins(bins: Any, names: Sequence[str], target: str | None) -> Any:
    """Declared cells without those of the target, which is no feature."""
    if not isinstance(bins, Mapping) or target is None or target in names:
        return bins
    return {name: cut for name, cut in bins.items() if name != target}


def draw_classes(
    labeller: AutoClassifier, drawn: dict[str, Any], rows: int, rng: Generator
) -> Any:
    """Codes of classes, each with the probability that a classifier gives it."""
    law = labeller.model_.predict_proba(Ready(drawn, rows))
    above = np.cumsum(law, axis=1)
    spot = rng.random(rows)[:, None] * above[:, -1:]
    return np.minimum((above <= spot).sum(axis=1), law.shape[1] - 1)


def labelling(made: Any) -> Callable[..., dict[str, Any]]:
    """Return a function that adds the target to drawn rows."""
    space, labeller = made.space_, made.labeller_
    if labeller is None:
        return lambda drawn, rows, rng: drawn
    draw: Any
    if isinstance(labeller, AutoClassifier):
        draw = partial(draw_classes, labeller)
    else:
        draw = NumberLabels(
            labeller,
            target_coding(space, made.bins),
            made.target_counts_,
            made.target_spread_,
            (made._draw(REFERENCE, generator(0)), REFERENCE),
        ).draw
    return lambda drawn, rows, rng: drawn | {space.goal: draw(drawn, rows, rng)}


def _cell_law(coding: Coding, counts: Floats, spread: float) -> Floats:
    """The probability of each cell: cells that hold few rows share what they hold."""
    cells = coding.cells
    groups = group(coding, counts, spread)
    totals = np.zeros(max(groups) + 1)
    np.add.at(totals, groups, counts[:cells])
    law = np.zeros(cells)
    parts = zip(nearest_law(totals), within(counts[:cells], groups), strict=True)
    for number, (whole, part) in enumerate(parts):
        law[np.flatnonzero(np.array(groups) == number)] = whole * part
    return law


class NumberLabels:
    """Values of a Number target for drawn rows.

    Parameters
    ----------
    labeller
        The regressor.
    coding
        The cells of the target.
    counts, spread
        Their noisy counts, and the standard deviation of the noise.
    reference
        The columns of some drawn rows, which stand for all.
    """

    def __init__(
        self,
        labeller: AutoRegressor,
        coding: Coding,
        counts: Floats,
        spread: float,
        reference: tuple[dict[str, Any], int],
    ) -> None:
        self._labeller, self._coding = labeller, coding
        cells = coding.cells
        self._law = _cell_law(coding, counts, spread)
        rest = float(counts[-1]) if has_gaps(coding, counts, spread) else 0.0
        self._missing = rest / (rest + max(float(counts[:cells].sum()), 1.0))
        guesses = self._guesses(*reference)
        self._noise = math.sqrt(max(self._variance() - float(guesses.var()), 0.0))
        rng = generator(0)
        self._ranks = np.sort(guesses + self._noise * rng.standard_normal(len(guesses)))

    def _guesses(self, drawn: dict[str, Any], rows: int) -> Floats:
        found: Floats = self._labeller.model_.predict(Ready(drawn, rows))
        return found

    def _variance(self) -> float:
        """Of the target, from the counts of its cells."""
        cells = np.arange(self._coding.cells)
        centres = self._coding.values(cells, np.full(len(cells), 0.5))
        mean = float(self._law @ centres)
        return float(self._law @ (centres - mean) ** 2)

    def draw(self, drawn: dict[str, Any], rows: int, rng: Generator) -> Floats:
        """Return a value for each row."""
        values = self._guesses(drawn, rows)
        values = values + self._noise * rng.standard_normal(rows)
        low = np.searchsorted(self._ranks, values, "left")
        high = np.searchsorted(self._ranks, values, "right")
        width = np.maximum(high - low, 1)  # equal values share their ranks
        rank = (low + rng.random(rows) * width) / (len(self._ranks) + 1)
        above = np.cumsum(self._law)
        cell = np.searchsorted(above / above[-1], rank, "right")
        cell = np.minimum(cell, self._coding.cells - 1)
        before = np.append(0.0, above[:-1])[cell]
        spot = (rank * above[-1] - before) / np.maximum(self._law[cell], 1e-300)
        gone = rng.random(rows) < self._missing
        cell = np.where(gone, self._coding.cells, cell)
        return self._coding.values(cell, np.clip(spot, 0.0, 1 - 1e-12))
