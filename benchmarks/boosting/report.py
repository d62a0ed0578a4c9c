"""Results as tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Lines = list[dict[str, Any]]
Scores = dict[float, list[float]]  # those of all fits, by epsilon
PEERS = ("DP-EBM", "DP-XGBoost")  # whose settings are searched


def table(name: str, rows: int, lines: Lines) -> str:
    """One table for each score of a data set: mean (spread over fits) by epsilon."""
    mine = [x for x in lines if (x["data"], x["rows"]) == (name, rows)]
    known = ("accuracy", "auc", "rmse")
    parts = [one(mine, kind) for kind in known if any(kind in x for x in mine)]
    return f"\n## {name}, {rows} rows\n\n" + "\n\n".join(parts)


def one(lines: Lines, kind: str, only: Sequence[str] = ()) -> str:
    """The table of one kind of score, for all candidates or some."""
    found = gather(lines, kind)
    epsilons = sorted({x["epsilon"] for x in lines if x["epsilon"]})
    out = [f"| {kind} | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |"]
    out.append("| --- " * (1 + len(epsilons)) + "|")
    for model in only or found:
        if model in found:
            scores = found[model]
            cells = [_cell(scores.get(e, scores.get(0.0, [])), kind) for e in epsilons]
            out.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def gather(lines: Lines, kind: str) -> dict[str, Scores]:
    """The scores of each candidate, and of the best settings of some peers."""
    out: dict[str, Scores] = {}
    for line in lines:
        out.setdefault(line["model"], {}).setdefault(line["epsilon"], [])
        out[line["model"]][line["epsilon"]].append(line[kind])
    for peer in PEERS:
        tried = [scores for model, scores in out.items() if model.startswith(peer)]
        if len(tried) > 1:
            every = {e for scores in tried for e in scores}
            best = {e: _best([s[e] for s in tried if e in s], kind) for e in every}
            out[f"{peer}, best"] = best
    return out


def _best(tried: list[list[float]], kind: str) -> list[float]:
    """The best settings at an epsilon, by looking at the scores.

    A search leaves those that did best with the most folds.
    """
    most = max(map(len, tried))
    pick = min if kind == "rmse" else max
    return pick([scores for scores in tried if len(scores) == most], key=np.mean)


def _cell(values: list[float], kind: str) -> str:
    if not values:
        return "-"
    digits = 3 if kind == "rmse" else 4
    spread = f"{np.std(values):.{digits}f}" if len(values) > 1 else "one fold"
    return f"{np.mean(values):.{digits}f} ({spread})"
