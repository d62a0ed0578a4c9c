"""Hand a table to a peer in another environment, and collect its scores."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from results import Results
from tables import Table

from discreto import Category

HERE = Path(__file__).parent


def run_peer(
    table: Table, what: str, python: str, options: argparse.Namespace, results: Results
) -> None:
    """Run ``peers.py`` with another interpreter; say so if that fails."""
    with tempfile.TemporaryDirectory() as name:
        _write(table, Path(name), options, results)
        command = [python, str(HERE / "peers.py"), name, what]
        plain = {"OMP_NUM_THREADS": "1", "PATH": os.environ.get("PATH", "")}
        try:
            peer = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env=plain
            )
        except OSError as error:
            print(f"{table.name}: {what} is left out: {error}", file=sys.stderr)
            return
        for text in peer.stdout or ():
            facts = {"data": table.name, "rows": len(table.y)}
            results.add(facts | json.loads(text))
        if peer.wait():
            print(f"{table.name}: {what} failed, see above.", file=sys.stderr)


def _write(
    table: Table, folder: Path, options: argparse.Namespace, results: Results
) -> None:
    places = np.full(len(table.y), -1)
    for fold, _, test in table.folds():
        places[test] = fold
    np.savez(folder / "table.npz", X=table.codes(), y=table.numbers(), fold=places)
    text = json.dumps(_facts(table, options, results))
    (folder / "facts.json").write_text(text, encoding="utf-8")


def _facts(
    table: Table, options: argparse.Namespace, results: Results
) -> dict[str, Any]:
    kinds: list[str] = []
    bounds: list[Any] = []
    sizes: list[int] = []
    for name in table.X.columns:
        column = table.domain[name]
        if isinstance(column, Category):
            kinds.append("nominal")
            bounds.append(None)
            sizes.append(len(column.categories))
        else:
            number = table.domain.number(name)
            kinds.append("continuous")
            bounds.append([number.lower, number.upper])
            sizes.append(0)
    goal = None
    if table.regression:
        number = table.domain.number(table.target)
        goal = [number.lower, number.upper]
    size = len(table.y)
    mine = [x for x in results.lines if (x["data"], x["rows"]) == (table.name, size)]
    return {
        "kinds": kinds,
        "bounds": bounds,
        "sizes": sizes,
        "target_bounds": goal,
        "regression": table.regression,
        "folds": options.folds,
        "settings": options.settings,
        "epsilons": options.epsilons,
        "search": min(options.search, options.folds),
        "done": mine,
    }
