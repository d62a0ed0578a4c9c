"""Put results into docs/models/boosting-figures.md.

    python benchmarks/boosting/page.py boosting.jsonl

Only what stands between the two marks of the page is written anew, and the picture
docs/pictures/boosting.svg. All numbers come from the files of results.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from report import Lines, gather, one
from results import Results
from tables import OTHERS, SETS

from discreto.plots import EpsilonCurveDisplay

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "models" / "boosting-figures.md"
PICTURE = ROOT / "docs" / "pictures" / "boosting.svg"
TITLES = {
    "adult": "Adult",
    "abalone": "Abalone",
    "mushroom": "Mushroom",
    "steel": "Steel energy",
    "diabetes": "CDC diabetes",
    "flights": "Flights",
}
CURVES = ("ours", "ours, δ", "DP-EBM, best", "DP-XGBoost, best")
CURVES += ("DPBoost", "PrivCatBoost", "PrivRandBoost")
MORE = ("DP-EBM, defaults", "diffprivlib forest", "PrivRandBoost, one-hot")
PLAIN = ("LightGBM", "scikit-learn", "constant")


def main(files: list[str]) -> None:
    """Write the part between the marks, and draw the picture."""
    lines = [line for file in files for line in Results(Path(file)).lines]
    parts = []
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
    for ax, name in zip(axes.flat, SETS, strict=True):
        mine = [line for line in lines if line["data"] == name]
        rows = min(line["rows"] for line in mine)
        mine = [line for line in mine if line["rows"] == rows]  # as everybody had them
        kinds = ("rmse",) if "rmse" in mine[0] else ("accuracy", "auc")
        parts.append(f"**{TITLES[name]}**, {rows:,} rows")
        parts += [one(mine, kind, (*CURVES, *MORE, *PLAIN)) for kind in kinds]
        _draw(ax, TITLES[name], mine, kinds[0])
    names: dict[str, Any] = {}
    for ax in axes.flat:
        ax.get_legend().remove()
        handles, labels = ax.get_legend_handles_labels()
        names |= dict(zip(labels, handles, strict=True))
    figure.legend(names.values(), names, loc="outside lower center", ncols=4)
    figure.savefig(PICTURE, metadata={"Date": None})
    _write("results", "\n\n".join(parts))
    _write("others", _others(lines))


def _write(what: str, text: str) -> None:
    start, end = f"<!-- {what}: start -->", f"<!-- {what}: end -->"
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(start)[0], page.split(end)[1]
    page = f"{before}{start}\n\n{text}\n\n{end}{after}"
    PAGE.write_text(page, encoding="utf-8")


def _others(lines: Lines) -> str:
    """A line for each of the other tables: scores at all epsilons in one cell."""
    shown = ("ours", "ours, δ", "DP-EBM, best", "LightGBM", "constant")
    out = [f"| | rows | | {' | '.join(shown)} |", "| --- " * 8 + "|"]
    for name in OTHERS:
        mine = [line for line in lines if line["data"] == name]
        if mine:
            kind = "rmse" if "rmse" in mine[0] else "accuracy"
            found = gather(mine, kind)
            cells = [_means(found.get(model, {})) for model in shown]
            rows = f"{mine[0]['rows']:,}"
            out.append(f"| {name} | {rows} | {kind} | {' | '.join(cells)} |")
    return "\n".join(out)


def _means(scores: dict[float, list[float]]) -> str:
    """Means and spreads in the order of epsilon, means to three digits."""
    out = []
    for _, found in sorted(scores.items()):
        mean, spread = float(np.mean(found)), float(np.std(found))
        digits = min(max(0, 2 - math.floor(math.log10(mean))), 3)
        out.append(f"{mean:.{digits}f} ({spread:.{digits}f})")
    return ", ".join(out)


def _draw(ax: Any, title: str, lines: Lines, kind: str) -> None:
    found = gather(lines, kind)
    rows: Lines = [
        {"model": model, "epsilon": e, "mean": np.mean(v), "spread": np.std(v)}
        for model in CURVES
        for e, v in found.get(model, {}).items()
    ]
    best, worst = (
        float(np.mean(found[name][0.0])) for name in ("LightGBM", "constant")
    )
    rows.append({"model": "LightGBM, not private", "epsilon": None, "mean": best})
    display = EpsilonCurveDisplay.from_results(rows, score_name=kind, simulated=False)
    display.plot(ax=ax)
    # What is worse than no model at all is cut off.
    means = [row["mean"] for row in rows]
    low, high = sorted((best, worst))
    low, high = max(low, min(means)), min(high, max(means))
    room = 0.06 * (high - low)
    ax.set_ylim(low - room, high + room)
    ax.set_title(title)


if __name__ == "__main__":
    main(sys.argv[1:])
