"""Wires to silos: what a coordinator needs of one, and the one inside a process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from discreto.federated.messages import Message
from discreto.federated.silo import Silo


class Channel(Protocol):
    """A wire to silos. Who does not answer in time is left out of the replies."""

    def names(self) -> list[str]:
        """The silos' names."""

    def send(self, outgoing: Mapping[str, Message]) -> dict[str, Message]:
        """The replies by the silos' names.

        Parameters
        ----------
        outgoing
            A message for each silo, by its name.
        """


class Local:
    """Silos in this process; everything still crosses as JSON text."""

    def __init__(self, silos: Mapping[str, Silo], partner: str = "coordinator") -> None:
        self._silos, self._partner = dict(silos), partner

    def names(self) -> list[str]:
        """The silos' names."""
        return list(self._silos)

    def send(self, outgoing: Mapping[str, Message]) -> dict[str, Message]:
        """Every silo's reply."""
        out = {}
        for name, message in outgoing.items():
            data = json.loads(json.dumps(message))
            reply = self._silos[name].answer(data, self._partner)
            out[name] = json.loads(json.dumps(reply))
        return out
