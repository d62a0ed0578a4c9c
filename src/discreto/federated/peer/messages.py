"""The messages between neighbours: plain JSON, like those of a coordinator.

Every message has ``"discreto": 1``, ``"kind": "peer"``, a ``plan`` (a digest of what
all nodes must agree on) and says one of these:

``where``
    Where are you? The reply ``here`` has the number of the mix that the node is at,
    its weights and their running mean, and whose moments it has.
``moments``
    Noisy second moments of rows, by the name of the node that released them, and its
    number of rows. They are passed on; the reply ``heard`` lists whose are known.
``weights``
    A node's weights at a numbered mix. They go to neighbours, who pass them on only
    mixed with their own.

Weights come in the coordinates of the sender's run (``basis`` is a digest of the
moments that made them) and on [-1, 1] columns (``home``), for those few cases in which
a neighbour missed somebody's moments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.query import Floats
from discreto.errors import ParameterError, UnsafeError
from discreto.federated.messages import VERSION, Message
from discreto.federated.updates import FARTHEST

_MOST = 1 << 62  # of a moment
_ROWS = 10**12


@dataclass(frozen=True)
class Weights:
    """Weights as one node sees them, and on [-1, 1] columns for all others."""

    basis: str
    inner: Floats
    home: Floats

    def to_dict(self) -> Message:
        """A JSON form."""
        inner, home = self.inner.tolist(), self.home.tolist()
        return {"basis": self.basis, "inner": inner, "home": home}


@dataclass(frozen=True)
class RunShape:
    """What messages of a run must look like."""

    plan: str
    nodes: tuple[str, ...]
    width: int  # of weights
    moments: int  # of moments
    ticks: int  # mixes in the whole run

    def message(self, say: str, **parts: Any) -> Message:
        """A message of this run."""
        head = {"discreto": VERSION, "kind": "peer", "plan": self.plan, "say": say}
        return head | parts

    def check(self, message: Any) -> str:
        """What a message or reply says, if it belongs to this run."""
        if not isinstance(message, dict) or message.get("kind") != "peer":
            reason = message.get("reason") if isinstance(message, dict) else None
            raise ParameterError(str(reason or "this is no message of a peer.")[:500])
        if message.get("discreto") != VERSION or message.get("plan") != self.plan:
            raise UnsafeError(
                "this node takes part in another run, or in this one with other "
                "terms, columns or nodes."
            )
        return str(message.get("say"))

    def weights(self, data: Any) -> Weights:
        """Weights as a neighbour sent them."""
        if not isinstance(data, dict) or not isinstance(data.get("basis"), str):
            raise ParameterError("these are no weights.")
        inner, home = (self._numbers(data.get(part)) for part in ("inner", "home"))
        return Weights(data["basis"][:64], inner, home)

    def _numbers(self, data: Any) -> Floats:
        if not isinstance(data, list) or len(data) != self.width:
            raise ParameterError(f"weights are {self.width} numbers.")
        for one in data:
            plain = isinstance(one, int | float) and not isinstance(one, bool)
            if not plain or not math.isfinite(one) or abs(one) > FARTHEST:
                raise ParameterError("weights are numbers of reasonable size.")
        return np.array(data, dtype=np.float64)

    def tick(self, data: Any) -> int:
        """The number of a mix; ``ticks`` itself is the end of the run."""
        if type(data) is not int or not 0 <= data <= self.ticks:
            raise ParameterError(f"a run has mixes 0 to {self.ticks}.")
        return data

    def facts(self, data: Any) -> dict[str, Message]:
        """Moments and rows by the name of who released them."""
        if not isinstance(data, dict) or not set(data) <= set(self.nodes):
            raise ParameterError("moments come from nodes of the graph.")
        return {name: self._fact(one) for name, one in data.items()}

    def _fact(self, data: Any) -> Message:
        if not isinstance(data, dict) or set(data) != {"rows", "moments"}:
            raise ParameterError("a node releases rows and moments.")
        rows, moments = data["rows"], data["moments"]
        if type(rows) is not int or not 0 <= rows <= _ROWS:
            raise ParameterError("rows are a whole number.")
        if not isinstance(moments, list) or len(moments) != self.moments:
            raise ParameterError(f"moments are {self.moments} whole numbers.")
        if not all(type(one) is int and abs(one) < _MOST for one in moments):
            raise ParameterError("moments are whole numbers of reasonable size.")
        return {"rows": rows, "moments": moments}
