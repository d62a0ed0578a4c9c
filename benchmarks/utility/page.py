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


def page(found: Found, command: str) -> str:
    """One section for each metric: tables x models x epsilon."""
    lines = [
        "# How good the models are",
        "",
        "Means over folds, spreads in brackets. Rows that were not fitted; simulated",
        "noise; every model with its defaults. Made by",
        f"`{command}` and `benchmarks/utility/page.py`.",
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
    worse = losses(found)
    lines += ["## Log loss worse than the constant's", ""]
    lines += [f"* {one}" for one in worse] or ["None."]
    return "\n".join(lines) + "\n"


def losses(found: Found) -> list[str]:
    """Where a model's log loss is worse than that of the shares of classes."""
    out = []
    for (table, model, epsilon, delta), scores in found.items():
        constant = found.get((table, "constant", "", "0"), {}).get("log_loss")
        got = scores.get("log_loss")
        if not got or not constant or not epsilon:
            continue
        if np.mean(got) > np.mean(constant):
            words = f"{np.mean(got):.3f} against {np.mean(constant):.3f}"
            out.append(f"{table}, {model}, ε {epsilon}, δ {delta}: {words}")
    return out


def readme_table(found: Found) -> str:
    """The best of ours at ε = 1 beside peers and scikit-learn, by accuracy."""
    lines = [
        "| table | ours at ε = 1 | peers | scikit-learn | constant |",
        "| --- " * 5 + "|",
    ]
    for table in dict.fromkeys(key[0] for key in found):
        best: dict[str, tuple[float, str]] = {}
        for (name, model, epsilon, _), scores in found.items():
            got = scores.get("accuracy")
            if name != table or not got or epsilon not in ("1", ""):
                continue
            kind = model if model in ("scikit-learn", "constant") else "ours"
            kind = "peers" if model.startswith(("DP-EBM", "diffprivlib")) else kind
            words = f"{np.mean(got):.3f}" + (
                f" {model}" if kind in ("ours", "peers") else ""
            )
            best[kind] = max(best.get(kind, (-1.0, "")), (float(np.mean(got)), words))
        if "ours" in best:
            kinds = ("ours", "peers", "scikit-learn", "constant")
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
    args.page.write_text(page(found, args.command), encoding="utf-8")
    if args.readme is not None:
        text = args.readme.read_text(encoding="utf-8")
        before, _, rest = text.partition(START)
        after = rest.partition(END)[2]
        made = f"{before}{START}\n{readme_table(found)}\n{END}{after}"
        args.readme.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
