"""Counts of two columns at once, as a table of colours and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.errors import ParameterError
from discreto.plots.style import BLUE, INK, Display
from discreto.release.labels import label_in_words
from discreto.release.text import key_in_words
from discreto.text.language import number, tr

NUMBERED = 200  # cells with a number in each; more cannot be read


@dataclass(repr=False)
class HeatmapDisplay(Display):
    """A released table of two columns: a colour and a number in each cell.

    Parameters
    ----------
    rows, columns
        The kinds of the first and of the second column.
    values
        One number for each pair.
    title
        Stands above the picture.
    names
        What the rows and the columns are.
    error
        Half the width of the widest interval, for the caption.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: NDArray[Any]
    title: str = ""
    names: tuple[str, str] = ("", "")
    error: float = 0.0
    simulated: bool = False

    @classmethod
    def from_release(cls, release: Any) -> HeatmapDisplay:
        """Make a display from a release whose keys are pairs, such as a 2-d histogram.

        Parameters
        ----------
        release
            The answer of ``stats.histogram`` or ``stats.count`` about two columns.

        Raises
        ------
        ParameterError
            Its keys are not pairs.

        Examples
        --------
        >>> import discreto as dp
        >>> keys = (("f", "a"), ("f", "b"), ("m", "a"), ("m", "b"))
        >>> counts = np.arange(4.0)
        >>> release = dp.Release("count", counts, counts, counts, keys)
        >>> HeatmapDisplay.from_release(release).values.shape
        (2, 2)
        """
        matrix = release.matrix()
        if matrix.ndim != 2:
            raise ParameterError("a heat map needs a release about two columns.")
        first, second = zip(*release.keys, strict=True)
        rows, columns = (
            list(dict.fromkeys(map(key_in_words, p))) for p in (first, second)
        )
        names = release.names if len(release.names) == 2 else ("", "")
        title = f"{label_in_words(release.label)}, {number(release.cost)}"
        error = float(np.max(release.error))
        return cls(rows, columns, matrix, title, names, error, release.simulated)

    @property
    def size(self) -> tuple[float, float]:  # type: ignore[override]
        """As large as the cells need."""
        wide = 0.62 * len(self.columns) + 2.2
        high = 0.34 * len(self.rows) + 1.7
        return min(max(wide, 4.4), 9.0), min(max(high, 2.4), 9.0)

    def _draw(self, ax: Any) -> None:
        top = max(float(np.max(self.values)), 1e-9)
        shown = np.clip(self.values, 0, None)
        for i, line in enumerate(shown.tolist()):
            for j, value in enumerate(line):
                # Rectangles keep their colour in both themes of a page.
                ax.add_patch(_cell(j, i, value / top))
                if shown.size <= NUMBERED:
                    _write(ax, j, i, self.values[i, j])
        ax.set_xlim(-0.5, len(self.columns) - 0.5)
        ax.set_ylim(len(self.rows) - 0.5, -0.5)
        steep = max(map(len, self.columns)) * len(self.columns) > 60
        turned = {"rotation": 35, "ha": "right"} if steep else {}
        ax.set_xticks(range(len(self.columns)), self.columns, **turned)
        ax.set_yticks(range(len(self.rows)), self.rows)
        ax.set_xlabel(self.names[1])
        ax.set_ylabel(self.names[0])
        error = (
            "\n" + tr("each ± {error} at most", error=number(self.error, ".3g"))
            if self.error
            else ""
        )
        ax.set_title(f"{self.title}{error}", fontsize=9, loc="left", color=INK)
        ax.tick_params(length=0, labelsize=9, labelcolor=INK)
        ax.spines[:].set_visible(False)


def _cell(x: int, y: int, share: float) -> Any:
    from matplotlib.patches import Rectangle

    alpha = 0.04 + 0.66 * min(max(share, 0.0), 1.0)
    return Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=BLUE, alpha=alpha, lw=0)


def _write(ax: Any, x: int, y: int, value: float) -> None:
    digits = 0 if float(value).is_integer() or abs(value) >= 100 else 2
    ax.text(
        x,
        y,
        number(value, f".{digits}f"),
        ha="center",
        va="center",
        fontsize=8,
        color=INK,
    )
