"""Graphs of silos: who talks to whom, and with what weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreto.errors import ParameterError
from discreto.plots.style import BLUE, GREY, INK, Display
from discreto.text.language import number


@dataclass(repr=False)
class TopologyDisplay(Display):
    """Nodes on a circle, edges between them, the weights of a mixing matrix on edges.

    Parameters
    ----------
    weights
        A square matrix; an entry that is not 0 is an edge. The diagonal (what a node
        keeps of its own) is written into the node when ``numbers`` is set.
    labels
        The names of the nodes.
    positions
        Two coordinates for each node; on a circle by default.
    numbers
        Whether weights are written on edges and nodes.
    title
        Stands above the picture.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    weights: NDArray[Any]
    labels: Sequence[str]
    positions: NDArray[Any]
    numbers: bool = True
    title: str = ""
    simulated: bool = False
    size = (4.6, 4.4)

    @classmethod
    def from_matrix(
        cls,
        matrix: ArrayLike,
        *,
        labels: Sequence[Any] | None = None,
        positions: ArrayLike | None = None,
        numbers: bool = True,
        title: str = "",
    ) -> TopologyDisplay:
        """Make a display from a mixing matrix or an adjacency matrix.

        Parameters
        ----------
        matrix
            A square matrix.
        labels
            The names of the nodes; by default 1, 2, ...
        positions
            Two coordinates for each node; on a circle by default.
        numbers
            Whether weights are written on edges and nodes.
        title
            Stands above the picture.
        """
        weights = np.asarray(matrix, dtype=float)
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
            raise ParameterError(
                f"a topology needs a square matrix. Got shape {weights.shape}."
            )
        nodes = len(weights)
        names = [str(n) for n in (range(1, nodes + 1) if labels is None else labels)]
        if len(names) != nodes:
            raise ParameterError(
                f"{nodes} nodes need {nodes} labels. Got {len(names)}."
            )
        places = _circle(nodes) if positions is None else np.asarray(positions, float)
        return cls(weights, names, places, numbers, title)

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        *,
        mixing: ArrayLike | None = None,
        positions: Mapping[Any, Sequence[float]] | None = None,
        title: str = "",
    ) -> TopologyDisplay:
        """Make a display from a networkx graph, and the weights of a mixing matrix.

        Parameters
        ----------
        graph
            A networkx graph.
        mixing
            A mixing matrix, its lines in the order of ``graph.nodes``.
        positions
            Two coordinates for each node; on a circle by default.
        title
            Stands above the picture.
        """
        nodes = list(graph.nodes)
        place = {node: i for i, node in enumerate(nodes)}
        matrix = np.zeros((len(nodes), len(nodes)))
        for a, b in graph.edges:
            matrix[place[a], place[b]] = matrix[place[b], place[a]] = 1
        where = None if positions is None else [positions[node] for node in nodes]
        return cls.from_matrix(
            matrix if mixing is None else mixing,
            labels=nodes,
            positions=where,
            numbers=mixing is not None,
            title=title,
        )

    def _draw(self, ax: Any) -> None:
        nodes = len(self.weights)
        largest = max(
            float(np.abs(self.weights - np.diag(np.diag(self.weights))).max()), 1e-12
        )
        for a in range(nodes):
            for b in range(a + 1, nodes):
                weight = max(self.weights[a, b], self.weights[b, a], key=abs)
                if weight:
                    self._edge(ax, a, b, float(weight), largest)
        ax.scatter(
            *self.positions.T,
            s=620,
            color="white",
            edgecolors=BLUE,
            linewidths=1.8,
            zorder=3,
        )
        for i, (x, y) in enumerate(self.positions):
            own = self.weights[i, i] if self.numbers else 0
            text = f"{self.labels[i]}\n{number(own, '.2g')}" if own else self.labels[i]
            ax.text(
                x,
                y,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color=INK,
                zorder=4,
            )
        ax.margins(0.16)
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title(self.title, fontsize=10, color=INK)

    def _edge(self, ax: Any, a: int, b: int, weight: float, largest: float) -> None:
        (x0, y0), (x1, y1) = self.positions[a], self.positions[b]
        wide = 0.6 + 2.4 * abs(weight) / largest if self.numbers else 1.4
        ax.plot([x0, x1], [y0, y1], color=GREY, linewidth=wide, zorder=1)
        if self.numbers:
            # A third along: in the middle the numbers of crossing edges meet.
            x, y = x0 + (x1 - x0) * 0.36, y0 + (y1 - y0) * 0.36
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            ax.text(
                x,
                y,
                number(weight, ".2g"),
                ha="center",
                va="center",
                fontsize=7.5,
                color=INK,
                bbox=box,
                zorder=2,
            )


def _circle(nodes: int) -> NDArray[Any]:
    turns = np.pi / 2 - 2 * np.pi * np.arange(nodes) / max(nodes, 1)
    return np.column_stack([np.cos(turns), np.sin(turns)])
