"""The scores of the page as curves over ε: ``docs/pictures/utility*.svg``.

``page.py`` draws them, from the same lines. A panel for each table; bands of one
standard error on either side of the means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from page import Found, error, mean

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
NAMES = {"0": "utility.svg", "1e-5": "utility-delta.svg"}
# Colours that also differ for most colour-blind people, and marks for all others.
LOOKS = {
    "Auto": ("black", "o"),
    "LogisticRegression": ("#0072b2", "s"),
    "LinearRegression": ("#0072b2", "s"),
    "NaiveBayes": ("#009e73", "^"),
    "GradientBoosting": ("#d55e00", "D"),
    "CellNeighbors": ("#cc79a7", "v"),
}
ACROSS = 4


def look(model: str) -> tuple[str, str] | None:
    """The colour and mark of a model of ours."""
    return next((LOOKS[k] for k in LOOKS if model.startswith(k)), None)


def panel(ax: Any, found: Found, table: str, delta: str) -> None:
    """The curves of one table, the constant and scikit-learn as lines across."""
    known = found[table, "constant", "", "0"]
    metric = "accuracy" if "accuracy" in known else "rmse"
    curves: dict[str, list[tuple[float, float, float]]] = {}
    for (name, model, epsilon, paid), scores in found.items():
        if name == table and paid == delta and epsilon and look(model):
            one = scores[metric]
            curves.setdefault(model, []).append((float(epsilon), mean(one), error(one)))
    for model, points in sorted(curves.items()):
        colour, mark = look(model) or ("", "")
        x, y, doubt = zip(*sorted(points), strict=True)
        wide = 2.2 if model.startswith("Auto") else 1.2
        label = model.removesuffix("Classifier").removesuffix("Regressor")
        ax.plot(x, y, color=colour, marker=mark, ms=3.5, lw=wide, label=label)
        low = [a - b for a, b in zip(y, doubt, strict=True)]
        high = [a + b for a, b in zip(y, doubt, strict=True)]
        ax.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
    for model, style in (("scikit-learn", "-"), ("constant", ":")):
        level = mean(found[table, model, "", "0"][metric])
        ax.axhline(level, color="gray", ls=style, lw=1, label=model)
    ax.set(xscale="log", title=table.replace("_2000", "").replace("_", " "))
    ax.set_xticks([0.1, 0.5, 1, 2, 8], ["0.1", "0.5", "1", "2", "8"])
    ax.minorticks_off()
    ax.set_ylabel("accuracy" if metric == "accuracy" else "RMSE, lower is better")


def draw(found: Found) -> None:
    """Both pictures; their last panel is the legend."""
    mpl.rcParams |= {"svg.hashsalt": "utility", "svg.fonttype": "none", "font.size": 9}
    numbers = {k[0] for k, v in found.items() if "rmse" in v}
    tables = sorted({key[0] for key in found}, key=lambda t: (t in numbers, t))
    down = -(-(len(tables) + 1) // ACROSS)
    for delta, name in NAMES.items():
        figure, axes = plt.subplots(down, ACROSS, figsize=(11, 2.6 * down))
        labels: dict[str, Any] = {}
        for ax, table in zip(axes.flat, tables, strict=False):
            panel(ax, found, table, delta)
            labels |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
        for ax in axes.flat[len(tables) :]:
            ax.axis("off")
        last = axes.flat[len(tables)]
        names = sorted(labels, key=lambda one: look(one) is None)
        shown = [labels[one] for one in names]
        last.legend(shown, names, loc="center", frameon=False)
        for ax in axes[-1]:
            ax.set_xlabel("ε")
        figure.tight_layout()
        figure.savefig(FOLDER / name, metadata={"Date": None})
        plt.close(figure)
