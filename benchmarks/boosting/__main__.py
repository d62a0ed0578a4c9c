"""Private boosting on six public tables: ``python benchmarks/boosting [--quick]``.

Accuracy (and AUC) or RMSE by 5-fold cross-validation at five epsilons: our defaults,
the papers' modes, models without privacy, and peers. All get the same folds:
StratifiedKFold or KFold(5, shuffle=True, random_state=0). Noise is simulated.

Every fit is a line of JSON in the results file as soon as it is done; a line that is
there is not measured again, so a run can be stopped and taken up.

Peers live in environments of their own (the requirements files here): name their
interpreters with --ebm, --forest and --xgboost, or in DISCRETO_EBM_PYTHON and so on.
Without them they are left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import report
from candidates import PLAIN, PRIVATE
from peer_runs import run_peer
from results import Results, score
from tables import OTHERS, SETS, Table, read

PEERS = ("ebm", "forest", "xgboost")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
QUICK = {"epsilons": (1.0,), "folds": 2, "seeds": 1, "rows": 10_000, "settings": 2}


def measure(table: Table, options: argparse.Namespace, results: Results) -> None:
    """Run everybody who lives in this interpreter."""
    rounds = [(name, run, EPSILONS, options.seeds) for name, run in PRIVATE.items()]
    rounds += [(name, run, (0.0,), 1) for name, run in PLAIN.items()]
    for name, run, epsilons, seeds in rounds:
        if options.model and name not in options.model:
            continue
        if epsilons != (0.0,):
            epsilons = options.epsilons
        try:
            _all_fits(table, name, run, epsilons, seeds, options, results)
        except (AttributeError, ImportError) as error:
            print(f"{table.name}: {name} is left out: {error}", file=sys.stderr)


def _all_fits(
    table: Table,
    name: str,
    run: Any,
    epsilons: tuple[float, ...],
    seeds: int,
    options: argparse.Namespace,
    results: Results,
) -> None:
    for epsilon in epsilons:
        for seed in range(seeds):
            for fold, train, test in table.folds(options.folds):
                line = {"data": table.name, "rows": len(table.y), "model": name}
                line |= {"epsilon": epsilon, "fold": fold, "seed": seed}
                if results.has(line):
                    continue
                start = time.perf_counter()
                found = run(table, train, test, epsilon, 1000 * seed + fold)
                seconds = round(time.perf_counter() - start, 2)
                scores = score(found, table.numbers()[test], table.regression)
                results.add(line | scores | {"seconds": seconds})


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one epsilon, 2 folds")
    parser.add_argument(
        "--data", nargs="+", choices=[*SETS, *OTHERS], default=list(SETS)
    )
    parser.add_argument("--model", nargs="+", help="only these candidates")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3, help="noise seeds of each fold")
    parser.add_argument("--rows", type=int, help="no more rows than this")
    parser.add_argument("--settings", type=int, default=99, help="settings of DP-EBM")
    parser.add_argument(
        "--search",
        type=int,
        default=2,
        help="folds that all settings get, not the best",
    )
    parser.add_argument("--results", type=Path, default=Path("boosting.jsonl"))
    for peer in PEERS:
        known = os.environ.get(f"DISCRETO_{peer.upper()}_PYTHON")
        parser.add_argument(f"--{peer}", default=known, help="its interpreter")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    return options


def main() -> None:
    """Measure what is missing, then print the tables."""
    options = arguments()
    results = Results(options.results)
    for name in options.data:
        table = read(name, options.rows)
        measure(table, options, results)
        for what in PEERS:
            python = getattr(options, what)
            if python:
                run_peer(table, what, python, options, results)
            else:
                print(f"{name}: {what} is left out: no --{what} PYTHON given.")
        print(report.table(name, len(table.y), results.lines), flush=True)


if __name__ == "__main__":
    main()
