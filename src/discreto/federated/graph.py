"""Who talks to whom, and by how much each neighbour's word counts.

A mixing matrix W is symmetric, its rows add up to 1, and entries are not 0 only along
edges. Mixing leads to the mean if, and only if, every other eigenvalue is below 1 in
absolute value; that is stricter than the usual condition on ``I - alpha L``, which
lets a two-node graph swap its values forever.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreto.core.query import Floats
from discreto.errors import MissingExtraError, ParameterError
from discreto.federated.edge_weights import fastest_matrix
from discreto.session.parameters import number, whole
from discreto.session.rng import Seed, generator
from discreto.text.install_commands import install_command

# The graphs of figures 4.10 and 4.11 of the thesis this follows, nodes from 0.
_FIVE = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 0)]
_SEVEN = [(0, 1), (0, 2), (0, 5), (1, 2), (2, 3), (3, 4), (3, 6), (5, 6)]
TOPOLOGIES = ("ring", "star", "complete", "grid", "regular", "random", "five", "seven")


def topology(name: str, nodes: int, *, degree: int = 3, seed: Seed = 0) -> Any:
    """Return a connected networkx graph by name.

    ``regular``: every node has ``degree`` neighbours, at random. ``random``: Erdos and
    Renyi's graph with ``degree`` neighbours on average, made connected by a ring if
    need be. ``five`` and ``seven`` are the thesis' own. ``seed`` is for public random
    numbers.

    Parameters
    ----------
    name
        One of ``TOPOLOGIES``.
    nodes
        How many silos.
    degree
        Neighbours of a node in ``regular`` and ``random`` graphs.
    seed
        Seed of the public random generator.

    Examples
    --------
    >>> sorted(dict(topology("seven", 7).degree).values())
    [1, 2, 2, 2, 3, 3, 3]
    """
    nx = _networkx()
    if name not in TOPOLOGIES:
        raise ParameterError(
            f"topology must be one of {', '.join(TOPOLOGIES)}, or a networkx graph. "
            f"Got {name!r}."
        )
    nodes = whole(nodes, "nodes")
    fixed = {"five": (5, _FIVE), "seven": (7, _SEVEN)}
    if name in fixed:
        size, edges = fixed[name]
        if nodes != size:
            raise ParameterError(f"topology {name!r} has {size} nodes, not {nodes}.")
        return nx.Graph(edges)
    if name == "grid":
        side = max(d for d in range(1, int(nodes**0.5) + 1) if nodes % d == 0)
        grid = nx.grid_2d_graph(side, nodes // side)
        return nx.convert_node_labels_to_integers(grid, ordering="sorted")
    if name in ("ring", "star", "complete"):
        make = {"ring": nx.cycle_graph, "complete": nx.complete_graph}.get(name)
        graph = nx.star_graph(nodes - 1) if make is None else make(nodes)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        return graph
    return _at_random(nx, name, nodes, degree, int(generator(seed).integers(2**31)))


def _at_random(nx: Any, name: str, nodes: int, degree: int, seed: int) -> Any:
    whole(degree, "degree", most=nodes - 1)
    if name == "regular":
        if nodes * degree % 2 or (degree == 1 and nodes > 2):
            raise ParameterError(
                f"no connected graph has {nodes} nodes with {degree} neighbours each."
            )
        for attempt in range(100):
            graph = nx.random_regular_graph(degree, nodes, seed=seed + attempt)
            if nx.is_connected(graph):
                return graph
        raise ParameterError("no connected graph was found. Take a larger degree.")
    graph = nx.gnp_random_graph(nodes, degree / (nodes - 1), seed=seed)
    if not nx.is_connected(graph):
        graph.add_edges_from(nx.cycle_graph(nodes).edges)
    return graph


@runtime_checkable
class Graph(Protocol):
    """The part of a networkx graph that mixing needs."""

    nodes: Any
    edges: Any
    number_of_nodes: Any
    to_undirected: Any


@dataclass(frozen=True)
class Mixing:
    """A checked mixing matrix.

    Make one with :meth:`metropolis`, :meth:`constant`, or from a matrix of your own.

    Parameters
    ----------
    matrix
        Square, symmetric; its rows add up to one.
    """

    matrix: Floats

    def __post_init__(self) -> None:
        try:
            matrix = np.array(self.matrix, dtype=float)
        except (TypeError, ValueError):
            raise ParameterError("a mixing matrix is a square of numbers.") from None
        object.__setattr__(self, "matrix", matrix)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
        if not square or not np.isfinite(matrix).all():
            raise ParameterError("a mixing matrix is a square of finite numbers.")
        for sums, what in ((matrix.sum(1), "rows"), (matrix.sum(0), "columns")):
            bad = np.flatnonzero(np.abs(sums - 1) > 1e-9)
            if bad.size:
                raise ParameterError(
                    f"the {what} of a mixing matrix add up to 1. Those of "
                    f"{(bad + 1).tolist()} (counted from 1) do not."
                )
        if np.abs(matrix - matrix.T).max() > 1e-9:
            i, j = np.unravel_index(np.abs(matrix - matrix.T).argmax(), matrix.shape)
            raise ParameterError(
                f"a mixing matrix is symmetric. Entries ({i + 1}, {j + 1}) and "
                f"({j + 1}, {i + 1}) differ."
            )
        if self.second >= 1 - 1e-12:
            raise ParameterError(
                "mixing with this matrix never reaches the mean: its second largest "
                f"eigenvalue in absolute value is {self.second:.4g}. The graph must "
                "be connected, and alpha below 2 / the largest eigenvalue of L."
            )

    @classmethod
    def metropolis(cls, graph: Any) -> Mixing:
        """Local degrees: an edge weighs 1 / (1 + the larger degree of its ends).

        Parameters
        ----------
        graph
            A networkx graph.

        Examples
        --------
        >>> Mixing.metropolis(topology("seven", 7)).matrix[5].round(3).tolist()
        [0.25, 0.0, 0.0, 0.0, 0.0, 0.417, 0.333]
        """
        edges = adjacency(graph)
        degrees = edges.sum(axis=1)
        weights = edges / (1 + np.maximum(degrees[:, None], degrees[None, :]))
        return cls(weights + np.diag(1 - weights.sum(axis=1)))

    @classmethod
    def constant(cls, graph: Any, alpha: float | None = None) -> Mixing:
        """``I - alpha L``, every edge with the same weight; by default the best alpha.

        Parameters
        ----------
        graph
            A networkx graph.
        alpha
            The weight of an edge; by default the one that mixes fastest.

        Examples
        --------
        >>> graph = topology("seven", 7)
        >>> mixing = Mixing.constant(graph)
        >>> round(mixing.second, 3), mixing.negative
        (0.756, True)
        """
        edges = adjacency(graph)
        laplacian = np.diag(edges.sum(axis=1)) - edges
        low, high = _ends(laplacian)
        if alpha is None:
            alpha = 2 / (low + high) if high else 1.0
        alpha = number(alpha, "alpha", 0, 1e300)
        if not 0 < alpha < 2 / max(high, 1e-300):
            raise ParameterError(
                f"alpha must be above 0 and below {2 / high:.4g} for this graph "
                f"({2 / (low + high):.4g} mixes fastest; up to "
                f"{1 / edges.sum(axis=1).max():.4g} no weight is negative). Got "
                f"{alpha!r}."
            )
        return cls(np.eye(len(edges)) - alpha * laplacian)

    @classmethod
    def optimal(cls, graph: Any) -> Mixing:
        """The weights that mix fastest of all, edge by edge (Xiao and Boyd 2004).

        Parameters
        ----------
        graph
            A networkx graph.

        Examples
        --------
        >>> graph = topology("seven", 7)
        >>> round(Mixing.optimal(graph).second, 3)
        0.735
        """
        edges = adjacency(graph)
        low, high = _ends(np.diag(edges.sum(axis=1)) - edges)
        return cls(fastest_matrix(edges, 2 / (low + high) if high else 1.0))

    def graph(self) -> Any:
        """Who talks to whom, as a networkx graph with nodes from 0."""
        edges = np.argwhere(np.triu(np.abs(self.matrix) > 1e-12, 1))
        graph = _networkx().empty_graph(len(self.matrix))
        graph.add_edges_from(edges.tolist())
        return graph

    @property
    def second(self) -> float:
        """The second largest eigenvalue in absolute value: the smaller the faster."""
        if len(self.matrix) == 1:
            return 0.0
        values = np.linalg.eigvalsh(self.matrix - 1 / len(self.matrix))
        return float(np.abs(values).max())

    @property
    def negative(self) -> bool:
        """True if some weight is below 0: it still mixes, but is not an average."""
        return bool((self.matrix < -1e-12).any())

    def power(self, mixes: int) -> Floats:
        """Several mixes in a row as one matrix, by Chebyshev's polynomials.

        They take as many messages as plain repetition and come closer to the mean.

        Parameters
        ----------
        mixes
            How many.
        """
        before = now = np.eye(len(self.matrix))
        for ahead, back in self.steps(mixes):
            before, now = now, ahead * (self.matrix @ now) - back * before
        return now

    def steps(self, mixes: int) -> list[tuple[float, float]]:
        """Several mixes one by one: ``next = a (W now) - b before``, as (a, b).

        Each of them needs what neighbours have now, and nothing from anybody else.

        Parameters
        ----------
        mixes
            How many.
        """
        return chebyshev(self.second, mixes)

    def line(self, place: int, present: NDArray[np.bool_]) -> dict[int, float]:
        """Return a node's own row: whose word counts how much, in the order of nodes.

        Weight given to those who are not there stays at home.

        Parameters
        ----------
        place
            The node.
        present
            For each node whether it is heard.
        """
        row = self.matrix[place].tolist()
        kept = {j: w for j, w in enumerate(row) if abs(w) > 1e-12 or j == place}
        return at_home(kept, place, {j for j in kept if present[j]})


def mixing_by_rule(graph: Any, rule: Any, alpha: float | None = None) -> Mixing:
    """Return the mixing of a graph by the name of a rule."""
    if rule == "metropolis":
        return Mixing.metropolis(graph)
    if rule == "constant":
        return Mixing.constant(graph, alpha)
    if rule == "optimal":
        return Mixing.optimal(graph)
    raise ParameterError("mixing is 'metropolis', 'constant', 'optimal' or a Mixing.")


def at_home(row: dict[Any, float], own: Any, heard: set[Any]) -> dict[Any, float]:
    """A row without those who are not heard; their weight goes to its own node."""
    left = {name: w for name, w in row.items() if name == own or name in heard}
    if len(left) < len(row):
        left[own] = 1 - math.fsum(w for name, w in left.items() if name != own)
    return left


def chebyshev(second: float, mixes: int) -> list[tuple[float, float]]:
    """Return the numbers of Chebyshev's recursion for a matrix with this eigenvalue."""
    mixes = whole(mixes, "mixes", most=10**4)
    out, ratio = [(1.0, 0.0)], second
    while len(out) < mixes:
        if second < 1e-12:
            out.append((1.0, 0.0))
            continue
        later = 1 / (2 / second - ratio)
        out.append((2 / second * later, ratio * later))
        ratio = later
    return out


def adjacency(graph: Any) -> Floats:
    """The 0/1 matrix of a networkx graph, or of a name of TOPOLOGIES and its size."""
    if not isinstance(graph, Graph):
        raise ParameterError("a graph is a networkx graph, or made by topology(...).")
    if graph.number_of_nodes() < 1:
        raise ParameterError("a graph needs at least one node.")
    order = list(graph.nodes)
    with suppress(TypeError):  # nodes of several kinds stay as they were added
        order = sorted(order)
    place = {node: i for i, node in enumerate(order)}
    out = np.zeros((len(order), len(order)))
    for a, b in graph.edges():
        if a != b:
            out[place[a], place[b]] = out[place[b], place[a]] = 1.0
    if not _networkx().is_connected(graph.to_undirected()):
        raise ParameterError(
            "this graph is not connected: some silos would never learn of others."
        )
    return out


def _ends(laplacian: Floats) -> tuple[float, float]:
    values = np.linalg.eigvalsh(laplacian)
    return (float(values[1]), float(values[-1])) if len(values) > 1 else (0.0, 0.0)


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtraError(
            f"graphs of silos need networkx: {install_command('federated')}"
        ) from None
    return networkx


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
        """Return every node's own row of a whole matrix, to set up a graph.

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
