"""The messages between a coordinator and silos: plain JSON, the same for every wire.

Every message is a dict with ``"discreto": 1`` and a ``"kind"``; so is every reply.

``hello``
    Asks for public facts. Reply ``silo``: the domain, its ``schema``, the declared
    ``rows`` (or None), the epsilon that is ``remaining`` for the asking partner, the
    ``room`` for one more question (without and with a delta), the owner's ``policy``.
``measure``
    ``id``, ``schema``, ``question`` (a Sum), ``cost``, ``label``; with ``view``, a list
    of steps (derived columns, filters), the question is about that view. Reply
    ``release``.
``round``
    One round of a training run: ``run``, ``round``, ``schema``, ``question`` (a Sum),
    ``terms`` (what the whole run costs, see ``Terms``), and ``move``: ``{"kind":
    "sums"}`` asks the question ``steps`` times; ``{"kind": "steps", "rate": 0.01}``
    walks down a gradient, ``w <- w - rate * sum``; ``{"kind": "proximal", "mu": 1,
    "rows": 400}`` goes to the proximal point. The first round of a run charges the
    whole run; every round is answered once. Reply ``release`` with a table for each
    step.

A ``release`` has integer ``tables``, the distribution of the ``noise`` on each block,
and a ``receipt``. Whatever a silo refuses comes back as ``refusal`` with ``error`` (a
name from :mod:`discreto.errors`) and ``reason``. The same message sent again gets the
same stored release; another message under the same name is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreto import errors
from discreto.core.charge import Receipt
from discreto.core.cost import Amount, Cost, read_amount, read_delta
from discreto.core.documents import check_amounts, check_plain, read_fraction
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, view_to_json
from discreto.core.gate import Measurement, Noise
from discreto.core.maps import to_json
from discreto.core.query import Ints, Sum
from discreto.errors import DiscretoError, ParameterError
from discreto.session.parameters import number, whole

VERSION = 1
_MOST_PARTS = 1 << 10  # of a message without its question
_MOST_NUMBERS = 1 << 27  # of a release
_LETTERS = 10**4  # of a text in a release
_RAREST = Fraction(1, 10**6)  # the least rate of samples
_MOST_STEPS = 10**5  # of a run on samples
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Terms:
    """The cost of a run for a silo: all its rounds of local steps, as one block.

    Parameters
    ----------
    epsilon, delta
        What the run costs.
    rounds
        How often the silo is asked.
    steps
        Local steps in a round.
    rate
        The probability of each row to be in the sample of a step.
    """

    epsilon: Fraction
    delta: Fraction
    rounds: int
    steps: int = 1
    rate: Fraction = Fraction(1)

    @classmethod
    def of(
        cls,
        epsilon: Amount,
        delta: Amount,
        rounds: int,
        steps: int = 1,
        rate: Amount = 1,
    ) -> Terms:
        """Terms from numbers as people write them.

        Parameters
        ----------
        epsilon, delta
            What the run costs.
        rounds
            How often the silo is asked.
        steps
            Local steps in a round.
        rate
            The probability of each row to be in the sample of a step.
        """
        rounds = whole(rounds, "rounds", most=10**6)
        steps = whole(steps, "steps", most=10**6)
        probability = read_amount(rate, "rate")
        if probability > 1:
            raise ParameterError(f"rate is a probability, at most 1. Got {rate!r}.")
        amount = read_amount(epsilon, "epsilon")
        return cls(amount, read_delta(delta), rounds, steps, probability)

    def to_dict(self) -> Message:
        """Return a JSON form."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "rounds": self.rounds,
            "steps": self.steps,
            "rate": str(self.rate),
        }


def schema_of(domain: Domain) -> str:
    """Return a digest of the domain without its neighbours and row count."""
    return domain.with_(neighbours="add-remove", rows=None).fingerprint


def hello() -> Message:
    """Ask a silo for its public facts."""
    return {"discreto": VERSION, "kind": "hello"}


def measure(
    query: Sum,
    cost: Cost,
    label: str,
    name: str,
    schema: str,
    view: Sequence[Step] = (),
) -> Message:
    """Ask a silo for noisy sums, of its table or of a view of it."""
    seen = {"view": view_to_json(view)} if view else {}
    return {
        "discreto": VERSION,
        "kind": "measure",
        "id": name,
        "schema": schema,
        "question": to_json(query),
        "cost": cost.to_dict(),
        "label": label,
    } | seen


def training_round(
    query: Sum, terms: Terms, run: str, number: int, schema: str, move: Message
) -> Message:
    """Ask a silo for one round of a training run."""
    return {
        "discreto": VERSION,
        "kind": "round",
        "run": run,
        "round": number,
        "schema": schema,
        "question": to_json(query),
        "terms": terms.to_dict(),
        "move": move,
    }


def is_facts(reply: Message) -> bool:
    """Return True if a reply has the public facts of a silo."""
    names = {"domain", "schema", "rows", "room", "policy", "delta", "simulated"}
    return (
        isinstance(reply, Mapping)
        and reply.get("kind") == "silo"
        and names <= set(reply)
    )


def release(tables: Sequence[Ints], noises: Sequence[Noise], receipt: Receipt) -> Any:
    """Return the reply that carries noisy sums."""
    noise = [
        {"law": n.law, "amount": str(n.amount), "width": n.width, "bits": n.bits}
        for n in noises
    ]
    return {
        "discreto": VERSION,
        "kind": "release",
        "tables": [table.tolist() for table in tables],
        "noise": noise,
        "receipt": receipt.to_dict(),
    }


def refusal(error: DiscretoError) -> Message:
    """Return the reply that says why there is no release."""
    return {
        "discreto": VERSION,
        "kind": "refusal",
        "error": type(error).__name__,
        "reason": str(error),
    }


def read_release(reply: Mapping[str, Any]) -> Measurement:
    """A release as a gate would give it; a refusal is raised as the error it names."""
    if not isinstance(reply, Mapping):
        raise ParameterError("a silo sent a reply that is not a release.")
    if reply.get("kind") == "refusal":
        error = reply.get("error")
        kind: Any = getattr(errors, error if isinstance(error, str) else "", None)
        known = isinstance(kind, type) and issubclass(kind, DiscretoError)
        reason = reply.get("reason")
        text = reason[:2000] if isinstance(reason, str) else "no reason was given."
        raise (kind if known else DiscretoError)(text)
    try:
        check_plain(dict(reply), _MOST_NUMBERS, letters=_LETTERS)
        tables = tuple(_whole_table(table) for table in reply["tables"])
        noises = tuple(_noise_of(noise) for noise in reply["noise"])
        receipt = _receipt(reply["receipt"])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise ParameterError("a silo sent a reply that is not a release.") from None
    return Measurement(tables, noises, receipt)


def _whole_table(rows: Any) -> Ints:
    """Return a table of whole numbers as a silo sends it: cells x width."""
    table = np.array(rows)
    if table.ndim != 2 or table.dtype.kind != "i":
        raise TypeError
    return table.astype(np.int64)


def _noise_of(data: Any) -> Noise:
    law, width, bits = data["law"], data["width"], data["bits"]
    sizes = type(width) is int and type(bits) is int
    if law not in ("laplace", "gaussian", "cube") or not sizes:
        raise TypeError
    if not 1 <= width <= 1 << 26 or not 0 <= bits <= 1 << 10:
        raise ValueError
    return Noise(law, read_fraction(data["amount"], _LETTERS), width, bits)


def _receipt(paid: Any) -> Receipt:
    if type(paid["seq"]) is not int:
        raise TypeError
    return Receipt(
        paid["seq"],
        str(paid["label"]),
        Cost.from_dict(check_amounts(paid["cost"])),
        str(paid["hash"]),
        bool(paid.get("simulated", False)),
    )


def digest(message: Mapping[str, Any]) -> str:
    """Return a short name for exactly this message."""
    text = json.dumps(message, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def dump_tables(tables: Sequence[Ints]) -> str:
    """Tables as the text under which a ledger keeps them."""
    return json.dumps([table.tolist() for table in tables])


def load_tables(text: str) -> list[Ints]:
    """Return the inverse of ``dump_tables``."""
    return [np.array(table, dtype=np.int64) for table in json.loads(text)]


# What a stranger may have written


def check_message(message: Message) -> None:
    """Refuse a message that cannot be written down, whatever else it says.

    Its name in the ledger covers all of it, so this comes before anything is paid.
    The question and the view have limits of their own.
    """
    own = ("question", "view")
    rest = {name: part for name, part in message.items() if name not in own}
    check_plain(rest, _MOST_PARTS)


def text_of(message: Message, name: str) -> str:
    """Return a short text that must be there, in a message that is plain."""
    check_message(message)
    text = message.get(name)
    if not isinstance(text, str) or not 0 < len(text) <= 100:
        raise ParameterError(f"a message needs {name!r}, a text of 1 to 100 letters.")
    return text


def only(data: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a dict with exactly these names."""
    if not isinstance(data, dict) or set(data) != set(names):
        raise ParameterError(f"a message needs exactly {', '.join(names)} here.")
    return data


def cost_of(data: Any) -> Cost:
    """Return the cost of a question: pure epsilon, or rho."""
    if not isinstance(data, dict) or len(data) != 1 or not {*data} <= _COSTS:
        raise ParameterError("a question costs either epsilon or rho.")
    ((name, amount),) = data.items()
    if not isinstance(amount, str) or len(amount) > 200:
        raise ParameterError("a cost is written as a text, such as '1/2'.")
    number = read_amount(amount, name)
    return Cost(epsilon=number) if name == "epsilon" else Cost(rho=number)


_COSTS = {"epsilon", "rho"}


def terms_of(data: Any) -> Terms:
    """Return the terms of a run."""
    terms = only(data, ("epsilon", "delta", "rounds", "steps", "rate"))
    check_plain(terms, len(terms) * 2, depth=1, letters=200)
    out = Terms.of(**terms)
    # An accountant works these out: seconds within these limits, hours beyond them.
    if out.rate < 1 and (out.rate < _RAREST or out.rounds * out.steps > _MOST_STEPS):
        raise ParameterError(
            f"samples are at least one row in {1 / _RAREST}, in {_MOST_STEPS} steps."
        )
    return out


def move_of(data: Any, terms: Terms) -> Message:
    """Return the checked move of a round: sums, gradient steps, or a proximal point."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "sums":
        return only(data, ("kind",))
    if kind == "steps":
        move = only(data, ("kind", "rate"))
        number(move["rate"], "rate", 1e-12, 1e12)
        return move
    if kind == "proximal":
        move = only(data, ("kind", "mu", "rows"))
        number(move["mu"], "mu", 1e-12, 1e9)
        number(move["rows"], "rows", 1e-12, 1e9)
        if terms.steps != 1 or terms.rate != 1:
            raise ParameterError("a proximal round has one step over all rows.")
        return move
    raise ParameterError("the move of a round is 'sums', 'steps' or 'proximal'.")
