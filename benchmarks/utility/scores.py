"""All models on all tables at all prices, next to peers: scores as lines of JSON.

Run: python benchmarks/utility/scores.py OUT.jsonl [--tables adult,digits]
     [--epsilon 1,8] [--delta 1e-5] [--folds 3] [--most 2] [--rows 5000]

Tables that scikit-learn does not bring are Parquet files with a domain beside them, in
the folder that DISCRETO_DATA names.

Accuracy, AUC (of one class against the rest) and log loss, or RMSE; one line for each
fit. Lines that are in OUT already are not made again, so a run can go on
where it stopped. Peers take part where they are installed: ``interpret`` (DP-EBM, which
needs a delta) and ``diffprivlib``. Both may want an older scikit-learn: make the folds
with ``--only folds``, then run this file with the Python of their environment, which
needs nothing of ours, and ``--only peers``. ``page.py`` makes
the page. The rows are public; noise is simulated.
"""

from __future__ import annotations

import argparse
import json
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("DISCRETO_DATA", "data"))
TABLES = (
    *("iris", "wine", "breast cancer", "pima", "diabetes", "fuel_consumption_2000"),
    *("abalone", "digits", "adult", "mushroom", "satimage"),
)
METRICS = ("accuracy", "auc", "log_loss")
COINS, PEER_FITS = 4, 2


def tables(names: list[str], most: int) -> Any:
    """Name, rows, domain and target of each table."""
    import pyarrow.parquet as pq
    from sklearn import datasets

    import discreto as dp

    made: dict[str, Any] = {
        "diabetes": datasets.load_diabetes,
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
            goal: Any = dp.Category(list(range(int(y.max()) + 1)), missing=False)
            if name == "diabetes":
                goal = dp.Number(0, 400, missing=False)
            domain = dp.Domain({**bounds, "y": goal}, target="y")
            yield name, {**columns, "y": y}, domain, "y"
        elif (FOLDER / f"{name}.parquet").exists():
            # Rows are drawn from these tables, so what they declare does not hold.
            domain = dp.Domain.load(FOLDER / f"{name}.domain.json").with_(rows=None)
            frame = pq.read_table(FOLDER / f"{name}.parquet").to_pandas()
            frame = frame.sample(min(most, len(frame)), random_state=0)
            rows = {n: frame[n].to_numpy() for n in domain if n in frame}
            yield name, rows, domain, domain.target


def cuts_of(loaded: Any, args: argparse.Namespace) -> list[Any]:
    """Rows to fit and rows to test: folds, and folds anew until there are enough."""
    from discreto.compare.cross_validation import _cuts

    most = args.most or args.folds
    return list(_cuts(loaded.people, args.folds, -(-most // args.folds), 0))[:most]


def ours(args: argparse.Namespace, done: set[str], write: Any) -> None:
    """Every model that suits, by the folds and judges of ``compare``."""
    from discreto.compare.cross_validation import LoadedRows, candidates
    from discreto.compare.metrics import judge
    from discreto.compare.seeds import ledger_for, seed_for
    from discreto.core.domain.domain import Category
    from discreto.models.base.features import Ready
    from discreto.table.table import Table

    for name, raw, domain, target in tables(args.tables, args.rows):
        loaded = LoadedRows.read(raw, domain)
        classes = isinstance(domain[target], Category)
        cuts = cuts_of(loaded, args)
        for candidate in candidates(domain, target)[0]:
            for epsilon in args.epsilon:
                for place, (train, test) in enumerate(cuts):
                    facts = [name, candidate.label, epsilon, args.delta, place]
                    if json.dumps(facts) in done:
                        continue
                    part = domain.select([*candidate.features, target])
                    rows = {n: loaded.values[n][train] for n in part}
                    # Few seeds of public coins: a plan is made once for each.
                    coins = seed_for(*facts[:-1], place % COINS)
                    model = candidate.make(epsilon, args.delta, random_state=coins)
                    model.fit(Table(rows, part, ledger_for(*facts)), target)
                    unseen = Ready(
                        {n: loaded.terms[n][test] for n in candidate.features},
                        len(test),
                    )
                    truth, column = loaded.values[target][test], domain[target]
                    wanted = METRICS if classes else ("rmse",)
                    found = {m: judge(m, model, unseen, truth, column) for m in wanted}
                    write(facts, found)


def plain(args: argparse.Namespace, done: set[str], write: Any) -> None:
    """The better of scikit-learn's trees and linear model, and a constant."""
    from discreto.compare import reference
    from discreto.compare.cross_validation import LoadedRows
    from discreto.core.domain.domain import Category

    for name, raw, domain, target in tables(args.tables, args.rows):
        loaded = LoadedRows.read(raw, domain)
        cuts = cuts_of(loaded, args)
        classes = isinstance(domain[target], Category)
        kept: dict[str, list[dict[str, float]]] = {}
        if json.dumps([name, "constant", "", "0", len(cuts) - 1]) in done:
            continue
        for metric in METRICS if classes else ("rmse",):
            two = reference.scores(loaded.values, domain, target, cuts, metric)
            for label, (_, got) in zip(("scikit-learn", "constant"), two, strict=True):
                rows = kept.setdefault(label, [{} for _ in got])
                for place, score in enumerate(got):
                    rows[place][metric] = score
        for label, rows in kept.items():
            for place, found in enumerate(rows):
                facts = [name, label, "", "0", place]
                if json.dumps(facts) not in done:
                    write(facts, found)


def folds(args: argparse.Namespace, done: set[str], write: Any) -> None:
    """Rows, bounds and folds as files for peers, which want other versions."""
    from discreto.compare.cross_validation import LoadedRows
    from discreto.core.domain.domain import Category

    for name, raw, domain, target in tables(args.tables, args.rows):
        if not isinstance(domain[target], Category):
            continue
        loaded = LoadedRows.read(raw, domain)
        names = [n for n in domain.features() if n != target]
        kinds = [isinstance(domain[n], Category) for n in names]
        ends = [
            (0, len(domain[n].categories)) if k else (domain[n].lower, domain[n].upper)
            for n, k in zip(names, kinds, strict=True)
        ]
        cuts = cuts_of(loaded, args)[:PEER_FITS]
        np.savez_compressed(
            args.out.with_suffix(f".{name}.npz"),
            X=np.column_stack([loaded.terms[n].astype(float) for n in names]),
            y=loaded.terms[target],
            many=len(domain[target].categories),
            kinds=kinds,
            ends=ends,
            tests=np.array([np.isin(np.arange(len(raw[target])), t) for _, t in cuts]),
        )


def peers(args: argparse.Namespace, done: set[str], write: Any) -> None:
    """DP-EBM (two classes) and diffprivlib (Numbers), where they can be imported."""
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    for path in sorted(args.out.parent.glob(f"{args.out.stem}.*.npz")):
        name, data = path.name.split(".")[1], np.load(path)
        X, y, many = data["X"], data["y"], int(data["many"])
        for label, make in makers(data["ends"], data["kinds"], many).items():
            for epsilon, place in product(args.epsilon, range(len(data["tests"]))):
                pure = label.startswith("diffprivlib")
                facts = [name, label, epsilon, "0" if pure else "1e-5", place]
                if name not in args.tables or json.dumps(facts) in done:
                    continue
                np.random.seed(place)
                test = data["tests"][place]
                model = make(float(epsilon)).fit(X[~test], y[~test])
                chance = np.full((int(test.sum()), many), 1e-9)
                chance[:, model.classes_] = model.predict_proba(X[test])
                chance = np.clip(np.nan_to_num(chance, nan=1 / many), 1e-9, 1)
                chance /= chance.sum(axis=1, keepdims=True)
                sides = chance[:, 1] if many == 2 else chance
                found = {
                    "accuracy": accuracy_score(y[test], chance.argmax(axis=1)),
                    "auc": roc_auc_score(y[test], sides, multi_class="ovr"),
                    "log_loss": log_loss(y[test], chance, labels=range(many)),
                }
                write(facts, {k: float(v) for k, v in found.items()})


def makers(ends: Any, kinds: Any, many: int) -> dict[str, Any]:
    """The peers that take such a table, with the bounds that ours are told."""
    made: dict[str, Any] = {}
    if many == 2:
        try:
            from interpret.privacy import DPExplainableBoostingClassifier as Ebm
        except ImportError:
            Ebm = None
        types = ["nominal" if kind else "continuous" for kind in kinds]
        told = {"feature_types": types, "privacy_bounds": ends.astype(float)}
        settings = {
            "DP-EBM, default": {},
            "DP-EBM, 100 rounds of 8 bins": {"max_rounds": 100, "max_bins": 8},
            "DP-EBM, 50 rounds of 16 bins": {"max_rounds": 50, "max_bins": 16},
        }
        for label, more in settings.items() if Ebm else ():
            made[label] = lambda e, more=more: Ebm(
                epsilon=e, delta=1e-5, **told, **more
            )
    if not any(kinds):
        try:
            from diffprivlib.models import GaussianNB, LogisticRegression
        except ImportError:
            return made
        low, high = np.array(ends, dtype=float).T
        norm = float(np.sqrt((np.maximum(abs(low), abs(high)) ** 2).sum()))
        made["diffprivlib GaussianNB"] = lambda e: GaussianNB(
            epsilon=e, bounds=(low, high)
        )
        made["diffprivlib LogisticRegression"] = lambda e: LogisticRegression(
            epsilon=e, data_norm=norm
        )
    return made


def write_line(file: Any, facts: list[Any], found: dict[str, float]) -> None:
    """One fit as a line of JSON."""
    short = {metric: round(float(v), 4) for metric, v in found.items()}
    file.write(json.dumps({"facts": facts, "scores": short}) + "\n")
    file.flush()


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
    words.add_argument("--most", type=int, help="so many fits, by default one a fold")
    words.add_argument("--rows", type=int, default=10_000)
    words.add_argument("--only", choices=["ours", "plain", "folds", "peers"])
    args = words.parse_args()
    lines = args.out.read_text().splitlines() if args.out.exists() else []
    done = {json.dumps(json.loads(line)["facts"]) for line in lines}
    with args.out.open("a") as file:

        def write(facts: list[Any], found: dict[str, float]) -> None:
            write_line(file, facts, found)

        for work in (ours, plain, folds, peers):
            if args.only in (None, work.__name__):
                work(args, done, write)


if __name__ == "__main__":
    main()
