"""What a node has heard from its neighbours, and what it tells those who ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from discreto.errors import DiscretoError, KernelFault, UnsafeError
from discreto.federated.messages import Message, refusal
from discreto.federated.peer.messages import RunShape, Weights

_KEPT = 256  # mixes of a neighbour that is ahead


class Behind(Exception):
    """Most neighbours are a round or more ahead."""


class Mailbox:
    """Words of neighbours by the number of the mix, and moments of all nodes.

    Parameters
    ----------
    shape
        What messages of the run look like.
    neighbours
        Whose messages are taken; everybody else is refused.
    """

    def __init__(self, shape: RunShape, neighbours: Collection[str]) -> None:
        self._shape = shape
        self._changed = threading.Condition()
        self._told: dict[str, dict[int, Weights]] = {n: {} for n in neighbours}
        self._newest = dict.fromkeys(neighbours, -1)
        self._silent: set[str] = set()
        self._here: Message = {"tick": None}
        self._tick = 0
        self.moments: dict[str, Message] = {}

    def answer(self, message: Any, partner: str) -> Message:
        """The reply to a neighbour. It never raises."""
        try:
            if partner not in self._told:
                raise UnsafeError("this node talks to its neighbours only.")
            say = self._shape.check(message)
            with self._changed:
                return self._heard(say, message, partner)
        except DiscretoError as error:
            return refusal(error)
        except Exception:
            return refusal(KernelFault("this message could not be answered."))

    def _heard(self, say: str, message: Message, partner: str) -> Message:
        shape = self._shape
        if say == "where":
            return shape.message("here", **self._here, heard=self.moments)
        if say == "moments":
            self.learn(shape.facts(message.get("heard")))
        elif say == "weights":
            tick, weights = shape.tick(message.get("tick")), message.get("weights")
            self._keep(partner, tick, shape.weights(weights))
        else:
            raise UnsafeError("a peer says where, moments or weights.")
        return shape.message("heard", origins=sorted(self.moments))

    def learn(self, facts: dict[str, Message]) -> None:
        """Take moments of nodes that are not known yet; the first word counts."""
        with self._changed:
            self.moments = facts | self.moments  # a new dict: lines read the old one
            self._changed.notify_all()

    def _keep(self, partner: str, tick: int, weights: Weights) -> None:
        told = self._told[partner]
        if tick >= self._tick:
            self._silent.discard(partner)
            told[tick] = weights
        for old in sorted(told)[:-_KEPT]:
            del told[old]
        self._newest[partner] = max(self._newest[partner], tick)
        self._changed.notify_all()

    def seen(self, name: str, tick: Any) -> None:
        """A neighbour said where it is: what it told before may not have come here."""
        if tick is None:
            return
        with self._changed:
            past = self._shape.tick(tick) - 1  # its message of now may be on its way
            self._newest[name] = max(self._newest[name], past)

    def now(self, tick: int, **parts: Any) -> None:
        """What to tell neighbours who ask where this node is."""
        with self._changed:
            self._tick, self._here = tick, {"tick": tick} | parts
            for told in self._told.values():
                for old in [one for one in told if one < tick]:
                    del told[old]

    def wait_for_moments(self, names: Collection[str], seconds: float) -> set[str]:
        """Whose moments are known once all are, or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: set(names) <= set(self.moments), seconds)
            return set(self.moments)

    def told_at(
        self,
        tick: int,
        seconds: float,
        reachable: Callable[[str], bool],
        lead: int,
        *,
        strict: bool,
    ) -> dict[str, Weights]:
        """Neighbours' weights at a mix; who is not heard in time is silent.

        Nobody waits for those who are silent until they speak again, for those who
        cannot be reached, or for those who are past this mix.
        """
        end = time.monotonic() + seconds
        with self._changed:
            while True:
                self._check_behind(tick, lead, reachable, strict=strict)
                awaited = [
                    name
                    for name, told in self._told.items()
                    if tick not in told
                    and self._newest[name] < tick
                    and name not in self._silent
                    and reachable(name)
                ]
                left = end - time.monotonic()
                if not awaited or left <= 0:
                    break
                self._changed.wait(min(left, 0.2))
            self._silent |= set(awaited)
            found = self._told.items()
            return {name: box[tick] for name, box in found if tick in box}

    def _check_behind(
        self, tick: int, lead: int, reachable: Callable[[str], bool], *, strict: bool
    ) -> None:
        """Most of those who are there have gone on by a round: no use in waiting."""
        there = [
            n
            for n in self._told
            if self._newest[n] >= tick or (n not in self._silent and reachable(n))
        ]
        ahead = [n for n in there if self._newest[n] >= tick + lead]
        most = 2 * len(ahead) > len(there) if strict else 2 * len(ahead) >= len(there)
        if ahead and most:
            raise Behind

    def finished(self) -> set[str]:
        """Neighbours that have come to the end of the run."""
        with self._changed:
            return {n for n, t in self._newest.items() if t >= self._shape.ticks}
