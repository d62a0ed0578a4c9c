"""S2, table 1: sensitivities and budgets of five boosting algorithms, computed.

From the rules follow the noise and what one row can really do, which is searched for
rather than taken from a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreto.lab.study.boosting_budgets import RULES
from discreto.lab.study.experiment import Experiment, ResultTable, StudyFinding
from discreto.lab.study.results import Results
from discreto.text.language import mark

DEPTH, TREES, LAMBDA, EPSILON = 6, 50, 0.1, 1.0  # the settings of S2's experiments
ATTRIBUTES = 8  # of Abalone, for the rule that counts them


def reach_of_gain(lam: float) -> tuple[float, float]:
    """The least and most that one row with a gradient of at most 1 adds to a gain."""
    n, sums, g = _search()
    change = (sums + g) ** 2 / (n + 1 + lam) - np.where(n, sums**2 / (n + lam), 0.0)
    return float(change.min()), float(change.max())


def reach_of_leaf(lam: float) -> float:
    """The most by which one row moves the value of a leaf."""
    n, sums, g = _search()
    change = (sums + g) / (n + 1 + lam) - np.where(n, sums / (n + lam), 0.0)
    return float(np.abs(change).max())


def _search() -> tuple[Any, Any, Any]:
    """Leaves of n rows, their sums of gradients, and the gradient of one row more."""
    counts = np.unique(np.r_[0:50, np.geomspace(50, 1e6, 400).astype(int)])
    shares, gradients = np.linspace(-1, 1, 41), np.linspace(-1, 1, 41)
    n, share, g = np.meshgrid(counts, shares, gradients, indexing="ij")
    return n, n * share, g


def _cells(quick: bool) -> list[dict[str, Any]]:
    return [
        {"rule": rule, "neighbours": relation}
        for rule in RULES
        for relation in ("add-remove", "replace")
    ]


def _measure(*, rule: str, neighbours: str) -> dict[str, Any]:
    mine = RULES[rule](DEPTH, ATTRIBUTES, LAMBDA)
    trees = 1 if mine.apart else TREES  # that one row is in
    epsilon = EPSILON / trees
    # Replacing a row is removing one and adding another, in one leaf or in two.
    times = 1 if neighbours == "add-remove" else 2
    least, most = reach_of_gain(LAMBDA)
    leaf = reach_of_leaf(LAMBDA)
    gain = max(-least, most) if neighbours == "add-remove" else most - least
    # A choice depends on differences of gains, so the width of the change counts.
    weight, scale = mine.weight(epsilon), mine.scale(epsilon)
    of_path = DEPTH * weight * (most - least) * times + leaf * times / scale
    return {
        "gain sensitivity": mine.gain,
        "true gain sensitivity": gain if mine.gain else None,
        "leaf sensitivity": mine.leaf,
        "true leaf sensitivity": leaf * times,
        "ε of a node": mine.node * epsilon,
        "ε of a leaf": mine.tip * epsilon,
        "leaf noise": scale,
        "weight of gain": weight,
        "true ε": trees * of_path,
        "categories": mine.categories,
    }


COLUMNS = (
    "gain sensitivity",
    "true gain sensitivity",
    "leaf sensitivity",
    "true leaf sensitivity",
    "ε of a node",
    "ε of a leaf",
    "leaf noise",
    "weight of gain",
    "true ε",
)


def _tables(results: Results) -> Iterator[ResultTable]:
    for relation in results.unique("neighbours"):
        rows = [
            (
                row["rule"],
                *(row[name] for name in COLUMNS),
                "yes" if row["categories"] else "no",
            )
            for row in results.where(neighbours=relation)
        ]
        yield ResultTable(
            f"table-1-{relation}",
            f"Sensitivities and budgets at ε = {EPSILON:g}, neighbours {relation}",
            ("algorithm", *COLUMNS, "categories"),
            tuple(rows),
            f"Depth {DEPTH}, {TREES} trees, λ {LAMBDA:g}, {ATTRIBUTES} attributes, "
            "gradients of at most 1. True sensitivities are searched for. The true ε "
            "supposes public split points, a noisy value in every leaf and, where "
            "trees have rows of their own, that each row picks its tree by itself. The "
            "source prints ε/h for a node of Zhao 2018, which would add up to more "
            "than ε; ε/2h is taken.",
        )


def _findings(results: Results) -> Iterator[StudyFinding]:
    add = results.where(neighbours="add-remove")
    gain = add.where(rule="DPBoost").rows[0]
    yield StudyFinding(
        "the gain has sensitivity 3 and a leaf 1/(1+λ)",
        f"searched: {gain['true gain sensitivity']:.3f} and "
        f"{gain['true leaf sensitivity']:.3f} (1/(1+λ) is {1 / (1 + LAMBDA):.3f})",
        agrees=bool(
            2.99 < gain["true gain sensitivity"] <= 3
            and abs(gain["true leaf sensitivity"] - 1 / (1 + LAMBDA)) < 1e-6
        ),
    )
    yield StudyFinding(
        "every algorithm of the table spends ε when a row is added or removed",
        _listed(add),
        agrees=bool(max(row["true ε"] for row in add) <= EPSILON),
        why="Less than ε is noise that buys nothing: the exponential mechanism needs "
        "only the width of a change of the gain, 4, where 2 · 3 is printed.",
    )
    replace = results.where(neighbours="replace")
    yield StudyFinding(
        "the same when a row is replaced",
        _listed(replace),
        agrees=bool(max(row["true ε"] for row in replace) <= EPSILON),
        expected=False,
        why="A row that is replaced leaves one path and enters another.",
    )


def _listed(results: Results) -> str:
    return ", ".join(f"{row['rule']} {row['true ε']:.2f}" for row in results)


EXPERIMENTS = (
    Experiment(
        name="s2-table-1",
        title=mark("Sensitivities and budgets of five boosting algorithms"),
        source="S2, table 1",
        shows=mark(
            "Printed sensitivities and shares of ε of two earlier works, DPBoost and "
            "the two algorithms of the paper."
        ),
        cells=_cells,
        measure=_measure,
        repeats=(),
        tables=_tables,
        findings=_findings,
    ),
)
