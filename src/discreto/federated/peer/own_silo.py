"""What a node asks of its own silo: moments, steps and, if need be, a count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreto.core.cost import Cost, read_delta
from discreto.core.query import Block, Everyone, Floats, Ints, Ones, Sum
from discreto.core.steps import steps_for
from discreto.errors import ParameterError, UnsafeError
from discreto.federated import messages
from discreto.federated.graph_learning import GraphLearning
from discreto.federated.messages import Message
from discreto.federated.policy import Policy
from discreto.federated.preconditioner import Preconditioner
from discreto.federated.rounds import Descent, Setting
from discreto.federated.silo import Silo
from discreto.federated.updates import follow

PARTNER = "peers"


class OwnSteps:
    """A silo as its own node uses it, through the same door as everybody.

    What public facts rule out is refused when this is made, before any charge.
    """

    def __init__(
        self,
        silo: Silo,
        learner: GraphLearning,
        run: str,
        target: str,
        count_epsilon: Any = None,
    ) -> None:
        if not isinstance(run, str) or not 0 < len(run) <= 90:
            raise ParameterError(f"run must be a name of 1 to 90 letters. Got {run!r}.")
        terms = learner.terms
        if terms is None:
            raise UnsafeError("silos do not answer without privacy.")
        self._silo, self._learner, self._run = silo, learner, run
        self._terms, self._target = terms, target
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
        self.width = setting.scaled.width()
        moments = setting.moments().blocks[0]
        self.moments_width = moments.bind(silo.domain, 1).width

    def setting(self, rows: Sequence[int]) -> Setting:
        """The public facts of a run of nodes with so many rows."""
        return self._learner.setting(self._silo.domain, self._target, rows)

    def moments(self, rounds: int) -> Message:
        """The noisy moments of so many rounds, and the number of rows."""
        query, rows = self.setting([1]).moments(), self._rows()
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
