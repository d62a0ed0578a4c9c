"""Effects of columns on a model's predictions: importances, partial dependence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.plots.style import BLUE, GREY, Display, axis_name, look, tidy
from discreto.text.language import mark


@dataclass(repr=False)
class ImportanceDisplay(Display):
    """Importances: the effect of each column on predictions, the largest first.

    Parameters
    ----------
    names
        The columns.
    values
        One number for each.
    quantity
        What the numbers are.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    names: Sequence[str]
    values: NDArray[Any]
    quantity: str = mark("importance")
    simulated: bool = False

    @property
    def size(self) -> tuple[float, float]:  # type: ignore[override]
        """As high as there are columns."""
        return 4.6, min(0.26 * len(self.names) + 0.9, 6.0)

    def _draw(self, ax: Any) -> None:
        order = np.argsort(self.values)
        where = np.arange(len(order))
        ax.barh(
            where, np.asarray(self.values)[order], color=BLUE, alpha=0.6, height=0.7
        )
        ax.set_yticks(where, [self.names[i] for i in order])
        ax.set_xlabel(axis_name(self.quantity, "importance"))
        tidy(ax, grid="x")


@dataclass(repr=False)
class DependenceDisplay(Display):
    """The mean prediction against one column, all others as they may be.

    Parameters
    ----------
    name
        The column.
    points
        Its values: numbers, or categories.
    curves
        The mean prediction at each point, by the name of the curve.
    quantity
        What is predicted.
    simulated
        Whether the picture is stamped SIMULATED.
    limits
        The ends of the y axis; by default those of the curves. Pictures that are
        compared share them.
    """

    name: str
    points: Sequence[Any]
    curves: dict[str, NDArray[Any]]
    quantity: str = mark("prediction")
    simulated: bool = False
    limits: tuple[float, float] | None = None
    size = (3.2, 2.3)

    def _draw(self, ax: Any) -> None:
        numbers = all(isinstance(point, int | float) for point in self.points)
        where = self.points if numbers else range(len(self.points))
        for place, (label, values) in enumerate(self.curves.items()):
            colour, marker, line = look(place)
            style = (
                {"linestyle": line} if numbers else {"linestyle": "", "marker": marker}
            )
            ax.plot(where, values, color=colour, linewidth=1.6, **style)
            if len(self.curves) > 1:
                ax.annotate(
                    label,
                    (where[-1], values[-1]),
                    xytext=(4, 0),
                    textcoords="offset points",
                    fontsize=7.5,
                    color=colour,
                    va="center",
                )
        if not numbers:
            steep = sum(len(str(point)) for point in self.points) > 24
            turned = {"rotation": 35, "ha": "right"} if steep else {}
            ax.set_xticks(list(where), [str(point) for point in self.points], **turned)
            ax.margins(x=0.15)
        if self.limits is not None:
            ax.set_ylim(*self.limits)
        ax.set_xlabel(self.name)
        ax.set_ylabel(axis_name(self.quantity, "prediction"), color=GREY)
        tidy(ax)
