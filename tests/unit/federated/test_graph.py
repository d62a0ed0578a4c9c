"""Graphs of silos and their mixing matrices."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from discreto.errors import ParameterError
from discreto.federated import TOPOLOGIES, Mixing, topology
from discreto.federated.graph import adjacency

SEVEN = topology("seven", 7)
# The thesis' matrix for alpha = 1/3 as it is printed: rows 3 and 5 are wrong.
PRINTED = (
    np.array(
        [
            [0, 1, 1, 0, 0, 1, 0],
            [1, 1, 1, 0, 0, 0, 0],
            [1, 1, 1, 0, 1, 0, 0],
            [0, 0, 1, 0, 1, 0, 1],
            [0, 0, 0, 1, 1, 0, 0],
            [1, 0, 0, 0, 0, 1, 1],
            [0, 0, 0, 1, 0, 1, 1],
        ]
    )
    / 3
)


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("nodes", [5, 7, 12])
def test_every_topology_mixes_to_the_mean(name, nodes):
    nodes = {"five": 5, "seven": 7}.get(name, nodes)
    degree = 2 if nodes % 2 else 3
    graph = topology(name, nodes, degree=degree, seed=1)
    assert graph.number_of_nodes() == nodes
    assert nx.is_connected(graph)
    for mixing in (Mixing.metropolis(graph), Mixing.constant(graph)):
        values = np.random.default_rng(0).normal(size=nodes)
        found = np.linalg.matrix_power(mixing.matrix, 400) @ values
        assert np.allclose(found, values.mean())
        off = mixing.matrix * (1 - adjacency(graph)) - np.diag(np.diag(mixing.matrix))
        assert np.abs(off).max() < 1e-12


def test_the_matrices_of_the_thesis():
    metropolis = Mixing.metropolis(SEVEN)
    assert np.allclose(metropolis.matrix[0], [0.25, 0.25, 0.25, 0, 0, 0.25, 0])
    assert np.allclose(np.diag(metropolis.matrix)[4:], [0.75, 5 / 12, 5 / 12])
    third = Mixing.constant(SEVEN, 1 / 3)
    assert np.allclose(third.matrix[2], [1 / 3, 1 / 3, 0, 1 / 3, 0, 0, 0])
    assert round(1 - metropolis.second, 3) == 0.166
    assert round(1 - third.second, 3) == 0.216
    assert not third.negative
    assert Mixing.constant(SEVEN).negative
    five = Mixing.metropolis(topology("five", 5)).matrix
    assert np.allclose(np.diag(five), [0.25, 0.5, 0.25, 5 / 12, 5 / 12])
    with pytest.raises(ParameterError, match=r"\[3, 5\]"):
        Mixing(PRINTED)


def test_alpha_is_checked_and_the_best_one_is_best():
    for alpha in (0, -0.1, 0.43, float("nan"), "fast"):
        with pytest.raises(ParameterError, match="alpha"):
            Mixing.constant(SEVEN, alpha)
    best = Mixing.constant(SEVEN).second
    assert all(Mixing.constant(SEVEN, a).second >= best for a in (0.2, 1 / 3, 0.4))
    # The usual condition allows alpha = 1 / largest degree: it swaps forever.
    with pytest.raises(ParameterError):
        Mixing.constant(topology("ring", 2), 1.0)
    with pytest.raises(ParameterError):
        Mixing.constant(topology("ring", 6), 0.5)


@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0, 0.0], [0.0, 1.0]],
        [[0.0, 1.0], [1.0, 0.0]],
        [[0.5, 0.5], [0.4, 0.6]],
        [[0.5, 0.5, 0], [0.2, 0.5, 0.3], [0.3, 0, 0.7]],
        [[0.5, 0.5]],
        [[np.nan, 1], [1, 0]],
        "W",
    ],
)
def test_bad_matrices_are_refused(matrix):
    with pytest.raises(ParameterError):
        Mixing(matrix)


def test_graphs_must_be_connected():
    loose = nx.Graph([(0, 1), (2, 3)])
    for make in (Mixing.metropolis, Mixing.constant):
        with pytest.raises(ParameterError, match="not connected"):
            make(loose)
    with pytest.raises(ParameterError):
        Mixing.metropolis(np.eye(3))
    with pytest.raises(ParameterError):
        Mixing.metropolis(nx.Graph())


def test_names_and_sizes_are_checked():
    for name, nodes, degree in [
        ("cube", 8, 3),
        ("seven", 6, 3),
        ("ring", 0, 3),
        ("regular", 7, 3),
        ("regular", 5, 7),
        ("regular", 6, 1),
    ]:
        with pytest.raises(ParameterError):
            topology(name, nodes, degree=degree)
    assert topology("random", 9, seed=4).edges == topology("random", 9, seed=4).edges


def test_chebyshev_mixes_better_than_repeating():
    mixing = Mixing.metropolis(SEVEN)
    for mixes in (2, 5, 9):
        quick = np.abs(mixing.power(mixes) - 1 / 7).max()
        plain = np.abs(np.linalg.matrix_power(mixing.matrix, mixes) - 1 / 7).max()
        assert quick < plain
        assert np.allclose(mixing.power(mixes).sum(axis=1), 1)
    assert np.array_equal(mixing.power(1), mixing.matrix)
    with pytest.raises(ParameterError):
        mixing.power(0)


def test_weight_of_those_who_are_silent_stays_at_home():
    mixing = Mixing.metropolis(SEVEN)
    alive = np.ones(7, dtype=bool)
    for place in range(7):
        line = mixing.line(place, alive)
        assert list(line) == sorted(line)
        assert all(line[j] == mixing.matrix[place, j] for j in line)
        assert sorted(set(line) - {place}) == sorted(SEVEN[place])
    alive[3] = False
    line = mixing.line(2, alive)
    assert list(line) == [0, 1, 2]
    assert line[2] == 1 - (line[0] + line[1])
    assert mixing.line(4, alive) == {4: 1.0}  # it has nobody else


def test_optimal_weights_are_the_fastest():
    """As fast as the best constant where all edges are alike; never slower."""
    for name, nodes in (("ring", 6), ("ring", 7), ("complete", 5), ("star", 6)):
        graph = topology(name, nodes)
        best, constant = Mixing.optimal(graph), Mixing.constant(graph)
        assert best.second == pytest.approx(constant.second, abs=1e-3)
    best = Mixing.optimal(SEVEN)
    assert best.second < Mixing.constant(SEVEN).second - 0.015
    edges, coins = np.argwhere(np.triu(adjacency(SEVEN))), np.random.default_rng(0)
    for size in (1e-1, 1e-2):
        for _ in range(200):
            other = best.matrix.copy()
            for (i, j), move in zip(edges, coins.normal(0, size, 8), strict=True):
                other[i, j] = other[j, i] = other[i, j] + move
                other[i, i] -= move
                other[j, j] -= move
            values = np.linalg.eigvalsh(other - 1 / 7)
            assert np.abs(values).max() > best.second - 1e-4


@pytest.mark.parametrize("weight", np.linspace(0.05, 0.95, 10))
def test_optimal_weights_of_a_path_by_trying_all(weight):
    path = nx.Graph([(0, 1), (1, 2)])
    best = Mixing.optimal(path).second
    for other in np.linspace(0.05, 0.95, 40):
        laplacian = np.array(
            [
                [weight, -weight, 0],
                [-weight, weight + other, -other],
                [0, -other, other],
            ]
        )
        values = np.linalg.eigvalsh(np.eye(3) - laplacian - 1 / 3)
        assert np.abs(values).max() >= best - 1e-4


def test_nodes_of_any_name():
    graph = nx.Graph([("a", "b"), ("b", "c")])
    assert np.allclose(Mixing.metropolis(graph).matrix.sum(axis=0), 1)
    mixed = nx.Graph([("a", 1), (1, (2, 3))])
    assert adjacency(mixed).sum() == 4
