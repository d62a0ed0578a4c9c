"""What gaps do to models: rows far from the middle of their range, a quarter missing.

Run: python benchmarks/gaps.py [--rows 4000] [--share 0.25] [--epsilon 1] [--seeds 5]

Each model learns from complete rows and from the same rows with gaps, and is asked
about complete rows and about rows with gaps of a test set. Clusters: how far centres
are from the true ones, in spreads of a cluster (the middle of the range is 40 away).
Others: accuracy or R2. ``--epsilon 0`` adds no noise: what a gap does by itself.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import discreto as dp
from discreto import federated, models
from discreto.testing import simulate

NAMES = ("a", "b", "c", "d")
CENTRES = np.array([[8.0, 12.0, 10.0, 6.0], [14.0, 7.0, 10.0, 12.0]])
CLUSTERS = {"KMeans": {"n_clusters": 2}, "FuzzyCMeans": {"n_clusters": 2}}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "NaiveBayes": {},
    "LogisticRegression": {},
    "CellNeighborsClassifier": {},
    "GradientBoostingClassifier": {},
    "KNeighborsClassifier": {},
    "RadiusNeighborsClassifier": {"radius": 0.08},
}
VOTERS = ("KNeighborsClassifier", "RadiusNeighborsClassifier")
REGRESSORS = ("LinearRegression", "GradientBoostingRegressor")
LEARNERS: dict[str, dict[str, Any]] = {
    "FederatedAveraging": {},
    "ProximalPoint": {},
    "GraphLearning": {"graph": "complete"},
}


def domain_of(target: str | None) -> dp.Domain:
    """Four numbers whose rows are in one corner of the range, and a target."""
    columns: dict[str, Any] = {name: dp.Number(0, 100) for name in NAMES}
    if target == "label":
        columns["label"] = dp.Category(["no", "yes"])
    elif target == "amount":
        columns["amount"] = dp.Number(0, 100)
    return dp.Domain(columns, target=target)


def made(rows: int, seed: int) -> dict[str, Any]:
    """Two clusters; the label is the cluster, the amount a line."""
    coins = np.random.default_rng(seed)
    yes = coins.random(rows) < 0.4
    x = CENTRES[yes.astype(int)] + coins.normal(0, 1.0, (rows, 4))
    amount = 20 + 2 * x[:, 0] - x[:, 1] + coins.normal(0, 1, rows)
    out: dict[str, Any] = dict(zip(NAMES, x.T, strict=True))
    return out | {"label": np.where(yes, "yes", "no"), "amount": amount}


def with_gaps(
    data: dict[str, Any], share: float, seed: int, *, apart: bool = False
) -> dict[str, Any]:
    """The same rows, some of their numbers missing; ``apart``: in one class alone."""
    coins = np.random.default_rng([seed, 1])
    out = dict(data)
    for name in NAMES:
        gap = coins.random(len(data[name])) < share
        if apart:
            gap &= data["label"] == "yes"
        out[name] = np.where(gap, np.nan, data[name])
    return out


def chosen(data: dict[str, Any], domain: dp.Domain) -> dict[str, Any]:
    """The columns of a domain."""
    return {name: data[name] for name in domain}


def features(data: dict[str, Any], many: int | None = None) -> Any:
    """The numbers, as predictions take them."""
    return np.column_stack([data[name][:many] for name in NAMES])


def score(found: Any, truth: Any) -> float:
    """Accuracy of classes, R2 of numbers."""
    if truth.dtype.kind in "US":
        return float(np.mean(found == truth))
    return float(1 - np.mean((found - truth) ** 2) / np.var(truth))


def off(centres: Any) -> float:
    """How far centres are from the true ones, the better way round."""
    ways = [
        np.abs(np.array(centres)[list(p)] - CENTRES).max() for p in ([0, 1], [1, 0])
    ]
    return float(min(ways))


def fitted(name: str, options: dict[str, Any], data: Any, given: Any, seed: int) -> Any:
    """A model of this name, learned from these rows."""
    target = None if name in CLUSTERS else "amount" if name in REGRESSORS else "label"
    domain, exact = domain_of(target), given.epsilon == 0
    if name in LEARNERS:
        parts = [
            {key: value[start::3] for key, value in chosen(data, domain).items()}
            for start in range(3)
        ]
        learner = getattr(federated, name)(epsilon=given.epsilon or 1, **options)
        found = federated.simulate(
            learner, parts, domain, seeds=(seed,), noise=not exact
        )
        return found.models[0]
    ledger = simulate(seed, noise=not exact)
    kind, options = getattr(models, name), dict(options)
    if "random_state" in kind(epsilon=1).get_params():
        options["random_state"] = seed
    model = kind(epsilon=given.epsilon or 1, **options)
    return model.fit(dp.Table(chosen(data, domain), domain, ledger), target)


def lines(given: Any) -> Any:
    """A line for each model: means over seeds, from complete rows and with gaps."""
    names = [*CLUSTERS, *CLASSIFIERS, *REGRESSORS, *LEARNERS]
    for name in names:
        if given.only and name not in given.only:
            continue
        options = {**CLUSTERS, **CLASSIFIERS, **LEARNERS}.get(name, {})
        found = []
        for seed in range(given.seeds):
            data, fresh = made(given.rows, seed), made(given.rows, 10**6 + seed)
            how = {"share": given.share, "apart": given.apart}
            holes = with_gaps(data, seed=seed, **how)
            fresh_holes = with_gaps(fresh, seed=10**6 + seed, **how)
            truth = fresh["amount" if name in REGRESSORS else "label"]
            line = []
            for rows in (data, holes):
                model = fitted(name, options, rows, given, seed)
                if name in CLUSTERS:
                    line.append(off(model.cluster_centers_))
                    continue
                many = 25 if name in VOTERS else None  # each prediction is paid for
                for asked in (fresh, fresh_holes):
                    predicted = model.predict(features(asked, many))
                    line.append(score(predicted, truth[:many]))
            found.append(line)
        yield name, np.mean(found, axis=0), np.std(found, axis=0)


def main() -> None:
    """Print how good models are with and without gaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--apart", action="store_true", help="gaps in one class alone")
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    print("learned from: complete rows | rows with gaps; asked: complete, with gaps")
    for name, means, spreads in lines(given):
        shown = [f"{m:.3f} ({s:.3f})" for m, s in zip(means, spreads, strict=True)]
        half = len(shown) // 2
        print(f"{name:28}", *shown[:half], "|", *shown[half:], flush=True)


if __name__ == "__main__":
    main()
