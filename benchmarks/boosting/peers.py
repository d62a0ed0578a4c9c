"""Peers in their own environments: ``PYTHON benchmarks/boosting/peers.py FOLDER NAME``.

The benchmark writes a table into FOLDER and runs this file with the interpreter of an
environment that has the peer (the requirements files here). NAME is ``ebm``,
``forest`` or ``xgboost``; predictions are scored here, one line of JSON for each fit.
Needs numpy, scikit-learn and the peer; nothing of ours.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

DELTA = 1e-5
# DP-EBM's defaults, and what did best on some of these tables at some epsilon: learning
# rate, rounds, leaves, bins (None: its default).
TRIED = [
    (None, None, None, None),
    (0.01, 100, 3, 8),
    (0.03, 100, 3, 8),
    (0.1, 100, 3, 8),
    (0.03, 100, 3, 32),
    (0.1, 100, 3, 32),
    (0.3, 10, 3, 8),
    (0.3, 30, 8, 32),
    (0.05, 300, 8, 32),
    (0.1, 300, 3, 32),
    (0.2, 100, 8, 32),
    (0.5, 10, 8, 32),
]
NAMES = ("learning_rate", "max_rounds", "max_leaves", "max_bins")


def ebm_settings() -> dict[str, dict[str, Any]]:
    """The settings of DP-EBM by a name for each."""
    out: dict[str, dict[str, Any]] = {}
    for tried in TRIED:
        given = {k: v for k, v in zip(NAMES, tried, strict=True) if v is not None}
        words = "rate {}, {} rounds, {} leaves, {} bins".format(*tried)
        out[f"DP-EBM, {words if given else 'defaults'}"] = given
    return out


EBM = ebm_settings()
FOREST = {"diffprivlib forest": {"n_estimators": 50, "max_depth": 6}}
# DP-XGBoost: trees, depth, least rows in a leaf; rate 0.3, a fifth of the rows each, as
# in its examples. Its noise follows from the least rows.
XGBOOST = {
    f"DP-XGBoost, {trees} trees, depth {depth}, weight {rows}": (trees, depth, rows)
    for trees, depth, rows in ((20, 6, 500), (20, 6, 50), (5, 3, 100))
}


class Job:
    """A table as the benchmark wrote it."""

    def __init__(self, folder: Path) -> None:
        self.facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        stored = np.load(folder / "table.npz")
        self.X, self.y, self.places = stored["X"], stored["y"], stored["fold"]
        self.regression = self.facts["regression"]

    def folds(self) -> Any:
        for fold in range(self.facts["folds"]):
            yield (
                fold,
                np.flatnonzero(self.places != fold),
                np.flatnonzero(self.places == fold),
            )

    def score(self, found: Any, test: Any) -> dict[str, float]:
        truth = self.y[test]
        if self.regression:
            return {"rmse": float(np.sqrt(np.mean((found - truth) ** 2)))}
        accuracy = float(np.mean((found > 0.5) == (truth > 0.5)))
        return {"accuracy": accuracy, "auc": float(roc_auc_score(truth, found))}


def ebm(job: Job, name: str, epsilon: float, train: Any, test: Any) -> Any:
    """DP-EBM with public bounds; values that are not there take the lower bound."""
    from interpret import privacy

    kinds, bounds = job.facts["kinds"], job.facts["bounds"]
    columns: list[Any] = []
    for j, kind in enumerate(kinds):
        column = job.X[:, j]
        if kind == "nominal":
            columns.append(column.astype(int).astype(str).astype(object))
        else:
            columns.append(np.nan_to_num(column, nan=bounds[j][0]).astype(object))
    X = np.column_stack(columns)
    settings: dict[str, Any] = {
        "feature_types": kinds,
        "privacy_bounds": {j: tuple(b) for j, b in enumerate(bounds) if b},
        "n_jobs": 1,
        "epsilon": epsilon,
        "delta": DELTA,
        **EBM[name],
    }
    if job.regression:
        low, high = job.facts["target_bounds"]
        model = privacy.DPExplainableBoostingRegressor(
            privacy_target_min=low, privacy_target_max=high, **settings
        )
        return model.fit(X[train], job.y[train]).predict(X[test])
    model = privacy.DPExplainableBoostingClassifier(**settings)
    return model.fit(X[train], job.y[train].astype(int)).predict_proba(X[test])[:, 1]


def indicators(job: Job) -> tuple[Any, Any, Any]:
    """All columns as numbers, a column for each category, with their bounds."""
    parts, low, high = [], [], []
    for j, kind in enumerate(job.facts["kinds"]):
        if kind == "nominal":
            width = job.facts["sizes"][j]
            parts.append(np.eye(width)[job.X[:, j].astype(int)])
            low += [0] * width
            high += [1] * width
        else:
            bottom, top = job.facts["bounds"][j]
            parts.append(np.nan_to_num(job.X[:, [j]], nan=bottom))
            low.append(bottom)
            high.append(top)
    return np.hstack(parts), np.array(low), np.array(high)


def forest(job: Job, name: str, epsilon: float, train: Any, test: Any) -> Any:
    """diffprivlib's random forest, 50 trees of depth 6, categories as indicators."""
    from diffprivlib.models import RandomForestClassifier

    X, *bounds = indicators(job)
    model = RandomForestClassifier(
        epsilon=epsilon,
        bounds=tuple(bounds),
        classes=[0, 1],
        shuffle=True,
        **FOREST[name],
    )
    return model.fit(X[train], job.y[train].astype(int)).predict_proba(X[test])[:, 1]


def xgboost(job: Job, name: str, epsilon: float, train: Any, test: Any) -> Any:
    """DP-XGBoost: a squared loss of a target on [-1, 1] or of the classes 0 and 1."""
    import dp_xgboost

    trees, depth, rows = XGBOOST[name]
    part = 0.2  # a tree costs log(1 + part (exp(e) - 1)) of the e it is given
    each = np.log1p(np.expm1(epsilon / trees) / part)
    X, low, high = indicators(job)
    middle, half = 0.0, 1.0
    if job.regression:
        bottom, top = job.facts["target_bounds"]
        middle, half = (bottom + top) / 2, (top - bottom) / 2
    bounds = {"feature_min": low.tolist(), "feature_max": high.tolist()}
    goal = (job.y[train] - middle) / half
    settings = {
        "objective": "reg:squarederror",
        "tree_method": "approxDP",
        "dp_epsilon_per_tree": each,
        "max_depth": depth,
        "learning_rate": 0.3,
        "lambda": 0.1,
        "base_score": 0.0 if job.regression else 0.5,
        "subsample": part,
        "min_child_weight": rows,
        "nthread": 1,
        "verbosity": 0,
    }
    data = dp_xgboost.DMatrix(X[train], label=goal, **bounds)
    model = dp_xgboost.train(settings, data, num_boost_round=trees)
    found = model.predict(dp_xgboost.DMatrix(X[test], **bounds))
    return found * half + middle


PEERS: dict[str, tuple[Any, list[str]]] = {
    "ebm": (ebm, list(EBM)),
    "forest": (forest, list(FOREST)),
    "xgboost": (xgboost, list(XGBOOST)),
}


def main(folder: Path, what: str) -> None:
    """Run a peer at every epsilon of a job, and its best settings on all folds."""
    warnings.filterwarnings("ignore")
    job = Job(folder)
    if what == "forest" and job.regression:
        return
    lines = job.facts["done"]
    run, names = PEERS[what]
    names = names[: job.facts["settings"]]
    tried = job.facts["search"] if len(names) > 1 else job.facts["folds"]
    for epsilon in job.facts["epsilons"]:
        for name in names:
            measure(job, run, name, epsilon, tried, lines)
        measure(job, run, best(job, names, epsilon, lines), epsilon, None, lines)


def measure(
    job: Job, run: Any, name: str, epsilon: float, folds: int | None, lines: list[Any]
) -> None:
    """A line for each fold (of the first of them) that was not measured before."""
    done = {(x["model"], x["epsilon"], x["fold"]) for x in lines}
    for fold, train, test in list(job.folds())[:folds]:
        if (name, epsilon, fold) in done:
            continue
        start = time.perf_counter()
        found = run(job, name, epsilon, train, test)
        line = {"model": name, "epsilon": epsilon, "fold": fold, "seed": 0}
        line |= job.score(found, test)
        line["seconds"] = round(time.perf_counter() - start, 2)
        lines.append(line)
        print(json.dumps(line), flush=True)


def best(job: Job, names: list[str], epsilon: float, lines: list[Any]) -> str:
    """The settings that did best on the folds that all of them had."""
    key, sign = ("rmse", -1) if job.regression else ("accuracy", 1)

    def mean(name: str) -> float:
        found = [
            x[key]
            for x in lines
            if x["model"] == name
            and x["epsilon"] == epsilon
            and x["fold"] < job.facts["search"]
        ]
        return sign * float(np.mean(found))

    return max(names, key=mean)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
