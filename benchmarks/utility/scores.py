"""All models on all tables at all prices, next to peers: scores as lines of JSON.

Run: python benchmarks/utility/scores.py OUT.jsonl [--tables adult,digits]
     [--epsilon 1,8] [--delta 1e-5] [--folds 3] [--rows 5000]

Tables that scikit-learn does not bring are Parquet files with a domain beside them, in
the folder that DISCRETO_DATA names.

Accuracy, AUC (of one class against the rest), macro-F1 and log loss, or RMSE; one line
for each fit. Lines that are in OUT already are not made again, so a run can go on
where it stopped. Peers take part where they are installed: ``interpret`` (DP-EBM, which
needs a delta) and ``diffprivlib`` (which wants an older scikit-learn: run this file
with the Python of its own environment and ``--only peers``). ``page.py`` makes
the page. The rows are public; noise is simulated.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("DISCRETO_DATA", "data"))
TABLES = ("iris", "wine", "breast cancer", "digits", "adult", "mushroom", "abalone")
METRICS = ("accuracy", "auc", "f1", "log_loss")


def tables(names: list[str], most: int) -> Any:
    """Name, rows, domain and target of each table."""
    import pyarrow.parquet as pq
    from sklearn import datasets

    import discreto as dp

    made = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }
    for name in names:
        if name in made:
            data = made[name]()
            X, y = data.data, data.target
            columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
            # The bounds of these sets are public, as the sets themselves are.
            bounds = {
                n: dp.Number(float(v.min()), float(v.max()) + 1e-9, missing=False)
                for n, v in columns.items()
            }
            classes = dp.Category(list(range(int(y.max()) + 1)), missing=False)
            domain = dp.Domain({**bounds, "y": classes}, target="y")
            yield name, {**columns, "y": y}, domain, "y"
        elif (FOLDER / f"{name}.parquet").exists():
            domain = dp.Domain.load(FOLDER / f"{name}.domain.json")
            frame = pq.read_table(FOLDER / f"{name}.parquet").to_pandas()
            frame = frame.sample(min(most, len(frame)), random_state=0)
            rows = {n: frame[n].to_numpy() for n in domain if n in frame}
            yield name, rows, domain, domain.target


def ours(args: argparse.Namespace, done: set[str], write: Any) -> None:
    """Every model that suits, by the folds and judges of ``compare``."""
    from discreto.compare.cross_validation import LoadedRows, _cuts, candidates
    from discreto.compare.metrics import judge
    from discreto.compare.seeds import ledger_for, seed_for
    from discreto.core.domain import Category
    from discreto.models._features import Ready
    from discreto.tables import Table

    for name, raw, domain, target in tables(args.tables, args.rows):
        loaded = LoadedRows.read(raw, domain)
        classes = isinstance(domain[target], Category)
        cuts = list(_cuts(loaded.people, args.folds, 1, 0))
        for candidate in candidates(domain, target)[0]:
            for epsilon in args.epsilon:
                for place, (train, test) in enumerate(cuts):
                    facts = [name, candidate.label, epsilon, args.delta, place]
                    if json.dumps(facts) in done:
                        continue
                    part = domain.select([*candidate.features, target])
                    rows = {n: loaded.values[n][train] for n in part}
                    start = time.perf_counter()
                    model = candidate.make(
                        epsilon, args.delta, random_state=seed_for(*facts)
                    )
                    model.fit(Table(rows, part, ledger_for(*facts)), target)
                    unseen = Ready(
                        {n: loaded.terms[n][test] for n in candidate.features},
                        len(test),
                    )
                    truth, column = loaded.values[target][test], domain[target]
                    wanted = METRICS if classes else ("rmse",)
                    found = {m: judge(m, model, unseen, truth, column) for m in wanted}
                    seconds = time.perf_counter() - start
                    write(facts, found | {"seconds": round(seconds, 2)})


def plain(args: argparse.Namespace, done: set[str], write: Any) -> None:
    """The better of scikit-learn's trees and linear model, and a constant."""
    from discreto.compare import reference
    from discreto.compare.cross_validation import LoadedRows, _cuts
    from discreto.core.domain import Category

    for name, raw, domain, target in tables(args.tables, args.rows):
        loaded = LoadedRows.read(raw, domain)
        cuts = list(_cuts(loaded.people, args.folds, 1, 0))
        classes = isinstance(domain[target], Category)
        kept: dict[str, list[dict[str, float]]] = {}
        if json.dumps([name, "constant", "", "0", 0]) in done:
            continue
        for metric in METRICS if classes else ("rmse",):
            two = reference.scores(loaded.values, domain, target, cuts, metric)
            for label, (_, got) in zip(("scikit-learn", "constant"), two, strict=True):
                rows = kept.setdefault(label, [{} for _ in got])
                for place, score in enumerate(got):
                    rows[place][metric] = score
        for label, rows in kept.items():
            for place, found in enumerate(rows):
                write([name, label, "", "0", place], found)


def peers(args: argparse.Namespace, done: set[str], write: Any) -> None:
    """DP-EBM and diffprivlib, where they can be imported, on two-class tables."""
    from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score
    from sklearn.model_selection import KFold

    made: dict[str, Any] = {}
    try:
        from interpret.privacy import DPExplainableBoostingClassifier as Ebm

        made["DP-EBM, default"] = lambda e: Ebm(epsilon=float(e), delta=1e-5)
        made["DP-EBM, 100 rounds of 8 bins"] = lambda e: Ebm(
            epsilon=float(e), delta=1e-5, max_rounds=100, max_bins=8
        )
    except ImportError:
        pass
    try:
        from diffprivlib.models import GaussianNB

        made["diffprivlib GaussianNB"] = lambda e: GaussianNB(epsilon=float(e))
    except ImportError:
        pass
    for name, raw, domain, target in tables(args.tables, args.rows) if made else ():
        y = np.asarray(raw[target])
        if len(np.unique(y)) != 2 or not all(
            np.asarray(v).dtype.kind in "fi" for v in raw.values()
        ):
            continue
        names = [n for n in domain if n != target]
        X, y = np.column_stack([raw[n] for n in names]), (y == y.max()).astype(int)
        cuts = KFold(args.folds, shuffle=True, random_state=0).split(X)
        for place, (train, test) in enumerate(cuts):
            for label, make in made.items():
                for epsilon in args.epsilon:
                    facts = [name, label, epsilon, "1e-5", place]
                    if json.dumps(facts) in done:
                        continue
                    model = make(epsilon).fit(X[train], y[train])
                    chance, said = model.predict_proba(X[test]), model.predict(X[test])
                    found = {
                        "accuracy": accuracy_score(y[test], said),
                        "auc": roc_auc_score(y[test], chance[:, 1]),
                        "f1": f1_score(y[test], said, average="macro"),
                        "log_loss": log_loss(y[test], chance, labels=[0, 1]),
                    }
                    write(facts, {k: float(v) for k, v in found.items()})


def main() -> None:
    """Make the lines that are missing."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("out", type=Path)
    words.add_argument("--tables", type=lambda t: t.split(","), default=list(TABLES))
    words.add_argument(
        "--epsilon", type=lambda t: t.split(","), default=["0.1", "1", "8"]
    )
    words.add_argument("--delta", default="0")
    words.add_argument("--folds", type=int, default=3)
    words.add_argument("--rows", type=int, default=10_000)
    words.add_argument("--only", choices=["ours", "plain", "peers"])
    args = words.parse_args()
    lines = args.out.read_text().splitlines() if args.out.exists() else []
    done = {json.dumps(json.loads(line)["facts"]) for line in lines}
    with args.out.open("a") as file:

        def write(facts: list[Any], found: dict[str, float]) -> None:
            file.write(json.dumps({"facts": facts, "scores": found}) + "\n")
            file.flush()

        for work in (ours, plain, peers):
            if args.only in (None, work.__name__):
                work(args, done, write)


if __name__ == "__main__":
    main()
