"""The page of scores and the README's table, from the lines of ``scores.py`` alone.

``python benchmarks/utility/page.py [SCORES.jsonl]`` writes both; ``whole.py`` makes the
lines that are missing first.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"accuracy": "accuracy", "auc": "AUC", "log_loss": "log loss", "rmse": "RMSE"}
CLOSE = 0.01  # log losses that differ less are level
PEERS = ("DP-EBM", "diffprivlib")
START = "<!-- scores: made by benchmarks/utility/whole.py -->"
END = "<!-- end of scores -->"
Found = dict[tuple[str, str, str, str], dict[str, dict[int, float]]]


def read(path: Path) -> Found:
    """The scores of all fits, by table, model, epsilon and delta."""
    found: Found = defaultdict(lambda: defaultdict(dict))
    for line in path.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        table, model, epsilon, delta, place = data["facts"]
        for metric, score in data["scores"].items():
            found[table, model, epsilon, delta][metric][place] = score
    return found


def mean(scores: dict[int, float]) -> float:
    """The mean over fits."""
    return float(np.mean(list(scores.values())))


def error(scores: dict[int, float]) -> float:
    """The standard error of that mean, as the fits differ."""
    if len(scores) < 2:
        return 0.0
    return float(np.std(list(scores.values()), ddof=1) / math.sqrt(len(scores)))


def shown(scores: dict[int, float]) -> str:
    """A mean and its standard error."""
    return f"{mean(scores):.3f} ({error(scores):.3f})" if scores else ""


def page(found: Found) -> str:
    """One section for each metric: tables x models x epsilon."""
    lines = [
        "# How good the models are",
        "",
        "Made whole by `python benchmarks/utility/whole.py`, from the lines in",
        "`benchmarks/results/utility.jsonl` and nothing else. Two thirds of a table",
        "(of 3,000 rows at most) are fitted, the others scored: 24 times with other",
        "rows and noise on tables of less than 1,000 rows, 8 times on others, twice",
        "for peers. Means over fits, standard errors in brackets. Simulated",
        "noise; every model with its defaults, and rows not declared. The rules of the",
        "automatic models and most defaults were found on these tables: they flatter",
        "us. diffprivlib has pure ε, DP-EBM a δ; both know the same bounds. An empty",
        "cell was not run.",
        "",
        "Pure ε:",
        "",
        "![Accuracy and RMSE against pure ε](../pictures/utility.svg)",
        "",
        "With a δ of 1e-5:",
        "",
        "![Accuracy and RMSE against ε with a δ](../pictures/utility-delta.svg)",
        "",
    ]
    for metric, name in NAMES.items():
        lines += section(found, metric, name)
    for metric, model in (("accuracy", "AutoClassifier"), ("rmse", "AutoRegressor")):
        lines += regrets(found, metric, model)
    worse = losses(found)
    lines += ["## Log loss worse than the constant's", ""]
    lines += [
        f"By more than {CLOSE}, with standard errors. The constant knows the exact",
        "class shares of the fold; where rows times ε are below 50, shares that are",
        "released lose as much.",
        "",
    ]
    lines += [f"* {one}" for one in worse] or ["None."]
    return "\n".join(lines) + "\n"


def section(found: Found, metric: str, name: str) -> list[str]:
    """All scores of one kind as a table."""
    rows = {key: s[metric] for key, s in found.items() if s.get(metric)}
    if not rows:
        return []
    prices = sorted({k[2] for k in rows if k[2]}, key=float)
    heads = ["table", "model", "δ", *(f"ε {p}" for p in prices), "without privacy"]
    lines = [f"## {name}", "", f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for table, model, delta in sorted({(k[0], k[1], k[3]) for k in rows}):
        cells = [shown(rows.get((table, model, p, delta), {})) for p in prices]
        free = shown(rows.get((table, model, "", delta), {}))
        lines.append(f"| {table} | {model} | {delta} | {' | '.join(cells)} | {free} |")
    return [*lines, ""]


def regrets(found: Found, metric: str, auto: str) -> list[str]:
    """How far Auto is from the best of our other models, by accuracy or R² lost.

    Twice: against the best by its mean over all fits, which flatters the best, and
    against the one that is best on all other fits, scored on the fit itself.
    """
    by: dict[tuple[str, str, str], dict[str, dict[int, float]]] = defaultdict(dict)
    for (table, model, epsilon, delta), scores in found.items():
        if epsilon and not model.startswith(PEERS) and scores.get(metric):
            bare = found.get((table, "constant", "", "0"), {}).get("rmse", {})
            by[delta, epsilon, table][model] = gains(scores[metric], metric, bare)
    lost: dict[tuple[str, str], list[Regret]] = defaultdict(list)
    for (delta, epsilon, table), models in by.items():
        mine = models.pop(auto, {})
        others = [m for m in models.values() if set(m) == set(mine)]
        if len(mine) >= 2 and others:
            lost[delta, epsilon].append(regret(table, mine, others))
    if not lost:
        return []
    kind = "accuracy" if metric == "accuracy" else "R²"
    lines = [
        f"## What `{auto}` loses against the best of the others, in {kind}",
        "",
        "| δ | ε | tables | mean | worst | mean, chosen on other fits |",
        "| --- " * 6 + "|",
    ]
    for delta, epsilon in sorted(lost, key=lambda k: (float(k[0]), float(k[1]))):
        rows = lost[delta, epsilon]
        worst = max(rows)
        doubt = math.hypot(*(r.doubt for r in rows)) / len(rows)
        lines.append(
            f"| {delta} | {epsilon} | {len(rows)} "
            f"| {np.mean([r.behind for r in rows]):.3f} ({doubt:.3f}) "
            f"| {worst.behind:.3f} ({worst.doubt:.3f}), {worst.table} "
            f"| {np.mean([r.apart for r in rows]):.3f} |"
        )
    return [*lines, ""]


class Regret(NamedTuple):
    """What a table lost: to the best of all fits, and to a choice on other fits."""

    behind: float
    doubt: float  # the standard error of that
    apart: float
    table: str


def regret(
    table: str, mine: dict[int, float], others: list[dict[int, float]]
) -> Regret:
    """How far these scores are behind the best of the others."""
    best = max(others, key=mean)
    behind = {place: best[place] - score for place, score in mine.items()}
    apart = [chosen_elsewhere(others, p) - score for p, score in mine.items()]
    return Regret(mean(behind), error(behind), float(np.mean(apart)), table)


def gains(
    scores: dict[int, float], metric: str, bare: dict[int, float]
) -> dict[int, float]:
    """Accuracies as they are, errors as R² against the constant's."""
    if metric == "accuracy":
        return scores
    return {p: 1 - (v / bare[p]) ** 2 for p, v in scores.items() if p in bare}


def chosen_elsewhere(models: list[dict[int, float]], place: int) -> float:
    """The score of a fit of the model that is best on all other fits."""
    rest = [
        (np.mean([v for k, v in model.items() if k != place]), model[place])
        for model in models
    ]
    return float(max(rest)[1])


def losses(found: Found) -> list[str]:
    """Where a model's log loss is worse than that of the shares of classes."""
    out = []
    for (table, model, epsilon, delta), scores in sorted(found.items()):
        constant = found.get((table, "constant", "", "0"), {}).get("log_loss")
        got = scores.get("log_loss")
        if not got or not constant or not epsilon or model.startswith(PEERS):
            continue
        if mean(got) > mean(constant) + CLOSE:
            apart = {k: v - constant[k] for k, v in got.items() if k in constant}
            words = f"{mean(got):.3f}, {shown(apart)} more on the same folds"
            out.append(f"{table}, {model}, ε {epsilon}, δ {delta}: {words}")
    return out


def readme_table(found: Found) -> str:
    """Accuracy at ε = 1 of Auto and of the best of ours and of peers."""
    lines = [
        "| table | `AutoClassifier` | our best | best of the peers | scikit-learn |"
        " most frequent class |",
        "| --- " * 6 + "|",
    ]
    for table in dict.fromkeys(key[0] for key in found):
        best: dict[str, tuple[float, str]] = {}
        for (name, model, epsilon, delta), scores in found.items():
            got = scores.get("accuracy")
            if name != table or not got or epsilon not in ("1", ""):
                continue
            kind = model if model in ("scikit-learn", "constant") else "ours"
            kind = "auto" if model.startswith("Auto") else kind
            kind = "peers" if model.startswith(PEERS) else kind
            words = f"{mean(got):.3f}"
            if kind in ("ours", "peers"):
                words += f" {model}"
            if epsilon and delta != "0":
                words += f", δ {delta}"
            best[kind] = max(best.get(kind, (-1.0, "")), (mean(got), words))
        if "ours" in best:
            kinds = ("auto", "ours", "peers", "scikit-learn", "constant")
            cells = [best.get(kind, (0, "-"))[1] for kind in kinds]
            lines.append(f"| {table} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_table(text: str, found: Found) -> str:
    """A README in which the part between the two marks is made anew."""
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    return f"{before}{START}\n{readme_table(found)}\n{END}{after}"


def write(scores: Path, target: Path, readme: Path) -> None:
    """Write the page with its pictures, and the README's table."""
    import pictures  # which needs this file, and matplotlib

    found = read(scores)
    pictures.draw(found)
    target.write_text(page(found), encoding="utf-8")
    text = with_table(readme.read_text(encoding="utf-8"), found)
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    kept = ROOT / "benchmarks" / "results" / "utility.jsonl"
    given = Path(sys.argv[1]) if sys.argv[1:] else kept
    write(given, ROOT / "docs" / "models" / "utility.md", ROOT / "README.md")
