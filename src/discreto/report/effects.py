"""Effects of columns on predictions, from released numbers and synthetic rows.

Importances and partial dependence are usually computed over the rows of a table. Here
the rows are spread evenly over the public domain, so that nothing is asked and nothing
is paid: the curves say what the model would answer, not whom it was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Number
from discreto.models.base.features import Ready
from discreto.plots.effects import DependenceDisplay, ImportanceDisplay
from discreto.report.markup import Html, figure, side_by_side, text
from discreto.session.rng import generator
from discreto.text.language import tr

ROWS, POINTS = 200, 15
MOST_BARS, MOST_CURVES, MOST_CLASSES = 12, 4, 5


@dataclass(frozen=True)
class Effect:
    """The mean prediction against one column: (points, outputs)."""

    name: str
    points: list[Any]
    curve: NDArray[Any]

    @property
    def size(self) -> float:
        """The spread of the curve: the standard deviation over the points."""
        return float(np.sqrt(np.mean(np.var(self.curve, axis=0))))


def effects_of(model: Any) -> list[Effect]:
    """Return the effect of each column of a model that predicts, the largest first."""
    space = model.space_
    rng = generator(0)
    base = {name: _spread(space.domain[name], rng) for name in space.features}
    found = []
    for name in space.features:
        codes, points = _points(space.domain[name])
        curve = [
            _outputs(model, base | {name: np.full(ROWS, code)}).mean(axis=0)
            for code in codes
        ]
        found.append(Effect(name, points, np.array(curve)))
    return sorted(found, key=lambda effect: -effect.size)


def effect_blocks(model: Any) -> list[Html]:
    """Return a picture of the importances, and of the largest effects."""
    if model.space_.target is None or not model.privacy_.cost:
        return []
    found, simulated = effects_of(model), model.privacy_.simulated
    several = len(getattr(model, "classes_", [])) > 2
    shown = found[:MOST_BARS]
    quantity = _quantity(model)
    bars = ImportanceDisplay(
        [effect.name for effect in shown],
        np.array([effect.size for effect in shown]),
        tr("spread of {quantity}", quantity=quantity),
        simulated,
    )
    names = _outputs_named(model)
    drawn = [effect for effect in found[:MOST_CURVES] if effect.size > 0]
    limits = _limits(drawn, [place for place, _ in names[:MOST_CLASSES]])
    pictures = [
        figure(
            DependenceDisplay(
                effect.name,
                effect.points,
                {n: effect.curve[:, i] for i, n in names[:MOST_CLASSES]},
                tr("probability") if several else quantity,
                simulated,
                limits,
            ),
            alt=tr("{quantity} against {name}", quantity=quantity, name=effect.name),
        )
        for effect in drawn
    ]
    about = tr(
        "How far each column moves the prediction, and how, over synthetic "
        "rows spread evenly over the domain: free, and about the model, not"
        " about people."
    )
    important = figure(
        bars, alt=tr("importance of columns: spread of {quantity}", quantity=quantity)
    )
    return [text(about), important, side_by_side(*pictures)]


def _limits(drawn: list[Effect], places: list[int]) -> tuple[float, float] | None:
    """Return the ends of one y axis for all pictures: small effects look small."""
    if not drawn:
        return None
    values = np.concatenate([effect.curve[:, places].ravel() for effect in drawn])
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # an axis needs two ends
        return None
    margin = 0.05 * (high - low)
    return low - margin, high + margin


def _quantity(model: Any) -> str:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return f"{model.space_.target}"
    return f"P[{classes[-1]}]" if len(classes) == 2 else tr("the probabilities")


def _outputs_named(model: Any) -> list[tuple[int, str]]:
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) == 2:
        return [(0, _quantity(model))]
    return [(place, str(kind)) for place, kind in enumerate(classes)]


def _outputs(model: Any, batch: dict[str, NDArray[Any]]) -> NDArray[Any]:
    rows = Ready(batch, ROWS)
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(rows), dtype=float)[:, None]
    chances = np.asarray(model.predict_proba(rows))
    return chances[:, 1:] if chances.shape[1] == 2 else chances


def _spread(column: Any, rng: Any) -> NDArray[Any]:
    if isinstance(column, Category):
        return np.asarray(rng.integers(0, len(column.categories), ROWS))
    values = rng.uniform(column.lower, column.upper, ROWS)
    return np.round(values) if column.integer else np.asarray(values)


def _points(column: Number | Category) -> tuple[NDArray[Any], list[Any]]:
    if isinstance(column, Category):
        count = min(len(column.categories), POINTS)
        return np.arange(count), list(map(str, column.categories[:count]))
    values = np.linspace(column.lower, column.upper, POINTS)
    values = np.unique(np.round(values)) if column.integer else values
    return values, values.tolist()
