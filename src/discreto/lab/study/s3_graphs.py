"""S3, section 4.3: the graphs of figures 4.6 to 4.11 and their mixing matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreto.lab.published.federated import (
    FIVE_NODES,
    PRINTED_THIRD,
    SEVEN_NODES,
    constant_weights,
    degree_weights,
)
from discreto.lab.study.experiment import Experiment, Picture, ResultTable, StudyFinding
from discreto.lab.study.figures import panels
from discreto.lab.study.results import Results
from discreto.plots import TopologyDisplay
from discreto.text.language import mark

STAR = tuple((1, node) for node in range(2, 8))  # figure 4.7: the server is node 1
FIGURES = {
    "figure 4.6": FIVE_NODES,
    "figure 4.7": STAR,
    "figure 4.8": FIVE_NODES,
    "figure 4.9": FIVE_NODES,
    "figure 4.10": FIVE_NODES,
    "figure 4.11": SEVEN_NODES,
}
WEIGHTS = {
    "example 4.2 (α = 1/6)": (5, lambda: constant_weights(FIVE_NODES, 1 / 6)),
    "example 4.3 (degrees)": (5, lambda: degree_weights(FIVE_NODES)),
    "seven nodes, degrees": (7, lambda: degree_weights(SEVEN_NODES)),
    "seven nodes, α = 1/3": (7, lambda: constant_weights(SEVEN_NODES, 1 / 3)),
    "seven nodes, α = 1/3 as printed": (7, lambda: PRINTED_THIRD),
}


def _cells(quick: bool) -> list[dict[str, Any]]:
    return [{"weights": name} for name in WEIGHTS]


def _measure(*, weights: str) -> dict[str, Any]:
    nodes, make = WEIGHTS[weights]
    matrix = make()
    sizes = np.sort(np.abs(np.linalg.eigvals(matrix)))[::-1]
    return {
        "nodes": nodes,
        "matrix": matrix.ravel(),
        "symmetric": bool(np.allclose(matrix, matrix.T)),
        "rows add up to": np.unique(np.round(matrix.sum(axis=1), 3)),
        "spectral radius": sizes[0],
        # How much of a difference between nodes is left after one exchange.
        "left after a round": sizes[1] / sizes[0],
    }


def _tables(results: Results) -> Iterator[ResultTable]:
    names = ("symmetric", "rows add up to", "spectral radius", "left after a round")
    rows = []
    for row in results:
        sums = ", ".join(f"{s:g}" for s in row["rows add up to"])
        rest = (row["spectral radius"], row["left after a round"])
        rows.append((row["weights"], "yes" if row["symmetric"] else "no", sums, *rest))
    yield ResultTable("mixing", "The mixing matrices", ("weights", *names), tuple(rows))


def _pictures(results: Results) -> Iterator[Picture]:
    figure, axes = panels(2, 3, size=(3.2, 3.0))
    for one, (name, edges) in zip(axes.flat, FIGURES.items(), strict=True):
        nodes = max(max(edge) for edge in edges)
        linked = np.zeros((nodes, nodes))
        for a, b in edges:
            linked[a - 1, b - 1] = linked[b - 1, a - 1] = 1
        labels = ["S", *map(str, range(1, nodes))] if edges is STAR else None
        TopologyDisplay.from_matrix(
            linked, labels=labels, numbers=False, title=name
        ).plot(one)
    note = (
        "S is the server. Figure 4.8 is not described in the text that was to be had; "
        "its graph is taken to be that of figure 4.6."
    )
    yield Picture("figures-4-6-to-4-11", "Who talks to whom", figure, note)
    figure, axes = panels(1, 2, size=(4.2, 4.0))
    for one, name in zip(
        axes.flat, ("seven nodes, degrees", "seven nodes, α = 1/3"), strict=True
    ):
        matrix = np.reshape(results.where(weights=name).rows[0]["matrix"], (7, 7))
        TopologyDisplay.from_matrix(matrix, title=name).plot(one)
    yield Picture("mixing", "Both mixing matrices of the graph of figure 4.11", figure)


def _findings(results: Results) -> Iterator[StudyFinding]:
    wrong = results.where(weights="seven nodes, α = 1/3 as printed").rows[0]
    yield StudyFinding(
        "the matrix for α = 1/3 is symmetric and its rows add up to 1",
        f"in the text we have its rows add up to {wrong['rows add up to']} and its "
        f"spectral radius is {wrong['spectral radius']:.3f}: models grow without end",
        agrees=bool(wrong["symmetric"] and list(wrong["rows add up to"]) == [1.0]),
        expected=False,
        why="The text is read from a scan, so two rows may be the scan's fault and not "
        "the thesis'. The matrix of the formula is right.",
    )
    gaps = {row["weights"]: row["left after a round"] for row in results}
    degrees, third = gaps["seven nodes, degrees"], gaps["seven nodes, α = 1/3"]
    yield StudyFinding(
        "α = 1/3 mixes at least as well as weights by degrees",
        f"left of a difference after a round: {third:.3f} against {degrees:.3f}",
        agrees=bool(third <= degrees),
    )


EXPERIMENTS = (
    Experiment(
        name="s3-graphs",
        title=mark("Graphs and mixing matrices"),
        source="S3, figures 4.6 to 4.11",
        shows=mark(
            "Graphs of five and seven nodes, a star, and matrices that mix on them."
        ),
        cells=_cells,
        measure=_measure,
        repeats=(),
        tables=_tables,
        pictures=_pictures,
        findings=_findings,
    ),
)
