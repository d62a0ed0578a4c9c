"""Centres of clusters, over points where those are public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreto.errors import ParameterError
from discreto.plots.style import GREY, INK, Display, legend, look, tidy
from discreto.text.language import number, tr

MOST_POINTS = 2000


@dataclass(repr=False)
class CentroidsDisplay(Display):
    """The centres of one or more clusterings in two of their features.

    Parameters
    ----------
    centres
        For each name an array (clusters, 2).
    points
        Public or synthetic rows (rows, 2) to draw behind them.
    features
        The names of the two axes.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    centres: Mapping[str, NDArray[Any]]
    features: tuple[str, str] = ("", "")
    points: NDArray[Any] | None = None
    simulated: bool = False

    @classmethod
    def from_model(
        cls,
        model: Any,
        features: Sequence[str] | None = None,
        *,
        points: ArrayLike | None = None,
    ) -> CentroidsDisplay:
        """Make a display from a fitted KMeans or FuzzyCMeans and two features.

        Parameters
        ----------
        model
            A fitted KMeans or FuzzyCMeans.
        features
            The names of two features; by default the first two.
        points
            Public or synthetic rows (rows, 2) to draw behind them.
        """
        names = list(model.space_.numbers)
        pair = tuple(names[:2] if features is None else features)
        if len(pair) != 2 or not set(pair) <= set(names):
            raise ParameterError(
                f"give two of the features {', '.join(names)}. Got {pair!r}."
            )
        places = [names.index(name) for name in pair]
        title = f"{type(model).__name__}, {number(model.privacy_.cost)}"
        centres = {title: np.asarray(model.cluster_centers_)[:, places]}
        return cls.from_centres(
            centres, pair, points=points, simulated=model.privacy_.simulated
        )

    @classmethod
    def from_centres(
        cls,
        centres: Mapping[str, ArrayLike],
        features: Sequence[str] = ("", ""),
        *,
        points: ArrayLike | None = None,
        simulated: bool = True,
    ) -> CentroidsDisplay:
        """Make a display from arrays (clusters, 2) by name.

        Parameters
        ----------
        centres
            For each name an array (clusters, 2).
        features
            The names of the two axes.
        points
            Public or synthetic rows (rows, 2) to draw behind them.
        simulated
            Whether the picture is stamped SIMULATED.
        """
        ready = {name: _pairs(values, name) for name, values in centres.items()}
        shown = None if points is None else _pairs(points, "points")
        first, second = features
        return cls(ready, (first, second), shown, simulated)

    def _draw(self, ax: Any) -> None:
        if self.points is not None:
            step = -(-len(self.points) // MOST_POINTS)
            x, y = self.points[::step].T
            ax.scatter(
                x,
                y,
                s=9,
                color=GREY,
                alpha=0.35,
                linewidths=0,
                label=tr("rows (public data)"),
            )
        for place, (name, centres) in enumerate(self.centres.items()):
            style = look(place)
            ax.scatter(
                *centres.T,
                s=110,
                marker=style.marker,
                color=style.colour,
                edgecolors=INK,
                linewidths=0.8,
                label=name,
                zorder=3,
            )
        ax.set_xlabel(self.features[0])
        ax.set_ylabel(self.features[1])
        tidy(ax, grid="both")
        legend(ax)


def _pairs(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values, dtype=float)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ParameterError(
            f"{name!r} must be an array with two columns. Got shape {array.shape}."
        )
    return array
