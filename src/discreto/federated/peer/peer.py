"""A node of a graph that learns with its neighbours, without a coordinator.

There is no coordinator. Each node has a silo with its own ledger, its own row of the
mixing matrix, and lines to its neighbours. It takes noisy steps on its own rows, tells
neighbours where they led, and mixes their weights with its own. It answers no other
questions: its owner starts it, and it pays for its own run before a row is read.

With all nodes there it does what :class:`GraphLearning` does in a simulation, number by
number. A neighbour that falls silent is left out (its weight stays at home) and taken
back when it speaks again. A node that was killed goes on from its state file. Its
silo's ledger answers a step that was taken before with the very same numbers, and
refuses another question under the same number, so a lost or changed state file cannot
make it draw noise twice for one step.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.cost import Cost, read_delta
from discreto.core.documents import read_json
from discreto.core.query import Block, Everyone, Floats, Ints, Ones, Sum
from discreto.core.steps import steps_for
from discreto.errors import DiscretoError, ParameterError, UnsafeError
from discreto.federated import messages
from discreto.federated import preconditioner as rules
from discreto.federated.graph import Neighbourhood, at_home, chebyshev
from discreto.federated.graph_learning import GraphLearning, onward
from discreto.federated.guarantee import Guarantee
from discreto.federated.messages import Message
from discreto.federated.model import FederatedModel, fills, to_columns
from discreto.federated.peer.identity import Identity
from discreto.federated.peer.mailbox import (
    Ask,
    Behind,
    Mailbox,
    NeighbourLine,
    RunShape,
    Weights,
)
from discreto.federated.policy import Policy
from discreto.federated.preconditioner import Preconditioner
from discreto.federated.rounds import (
    Descent,
    Setting,
    follow,
    moment_rounds,
    running,
)
from discreto.federated.silo import FARTHEST, Silo

PARTNER = "peers"
FORMAT = 1  # of a state file
_PAUSE = 0.1  # seconds between two tries to meet neighbours


class Peer:
    """A silo that learns with its neighbours, without a coordinator.

    Parameters
    ----------
    silo
        The node's own rows, ledger and policy. If the policy names partners, this
        run is the partner ``"peers"``.
    neighbourhood
        The node's own row of the mixing matrix.
    learner
        What all nodes have agreed on; its ``graph`` and ``mixing`` are not used, since
        a node knows its own row only.
    run
        A name for the run, the same for all nodes. A node that is started again under
        it goes on.
    target
        The column to predict; by default the domain's target.
    state
        A file in which a node that is stopped finds where it was. All in it has been
        released.
    patience
        Seconds to wait for a neighbour before going on without it.
    gather
        Seconds to wait for all nodes at the beginning.
    count_epsilon
        What a noisy number of rows may cost, if the silo declares none.
    identity
        The node's certificate and key, with which it signs its moments. All nodes of a
        run have one, or none; ``robust`` rules need it.

    Privacy
    -------
    The silo is charged ``learner.terms`` once, before a row is read. What neighbours
    see is (epsilon, delta)-private for each row of the silo, against all of them
    together and their own readers. Mixing makes nothing more private.
    """

    def __init__(
        self,
        silo: Silo,
        neighbourhood: Neighbourhood,
        learner: GraphLearning,
        *,
        run: str,
        target: str | None = None,
        state: str | Path | None = None,
        patience: float = 30.0,
        gather: float = 600.0,
        count_epsilon: Any = None,
        identity: Identity | None = None,
    ) -> None:
        self._own, self._learner, self._run = neighbourhood, learner, run
        self._identity = identity
        if identity is None and learner.robust != "none":
            raise ParameterError(
                f"robust={learner.robust!r} needs nodes that sign what they release: "
                "else one hostile node can speak for all of them. Give "
                "Peer(..., identity=Identity.read(Certificates(...)))."
            )
        if identity is not None and identity.name != neighbourhood.name:
            raise ParameterError(
                f"this node is {neighbourhood.name!r}, but its certificate is that of "
                f"{identity.name!r}."
            )
        self._patience, self._gather = patience, gather
        target = target or silo.domain.target
        if target is None:
            raise ParameterError("a peer needs a target: Peer(..., target='COLUMN').")
        terms = learner.terms
        if terms is None or learner.noise != "silo" or learner.protect != "row":
            raise UnsafeError("peers only send what is private on its own.")
        for mixes in (learner.mixes, learner.final_mixes):
            chebyshev(neighbourhood.second, mixes)
        self._steps = OwnSteps(
            silo, learner, run, target, count_epsilon, len(neighbourhood.nodes)
        )
        self._first = moment_rounds(learner.rounds)
        self._rounds = learner.rounds - self._first
        self._shape = RunShape(
            self._plan(silo, target),
            neighbourhood.nodes,
            self._steps.width,
            self._steps.moments_width,
            self._rounds * learner.mixes + learner.final_mixes,
        )
        self._mailbox = Mailbox(
            self._shape, neighbourhood.neighbours, neighbourhood.name, identity
        )
        self._lines: dict[str, NeighbourLine] = {}
        self._state = PeerState(state, self._shape.plan)
        self.missed: list[str] = []  # what went otherwise than planned, for its owner

    def _plan(self, silo: Silo, target: str) -> str:
        """Return a digest of what all nodes must agree on."""
        learner, terms = self._learner, self._learner.terms
        agreed = {
            "run": self._run,
            "target": target,
            "schema": silo.schema,
            "nodes": sorted(self._own.nodes),
            "terms": None if terms is None else terms.to_dict(),
            "mixes": [learner.mixes, learner.final_mixes],
            "second": self._own.second,
            "rules": [learner.learning_rate, learner.clip],
            "robust": [learner.robust, learner.hostile],
            "statements": [2, self._identity is not None],
        }
        return messages.digest(agreed)

    def answer(self, message: Any, partner: str) -> Message:
        """Return the reply to a neighbour's message; it never raises.

        Parameters
        ----------
        message
            JSON data; see :mod:`discreto.federated.peer.mailbox`.
        partner
            The name under which the wire knows the sender.
        """
        return self._mailbox.answer(message, str(partner))

    def learn(self, lines: Mapping[str, Ask]) -> FederatedModel:
        """Take part in the run until its end; this node's model.

        Parameters
        ----------
        lines
            For each neighbour what sends it a message and returns the reply.

        Raises
        ------
        BudgetError
            The silo has less left. Nothing was charged.
        """
        if set(lines) != set(self._own.neighbours):
            raise ParameterError("a peer needs a line to each neighbour, no others.")
        self._lines = {
            name: NeighbourLine(name, ask, self._shape, self._mailbox)
            for name, ask in lines.items()
        }
        try:
            return self._learn()
        finally:
            for line in self._lines.values():
                line.close(self._patience)

    # The run

    def _learn(self) -> FederatedModel:
        saved = self._state.read()
        self._meet(alone=saved is not None)
        for line in self._lines.values():
            line.start()
        fact = self._steps.moments(self._first)
        self._mailbox.state(fact)
        if saved is None:
            names = self._mailbox.wait_for_moments(self._own.nodes, self._gather)
            facts = {n: self._mailbox.moments[n] for n in self._own.nodes if n in names}
            saved = {"facts": facts, "round": 0}
        absent = [n for n in self._own.nodes if n not in saved["facts"]]
        self._absent = {
            name: self._mailbox.excluded.get(name, "sent no moments") for name in absent
        }
        self.missed += [f"{name}: {reason}" for name, reason in self._absent.items()]
        self._orient(saved["facts"])
        path = self._walk(saved)
        self._linger(path[-1])
        return self._model(np.stack(path, axis=1))

    def _meet(self, *, alone: bool) -> None:
        """Hear from each neighbour before anything is paid, if it is there."""
        # Half of it: others wait for this node's moments while it waits.
        end = time.monotonic() + self._gather / 2
        missing = dict(self._lines)
        while True:
            for name, line in list(missing.items()):
                reply = line.ask("where")
                if line.refusal:
                    raise UnsafeError(
                        f"neighbour {name!r} does not agree: {line.refusal}"
                    )
                if reply is not None:
                    self._learn_from(name, reply)
                    del missing[name]
            if not missing or time.monotonic() > end:
                break
            time.sleep(_PAUSE)
        if len(missing) == len(self._lines) and not alone:
            raise DiscretoError("no neighbour answers. Nothing was charged.")
        for name in missing:
            self.missed.append(f"{name} was not there at the beginning")
            self._lines[name].up = False

    def _learn_from(self, name: str, reply: Message) -> None:
        try:
            self._mailbox.learn(reply.get("heard"), name)
            self._mailbox.seen(name, reply.get("tick"))
        except ParameterError as error:
            self.missed.append(str(error))

    def _orient(self, facts: dict[str, Message]) -> None:
        """Coordinates and lengths of steps from everybody's moments."""
        rows = [fact["rows"] for fact in facts.values()]
        self._setting = self._steps.setting(rows)
        total: Ints = np.array([[fact["moments"] for fact in facts.values()]])
        alive = np.ones(len(rows), dtype=bool)
        learner = self._learner
        self._axes = rules.from_moments(
            self._setting, total, alive, self._first, learner.clip
        )
        self._basis = messages.digest(facts)
        self._step_size = rules.step_size(
            self._setting, self._axes, learner.clip, self._first
        )
        place = list(facts).index(self._own.name)
        rates = learner.rates(self._setting, self._step_size, alive)
        self._rates = rates[:, place : place + 1]
        self._facts = facts

    def _walk(self, saved: Message) -> list[Floats]:
        number: int = saved["round"]
        start = self._axes.start[:, None, :]
        weights, mean = (_array(saved.get(p), start) for p in ("weights", "mean"))
        path = [_array(one, start) for one in saved.get("path", [])]
        learner, mixes = self._learner, self._learner.mixes
        while number < self._rounds:
            self._state.write(self._facts, number, weights, mean, path)
            ends = self._step(number, weights)
            try:
                weights = self._mixed(ends, mean, number * mixes, mixes)
            except Behind:
                number, weights, mean = self._join(number, weights, mean)
                path += [mean] * (number - len(path))
                continue
            mean = running(mean, weights, number, self._setting)
            path.append(mean)
            number += 1
        try:
            last = self._rounds * mixes
            path[-1] = self._mixed(mean, mean, last, learner.final_mixes)
        except Behind:
            path[-1] = self._join(number, weights, mean)[2]
        return path

    def _step(self, number: int, weights: Floats) -> Floats:
        """Where this node's own step leads; nowhere if its silo refuses it."""
        try:
            return self._steps.descend(
                self._setting, self._axes, weights, self._rates, self._first + number
            )
        except DiscretoError as error:
            self.missed.append(f"round {number + 1} without a step of its own: {error}")
            return weights

    # With neighbours

    def _mixed(self, points: Floats, mean: Floats, tick: int, mixes: int) -> Floats:
        """This node's points after so many mixes with its neighbours."""
        before = now = points
        own, row = self._own.name, dict(self._own.weights)
        schedule = self._learner.schedule(self._own.second, mixes)
        for count, (ahead, back) in enumerate(schedule, start=tick):
            self._tell(count, now, mean)
            heard = self._mailbox.told_at(
                count,
                self._patience,
                lambda name: self._lines[name].up,
                self._learner.mixes,
                strict=self._learner.robust != "none",
            )
            line = at_home(row, own, set(heard))
            theirs = {name: self._here(message) for name, message in heard.items()}
            points = np.stack([theirs.get(n, now[:, 0]) for n in line], axis=1)
            told = self._learner.told(points, line, own)[:, None, :]
            before, now = now, onward(ahead, told, back, before)
        return now

    def _tell(self, tick: int, points: Floats, mean: Floats) -> None:
        sent = self._sent(points).to_dict()
        self._mailbox.now(tick, weights=sent, mean=self._sent(mean).to_dict())
        message = self._shape.message("weights", tick=tick, weights=sent)
        for line in self._lines.values():
            line.post(message)

    def _sent(self, points: Floats) -> Weights:
        return Weights(self._basis, points[0, 0], self._axes.home(points)[0, 0])

    def _here(self, theirs: Weights) -> Floats:
        """Return a neighbour's weights in this node's coordinates."""
        if theirs.basis == self._basis:
            return theirs.inner[None, :]
        found: Floats = np.linalg.solve(self._axes.basis[0], theirs.home)[None, :]
        return found.clip(-FARTHEST, FARTHEST)

    def _join(
        self, number: int, weights: Floats, mean: Floats
    ) -> tuple[int, Floats, Floats]:
        """Catch up: the next round, from where the neighbours are."""
        mixes = self._learner.mixes
        found: list[tuple[int, Floats, Floats]] = []
        for line in self._lines.values():
            reply = line.ask("where")
            if reply is None or reply.get("tick") is None:
                continue
            try:
                tick = self._shape.tick(reply["tick"])
                parts = [self._shape.weights(reply.get(p)) for p in ("weights", "mean")]
            except DiscretoError as error:
                self.missed.append(f"{line.name}: {error}")
                continue
            if tick >= (number + 1) * mixes:
                found.append((tick, self._here(parts[0]), self._here(parts[1])))
        if not found:
            return number + 1, weights, mean
        middle = np.median if self._learner.robust != "none" else np.mean
        later = min(min(tick for tick, _, _ in found) // mixes + 1, self._rounds)
        self.missed.append(f"rounds {number + 1} to {later} were over")
        near = middle(np.stack([one for _, one, _ in found]), axis=0)[:, None, :]
        means = middle(np.stack([one for _, _, one in found]), axis=0)[:, None, :]
        return max(later, number + 1), near, means

    def _linger(self, last: Floats) -> None:
        """Tell the end, and stay for neighbours that are not there yet."""
        self._tell(self._shape.ticks, last, last)
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            there = {name for name, line in self._lines.items() if line.up}
            if there <= self._mailbox.finished():
                return
            time.sleep(_PAUSE)

    # What comes of it

    def _model(self, path: Floats) -> FederatedModel:
        setting: Setting = self._setting
        walk = rules.shrunk(setting, self._axes, self._step_size, path)
        whole = np.concatenate(
            [np.zeros((1, self._first, *walk.shape[2:])), self._axes.home(walk)], axis=1
        )
        cost: Cost = self._steps.cost
        return FederatedModel(
            setting.domain,
            setting.target,
            setting.features,
            to_columns(setting, whole[0]),
            Guarantee({self._own.name: cost}, self._steps.simulated),
            self._absent,
            fills(setting, self._axes.middle)[0],
        )

    def __repr__(self) -> str:
        return f"Peer({self._own.name!r}, neighbours {list(self._own.neighbours)})"


def _array(data: Any, start: Floats) -> Floats:
    if data is None:
        return start
    return np.array(data, dtype=np.float64).reshape(start.shape)


class OwnSteps:
    """A node's own silo, asked by messages like those of a coordinator.

    What public facts rule out is refused when this is made, before any charge.
    """

    def __init__(
        self,
        silo: Silo,
        learner: GraphLearning,
        run: str,
        target: str,
        count_epsilon: Any = None,
        nodes: int = 1,
    ) -> None:
        if not isinstance(run, str) or not 0 < len(run) <= 90:
            raise ParameterError(f"run must be a name of 1 to 90 letters. Got {run!r}.")
        terms = learner.terms
        if terms is None:
            raise UnsafeError("silos do not answer without privacy.")
        self._silo, self._learner, self._run = silo, learner, run
        self._terms, self._target, self._nodes = terms, target, nodes
        facts = silo.answer(messages.hello(), PARTNER)
        if not messages.is_facts(facts):
            messages.read_release(facts)  # raises what it says
        self.simulated = bool(facts["simulated"])
        if silo.rows is None and count_epsilon is None:
            raise ParameterError(
                "this silo keeps its number of rows private. Declare it with "
                "Silo(..., rows=...), or pay for it: count_epsilon='0.05'."
            )
        counting = Cost() if silo.rows is not None else Cost.of(count_epsilon)
        self._counting = counting
        self.cost = counting + Cost(block_epsilon=terms.epsilon, delta=terms.delta)
        setting = self.setting([max(1, silo.rows or 1)])
        setting.check()
        policy = Policy.from_public(facts["policy"])
        steps = steps_for(terms.epsilon, terms.delta, terms.rounds)
        policy.check_run(steps, 1, read_delta(facts["delta"]))
        for query in setting.asked():
            policy.check_kinds(query)
        self.width = setting.width
        moments = setting.moments(0).blocks[0]
        self.moments_width = moments.bind(silo.domain, 1).width

    def setting(self, rows: Sequence[int]) -> Setting:
        """Return the public facts of a run of nodes with so many rows."""
        return self._learner.setting(self._silo.domain, self._target, rows)

    def moments(self, rounds: int) -> Message:
        """Return the noisy moments of so many rounds, and the number of rows."""
        rows = self._rows()
        query = self.setting([rows] * self._nodes).moments(0)
        found = [self._round(query, k, {"kind": "sums"}) for k in range(rounds)]
        total = np.sum(found, axis=0)
        return {"rows": rows, "moments": total.tolist()}

    def _rows(self) -> int:
        if self._silo.rows is not None:
            return self._silo.rows
        question = Sum(Everyone(), (Block(Ones()),))
        name, schema = f"{self._run}: rows", self._silo.schema
        asked = messages.measure(
            question, self._counting, "number of rows", name, schema
        )
        reply = messages.read_release(self._silo.answer(asked, PARTNER))
        return max(1, int(reply.tables[0][0, 0]))

    def descend(
        self,
        setting: Setting,
        axes: Preconditioner,
        weights: Floats,
        rates: Floats,
        number: int,
    ) -> Floats:
        """Where one noisy step from these weights (1, 1, width) leads."""
        request = Descent(setting, axes.basis, axes.clip, weights, rates)
        query = Sum(Everyone(), (Block(request.gradient(0, 0)),))
        move = {"kind": "steps", "rate": float(rates[0, 0])}
        sums = self._round(query, number, move)[None, None, None, :]
        units = request.units[:, None, None]
        return follow(weights, sums, units, rates[:, :, None])

    def _round(self, query: Sum, number: int, move: Message) -> Ints:
        asked = messages.training_round(
            query, self._terms, self._run, number, self._silo.schema, move
        )
        release = messages.read_release(self._silo.answer(asked, PARTNER))
        sums: Ints = release.tables[0][0]
        return sums


class PeerState:
    """A file that is written whole, before each round.

    Parameters
    ----------
    path
        The file; nothing: no state is kept.
    plan
        What all nodes have agreed on. The state of another run is no state.
    """

    def __init__(self, path: str | Path | None, plan: str) -> None:
        self._path = None if path is None else Path(path)
        self._plan = plan

    def read(self) -> Message | None:
        """Where the node was; nothing if it is new, or the file is of no use."""
        if self._path is None or not self._path.exists():
            return None
        try:
            data = read_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        known = isinstance(data, dict) and data.get("format") == FORMAT
        return data if known and data.get("plan") == self._plan else None

    def write(
        self,
        facts: dict[str, Message],
        number: int,
        weights: Floats,
        mean: Floats,
        path: list[Floats],
    ) -> None:
        """Note where the node is, in one step."""
        if self._path is None:
            return
        data: dict[str, Any] = {
            "format": FORMAT,
            "plan": self._plan,
            "facts": facts,
            "round": number,
            "weights": weights.ravel().tolist(),
            "mean": mean.ravel().tolist(),
            "path": [one.ravel().tolist() for one in path],
        }
        draft = self._path.with_name(self._path.name + ".part")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(data, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._path)
