"""Messages between neighbours: their form, those received, and lines to send them by.

Messages are plain JSON, like those of a coordinator. Every message has ``"discreto":
1``, ``"kind": "peer"``, a ``plan`` (a digest of what all nodes must agree on) and
``say``, which is one of these:

``where``
    Asks a node how far it is. The reply ``here`` has the number of the mix that the
    node is at, its weights and their running mean, and the statements that it has.
``moments``
    Statements by the name of the node that made them. A statement has noisy second
    moments of the node's rows, its number of rows and, if nodes sign, a ``proof``.
    Statements are passed on unchanged. The reply ``heard`` has the number of statements
    known of each node.
``weights``
    A node's weights at a numbered mix. Neighbours pass them on only mixed with their
    own, so the wire shows whose they are.

Weights come in the coordinates of the sender's run (``basis`` is a digest of the
moments that made them) and on [-1, 1] columns (``home``), for the few cases in which
a neighbour missed the moments of some node.

A node never takes a statement about itself from others. A node that signs two different
statements, or one that is of no use (no rows), is excluded: the run goes on without it.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.query import Floats
from discreto.errors import DiscretoError, KernelFault, ParameterError, UnsafeError
from discreto.federated.messages import VERSION, Message, refusal
from discreto.federated.peer.identity import Identity
from discreto.federated.silo import FARTHEST

Ask = Callable[[Message], Message | None]  # a neighbour's reply, or nothing
_MOST = 1 << 62  # of a moment
_ROWS = 10**12
_KEPT = 256  # mixes of a neighbour that is ahead
_WAITING = 64  # messages to a neighbour that is slow
_PAUSE = 0.2  # seconds between two tries to reach a neighbour that is away


@dataclass(frozen=True)
class Weights:
    """Weights as one node sees them, and on [-1, 1] columns for all others."""

    basis: str
    inner: Floats
    home: Floats

    def to_dict(self) -> Message:
        """Return a JSON form."""
        inner, home = self.inner.tolist(), self.home.tolist()
        return {"basis": self.basis, "inner": inner, "home": home}


@dataclass(frozen=True)
class RunShape:
    """The form of a run's messages."""

    plan: str
    nodes: tuple[str, ...]
    width: int  # of weights
    moments: int  # of moments
    ticks: int  # mixes in the whole run

    def message(self, say: str, **parts: Any) -> Message:
        """Return a message of this run."""
        head = {"discreto": VERSION, "kind": "peer", "plan": self.plan, "say": say}
        return head | parts

    def check(self, message: Any) -> str:
        """Return what a message or reply says, if it belongs to this run."""
        if not isinstance(message, dict) or message.get("kind") != "peer":
            reason = message.get("reason") if isinstance(message, dict) else None
            raise ParameterError(
                str(reason or "this is not a message of a peer.")[:500]
            )
        if message.get("discreto") != VERSION or message.get("plan") != self.plan:
            raise UnsafeError(
                "this node takes part in another run, or in this one with other "
                "terms, columns or nodes."
            )
        return str(message.get("say"))

    def weights(self, data: Any) -> Weights:
        """Weights as a neighbour sent them."""
        if not isinstance(data, dict) or not isinstance(data.get("basis"), str):
            raise ParameterError("these are not weights.")
        inner, home = (self._numbers(data.get(part)) for part in ("inner", "home"))
        return Weights(data["basis"][:64], inner, home)

    def _numbers(self, data: Any) -> Floats:
        if not isinstance(data, list) or len(data) != self.width:
            raise ParameterError(f"weights are {self.width} numbers.")
        for one in data:
            plain = isinstance(one, int | float) and not isinstance(one, bool)
            if not plain or not abs(one) <= FARTHEST:  # refuses NaN, too
                raise ParameterError("weights are numbers of reasonable size.")
        return np.array(data, dtype=np.float64)

    def tick(self, data: Any) -> int:
        """Return the number of a mix; ``ticks`` itself is the end of the run."""
        if type(data) is not int or not 0 <= data <= self.ticks:
            raise ParameterError(f"a run has mixes 0 to {self.ticks}.")
        return data

    def statements(self, data: Any) -> dict[str, list[Message]]:
        """Return statements by the name of who made them: one, or two that differ."""
        if not isinstance(data, dict) or not set(data) <= set(self.nodes):
            raise ParameterError("moments come from nodes of the graph.")
        for several in data.values():
            if not isinstance(several, list) or not 1 <= len(several) <= 2:
                raise ParameterError("a node makes one statement, or two that differ.")
            for one in several:
                self._check(one)
        return data

    def _check(self, data: Any) -> None:
        names = {"rows", "moments"}
        if not isinstance(data, dict) or not names <= set(data) <= names | {"proof"}:
            raise ParameterError("a node releases rows and moments.")
        rows, moments = data["rows"], data["moments"]
        if type(rows) is not int or not 0 <= rows <= _ROWS:
            raise ParameterError("rows are a whole number.")
        if not isinstance(moments, list) or len(moments) != self.moments:
            raise ParameterError(f"moments are {self.moments} whole numbers.")
        if not all(type(one) is int and abs(one) < _MOST for one in moments):
            raise ParameterError("moments are whole numbers of reasonable size.")

    def signed(self, name: str, fact: Message) -> bytes:
        """Return the bytes that a node signs: its name, the run, rows and moments."""
        said = {"plan": self.plan, "node": name, **fact}
        return json.dumps(said, sort_keys=True).encode()


def fact_of(statement: Message) -> Message:
    """Return the rows and moments of a statement, without its proof."""
    return {name: statement[name] for name in ("rows", "moments")}


class Behind(Exception):
    """Most neighbours are a round or more ahead."""


class Mailbox:
    """Weights of neighbours by the number of the mix, and statements of all nodes.

    Parameters
    ----------
    shape
        The form of the run's messages.
    neighbours
        The nodes whose messages are taken; all others are refused.
    own
        The name of the node itself.
    identity
        The node's key and authority, if statements are signed.
    """

    def __init__(
        self,
        shape: RunShape,
        neighbours: Collection[str],
        own: str,
        identity: Identity | None = None,
    ) -> None:
        self._shape, self._own, self._identity = shape, own, identity
        self._said: dict[str, list[Message]] = {}
        self._direct: set[str] = set()  # heard from the node itself
        self.excluded: dict[str, str] = {}  # the reason by the node's name
        self._changed = threading.Condition()
        self._told: dict[str, dict[int, Weights]] = {n: {} for n in neighbours}
        self._newest = dict.fromkeys(neighbours, -1)
        self._silent: set[str] = set()
        self._here: Message = {"tick": None}
        self._tick = 0

    def answer(self, message: Any, partner: str) -> Message:
        """Return the reply to a neighbour. It never raises."""
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
            return shape.message("here", **self._here, heard=self.statements())
        if say == "moments":
            self.learn(message.get("heard"), partner)
        elif say == "weights":
            tick, weights = shape.tick(message.get("tick")), message.get("weights")
            self._keep(partner, tick, shape.weights(weights))
        else:
            raise UnsafeError("a peer says where, moments or weights.")
        known = {name: len(several) for name, several in self._said.items()}
        return shape.message("heard", origins=known)

    # Statements

    def state(self, fact: Message) -> None:
        """Make this node's own statement, which no other can change."""
        proof = {}
        if self._identity is not None:
            text = self._shape.signed(self._own, fact)
            proof = {"proof": self._identity.sign(text)}
        with self._changed:
            self._said[self._own] = [fact | proof]
            self._changed.notify_all()

    def statements(self) -> dict[str, list[Message]]:
        """Return all statements that are known, to be passed on unchanged."""
        with self._changed:
            return {name: list(several) for name, several in self._said.items()}

    @property
    def moments(self) -> dict[str, Message]:
        """Rows and moments of the nodes that are known and not excluded."""
        with self._changed:
            return {
                name: fact_of(several[0])
                for name, several in self._said.items()
                if name not in self.excluded
            }

    def learn(self, heard: Any, teller: str) -> None:
        """Take statements of other nodes.

        Parameters
        ----------
        heard
            Statements by the names of nodes, as a neighbour sent them.
        teller
            The neighbour, as the wire knows it.
        """
        try:
            found = self._shape.statements(heard)
        except ParameterError:
            own = heard.get(teller) if isinstance(heard, dict) else None
            if own is not None:
                self._exclude_bad(teller, own)
            raise
        with self._changed:
            for name, several in found.items():
                for one in several if name != self._own else ():
                    self._take(name, one, teller)
            self._changed.notify_all()

    def _exclude_bad(self, name: str, several: Any) -> None:
        """Exclude a neighbour that says nonsense of itself; the run goes on."""
        try:
            self._shape.statements({name: several})
        except ParameterError as error:
            with self._changed:
                self._said.pop(name, None)
                self.excluded[name] = f"excluded: {error}"
                self._changed.notify_all()

    def _take(self, name: str, one: Message, teller: str) -> None:
        fact, known = fact_of(one), self._said.get(name, [])
        if self._identity is not None:
            text = self._shape.signed(name, fact)
            if not self._identity.accepts(name, text, one.get("proof")):
                return  # its origin did not say this
        elif teller != name and (known or name in self._direct):
            return  # without signatures a relay cannot correct what is known
        elif teller == name and name not in self._direct:
            known = []  # a node's own word counts more than a relay's
        if len(known) < 2 and fact not in [fact_of(other) for other in known]:
            self._said[name] = [*known, one]
        if teller == name:
            self._direct.add(name)
        if len(self._said[name]) > 1:
            self.excluded[name] = "excluded: it made two different statements"
        elif not fact["rows"]:
            self.excluded[name] = "excluded: it has no rows"

    # Weights

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
        """Set the reply to neighbours that ask how far this node is."""
        with self._changed:
            self._tick, self._here = tick, {"tick": tick} | parts
            for told in self._told.values():
                for old in [one for one in told if one < tick]:
                    del told[old]

    def wait_for_moments(self, names: Collection[str], seconds: float) -> set[str]:
        """Return whose moments are known once all are, or the time is up."""

        def known() -> bool:
            return set(names) <= {*self._said, *self.excluded}

        with self._changed:
            self._changed.wait_for(known, seconds)
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
        """Return neighbours' weights at a mix; those too late count as silent.

        Neighbours that are silent, out of reach, or past this mix are not waited for.
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


class NeighbourLine:
    """One neighbour: messages to it are sent one after the other by a thread."""

    def __init__(self, name: str, ask: Ask, shape: RunShape, mailbox: Mailbox) -> None:
        self.name, self._ask, self._shape, self._mailbox = name, ask, shape, mailbox
        self._waiting: deque[Message] = deque(maxlen=_WAITING)
        self._changed = threading.Condition()
        self._known: dict[str, int] = {}  # statements of each node, by its reply
        self._closed, self._busy = False, False
        self.up = True  # until a message fails
        self.refusal = ""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def post(self, message: Message) -> None:
        """Send a message after the others; of too many the oldest are lost."""
        with self._changed:
            self._waiting.append(message)
            self._changed.notify_all()

    def ask(self, say: str) -> Message | None:
        """Return a neighbour's reply to a question, now; nothing if there is none."""
        reply = self._ask(self._shape.message(say))
        try:
            self._shape.check(reply)
        except DiscretoError as error:
            if isinstance(reply, dict):
                self.refusal = str(error)
            return None
        self.up, self.refusal = True, ""
        return reply

    def close(self, seconds: float) -> None:
        """Send what is left, for so long at most."""
        end = time.monotonic() + seconds
        with self._changed:
            while (self._waiting or self._busy) and self.up:
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, _PAUSE))
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                if not self._waiting:
                    self._changed.wait(_PAUSE)
                if self._closed:
                    return
                self._busy = True
            if new := self._unknown():
                self._pass_on(new)
            with self._changed:
                message = self._waiting.popleft() if self._waiting else None
            if message is not None:
                self.up = self._sent(message) is not None

    def _unknown(self) -> dict[str, list[Message]]:
        """Return the statements that the neighbour does not have, except its own."""
        return {
            name: several
            for name, several in self._mailbox.statements().items()
            if name != self.name and len(several) > self._known.get(name, 0)
        }

    def _pass_on(self, new: dict[str, list[Message]]) -> None:
        reply = self._sent(self._shape.message("moments", heard=new))
        origins: Any = (reply or {}).get("origins")
        if isinstance(origins, dict):
            # What it has not taken now it refuses, and will not take later.
            sent = {name: len(several) for name, several in new.items()}
            self._known |= sent

    def _sent(self, message: Message) -> Message | None:
        reply = self._ask(message)
        try:
            self._shape.check(reply)
        except DiscretoError as error:
            self.refusal = str(error) if isinstance(reply, dict) else self.refusal
            return None
        return reply
