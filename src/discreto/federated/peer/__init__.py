"""Learning without a coordinator: a process for each silo of a graph."""

from discreto._old_names import moved

__getattr__ = moved(__name__, "discreto.federated.peer.peer")
