"""The picture of the demo: one histogram at two prices, against the exact one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreto.release import Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart with any kind of colour vision.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#D0D0D0"


def draw(
    path: Path, releases: list[Release], exact: list[float], edges: NDArray[Any]
) -> None:
    """Write a PNG with one panel for each release."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, len(releases), sharey=True, squeeze=False)[0]
    looks = [(ORANGE, "s"), (BLUE, "o")]
    for axes, release, look in zip(panels, releases, looks, strict=True):
        _panel(axes, release, exact, edges, look)
    panels[0].set_ylabel("patients")
    figure.suptitle("Tumour radius: less noise costs more privacy")
    figure.savefig(path, dpi=150)


def _panel(
    axes: Axes,
    release: Release,
    exact: list[float],
    edges: NDArray[Any],
    look: tuple[str, str],
) -> None:
    low, high = np.asarray(release.low), np.asarray(release.high)
    # Noise can take a count below 0; the nearest possible value is drawn.
    value = np.clip(np.asarray(release.value), low, high)
    colour, marker = look
    axes.bar(
        edges[:-1],
        exact,
        width=np.diff(edges),
        align="edge",
        color=GREY,
        edgecolor="white",
        label="exact (public demo data)",
    )
    axes.errorbar(
        (edges[1:] + edges[:-1]) / 2,
        value,
        yerr=[value - low, high - value],
        fmt=marker,
        markersize=5,
        capsize=3,
        color=colour,
        label="private, with 95 % interval",
    )
    axes.set_title(f"{release.cost}")
    axes.set_xlabel("radius (px)")
    axes.set_ylim(bottom=-5)  # room for the marks at 0
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
