"""Results as tables in Markdown."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np


def table(name: str, rows: int, lines: list[dict[str, Any]]) -> str:
    """One table for each score of a data set: mean (spread over fits) by epsilon."""
    mine = [x for x in lines if (x["data"], x["rows"]) == (name, rows)]
    known = ("accuracy", "auc", "rmse")
    parts = [_one(mine, kind) for kind in known if any(kind in x for x in mine)]
    return f"\n## {name}, {rows} rows\n\n" + "\n\n".join(parts)


def _one(lines: list[dict[str, Any]], kind: str) -> str:
    epsilons = sorted({x["epsilon"] for x in lines if x["epsilon"]})
    cells: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for x in lines:
        cells[x["model"]][x["epsilon"]].append(x[kind])
    _add_best(cells, epsilons, kind)
    out = [f"| {kind} | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |"]
    out.append("| --- " * (1 + len(epsilons)) + "|")
    for model, found in cells.items():
        shown = [_cell(found.get(e, found.get(0.0, [])), kind) for e in epsilons]
        out.append(f"| {model} | " + " | ".join(shown) + " |")
    return "\n".join(out)


def _add_best(cells: Any, epsilons: list[float], kind: str) -> None:
    """The best settings of a peer at each epsilon, chosen by looking at the scores."""
    for peer in ("DP-EBM", "DP-XGBoost"):
        _best_of(peer, cells, epsilons, kind)


def _best_of(peer: str, cells: Any, epsilons: list[float], kind: str) -> None:
    peers = [cells[model] for model in list(cells) if model.startswith(peer)]
    pick = min if kind == "rmse" else max
    for e in epsilons if len(peers) > 1 else ():
        tried = [found[e] for found in peers if e in found]
        if tried:  # the best of a search have been measured on more folds
            most = max(map(len, tried))
            tried = [values for values in tried if len(values) == most]
            cells[f"{peer}, best of these"][e] = pick(tried, key=np.mean)


def _cell(values: list[float], kind: str) -> str:
    if not values:
        return "-"
    mean, spread = np.mean(values), np.std(values)
    if kind != "rmse":
        return f"{mean:.4f} ({spread:.4f})"
    return f"{mean:.3f} ({spread:.3f})"
