"""The page of scores: ``python benchmarks/utility/page.py SCORES.jsonl PAGE.md``.

Made from the lines of ``scores.py``, and from nothing else. With ``--readme README.md``
the part of the README between the two marks is made anew, too.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

NAMES = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "f1": "macro-F1",
    "log_loss": "log loss",
    "rmse": "RMSE",
}
CLOSE = 0.01  # log losses that differ less are level
PEERS = ("DP-EBM", "diffprivlib")
START, END = "<!-- scores: made by benchmarks/utility/page.py -->", "<!-- end -->"
Found = dict[tuple[str, str, str, str], dict[str, list[float]]]


def read(path: Path) -> Found:
    """The scores of all folds, by table, model, epsilon and delta."""
    found: Found = defaultdict(lambda: defaultdict(list))
    for line in path.read_text().splitlines():
        data = json.loads(line)
        table, model, epsilon, delta, _ = data["facts"]
        for metric, score in data["scores"].items():
            found[table, model, epsilon, delta][metric].append(score)
    return found


def shown(scores: list[float]) -> str:
    """A mean and its spread over folds."""
    if not scores:
        return ""
    return f"{np.mean(scores):.3f} ({np.std(scores):.3f})"


def page(found: Found, command: str, regret: list[str]) -> str:
    """One section for each metric: tables x models x epsilon."""
    lines = [
        "# How good the models are",
        "",
        "Means over folds, spreads in brackets. Rows that were not fitted; simulated",
        "noise; every model with its defaults. Made by",
        f"`{command}` and `benchmarks/utility/page.py`.",
        "The rules of `AutoClassifier` and most defaults were found on these tables:",
        "they flatter us. A table's rows are not declared. diffprivlib has pure ε,",
        "DP-EBM a δ; both are told the same bounds. What was not run is missing; the",
        "lines of peers are of an earlier run on the same folds.",
        "",
    ]
    for metric, name in NAMES.items():
        rows = {key: s[metric] for key, s in found.items() if s.get(metric)}
        if not rows:
            continue
        prices = sorted({k[2] for k in rows if k[2]}, key=float)
        heads = ["table", "model", "δ", *(f"ε {p}" for p in prices), "without privacy"]
        lines += [
            f"## {name}",
            "",
            f"| {' | '.join(heads)} |",
            "| --- " * len(heads) + "|",
        ]
        tables = list(dict.fromkeys(k[0] for k in rows))
        kinds = sorted(
            dict.fromkeys((k[0], k[1], k[3]) for k in rows),
            key=lambda kind: tables.index(kind[0]),
        )
        for table, model, delta in kinds:
            cells = [shown(rows.get((table, model, p, delta), [])) for p in prices]
            free = shown(rows.get((table, model, "", delta), []))
            lines.append(
                f"| {table} | {model} | {delta} | {' | '.join(cells)} | {free} |"
            )
        lines.append("")
    if regret:
        lines += ["## What `AutoClassifier` loses against the best of the others", ""]
        lines += [*regret, ""]
    worse = losses(found)
    lines += ["## Log loss worse than the constant's", ""]
    lines += [
        f"By more than {CLOSE}. The constant knows the exact class shares of the fold;",
        "where rows times ε are below 50, shares that are released lose as much.",
        "",
    ]
    lines += [f"* {one}" for one in worse] or ["None."]
    return "\n".join(lines) + "\n"


def regrets(path: Path) -> list[str]:
    """How far Auto is from the best of our other models, by accuracy or R² lost.

    Twice: against the best in hindsight on the same folds, which flatters the best, and
    against the one that is best on all other folds, scored on the fold itself.
    """
    by: dict[tuple[str, str, str], dict[str, dict[int, float]]] = {}
    for line in path.read_text().splitlines():
        data = json.loads(line)
        table, model, epsilon, delta, place = data["facts"]
        if not epsilon or model.startswith(PEERS) or "accuracy" not in data["scores"]:
            continue
        folds = by.setdefault((delta, epsilon, table), {}).setdefault(model, {})
        folds[place] = data["scores"]["accuracy"]
    lost: dict[tuple[str, str], list[tuple[float, float, str]]] = defaultdict(list)
    for (delta, epsilon, table), models in by.items():
        auto = models.pop("AutoClassifier", {})
        others = [m for m in models.values() if set(m) == set(auto)]
        if len(auto) < 2 or not others:
            continue
        mean = float(np.mean(list(auto.values())))
        best = max(float(np.mean(list(m.values()))) for m in others)
        apart = []
        for place, score in auto.items():
            rest = [
                (np.mean([v for k, v in m.items() if k != place]), m[place])
                for m in others
            ]
            apart.append(max(rest)[1] - score)
        lost[delta, epsilon].append((max(best - mean, 0), float(np.mean(apart)), table))
    lines = [
        "| δ | ε | tables | mean, in hindsight | worst | mean, chosen on other folds |",
        "| --- " * 6 + "|",
    ]
    for delta, epsilon in sorted(lost, key=lambda k: (float(k[0]), float(k[1]))):
        rows = lost[delta, epsilon]
        worst, _, where = max(rows)
        lines.append(
            f"| {delta} | {epsilon} | {len(rows)} "
            f"| {np.mean([r[0] for r in rows]):.3f} | {worst:.3f} ({where}) "
            f"| {np.mean([r[1] for r in rows]):.3f} |"
        )
    return lines if lost else []


def losses(found: Found) -> list[str]:
    """Where a model's log loss is worse than that of the shares of classes."""
    out = []
    for (table, model, epsilon, delta), scores in found.items():
        constant = found.get((table, "constant", "", "0"), {}).get("log_loss")
        got = scores.get("log_loss")
        if not got or not constant or not epsilon:
            continue
        if np.mean(got) > np.mean(constant) + CLOSE:
            words = f"{np.mean(got):.3f} against {np.mean(constant):.3f}"
            out.append(f"{table}, {model}, ε {epsilon}, δ {delta}: {words}")
    return out


def readme_table(found: Found) -> str:
    """The best of ours at ε = 1 beside peers and scikit-learn, by accuracy."""
    lines = [
        "| table | `AutoClassifier` | our best | peers | scikit-learn | constant |",
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
            words = shown(got)
            if kind in ("ours", "peers"):
                words += f" {model}"
            if epsilon and delta != "0":
                words += f", δ {delta}"
            best[kind] = max(best.get(kind, (-1.0, "")), (float(np.mean(got)), words))
        if "ours" in best:
            kinds = ("auto", "ours", "peers", "scikit-learn", "constant")
            cells = [best.get(kind, (0, "-"))[1] for kind in kinds]
            lines.append(f"| {table} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Write the page, and the README's table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("scores", type=Path)
    words.add_argument("page", type=Path)
    words.add_argument("--readme", type=Path)
    words.add_argument("--command", default="python benchmarks/utility/scores.py")
    args = words.parse_args()
    found = read(args.scores)
    args.page.write_text(
        page(found, args.command, regrets(args.scores)), encoding="utf-8"
    )
    if args.readme is not None:
        text = args.readme.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        after = rest.partition(END)[2]
        made = f"{before}{START}\n{readme_table(found)}\n{END}{after}"
        args.readme.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
