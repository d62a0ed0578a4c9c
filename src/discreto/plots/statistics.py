"""Released statistics with their intervals: histograms and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreto.errors import ParameterError
from discreto.plots.heatmap import HeatmapDisplay
from discreto.plots.style import BLUE, GREY, PALE, Display, axis_name, legend, tidy
from discreto.release.labels import label_in_words
from discreto.release.text import key_in_words
from discreto.text.language import mark, number, tr

INTERVAL = mark("private, with 95 % interval")


@dataclass(repr=False)
class HistogramDisplay(Display):
    """Noisy counts with their intervals; exact ones behind them where they are public.

    Parameters
    ----------
    labels
        The names of the bins or categories.
    values, low, high
        The counts and the ends of their intervals.
    edges
        Numbers that bound the bins; without them the bars stand side by side.
    exact
        What a private table would never show: for public or synthetic data only.
    title
        Stands above the picture.
    quantity
        The label of the vertical axis.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    labels: Sequence[str]
    values: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    edges: NDArray[Any] | None = None
    exact: NDArray[Any] | None = None
    title: str = ""
    quantity: str = mark("rows")
    simulated: bool = False

    @classmethod
    def from_release(
        cls,
        release: Any,
        *,
        edges: ArrayLike | None = None,
        exact: ArrayLike | None = None,
        quantity: str = "",
    ) -> HistogramDisplay | HeatmapDisplay:
        """Make a display from the release of a histogram, or of anything by groups.

        Two columns at once are a heat map.

        Parameters
        ----------
        release
            The answer of ``stats.histogram``.
        edges
            Numbers that bound the bins.
        exact
            The exact counts: for public or synthetic data only.
        quantity
            The label of the vertical axis; by default what was asked.
        """
        if not release.keys:
            raise ParameterError("this release is one number: it has no bins to draw.")
        pairs = all(isinstance(k, tuple) and len(k) == 2 for k in release.keys)
        if pairs and edges is None and exact is None:
            with suppress(ParameterError):  # no full crossing: bars will do
                return HeatmapDisplay.from_release(release)
        return cls(
            [key_in_words(key) for key in release.keys],
            np.ravel(release.value),
            np.ravel(release.low),
            np.ravel(release.high),
            None if edges is None else np.asarray(edges, dtype=float),
            None if exact is None else np.asarray(exact, dtype=float),
            f"{label_in_words(release.label)}, {number(release.cost)}",
            quantity or _quantity(release),
            release.simulated,
        )

    def _draw(self, ax: Any) -> None:
        bins = len(self.labels)
        edges = np.arange(bins + 1) - 0.5 if self.edges is None else self.edges
        gap = 0.8 if self.edges is None else 1.0
        middle, wide = (edges[1:] + edges[:-1]) / 2, np.diff(edges) * gap
        # Noise can take a count below 0; the nearest possible value is drawn.
        value = np.clip(self.values, self.low, self.high)
        bars = value if self.exact is None else self.exact
        name = None if self.exact is None else tr("exact (public data)")
        colour = BLUE if self.exact is None else PALE
        shade = 0.35 if self.exact is None else 1.0
        ax.bar(
            middle,
            bars,
            wide,
            color=colour,
            alpha=shade,
            edgecolor=GREY,
            linewidth=0.4,
            label=name,
        )
        ax.errorbar(
            middle,
            value,
            [value - self.low, self.high - value],
            fmt="o",
            color=BLUE,
            markersize=4,
            capsize=2.5,
            linewidth=1.2,
            label=tr(INTERVAL),
        )
        if self.edges is None:
            steep = max(map(len, self.labels)) * bins > 70
            ax.set_xticks(
                middle,
                self.labels,
                rotation=40 if steep else 0,
                ha="right" if steep else "center",
            )
        ax.set_ylim(bottom=min(0.0, -0.02 * float(np.max(self.high))))
        ax.set_ylabel(axis_name(self.quantity, "rows"))
        ax.set_title(self.title, fontsize=10, loc="left")
        tidy(ax)
        legend(ax)


def _quantity(release: Any) -> str:
    """Return the quantity of a release: rows, or its label before "by" or "of"."""
    word = str(release.label).split(" ", 1)[0].rstrip(",:")
    counted = word in ("histogram", "count", "top")
    unit = f" ({release.unit})" if release.unit else ""
    return "rows" if counted else f"{tr(word)}{unit}"


@dataclass(repr=False)
class QuantileDisplay(Display):
    """Noisy quantiles with their intervals, over the exact ones where they are public.

    Parameters
    ----------
    probabilities
        From 0 to 1.
    values, low, high
        The quantiles and the ends of their intervals.
    sample
        Public or synthetic values whose quantiles are drawn as a line.
    title
        Stands above the picture.
    unit
        The unit of the values.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    probabilities: NDArray[Any]
    values: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    sample: NDArray[Any] | None = None
    title: str = ""
    unit: str = ""
    simulated: bool = False

    @classmethod
    def from_release(
        cls, release: Any, *, sample: ArrayLike | None = None
    ) -> QuantileDisplay:
        """Make a display from the release of several quantiles.

        Parameters
        ----------
        release
            The answer of ``stats.quantile`` with several probabilities.
        sample
            Public or synthetic values whose quantiles are drawn as a line.
        """
        try:
            chances = np.array([float(key) for key in release.keys])
        except (TypeError, ValueError):
            chances = np.empty(0)
        if not chances.size:
            raise ParameterError(
                "this release has no probabilities. Ask for several quantiles: "
                "stats.Quantiles('age', (0.1, 0.5, 0.9))."
            )
        return cls(
            chances,
            np.ravel(release.value),
            np.ravel(release.low),
            np.ravel(release.high),
            None if sample is None else np.asarray(sample, dtype=float),
            f"{label_in_words(release.label)}, {number(release.cost)}",
            release.unit,
            release.simulated,
        )

    def _draw(self, ax: Any) -> None:
        if self.sample is not None:
            at = np.linspace(0, 1, 201)
            exact = np.quantile(self.sample, at)
            ax.plot(
                at, exact, color=GREY, linewidth=1.4, label=tr("exact (public data)")
            )
        # An interval is about the exact value, so it need not hold the noisy one.
        reach = [
            np.maximum(self.values - self.low, 0),
            np.maximum(self.high - self.values, 0),
        ]
        ax.errorbar(
            self.probabilities,
            self.values,
            reach,
            fmt="o",
            color=BLUE,
            markersize=5,
            capsize=3,
            linewidth=1.3,
            label=tr(INTERVAL),
        )
        ax.set_xlabel(tr("share of rows below"))
        ax.set_ylabel(self.unit or tr("value"))
        ax.set_xlim(0, 1)
        ax.set_title(self.title, fontsize=10, loc="left")
        tidy(ax, grid="both")
        legend(ax)
