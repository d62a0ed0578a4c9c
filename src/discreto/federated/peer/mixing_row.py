"""What one node of a graph knows: its own row of the mixing matrix, and no other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreto.errors import ParameterError
from discreto.federated.graph import Mixing
from discreto.session.parameters import number


@dataclass(frozen=True)
class Neighbourhood:
    """A node's own row of a mixing matrix.

    Parameters
    ----------
    name
        The node; the name in its certificate.
    weights
        How much its own word and that of each neighbour counts, by name. They add up
        to 1.
    nodes
        The names of all nodes. Only neighbours are talked to; the others' noisy
        moments come by way of neighbours.
    second
        The second largest eigenvalue of the whole matrix in absolute value, by which
        several mixes in a row are made faster; 0 mixes plainly.
    """

    name: str
    weights: Mapping[str, float]
    nodes: tuple[str, ...]
    second: float = 0.0

    def __post_init__(self) -> None:
        names = (self.name, *self.weights, *self.nodes)
        if not all(isinstance(one, str) and 0 < len(one) <= 100 for one in names):
            raise ParameterError("the name of a node is a text of 1 to 100 letters.")
        if len(set(self.nodes)) != len(self.nodes):
            raise ParameterError("every node has a name of its own.")
        strangers = sorted({self.name, *self.weights} - set(self.nodes))
        if strangers:
            raise ParameterError(f"{strangers[0]!r} is not among the nodes.")
        if self.name not in self.weights or len(self.weights) < 2:
            raise ParameterError(
                f"the weights of {self.name!r} need its own and that of a neighbour."
            )
        row = {
            k: number(w, f"weight of {k!r}", -10, 10) for k, w in self.weights.items()
        }
        if abs(math.fsum(row.values()) - 1) > 1e-9:
            raise ParameterError(
                f"the weights of {self.name!r} add up to {math.fsum(row.values()):.12g}"
                ", not to 1."
            )
        object.__setattr__(self, "weights", row)
        second = number(self.second, "second", 0, 1)
        if second >= 1:
            raise ParameterError("second must be below 1: else nothing is ever mixed.")

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Those to whom this node talks."""
        return tuple(name for name in self.weights if name != self.name)

    @classmethod
    def rows_of(cls, mixing: Mixing, names: Sequence[str]) -> dict[str, Neighbourhood]:
        """Every node's own row of a whole matrix, for whoever sets up a graph.

        Parameters
        ----------
        mixing
            The matrix.
        names
            The nodes, in its order.
        """
        whole = [True] * len(mixing.matrix)
        if len(names) != len(whole):
            raise ParameterError(f"this graph has {len(whole)} nodes: name them all.")
        everybody: Any = whole
        return {
            name: cls(
                name,
                {names[j]: w for j, w in mixing.line(place, everybody).items()},
                tuple(names),
                mixing.second,
            )
            for place, name in enumerate(names)
        }
