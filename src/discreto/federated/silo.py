"""A silo: a table whose owner answers JSON questions by rules of their own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.charge import one_at_a_time
from discreto.core.cost import read_amount
from discreto.core.expressions import view_from_json
from discreto.core.ledger import Ledger
from discreto.core.maps import from_json, proximal
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.predictions import Predictor, install_reader
from discreto.core.maps.proximal import most_rows
from discreto.core.query import Block, Bound, Derived, Everyone, Floats, Ints, Sum, bind
from discreto.core.sampled_steps import Training
from discreto.core.steps import steps_for
from discreto.errors import (
    DiscretoError,
    DomainError,
    KernelFault,
    LedgerError,
    ParameterError,
)
from discreto.federated import messages
from discreto.federated.messages import Message
from discreto.federated.policy import Policy
from discreto.session.parameters import MANY, whole
from discreto.session.session import question_of
from discreto.table.table import Table

FARTHEST = 1e9  # no weight is larger
Measure = Callable[[Floats, int], Ints]  # noisy gradient sums at these weights
Scale = float | Floats  # one number, or one for each line of weights
MOST_NUMBERS = 1 << 18  # of one answer: it travels as text


def _read_model(text: str) -> Predictor:
    # A process often lives for one message, and few are about a model.
    from discreto.models.interop.json import ModelPredictor

    return ModelPredictor.read(text)


install_reader(_read_model)


class Silo:
    """A table that answers JSON messages with releases, within its owner's policy.

    Parameters
    ----------
    table
        The silo's own rows, domain and ledger. The ledger must be a file (or a
        simulation): what was spent and which rounds were answered must survive.
    policy
        What may be asked.
    rows
        The number of rows, if the owner declares it public; it weights the silo.
        Nothing: it is private, and a coordinator has to ask (and pay) for it.

    How to drive it
    ---------------
    ``reply = silo.answer(message, partner)`` is all there is. Both are plain JSON data
    (see :mod:`discreto.federated.messages`); integers have up to 64 bits, so send them
    as JSON text. ``partner`` is the name under which the *wire* knows the sender, never
    something the message says. ``answer`` does not raise: a refusal is a reply.
    A new ``Silo`` on the same ledger file goes on where the last one stopped, so a
    process may be started for each message. Charges are on disk before a row is read,
    and answers before they are returned: a message sent again, to this process or the
    next, gets the same answer and costs nothing more. If a process died before it
    stored its answer, the message is charged again.

    >>> import discreto as dp
    >>> from discreto.federated import messages
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> table = dp.Table({"age": [40, 50, 60]}, domain, dp.Ledger(epsilon=1))
    >>> silo = Silo(table, rows=3)
    >>> silo.answer(messages.hello())["rows"]
    3
    >>> silo.answer({"kind": "raw rows, please"})["error"]
    'ParameterError'
    """

    def __init__(
        self, table: Table, policy: Policy | None = None, *, rows: int | None = None
    ) -> None:
        if not isinstance(table, Table):
            raise ParameterError("a Silo needs a Table: Silo(Table(...), Policy(...)).")
        self.policy = policy or Policy()
        self.domain = table.domain
        self._table = table if table.name else table.named("silo")
        self.schema = messages.schema_of(table.domain)
        if rows is not None:
            rows = whole(rows, "rows", least=0, most=MANY)
        self.rows = table.domain.rows if rows is None else rows
        if self.rows is not None and not table.has_at_most(most_rows(self.rows)):
            raise DomainError(
                f"this silo declares {self.rows} rows and has more than a quarter "
                "more. What is declared is public: correct it, or leave rows out."
            )
        ledger = table.ledger
        if isinstance(ledger, Ledger):
            for name, amount in self.policy.partners.items():
                _allow(ledger, name, read_amount(amount, f"the epsilon of {name!r}"))

    @property
    def ledger(self) -> Any:
        """The book of what was spent on these rows."""
        return self._table.ledger

    def answer(self, message: Any, partner: str = "") -> Message:
        """Return the reply to a message: a release, public facts, or a refusal.

        Parameters
        ----------
        message
            JSON data; see :mod:`discreto.federated.messages`.
        partner
            The name under which the wire knows the sender.

        Returns
        -------
        dict
            JSON data. This never raises: a refusal is a reply.

        Privacy
        -------
        Charged to the silo's ledger before a row is read. An answer that was stored is
        free to repeat. Without one, the same message is charged again.
        """
        try:
            return self._answer(message, str(partner))
        except DiscretoError as error:
            where = repr(getattr(self.ledger, "path", ""))
            reason = str(error).replace(where, "the silo's ledger")
            return messages.refusal(type(error)(reason))
        except Exception:  # whatever it is, its text may quote a row
            return messages.refusal(KernelFault("this message could not be answered."))

    def _answer(self, message: Any, partner: str) -> Message:
        if not isinstance(message, dict) or message.get("discreto") != messages.VERSION:
            raise ParameterError("this is not a message that this discreto can read.")
        messages.check_message(message)
        self.policy.check_partner(partner)
        kind = message.get("kind")
        if kind == "hello":
            return self._facts(partner)
        if kind not in ("measure", "round"):
            raise ParameterError(f"unknown kind of message {str(kind)[:40]!r}.")
        if message.get("schema") != self.schema:
            raise DomainError(
                "this silo describes its columns in another way (schema "
                f"{self.schema}). All silos need the same columns, bounds and classes."
            )
        query = from_json(message.get("question"))
        if not isinstance(query, Sum):
            raise ParameterError("a silo answers sums only: choices do not add up.")
        self.policy.check_kinds(query)
        if kind == "measure":
            return self._measure(message, query, partner)
        if "view" in message:
            raise ParameterError("rounds of training are about the table, not a view.")
        self._check_size(bind(query, self.domain))
        return self._round(message, query, partner)

    def _check_size(self, bound: Bound) -> None:
        """Refuse an answer that would not fit into a message."""
        if bound.cells * sum(block.width for block in bound.blocks) > MOST_NUMBERS:
            raise ParameterError(
                f"this answer would have more than {MOST_NUMBERS} numbers. Ask for "
                "fewer cells or columns."
            )

    def _facts(self, partner: str) -> Message:
        ledger = self.ledger
        simulated = ledger.simulation is not None
        named = bool(self.policy.partners) and not simulated
        name = partner if named else ""
        left = None if simulated else ledger.remaining(name)
        room = None
        if not simulated:
            room = {
                "pure": min(ledger.room(), ledger.room(0, name)),
                "gaussian": min(ledger.room(1e-9), ledger.room(1e-9, name)),
            }
        return {
            "discreto": messages.VERSION,
            "kind": "silo",
            "domain": self.domain.to_dict(),
            "schema": self.schema,
            "rows": self.rows,
            "remaining": left,
            "room": room,
            "policy": self.policy.public(),
            "delta": str(self._delta()),
            "simulated": simulated,
        }

    # Sums

    def _measure(self, message: Message, query: Sum, partner: str) -> Message:
        name = messages.text_of(message, "id")
        label = messages.text_of(message, "label")
        cost = messages.cost_of(message.get("cost"))
        table = self._table
        for step in view_from_json(message.get("view", [])):
            self.policy.check_kinds(step)
            table = table.seen(step)
        bound = bind(query, table.domain)
        self._check_size(bound)
        question = question_of(bound, label, cost)
        self.policy.check_noise(min(question.ratios()))
        self.policy.check_cost(cost, self._delta())
        gate = table.gate(self._payer(partner))
        key = f"{partner}:{name}"
        with one_at_a_time(key):
            answer = gate.measure(bound, cost, label, key=key)
        return messages.release(answer.tables, answer.noises, answer.receipt)

    # Training

    def _round(self, message: Message, query: Sum, partner: str) -> Message:
        run, number = messages.text_of(message, "run"), message.get("round")
        terms = messages.terms_of(message.get("terms"))
        # True is 1 to Python, but would be another name for round 1.
        if type(number) is not int or not 0 <= number < terms.rounds:
            raise ParameterError(f"this run has rounds 0 to {terms.rounds - 1}.")
        move = messages.move_of(message.get("move"), terms)
        steps = steps_for(
            terms.epsilon, terms.delta, terms.rounds * terms.steps, terms.rate
        )
        self.policy.check_run(steps, terms.steps, self._delta())
        asked: Sum | Derived = query
        if move["kind"] != "sums":
            gradient = _gradient(query)
        if move["kind"] == "proximal":
            mu, rows = float(move["mu"]), float(move["rows"])
            asked = proximal.question(gradient, mu, rows, self.rows)
        # What can be refused is refused before anything is paid.
        if len(asked.blocks) != 1:
            raise ParameterError("the question of a round has one block.")
        label, first = f"round {number} of {run}", number * terms.steps
        table = self._table.paid_by(self._payer(partner))
        noises = steps.noises(table.gate().check(asked, label))
        # Steps of a round are in the name: so many steps were paid, no more are taken,
        # and each of them has one answer.
        name = f"{partner}:{run} of {terms.rounds} x {terms.steps}"
        training = table.train(steps, f"train {run}", key=name, first=first)
        tables = _train(training, asked, move, terms.steps, label)
        return messages.release(tables, noises, training.receipt)

    # What stands behind

    def _payer(self, partner: str) -> Any:
        ledger = self.ledger
        if not self.policy.partners or not isinstance(ledger, Ledger):
            return ledger
        return ledger.analyst(partner)

    def _delta(self) -> Fraction:
        return getattr(self.ledger, "delta", Fraction(1, 10**5))

    def __repr__(self) -> str:
        return f"Silo({self.domain!r})"


def _train(
    training: Training, query: Sum | Derived, move: Message, count: int, label: str
) -> list[Ints]:
    """The noisy sums of a round: those of each step, or of one question repeated."""
    if move["kind"] != "steps" or isinstance(query, Derived):
        return [training.measure(query, label).tables[0] for _ in range(count)]
    gradient = _gradient(query)

    def measure(weights: Floats, number: int) -> Ints:
        question = Sum(Everyone(), (Block(gradient.at(weights)),))
        return training.measure(question, label).tables[0][0]

    start = np.array(gradient.weights)
    taken = local_steps(measure, start, count, gradient.unit, move["rate"])
    return [sums[None, :] for sums in taken]


def _allow(ledger: Ledger, name: str, amount: Fraction) -> None:
    """Give a partner its budget, unless it has it already."""
    try:
        if ledger.limit(name) == amount:
            return
    except LedgerError:
        pass  # a new partner
    ledger.allow(name, amount)


def _gradient(query: Sum) -> ClippedGradient:
    features = query.blocks[0].features
    plain = query == Sum(Everyone(), (Block(features),))
    if not plain or not isinstance(features, ClippedGradient):
        raise ParameterError("steps need a question that is one gradient of a loss.")
    return features


# Steps on released numbers. Element by element, no BLAS: the same numbers give the same
# weights, bit for bit, for silos, coordinators and simulations.


def descend(weights: Floats, sums: Ints, unit: Scale, rate: Scale) -> Floats:
    """One step down: sums are in grid steps of ``unit``, ``rate`` has the 1 / rows.

    Weights stay where a question can hold them, however wrong the rate is.
    """
    moved = weights - (rate * unit) * sums
    return moved.clip(-FARTHEST, FARTHEST, out=moved)


def local_steps(
    measure: Measure, weights: Floats, count: int, unit: Scale, rate: Scale
) -> list[Ints]:
    """The gradient sums of ``count`` steps, each taken where the last one led."""
    taken = [measure(weights, 0)]
    for number in range(1, count):
        weights = descend(weights, taken[-1], unit, rate)
        taken.append(measure(weights, number))
    return taken
