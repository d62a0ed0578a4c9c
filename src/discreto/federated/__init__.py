"""Learning across silos that keep their rows: every silo is a gate of its own.

A :class:`Silo` answers JSON messages with releases, by its owner's :class:`Policy`. A
:class:`Federation` talks to silos and fits a learner; :class:`FederatedTable` lets the
models of :mod:`discreto.models` run on the sum of the silos' releases. A :class:`Peer`
learns with its neighbours on a graph, without a coordinator. ``simulate``
plays a run with public data, all silos, rounds and seeds at once.
"""

from discreto.federated.channels import Channel
from discreto.federated.federation import Federation
from discreto.federated.graph import TOPOLOGIES, Mixing, topology
from discreto.federated.graph_learning import GraphLearning
from discreto.federated.guarantee import Guarantee, client_level
from discreto.federated.learners import FederatedAveraging
from discreto.federated.messages import Terms
from discreto.federated.model import FederatedModel
from discreto.federated.neighbourhood import Neighbourhood
from discreto.federated.peer import Peer
from discreto.federated.policy import Policy
from discreto.federated.proximal_point import ProximalPoint
from discreto.federated.silo import Silo
from discreto.federated.simulation import Result, simulate
from discreto.federated.table import FederatedTable

__all__ = [
    "TOPOLOGIES",
    "Channel",
    "FederatedAveraging",
    "FederatedModel",
    "FederatedTable",
    "Federation",
    "GraphLearning",
    "Guarantee",
    "Mixing",
    "Neighbourhood",
    "Peer",
    "Policy",
    "ProximalPoint",
    "Result",
    "Silo",
    "Terms",
    "client_level",
    "simulate",
    "topology",
]
