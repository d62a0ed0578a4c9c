"""Draw the tables of docs/models as curves: ``python benchmarks/utility/curves.py``.

The pages hold the measured figures; this only draws them, one picture for a page, into
docs/pictures. Bands are one spread over the seeds; dashed lines are diffprivlib 0.6.6.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from kmeans import PEER as KMEANS_PEER

ROOT = Path(__file__).resolve().parents[2]
EPSILONS = [0.1, 0.5, 1, 3, 10]
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]  # Okabe and Ito
CELL = re.compile(r"^(-?[\d.]+) \(([\d.]+)\)(?: / (\S+))?$")
PAGES = {
    "naive_bayes": ("accuracy", None),
    "logistic": ("accuracy", None),
    "neighbors": ("accuracy", None),
    "linear": ("R²", (-0.5, 1.0)),
    "kmeans": ("inertia / without privacy", (0.9, 9.0)),
}


def curves(page: str) -> dict[str, dict[str, list[tuple[float, float, float]]]]:
    """{data: {model: [(mean, spread, peer), ...]}} of the first table of a page."""
    text = (ROOT / "docs" / "models" / f"{page}.md").read_text(encoding="utf-8")
    found: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    data = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 6 or not line.startswith("|"):
            continue
        if "diffprivlib" in cells[:2]:
            start = cells.index("diffprivlib") + 1
            peers = [_number(value) for value in cells[start : start + 5]]
            for lines in found[data].values():
                lines[:] = [
                    (m, s, p) for (m, s, _), p in zip(lines, peers, strict=True)
                ]
            continue
        names = [c for c in cells[:2] if not CELL.match(c)]
        values = cells[len(names) : len(names) + 5]
        matches = [CELL.match(value) for value in values]
        if not all(matches):
            continue
        data = names[0] or data
        model = names[1] if len(names) > 1 else "ours"
        points = [(float(m[1]), float(m[2]), _number(m[3])) for m in matches if m]
        found.setdefault(data, {}).setdefault(model, points)
    return found


def _add_peers(found: dict[str, dict[str, list[tuple[float, float, float]]]]) -> None:
    """The k-means page has the peer's figures in its text."""
    for data, lines in found.items():
        for name, peers in KMEANS_PEER.items():
            if data.startswith(name.replace("_", " ")):
                points = lines["KMeans"]
                triples = zip(points, peers, strict=True)
                lines["KMeans"] = [(m, s, p) for (m, s, _), p in triples]


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def draw(page: str) -> Path:
    """One picture with a panel for each data set."""
    label, limits = PAGES[page]
    found = curves(page)
    if page == "kmeans":
        _add_peers(found)
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    size = (3.6 * columns, 2.7 * rows)
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for panel, (data, lines) in zip(panels.ravel(), found.items(), strict=False):
        dashed = np.full(len(EPSILONS), np.nan)
        for colour, (model, points) in zip(COLOURS, lines.items(), strict=False):
            mean, spread, peer = np.array(points).T
            dashed = np.where(np.isnan(peer), dashed, peer)
            panel.plot(EPSILONS, mean, "o-", color=colour, ms=3, label=model)
            low, high = mean - spread, mean + spread
            panel.fill_between(EPSILONS, low, high, color=colour, alpha=0.15, lw=0)
        if np.isfinite(dashed).any():
            panel.plot(EPSILONS, dashed, "k--", lw=1, label="diffprivlib")
        panel.set_xscale("log")
        panel.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        panel.minorticks_off()
        if limits:
            panel.set_ylim(*limits)
        panel.set_title(data, fontsize=9)
        panel.tick_params(labelsize=7)
        panel.legend(fontsize=6, frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels.ravel()[len(found) :]:
        panel.set_axis_off()
    figure.supxlabel("ε", fontsize=9)
    figure.supylabel(label, fontsize=9)
    figure.tight_layout()
    path = ROOT / "docs" / "pictures" / f"{page}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


if __name__ == "__main__":
    for name in PAGES:
        print(draw(name).relative_to(ROOT))
