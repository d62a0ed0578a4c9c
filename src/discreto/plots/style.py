"""The look of all pictures: colours, markers, axes, and the stamp of a simulation."""

from __future__ import annotations

import copy
import io
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from discreto.errors import MissingExtraError
from discreto.text.language import number, tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart with any kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SKY, AMBER = "#56b4e9", "#e69f00"
WINE = "#882255"  # Tol's, for the yellow that cannot be seen on paper
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, WINE)
INK, GREY, PALE = "#1c1f24", "#6f7680", "#d0d3d8"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = (
    "-",
    "--",
    "-.",
    (0, (1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (3, 1)),
    (0, (7, 2)),
)


LEGEND = {
    "fontsize": 8.5,
    "labelcolor": INK,
    "facecolor": "white",
    "edgecolor": "none",
    "framealpha": 0.8,
}


class Look(NamedTuple):
    """The colour, line and marker of a curve."""

    colour: str
    marker: str
    line: Any


def look(place: int) -> Look:
    """Return the look of a curve; after seven, colours repeat with other lines."""
    many = len(PALETTE)
    return Look(
        PALETTE[place % many],
        MARKERS[(place + place // many) % many],
        LINES[(place + place // many) % many],
    )


class Display:
    """Base of all displays: makes the axes, draws, and stamps a simulation."""

    simulated: bool = False
    size: tuple[float, float] = (6.0, 3.8)
    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on.

        Returns
        -------
        self
            With ``ax_`` and ``figure_`` set.
        """
        self.ax_ = new_axes(self.size) if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        write_numbers(self.ax_)
        if self.simulated:
            stamp(self.ax_)
        return self

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        drawn = "" if hasattr(self, "ax_") else "; plot() draws it"
        return f"{type(self).__name__}({(self.__doc__ or '').splitlines()[0]}{drawn})"

    def _repr_png_(self) -> bytes | None:
        """Return the picture in a notebook, unless ``plot`` has shown it already."""
        if hasattr(self, "ax_"):
            return None
        from matplotlib.figure import Figure

        figure, file = Figure(figsize=self.size, layout="constrained"), io.BytesIO()
        copy.copy(self).plot(figure.subplots())
        figure.savefig(file, format="png", dpi=110)
        return file.getvalue()


def new_axes(size: tuple[float, float]) -> Axes:
    """Return axes on a new figure of pyplot, for ``plt.show()``."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib: pip install matplotlib"
        ) from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def write_numbers(ax: Axes) -> None:
    """Write decimal commas on both axes, if the language has them."""
    from matplotlib.ticker import Formatter, ScalarFormatter

    class Localised(Formatter):
        """The same ticks, written as the language writes numbers."""

        def __init__(self, plain: Any) -> None:
            self.plain = plain

        def __call__(self, value: float, place: int | None = None) -> str:
            return number(self.plain(value, place))

        def set_locs(self, locs: Any) -> None:
            self.plain.set_locs(locs)

        def get_offset(self) -> str:
            return number(self.plain.get_offset())

    for axis in (ax.xaxis, ax.yaxis):
        plain = axis.get_major_formatter()
        if number(0.5) != "0.5" and type(plain) is ScalarFormatter:
            axis.set_major_formatter(Localised(plain))


def axis_name(given: str, default: str) -> str:
    """Return the label of an axis: ours is translated, one that was given is not."""
    return tr(default) if given == default else given


def tidy(ax: Axes, *, grid: str = "y") -> None:
    """Draw thin axes and a pale grid, without a box."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY, labelcolor=INK, labelsize=9)
    if grid:
        ax.grid(axis=grid, color=PALE, linewidth=0.6, zorder=0)  # type: ignore[arg-type]
        ax.set_axisbelow(True)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(INK)


def legend(ax: Axes, **options: Any) -> None:
    """Draw a legend below the picture, if there are labels."""
    names = ax.get_legend_handles_labels()[1]
    if not names:
        return
    from matplotlib.transforms import ScaledTranslation

    # As many in a line as the width of a picture can hold.
    columns = max(1, min(len(names), 60 // (max(map(len, names)) + 6)))
    down = ScaledTranslation(0, -_depth(ax) / 72, ax.figure.dpi_scale_trans)
    place = {
        "loc": "upper left",
        "bbox_to_anchor": (0, 0),
        "bbox_transform": ax.transAxes + down,
        "borderaxespad": 0,
        "ncols": columns,
        "handlelength": 1.6,
        "columnspacing": 1.2,
    }
    ax.legend(**{**LEGEND, **place, **options})


def _depth(ax: Axes) -> float:
    """Return about how deep the texts below the axes are, in points."""
    texts = ax.get_xticklabels()
    turned = [len(one.get_text()) for one in texts if one.get_rotation()]
    # A letter is about 5 points wide, and a text at 40 degrees two thirds as high.
    return 36 + max(3.3 * max(turned, default=0) - 8, 0)


def epsilon_axis(ax: Axes, epsilons: Any) -> None:
    """Make the x axis logarithmic, with the measured values of epsilon as ticks."""
    ax.set_xscale("log")
    ticks = sorted({float(value) for value in epsilons})
    while len(ticks) > 9:  # leave space between the texts
        ticks = ticks[::2]
    ax.set_xticks(ticks, [number(tick, "g") for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(tr("ε (more privacy to the left)"))


def stamp(ax: Axes) -> None:
    """Say that nothing here was protected."""
    ax.text(
        1.0,
        1.01,
        tr("SIMULATED"),
        transform=ax.transAxes,
        ha="right",
        va="bottom",
        fontsize=8,
        fontweight="bold",
        color=ORANGE,
    )
