"""Nodes that learn with their neighbours: the simulation, number by number."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from silos import LINEAR, YES_NO, federation, parts, silo

from discreto.errors import DiscretoError
from discreto.federated import GraphLearning, Mixing, simulate, topology
from discreto.federated.neighbourhood import Neighbourhood
from discreto.federated.peer import Peer
from discreto.testing import simulate as ledger_of

NAMES = [f"silo {k + 1}" for k in range(7)]
SIZES = [20, 35, 50, 20, 30, 25, 40]
SMALL = parts(3, SIZES)
CLEAR = {"epsilon": 30, "rounds": 6, "graph": "seven"}


def rows(mixing="metropolis"):
    graph = topology("seven", 7)
    return Neighbourhood.rows_of(getattr(Mixing, mixing)(graph), NAMES)


class Wires:
    """Lines between peers of this process; everything crosses as JSON text."""

    def __init__(self, peers):
        self.peers, self.cut, self.letters = peers, set(), []

    def between(self, sender, receiver):
        def ask(message):
            if (sender, receiver) in self.cut:
                return None
            self.letters.append((sender, receiver, message))
            data = json.loads(json.dumps(message))
            return json.loads(json.dumps(self.peers[receiver].answer(data, sender)))

        return ask

    def of(self, name, neighbours):
        return {other: self.between(name, other) for other in neighbours}


def together(peers, wires=None):
    """Every peer in a thread of its own; their models by name."""
    wires, models = wires or Wires(peers), {}

    def work(name, peer):
        lines = wires.of(name, peer._own.neighbours)
        try:
            models[name] = peer.learn(lines)
        except DiscretoError as error:
            models[name] = error

    threads = [threading.Thread(target=work, args=pair) for pair in peers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return models


def peers_of(learner, domain=LINEAR, *, mixing="metropolis", noise=False, **options):
    options = {"patience": 20.0, "gather": 20.0, "run": "study"} | options
    near = rows(mixing)
    return {
        name: Peer(
            silo(SMALL[k], domain, ledger_of(k, noise=noise)),
            near[name],
            learner,
            **options,
        )
        for k, name in enumerate(NAMES)
    }


@pytest.mark.parametrize("mixing", ["metropolis", "constant", "optimal"])
@pytest.mark.parametrize("domain", [LINEAR, YES_NO], ids=["linear", "logistic"])
def test_peers_equal_the_simulation_bit_for_bit(mixing, domain):
    learner = GraphLearning(**CLEAR, mixing=mixing)
    near = simulate(learner, SMALL, domain, noise=False).models[0]
    models = together(peers_of(learner, domain, mixing=mixing))
    for place, name in enumerate(NAMES):
        assert np.array_equal(models[name].path_[:, 0], near.path_[:, place])
    assert near.path_.any()


@pytest.mark.parametrize("robust", ["median", "trimmed", "bounded"])
def test_robust_peers_equal_the_simulation_too(robust):
    learner = GraphLearning(**CLEAR, robust=robust)
    near = simulate(learner, SMALL, LINEAR, noise=False).models[0]
    models = together(peers_of(learner))
    for place, name in enumerate(NAMES):
        assert np.array_equal(models[name].path_[:, 0], near.path_[:, place])


def test_with_the_same_noise_peers_equal_a_coordinator():
    """Each silo draws its own noise, in the same order, whoever mixes."""
    learner = GraphLearning(**CLEAR)
    far = federation(SMALL).fit(learner)
    models = together(peers_of(learner, noise=True))
    for place, name in enumerate(NAMES):
        assert np.array_equal(models[name].path_[:, 0], far.path_[:, place])
