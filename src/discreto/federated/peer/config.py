"""A node of a graph as its owner writes it down: the silo's file with [peer].

::

    data = "patients.parquet"       # ... the rest as for any silo

    [https]
    certificate = "north.crt"
    private_key = "north.key"
    authority = "federation.crt"
    port = 8443

    [peer]
    name = "north"                  # as in its certificate
    run = "days 2026"               # this and all up to patience: as all nodes have it
    nodes = ["north", "south", "east"]
    second = 0.25                   # of the whole matrix; see `discreto peer rows`
    epsilon = 1
    delta = "1e-5"
    target = "days"
    rounds = 50
    mixes = 5
    final_mixes = 20
    robust = "none"                 # or "median", "trimmed", "bounded"
    hostile = 1
    patience = 30                   # seconds for a neighbour, and for all to gather
    gather = 600
    state = "days.state.json"

    [peer.weights]                  # this node's own row; it adds up to 1
    north = 0.5
    south = 0.5

    [peer.neighbours]
    south = "https://south.example.org:8443"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreto.errors import ParameterError
from discreto.federated.config import HttpsWire, read_file, read_silo
from discreto.federated.graph import Neighbourhood
from discreto.federated.graph_learning import GraphLearning
from discreto.federated.https import Certificates, HttpsLink, place_of
from discreto.federated.peer.identity import Identity
from discreto.federated.peer.peer import Peer
from discreto.text.toml_config import read_section

_LEARNER = (
    "epsilon",
    "delta",
    "rounds",
    "learning_rate",
    "clip",
    "mixes",
    "final_mixes",
    "robust",
    "hostile",
)


@dataclass(frozen=True)
class PeerPlan:
    """The [peer] section of a file.

    Parameters
    ----------
    name, nodes, second, weights
        See ``Neighbourhood``.
    neighbours
        The address of each neighbour.
    run, target, state, patience, gather, count_epsilon
        See ``Peer``.
    epsilon, delta, rounds, learning_rate, clip, mixes, final_mixes, robust, hostile
        See ``GraphLearning``.
    """

    name: str
    run: str
    nodes: tuple[str, ...]
    epsilon: Any
    weights: Mapping[str, float]
    neighbours: Mapping[str, str]
    second: float = 0.0
    delta: Any = "1e-5"
    target: str | None = None
    rounds: int = 50
    learning_rate: float | None = None
    clip: float | None = None
    mixes: int = 5
    final_mixes: int = 20
    robust: Any = "none"
    hostile: int = 1
    patience: float = 30.0
    gather: float = 600.0
    state: str = ""
    count_epsilon: Any = None

    def learner(self) -> GraphLearning:
        """Return the learner that all nodes have agreed on."""
        return GraphLearning(**{name: getattr(self, name) for name in _LEARNER})


def read_plan(path: str | Path) -> tuple[PeerPlan, HttpsWire]:
    """Return the sections [peer] and [https]; refuse parts that do not fit."""
    said, folder = read_file(path), Path(path).absolute().parent
    wire = said.https
    if not said.peer or wire is None:
        raise ParameterError(f"{str(path)!r} needs the sections [peer] and [https].")
    plan = read_section(PeerPlan, said.peer, "[peer]", folder, "peer")
    near = neighbourhood_of(plan)
    if set(near.neighbours) != set(plan.neighbours):
        raise ParameterError(
            "a node needs a weight and an address for each neighbour: weights are "
            f"for {', '.join(near.neighbours)}, addresses for "
            f"{', '.join(plan.neighbours)}."
        )
    for name, address in plan.neighbours.items():
        place_of(name, address)
    return plan, wire


def neighbourhood_of(plan: PeerPlan) -> Neighbourhood:
    """Return the node's own row."""
    return Neighbourhood(plan.name, plan.weights, plan.nodes, plan.second)


def read_peer(path: str | Path) -> Peer:
    """The node that a TOML file describes; its ledger is made if there is none."""
    plan, wire = read_plan(path)
    files = Certificates(wire.certificate, wire.private_key, wire.authority)
    folder = Path(path).absolute().parent
    return Peer(
        read_silo(path),
        neighbourhood_of(plan),
        plan.learner(),
        run=plan.run,
        target=plan.target,
        state=folder / (plan.state or f"{Path(path).stem}.state.json"),
        patience=plan.patience,
        gather=plan.gather,
        count_epsilon=plan.count_epsilon,
        identity=Identity.read(files),
    )


def lines_of(plan: PeerPlan, wire: HttpsWire) -> dict[str, HttpsLink]:
    """Return a line to each neighbour, who must show its own certificate."""
    files = Certificates(wire.certificate, wire.private_key, wire.authority)
    context = files.context(server=False)
    return {
        name: HttpsLink(
            place_of(name, address), context, timeout=plan.patience, name=name
        )
        for name, address in plan.neighbours.items()
    }
