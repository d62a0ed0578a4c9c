"""Curves over epsilon and over rounds, with bands of spread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreto.errors import ParameterError
from discreto.plots.style import (
    GREY,
    Display,
    axis_name,
    epsilon_axis,
    legend,
    look,
    tidy,
)
from discreto.text.language import mark, tr

Curve = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # where, middle, spread
BAND = 0.13


@dataclass(repr=False)
class EpsilonCurveDisplay(Display):
    """A score against its cost.

    Parameters
    ----------
    curves
        For each name the values of epsilon, the means, and the spreads (one standard
        deviation), drawn as a band.
    references
        Horizontal lines: the score without privacy, by name.
    score_name
        The label of the vertical axis.
    simulated
        Whether the picture is stamped SIMULATED.

    Examples
    --------
    >>> rows = [{"model": "ours", "epsilon": e, "mean": e / 4, "spread": 0.1}
    ...         for e in (1, 2, 3)]
    >>> EpsilonCurveDisplay.from_results(rows).curves["ours"][1].tolist()
    [0.25, 0.5, 0.75]
    """

    curves: Mapping[str, Curve]
    references: Mapping[str, float] = field(default_factory=dict)
    score_name: str = mark("score")
    simulated: bool = False

    @classmethod
    def from_results(
        cls,
        rows: Iterable[Mapping[str, Any]],
        *,
        name: str = "model",
        score_name: str = mark("score"),
        simulated: bool = True,
    ) -> EpsilonCurveDisplay:
        """Make a display from dicts with ``epsilon``, ``mean``, ``spread`` and a name.

        A line without an epsilon (None or infinite) becomes a reference line.

        Parameters
        ----------
        rows
            Dicts with ``epsilon``, ``mean``, ``spread`` and a name.
        name
            The entry that names the curve.
        score_name
            The label of the vertical axis.
        simulated
            Whether the picture is stamped SIMULATED.
        """
        points: dict[str, list[tuple[float, float, float]]] = {}
        references = {}
        for row in rows:
            epsilon = row["epsilon"]
            if epsilon is None or not np.isfinite(epsilon):
                references[str(row[name])] = float(row["mean"])
                continue
            point = (float(epsilon), float(row["mean"]), float(row.get("spread") or 0))
            points.setdefault(str(row[name]), []).append(point)
        curves = {}
        for title, several in points.items():
            where, middle, spread = np.array(sorted(several), dtype=float).T
            curves[title] = (where, middle, spread)
        return cls(curves, references, score_name, simulated)

    @classmethod
    def from_scores(
        cls,
        epsilons: Sequence[float],
        scores: Mapping[str, ArrayLike],
        *,
        references: Mapping[str, float] | None = None,
        score_name: str = mark("score"),
        simulated: bool = True,
    ) -> EpsilonCurveDisplay:
        """Make a display from repeated scores: arrays (epsilons, repeats) by name.

        Parameters
        ----------
        epsilons
            The values of epsilon.
        scores
            For each name an array (epsilons, repeats).
        references
            Scores without privacy by name, drawn as lines.
        score_name
            The label of the vertical axis.
        simulated
            Whether the picture is stamped SIMULATED.
        """
        curves = {}
        where = np.asarray(epsilons, dtype=float)
        for name, several in scores.items():
            array = np.asarray(several, dtype=float)
            if array.ndim != 2 or array.shape[0] != where.size:
                raise ParameterError(
                    f"the scores of {name!r} must have one line for each of the "
                    f"{where.size} values of epsilon. Got shape {array.shape}."
                )
            curves[name] = (where, array.mean(axis=1), array.std(axis=1))
        return cls(curves, dict(references or {}), score_name, simulated)

    def _draw(self, ax: Any) -> None:
        for place, (name, curve) in enumerate(self.curves.items()):
            _curve(ax, curve, place, name)
        for place, (name, value) in enumerate(self.references.items()):
            line = ("--", ":", "-.")[place % 3]
            ax.axhline(value, color=GREY, linestyle=line, linewidth=1.2, label=name)
        if self.curves:
            epsilon_axis(ax, np.concatenate([c[0] for c in self.curves.values()]))
        ax.set_ylabel(axis_name(self.score_name, "score"))
        tidy(ax)
        legend(ax)


@dataclass(repr=False)
class ConvergenceDisplay(Display):
    """An error against the round of an iteration, over repeated runs.

    Parameters
    ----------
    curves
        For each name the rounds, the middle and the spread.
    log
        Whether the vertical axis is logarithmic.
    quantity
        The label of the vertical axis.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    curves: Mapping[str, Curve]
    quantity: str = mark("error")
    log: bool = True
    simulated: bool = False

    @classmethod
    def from_runs(
        cls,
        runs: Mapping[str, ArrayLike],
        *,
        quantity: str = mark("error"),
        log: bool = True,
        first: int = 1,
        simulated: bool = True,
    ) -> ConvergenceDisplay:
        """Make a display from a value per round, or arrays (runs, rounds), by name.

        Parameters
        ----------
        runs
            For each name one value for each round, or an array (runs, rounds).
        quantity
            The label of the vertical axis.
        log
            Whether the vertical axis is logarithmic.
        first
            The number of the first round.
        simulated
            Whether the picture is stamped SIMULATED.

        Examples
        --------
        >>> shown = ConvergenceDisplay.from_runs({"ours": [[4, 2, 1], [4, 4, 1]]})
        >>> shown.curves["ours"][1].tolist()
        [4.0, 3.0, 1.0]
        """
        curves = {}
        for name, values in runs.items():
            array = np.atleast_2d(np.asarray(values, dtype=float))
            rounds = np.arange(first, first + array.shape[1])
            curves[name] = (rounds, array.mean(axis=0), array.std(axis=0))
        return cls(curves, quantity, log, simulated)

    def _draw(self, ax: Any) -> None:
        for place, (name, curve) in enumerate(self.curves.items()):
            _curve(ax, curve, place, name, floor=self.log)
        if self.log:
            ax.set_yscale("log")
        ax.set_xlabel(tr("round"))
        ax.set_ylabel(axis_name(self.quantity, "error"))
        ax.xaxis.get_major_locator().set_params(integer=True)
        tidy(ax)
        legend(ax)


def _curve(
    ax: Any, curve: Curve, place: int, name: str, *, floor: bool = False
) -> None:
    """Draw a line with markers and its band, above zero on a log axis."""
    where, middle, spread = curve
    style = look(place)
    every = max(1, len(where) // 12)
    ax.plot(
        where,
        middle,
        color=style.colour,
        marker=style.marker,
        linestyle=style.line,
        markevery=every,
        markersize=4.5,
        linewidth=1.6,
        label=name,
    )
    if np.any(spread > 0):
        low = np.maximum(middle - spread, middle / 10) if floor else middle - spread
        ax.fill_between(
            where, low, middle + spread, color=style.colour, alpha=BAND, linewidth=0
        )
