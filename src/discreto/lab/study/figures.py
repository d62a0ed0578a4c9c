"""How pictures of the study look, and how they are saved.

Usual words for candidates: "ours" for our algorithm with its defaults, "as printed"
for the source's text taken literally, "non-private" for the reference, and the name of
the algorithm where a source compares several.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreto.lab.study.results import Results
from discreto.lab.study.words import in_words
from discreto.plots import ConvergenceDisplay, EpsilonCurveDisplay
from discreto.plots.style import tidy, write_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_NOTHING = (np.empty(0), np.empty(0), np.empty(0))


def panels(
    rows: int, columns: int, *, size: tuple[float, float] = (3.8, 3.0), **options: Any
) -> tuple[Figure, Any]:
    """A figure with a grid of axes, as a 2-d array."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for one in axes.flat:
        tidy(one)
    return figure, axes


def curves(
    axes: Axes,
    results: Results,
    x: str,
    y: str,
    by: str,
    *,
    order: Sequence[Any] | None = None,
    title: str = "",
) -> None:
    """Means of ``y`` over ``x`` with a band of one spread for each value of ``by``.

    Lines whose ``x`` is None (the non-private reference) are drawn across the picture.
    """
    rows, names = [], list(order or results.unique(by))
    for name in names:
        for (place,), some in results.where(**{by: name}).having(y).by(x).items():
            middle, spread = some.mean(y), some.spread(y)
            rows.append({by: name, "epsilon": place, "mean": middle, "spread": spread})
    display = EpsilonCurveDisplay.from_results(rows, name=by, score_name=y)
    display.simulated = False  # one stamp for the whole figure
    # Whoever is absent from a panel keeps its look, so that panels can be compared.
    kept = [str(name) for name in names if str(name) not in display.references]
    display.curves = {name: display.curves.get(name, _NOTHING) for name in kept}
    display.plot(axes)
    if x != "epsilon":
        axes.set_xlabel(x)
    axes.set_title(title, fontsize=10)


def rounds(
    axes: Axes,
    results: Results,
    y: str,
    by: str,
    *,
    order: Sequence[Any] | None = None,
    log: bool = True,
    first: int = 1,
    title: str = "",
) -> None:
    """Means of lists ``y`` over their rounds, one line for each value of ``by``."""
    runs = {}
    for name in order or results.unique(by):
        found = results.where(**{by: name}).having(y)
        if found:
            runs[str(name)] = found.values(y)
    display = ConvergenceDisplay.from_runs(
        runs, quantity=y, log=log, first=first, simulated=False
    )
    display.plot(axes)
    axes.set_title(title, fontsize=10)


def legend_below(figure: Figure, axes: Any, wide: float = 2.6) -> None:
    """One legend for all panels, under them; a name is about ``wide`` inches long."""
    found: dict[str, Any] = {}
    for one in axes.flat:
        handles, names = one.get_legend_handles_labels()
        found = dict(zip(names, handles, strict=True)) | found
        if one.get_legend():
            one.get_legend().remove()
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside lower center",
        ncols=max(1, int(figure.get_figwidth() / wide)),
        frameon=False,
        fontsize=8.5,
    )


def legends_outside(figure: Any) -> None:
    """Put every legend that lies in its axes under them, where it covers no curve."""
    from matplotlib.transforms import ScaledTranslation

    for axes in figure.axes:
        old = axes.get_legend()
        if old is None:
            continue
        names = [text.get_text() for text in old.get_texts()]
        handles, columns = old.legend_handles, 1 + (len(names) > 3)
        old.remove()
        below = ScaledTranslation(0, -0.5, figure.dpi_scale_trans)  # ticks, a label
        axes.legend(
            handles,
            names,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=axes.transAxes + below,
            ncols=columns,
            frameon=False,
            fontsize=8,
        )


def save(figure: Any, path: Path | BytesIO) -> None:
    """Write an SVG that is the same for the same figure, stamped SIMULATED.

    Its texts are in the language in use.
    """
    import matplotlib
    from matplotlib.text import Text

    if not any(text.get_text() == "SIMULATED" for text in figure.findobj(Text)):
        figure.text(0.998, 0.995, "SIMULATED", ha="right", va="top", fontsize=6)
    legends_outside(figure)
    for axes in figure.axes:
        write_numbers(axes)
    for text in figure.findobj(Text):
        text.set_text("\n".join(map(in_words, text.get_text().split("\n"))))
    with matplotlib.rc_context({"svg.hashsalt": "discreto", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None}, dpi=150)
