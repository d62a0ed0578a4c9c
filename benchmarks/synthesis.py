"""Synthetic tables against peers: errors of pairs, and learning from made-up rows.

``python benchmarks/synthesis.py adult --seeds 0 1 2`` prints for each seed the mean
total variation error of all pairs of columns on public bins, CPU seconds, peak memory
and, on adult, the accuracy and AUC of LightGBM (or scikit-learn's boosting where that
is not installed) that was trained on made-up rows and tested on the other 30 %.
``--peer AIM`` or ``--peer MST`` runs opendp's algorithms (its extra ``mbi``) on the
same bins and rows, with the rho that our (epsilon, delta) allows and their defaults
but for the workload: ``--rounds``, ``--megabytes`` and ``--iterations`` change them.
``--peer smartnoise-MST`` is smartnoise-synth's, in an environment of its own.
AIM takes hours that way, most of them to compile; ``--solver discreto`` (with this
package beside opendp) has the same problem of each round solved by our code, and
``--solver both --columns 6`` has mbi solve it too, each going on from its last fit,
and says how far the two are apart on the same measurements.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
GAIN = [1, 100, 200, 500, 1000, 2000, 3000, 5000, 7500, 10000, 15000, 20000, 50000]
BINS = {"capital_gain": GAIN, "capital_loss": [edge for edge in GAIN if edge < 10000]}
RHO = 0.0359189  # of (1, 1e-5)


def read(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Rows to synthesize, rows to test on, and the columns of the domain file."""
    frame = pd.read_parquet(DATA / f"{name}.parquet")
    columns = json.loads((DATA / f"{name}.domain.json").read_text())["columns"]
    if name != "adult":
        return frame, frame[:0], columns
    order = np.random.default_rng(seed).permutation(len(frame))
    cut = int(0.7 * len(frame))
    train, test = (
        frame.iloc[part].reset_index(drop=True) for part in np.split(order, [cut])
    )
    return train, test, columns


def narrowed(frame: pd.DataFrame, columns: dict[str, Any], count: int | None) -> Any:
    """The first columns of a table."""
    names = list(columns)[:count]
    return frame[names], {name: columns[name] for name in names}


def public_bins(columns: dict[str, Any]) -> dict[str, Any]:
    """The cells of wide Number columns that everybody gets."""
    out: dict[str, Any] = {}
    for name, column in columns.items():
        if column["type"] != "categorical" and column["upper"] - column["lower"] >= 32:
            out[name] = BINS.get(name, 20)
    return out


def codes_of(frame: pd.DataFrame, columns: dict[str, Any]) -> dict[str, np.ndarray]:
    """Every column as codes of the public bins."""
    bins, out = public_bins(columns), {}
    for name, column in columns.items():
        if column["type"] == "categorical":
            known = [str(value) for value in column["categories"]]
            cells = pd.Categorical(frame[name].astype(str), categories=known)
            out[name] = cells.codes.astype(np.int64)
            continue
        low, high = column["lower"], column["upper"]
        values = frame[name].to_numpy(float).clip(low, high)
        wanted = bins.get(name)
        if wanted is None:
            out[name] = (values - low).astype(int)
        elif isinstance(wanted, int):
            edges = np.ceil(np.linspace(low, high, wanted + 1)[1:-1])
            out[name] = np.searchsorted(edges, values, "right")
        else:
            out[name] = np.searchsorted(wanted, values, "right")
    return out


def pair_errors(true: dict[str, Any], made: dict[str, Any]) -> np.ndarray:
    """The total variation error of every pair of columns."""
    out = []
    for one, two in combinations(true, 2):
        wide = 1 + max(int(true[two].max()), int(made[two].max()))
        cells = [part[one].astype(int) * wide + part[two] for part in (true, made)]
        size = 1 + max(int(part.max()) for part in cells)
        shares = [np.bincount(part, minlength=size) / len(part) for part in cells]
        out.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return np.array(out)


def domain_of(columns: dict[str, Any]) -> Any:
    """The public domain of a table."""
    import discreto as dp

    kinds: dict[str, Any] = {}
    for name, c in columns.items():
        if c["type"] == "categorical":
            kinds[name] = dp.Category(c["categories"], missing=False)
        else:
            whole = c.get("integer", False)
            kinds[name] = dp.Number(
                c["lower"], c["upper"], integer=whole, missing=False
            )
    return dp.Domain(kinds, target="income" if "income" in kinds else None)


def ours(frame: pd.DataFrame, columns: dict[str, Any], seed: int, args: Any) -> Any:
    import discreto as dp
    from discreto.synthesis import Synthesizer
    from discreto.testing import simulate

    model = Synthesizer(
        1,
        args.delta,
        bins=None if args.default_bins else public_bins(columns),
        labels=args.labels,
        structure=args.structure,
        rounds=args.rounds,
    )
    model.fit(dp.Table(frame, domain_of(columns), simulate(seed)))
    return model.sample(len(frame), random_state=seed)


def direct(args: Any) -> None:
    """Accuracy and AUC on adult of boosting that is fitted to the private rows."""
    import discreto as dp
    from discreto.models import GradientBoostingClassifier
    from discreto.testing import simulate

    for seed in args.seeds:
        train, test, columns = read("adult", seed)
        table = dp.Table(train, domain_of(columns), simulate(seed))
        model = GradientBoostingClassifier(epsilon=1, delta=args.delta).fit(table)
        law = model.predict_proba(test.drop(columns="income"))
        chance = law[:, list(model.classes_).index(">50K")]
        line = f"adult seed {seed}, fitted directly: accuracy {{:.4f}}, AUC {{:.4f}}"
        print(line.format(*scores(test, chance)), flush=True)


def peer(frame: pd.DataFrame, columns: dict[str, Any], args: Any) -> dict[str, Any]:
    """Codes that opendp's AIM (workload of pairs) or MST makes up."""
    import opendp.prelude as odp
    import polars as pl

    odp.enable_features("contrib")
    codes = codes_of(frame, columns)
    keys = {name: list(range(int(part.max()) + 1)) for name, part in codes.items()}
    context = odp.Context.compositor(
        data=pl.DataFrame(codes).lazy(),
        privacy_unit=odp.unit_of(contributions=1),
        privacy_loss=odp.loss_of(rho=RHO),
    )
    steps = _estimator(args)
    algorithm = odp.mbi.MST(estimator=steps)
    if args.peer == "AIM":
        algorithm = odp.mbi.AIM(
            queries=2, rounds=args.rounds, max_size=args.megabytes, estimator=steps
        )
    asked = context.query(rho=RHO).contingency_table(keys=keys, algorithm=algorithm)
    made = asked.release().synthesize(rows=len(frame), method="sample")
    return {name: made[name].fill_null(0).to_numpy() for name in codes}


def smartnoise(frame: pd.DataFrame, columns: dict[str, Any], args: Any) -> Any:
    """Codes that smartnoise-synth's MST or AIM makes up at (1, 1e-5)."""
    from snsynth import Synthesizer

    codes = codes_of(frame, columns)
    kind = args.peer.removeprefix("smartnoise-").lower()
    model = Synthesizer.create(kind, epsilon=1.0, delta=float(args.delta))
    rows = pd.DataFrame(codes)
    model.fit(rows, categorical_columns=list(codes), preprocessor_eps=0.0)
    made = model.sample(len(frame))
    return {name: made[name].to_numpy(int) for name in codes}


def _estimator(args: Any) -> Any:
    """How a peer's model is fitted in each round; stderr is told how far it is."""
    from mbi.estimation import mirror_descent

    start, fits = time.process_time(), iter(range(1, 10**6))
    solve = mirror_descent if args.solver == "mbi" else _solver()
    own = [None]  # where mbi's own fit has come to

    def fit(domain: Any, loss: Any, *, potentials: Any = None) -> Any:
        model = solve(domain, loss, potentials=potentials, iters=args.iterations)
        cpu = time.process_time() - start
        line = f"fit {next(fits)}: {len(model.cliques)} cliques, {cpu:.0f} CPU s"
        if args.solver == "both":
            other = mirror_descent(
                domain, loss, potentials=own.pop(), iters=args.iterations
            )
            own.append(other.potentials)
            args.fits.append((shares(domain, model), shares(domain, other)))
            ends = [misfit(loss, one) for one in (model, other)]
            line += f", apart {distance(*args.fits[-1]):.5f}, squares {ends}"
        print(line, file=sys.stderr, flush=True)
        return model

    return fit


def shares(domain: Any, model: Any) -> list[np.ndarray]:
    """The probabilities of every pair of columns."""
    tables = [
        np.asarray(model.project(pair).datavector(flatten=False), dtype=float)
        for pair in combinations(domain.attrs, 2)
    ]
    return [table / table.sum() for table in tables]


def misfit(loss: Any, model: Any) -> int:
    """What a fit makes least: the sum of squares in units of the noise's variance."""
    found = 0.0
    for one in loss:
        said = np.asarray(model.project(one.clique).datavector(), dtype=float)
        gaps = said.ravel() - np.asarray(one.noisy_measurement, dtype=float).ravel()
        found += float((gaps**2).sum()) / float(one.stddev) ** 2
    return round(found)


def distance(ones: list[np.ndarray], others: list[np.ndarray]) -> float:
    """The mean total variation between two lists of tables."""
    gaps = [np.abs(a - b).sum() / 2 for a, b in zip(ones, others, strict=True)]
    return float(np.mean(gaps))


def compared(codes: dict[str, np.ndarray], fits: list[Any]) -> str:
    """How far both solvers' last models are from each other and from the truth."""
    pairs = list(combinations(codes, 2))
    true = []
    for (one, two), table in zip(pairs, fits[-1][0], strict=True):
        cells = codes[one] * table.shape[1] + codes[two]
        counts = np.bincount(cells, minlength=table.size).reshape(table.shape)
        true.append(counts / counts.sum())
    ours, theirs = (distance(true, part) for part in fits[-1])
    gaps = [distance(*both) for both in fits]
    return (
        f", {len(fits)} fits: errors {ours:.5f} (ours), {theirs:.5f} (mbi's); apart "
        f"{gaps[-1]:.5f} in the last, {max(gaps):.5f} at most"
    )


def _solver() -> Any:
    """The least squares of mbi's mirror descent, solved without compiling anything.

    What is selected and measured in a round, and for how much, stays the peer's.
    Marginals of pairs are kept beside each model: mbi would eliminate columns anew for
    each pair. A fit goes on from the one before, as the peer's does.
    """
    from mbi import CliqueVector, Factor, MarkovRandomField
    from mbi.estimation import minimum_variance_unbiased_total

    from discreto.synthesis._fitting import Model, NoisyMarginal

    kept: dict[str, Any] = {}
    theirs = MarkovRandomField.project

    def measured(domain: Any, names: list[str], one: Any) -> NoisyMarginal:
        places = [names.index(name) for name in one.clique]
        shape = [domain[name] for name in one.clique]
        table = np.asarray(one.noisy_measurement, dtype=float).reshape(shape)
        order = np.argsort(places)
        found = tuple(int(places[i]) for i in order)
        return NoisyMarginal(found, table.transpose(order), float(one.stddev) ** 2)

    def solve(domain: Any, loss: Any, *, potentials: Any, iters: int) -> Any:
        names, total = list(domain.attrs), minimum_variance_unbiased_total(loss)
        model = kept.setdefault("model", Model([domain[name] for name in names]))
        model.fit([measured(domain, names, m) for m in loss], float(total), iters)
        arrays = {}
        for places, factor in model.factors.items():
            clique = tuple(names[i] for i in places)
            arrays[clique] = Factor(domain.project(clique), factor)
        vector = CliqueVector(domain, list(arrays), arrays)
        out = MarkovRandomField(potentials=vector, marginals=vector, total=float(total))
        kept["id"], kept["names"], kept["total"] = id(vector), names, float(total)
        kept["pairs"] = model.pairs()
        return out

    def project(self: Any, attrs: Any) -> Any:
        if id(self.potentials) != kept.get("id"):
            return theirs(self, attrs)
        if len(attrs) > 2:
            raise RuntimeError("the last model is asked for pairs only")
        names = kept["names"]
        places = [names.index(name) for name in attrs]
        if len(places) == 1:
            other = next(i for i in range(len(names)) if i != places[0])
            pair = tuple(sorted((places[0], other)))
            table = kept["pairs"][pair].sum(axis=1 - pair.index(places[0]))
        else:
            table = kept["pairs"][tuple(sorted(places))]
            table = table if places == sorted(places) else table.T
        return Factor(self.domain.project(tuple(attrs)), kept["total"] * table)

    MarkovRandomField.project = project
    return solve


def learned(made: pd.DataFrame, test: pd.DataFrame) -> tuple[float, float]:
    """Accuracy and AUC on real rows of a model that was trained on made-up ones."""
    texts = [n for n in test if test[n].dtype.kind not in "if" and n != "income"]
    kinds = {n: sorted(set(test[n]) | set(made[n])) for n in texts}

    def features(rows: pd.DataFrame) -> pd.DataFrame:
        parts = {n: pd.Categorical(rows[n], categories=k) for n, k in kinds.items()}
        return rows.drop(columns="income").assign(**parts)

    try:
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    except ImportError:
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(
            categorical_features="from_dtype", random_state=0
        )
    model.fit(features(made), made["income"] == ">50K")
    return scores(test, model.predict_proba(features(test))[:, 1])


def scores(test: pd.DataFrame, chance: np.ndarray) -> tuple[float, float]:
    """Accuracy and AUC of probabilities."""
    from sklearn.metrics import accuracy_score, roc_auc_score

    truth = test["income"] == ">50K"
    return accuracy_score(truth, chance > 0.5), roc_auc_score(truth, chance)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["adult", "mushroom", "diabetes_brfss2015"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--delta", default="1e-5")
    parser.add_argument("--labels", default="marginals")
    parser.add_argument("--structure", choices=["graph", "tree"], default="graph")
    parser.add_argument("--rounds", type=int)
    parser.add_argument(
        "--direct", action="store_true", help="boosting on the private rows instead"
    )
    parser.add_argument("--default-bins", action="store_true")
    parser.add_argument(
        "--peer", choices=["AIM", "MST", "smartnoise-MST", "smartnoise-AIM"]
    )
    parser.add_argument("--megabytes", type=float, default=80.0, help="of AIM's model")
    parser.add_argument(
        "--iterations", type=int, default=1000, help="of a peer's fit in each round"
    )
    parser.add_argument(
        "--solver",
        choices=["mbi", "discreto", "both"],
        default="mbi",
        help="who solves the peer's least squares in each round",
    )
    parser.add_argument("--columns", type=int, help="only so many, the first ones")
    args = parser.parse_args()
    here = Path(__file__).resolve().parent
    # The scripts beside this one have names of packages that numba looks for.
    sys.path[:] = [part for part in sys.path if Path(part).resolve() != here]
    if args.direct:
        return direct(args)
    for seed in args.seeds:
        train, test, columns = read(args.name, seed)
        train, columns = narrowed(train, columns, args.columns)
        args.fits, start = [], time.process_time()
        if args.peer:
            run = smartnoise if args.peer.startswith("smartnoise") else peer
            codes = run(train, columns, args)
        else:
            made = ours(train, columns, seed, args)
            codes = codes_of(made, columns)
        cpu = time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        errors = pair_errors(codes_of(train, columns), codes)
        line = f"{args.name} seed {seed}: pairs {errors.mean():.4f}, {cpu:.1f} CPU s, "
        line += f"{memory:.2f} GB"
        if args.fits:
            line += compared(codes_of(train, columns), args.fits)
        if len(test) and not args.peer and "income" in train:
            line += ", accuracy {:.4f}, AUC {:.4f}".format(*learned(made, test))
        print(line, flush=True)


if __name__ == "__main__":
    main()
