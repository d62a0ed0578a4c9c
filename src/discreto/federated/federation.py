"""Silos as a coordinator sees them: names on a wire, replies that are releases."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from discreto.core.cost import Cost, read_delta, show
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step
from discreto.core.gate import Measurement
from discreto.core.noise.entropy import Entropy
from discreto.core.query import Block, Everyone, Ints, Ones, Sum
from discreto.core.steps import Steps, steps_for
from discreto.errors import (
    BudgetError,
    DiscretoError,
    DomainError,
    ParameterError,
    UnsafeError,
)
from discreto.federated import messages
from discreto.federated.guarantee import Guarantee
from discreto.federated.learners import Learner
from discreto.federated.messages import Message
from discreto.federated.model import FederatedModel, fills, to_columns
from discreto.federated.policy import Policy
from discreto.federated.rounds import (
    Descent,
    MomentsRequest,
    Nearby,
    Reply,
    Request,
    Setting,
)
from discreto.federated.silo import Silo


class Channel(Protocol):
    """A wire to silos. Silos that do not answer in time are left out of the replies."""

    def names(self) -> list[str]:
        """Return the silos' names."""

    def send(self, outgoing: Mapping[str, Message]) -> dict[str, Message]:
        """Return the replies by the silos' names.

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
        """Return the silos' names."""
        return list(self._silos)

    def send(self, outgoing: Mapping[str, Message]) -> dict[str, Message]:
        """Return every silo's reply."""
        out = {}
        for name, message in outgoing.items():
            data = json.loads(json.dumps(message))
            reply = self._silos[name].answer(data, self._partner)
            out[name] = json.loads(json.dumps(reply))
        return out


class Federation:
    """Silos that describe their columns alike.

    Parameters
    ----------
    silos
        Silos by name, in this process, or a ``Channel`` to silos elsewhere.
    partner
        The name under which silos in this process know the asker.
    """

    def __init__(
        self, silos: Mapping[str, Silo] | Channel, *, partner: str = "coordinator"
    ) -> None:
        self.channel: Any = (
            Local(silos, partner) if isinstance(silos, Mapping) else silos
        )
        self.names = list(self.channel.names())
        if not self.names:
            raise ParameterError("a federation needs at least one silo.")
        facts = self.facts()
        for name in self.names:
            if name not in facts:
                raise DiscretoError(f"silo {name!r} does not answer.")
            if not messages.is_facts(facts[name]):
                messages.read_release(facts[name])
        first = facts[self.names[0]]
        self.schema, self.domain = first["schema"], Domain.from_dict(first["domain"])
        for name in self.names:
            if facts[name]["schema"] != self.schema:
                raise DomainError(
                    f"silo {name!r} describes its columns in another way than "
                    f"{self.names[0]!r}. All silos need the same columns, bounds and "
                    "classes: share one domain file."
                )
        self.rows = {name: facts[name]["rows"] for name in self.names}
        self._own = tuple(Domain.from_dict(facts[name]["domain"]) for name in facts)
        self.simulated = any(facts[name]["simulated"] for name in self.names)

    def facts(self) -> dict[str, Message]:
        """Return the current public facts of each silo."""
        found: dict[str, Message] = self.channel.send(
            {name: messages.hello() for name in self.names}
        )
        return found

    def check_budget(self, cost: Cost, label: str) -> None:
        """Refuse what some silo could not pay, before any silo is charged.

        Parameters
        ----------
        cost
            What it would cost each silo.
        label
            What it is for.

        Raises
        ------
        BudgetError
            A silo has less left.
        """
        for name, fact in self.facts().items():
            room, allowed = fact.get("room"), read_delta(fact.get("delta", 0))
            if room is None:
                continue
            what = f"{label!r} costs {cost}, but silo {name!r}"
            total = cost.total(allowed)
            if math.isinf(total):  # no epsilon alone would pay for it
                raise BudgetError(
                    f"{what} allows a delta of {show(allowed)}. Ask with pure epsilon "
                    "(delta=0), or without this silo."
                )
            left = float(room["gaussian"] if cost.rho else room["pure"])
            # Adding and converting round up by a hair.
            if total > left * (1 + 1e-9):
                raise BudgetError(
                    f"{what} has ε {show(left)} left for you. Ask for less, or without "
                    "this silo."
                )

    def check_rules(self, steps: Steps, local: int, queries: list[Sum]) -> None:
        """Refuse a run that some silo's owner does not allow, before any is charged.

        Parameters
        ----------
        steps
            All steps of the run.
        local
            Steps in a round.
        queries
            What will be asked.
        """
        for name, fact in self.facts().items():
            policy = Policy.from_public(fact["policy"])
            try:
                policy.check_run(steps, local, read_delta(fact["delta"]))
                for query in queries:
                    policy.check_kinds(query)
            except DiscretoError as refused:
                raise type(refused)(f"silo {name!r}: {refused}") from None

    def measure(
        self,
        query: Sum,
        cost: Cost,
        label: str,
        name: str | None = None,
        view: Sequence[Step] = (),
    ) -> dict[str, Measurement]:
        """Return the same noisy sums from every silo; each is charged for them.

        Parameters
        ----------
        query
            The sums to ask for.
        cost
            What they cost each silo.
        label
            What they are for, as the ledgers show it.
        name
            A question with a name is charged once, however often it is asked.
        view
            Of which view of the silos' tables; by default of the tables.

        Returns
        -------
        dict
            A measurement by the name of its silo.
        """
        name = name or Entropy().bytes(12).hex()
        message = messages.measure(query, cost, label, name, self.schema, view)
        replies = self.channel.send(dict.fromkeys(self.names, message))
        silent = [name for name in self.names if name not in replies]
        if silent:
            raise DiscretoError(f"silo {silent[0]!r} does not answer.")
        return {name: messages.read_release(replies[name]) for name in self.names}

    def count(self, epsilon: Any, name: str | None = None) -> dict[str, int]:
        """Return numbers of rows: declared ones as they are, others with noise.

        Parameters
        ----------
        epsilon
            What asking costs each silo that does not declare its number of rows.
        name
            With a name it is charged once, however often it is asked.
        """
        unknown = [name for name, rows in self.rows.items() if rows is None]
        if not unknown:
            return dict(self.rows)
        question = Sum(Everyone(), (Block(Ones()),))
        found = self.measure(question, Cost.of(epsilon), "number of rows", name)
        noisy = {name: max(1, int(found[name].tables[0][0, 0])) for name in unknown}
        return self.rows | noisy

    def fit(
        self,
        learner: Learner,
        target: str | None = None,
        *,
        run: str | None = None,
        count_epsilon: Any = None,
    ) -> FederatedModel:
        """Learn a model of ``target`` across the silos.

        Parameters
        ----------
        learner
            ``FederatedAveraging``, ``ProximalPoint`` or ``GraphLearning``.
        run
            A name for this run. With the same name, parameters and silos a run that
            was broken off goes on: rounds that were answered are not paid again.
        count_epsilon
            What asking for the number of rows may cost, if some silo declares none.
        target
            The column to predict; by default the domain's target.

        Returns
        -------
        FederatedModel
            Safe to publish.

        Raises
        ------
        BudgetError
            A silo has less left. No silo was charged.

        Privacy
        -------
        Each silo is charged ``learner.terms`` before a row is read; see the learner.
        """
        target = target or self.domain.target
        if target is None:
            raise ParameterError("fit needs a target: fit(learner, 'COLUMN').")
        terms = learner.terms
        alone = learner.noise == "silo" and learner.protect == "row"
        if terms is None or not alone:
            raise UnsafeError(
                "silos only send releases that are private on their own. Learning "
                "without privacy, or with shared noise, is for simulate()."
            )
        counting = self._check(learner, target, run, count_epsilon)
        steps = steps_for(
            terms.epsilon, terms.delta, terms.rounds * terms.steps, terms.rate
        )
        if run is None:
            self.check_budget(
                counting + steps.cost, f"a run of {type(learner).__name__}"
            )
        cost = counting + Cost(block_epsilon=terms.epsilon, delta=terms.delta)
        rows = self.count(count_epsilon, None if run is None else f"{run}: rows")
        setting = learner.setting(self.domain, target, rows.values(), own=self._own)
        engine = _Wire(self, setting, run)
        # The rows are counted by now, so nothing public is left to refuse.
        outcome = drive(learner._protocol(setting), engine)
        return FederatedModel(
            self.domain,
            target,
            setting.features,
            to_columns(setting, outcome.path[0]),
            Guarantee(dict.fromkeys(self.names, cost), self.simulated),
            engine.dropped,
            fills(setting, outcome.middle)[0],
        )

    def _check(
        self, learner: Learner, target: str, run: str | None, count_epsilon: Any
    ) -> Cost:
        """Refuse what can be refused before a silo is asked; what counting costs."""
        if run is not None and (not isinstance(run, str) or not 0 < len(run) <= 90):
            raise ParameterError(f"run must be a name of 1 to 90 letters. Got {run!r}.")
        unknown = None in self.rows.values()
        guess = [1 if n is None else n for n in self.rows.values()]
        setting = learner.setting(
            self.domain, target, guess, declared=not unknown, own=self._own
        )
        learner.check(setting)
        if setting.terms is not None:
            t = setting.terms
            steps = steps_for(t.epsilon, t.delta, t.rounds * t.steps, t.rate)
            self.check_rules(steps, t.steps, setting.asked())
        if not unknown:
            return Cost()
        if count_epsilon is None:
            raise ParameterError(
                "some silos keep their number of rows private. Declare it with "
                "Silo(..., rows=...), or pay for it: fit(..., count_epsilon='0.05')."
            )
        return Cost.of(count_epsilon)

    def __repr__(self) -> str:
        return f"Federation({', '.join(self.names)})"


class RoundEngine(Protocol):
    """An object that answers the requests of a protocol."""

    def answer(self, request: Request) -> Reply: ...


def drive(protocol: Any, engine: RoundEngine) -> Any:
    """Answer a protocol's requests until it is done; what it returns."""
    request = next(protocol)
    while True:
        reply = engine.answer(request)
        try:
            request = protocol.send(reply)
        except StopIteration as done:
            return done.value


class _Wire:
    """Silos on a channel as an engine; one request is one round."""

    def __init__(self, silos: Federation, setting: Setting, run: str | None) -> None:
        self._silos, self._setting = silos, setting
        self._run = run or Entropy().bytes(8).hex()
        self._round = 0
        self.dropped: dict[str, str] = {}

    def answer(self, request: Request) -> Reply:
        names = self._silos.names
        outgoing = {
            name: self._message(request, place)
            for place, name in enumerate(names)
            if name not in self.dropped
        }
        replies = self._silos.channel.send(outgoing)
        self._round += 1
        found: dict[int, Any] = {}
        shape = (self._setting.steps, 1, self._width(request))
        for place, name in enumerate(names):
            if name not in outgoing:
                continue
            try:
                found[place] = _read(replies.get(name), shape)
            except DiscretoError as error:
                self.dropped[name] = f"round {self._round}: {error}"
                last = error
        if not found:
            raise last
        sums = np.zeros((1, len(names), shape[0], shape[2]), dtype=np.int64)
        for place, part in found.items():
            sums[0, place] = part
        alive = np.array([name not in self.dropped for name in names])
        return Reply(sums, alive)

    def _width(self, request: Request) -> int:
        if isinstance(request, MomentsRequest):
            return request.query(0).blocks[0].bind(self._silos.domain, 1).width
        return request.weights.shape[-1]

    def _message(self, request: Request, place: int) -> Message:
        terms = self._setting.terms
        if terms is None:
            raise UnsafeError("silos do not answer without privacy.")
        if isinstance(request, MomentsRequest):
            query, move = request.query(place), {"kind": "sums"}
        else:
            query = Sum(Everyone(), (Block(request.gradient(0, place)),))
            move = _move(request, place)
        schema = self._silos.schema
        return messages.training_round(
            query, terms, self._run, self._round, schema, move
        )


def _read(reply: Message | None, shape: tuple[int, ...]) -> Ints:
    if reply is None:
        raise DiscretoError("no answer")
    tables = messages.read_release(reply).tables
    if len(tables) != shape[0] or any(table.shape != shape[1:] for table in tables):
        raise ParameterError("sums of another shape")
    return np.concatenate(tables)


def _move(request: Descent, place: int) -> Message:
    if isinstance(request, Nearby):
        rows = float(request.rates[place])
        return {"kind": "proximal", "mu": request.mu, "rows": rows}
    return {"kind": "steps", "rate": float(request.rates[0, place])}
