"""Learning across silos that keep their rows: every silo is a gate of its own.

A :class:`Silo` answers JSON messages with releases, by its owner's :class:`Policy`. A
:class:`Federation` talks to silos and fits a learner; :class:`FederatedTable` lets the
models of :mod:`discreto.models` run on the sum of the silos' releases. A :class:`Peer`
learns with its neighbours on a graph, without a coordinator. ``simulate``
plays a run with public data, all silos, rounds and seeds at once.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what __getattr__ loads when it is first asked for
    from discreto.federated.federation import Channel, Federation
    from discreto.federated.graph import TOPOLOGIES, Mixing, Neighbourhood, topology
    from discreto.federated.graph_learning import GraphLearning
    from discreto.federated.guarantee import Guarantee, client_level
    from discreto.federated.learners import FederatedAveraging
    from discreto.federated.messages import Terms
    from discreto.federated.model import FederatedModel
    from discreto.federated.peer.peer import Peer
    from discreto.federated.policy import Policy
    from discreto.federated.proximal_point import ProximalPoint
    from discreto.federated.silo import Silo
    from discreto.federated.simulation import Result, simulate
    from discreto.federated.table import FederatedTable

# Where each name is. A silo's process often starts for one message: it must not load
# what coordinators need, which is every model.
_NAMES = {
    "Channel": "discreto.federated.federation",
    "FederatedAveraging": "discreto.federated.learners",
    "FederatedModel": "discreto.federated.model",
    "FederatedTable": "discreto.federated.table",
    "Federation": "discreto.federated.federation",
    "GraphLearning": "discreto.federated.graph_learning",
    "Guarantee": "discreto.federated.guarantee",
    "Mixing": "discreto.federated.graph",
    "Neighbourhood": "discreto.federated.graph",
    "Peer": "discreto.federated.peer.peer",
    "Policy": "discreto.federated.policy",
    "ProximalPoint": "discreto.federated.proximal_point",
    "Result": "discreto.federated.simulation",
    "Silo": "discreto.federated.silo",
    "TOPOLOGIES": "discreto.federated.graph",
    "Terms": "discreto.federated.messages",
    "client_level": "discreto.federated.guarantee",
    "simulate": "discreto.federated.simulation",
    "topology": "discreto.federated.graph",
}

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


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'discreto.federated' has no attribute {name!r}")
    found = getattr(importlib.import_module(_NAMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
