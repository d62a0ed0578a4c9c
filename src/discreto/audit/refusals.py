"""Does what a silo refuses depend on its rows? Hostile messages, replies compared.

A message that anybody may have written is changed in one place at a time: a list loses
its end, a number becomes huge, negative or nothing. Every version goes to silos over
neighbouring tables, at an epsilon so small that noise hides whatever is released. Then
all that can be seen is *whether* there is a release, and that must be the same for all.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from discreto.audit.bounds import lower_bound
from discreto.audit.findings import Finding
from discreto.errors import ParameterError

Message = dict[str, Any]
Answer = Callable[[Message], Any]  # a silo, or anything else that answers
NUMBERS = (0, -1, 0.5, 1e12, -1e12, 1e300, 1 << 40)
KEPT = ("discreto", "kind", "schema", "id", "run", "label", "cost")  # not mutated


def mutations(
    message: Message, texts: Sequence[str] = ()
) -> Iterator[tuple[str, Message]]:
    """Yield the message itself, and versions that differ from it in one place.

    A text that is one of ``texts`` (the names of columns, say) becomes each other one.
    """
    yield "as it is", message
    for path, value in _leaves(message, ()):
        if path[0] in KEPT:
            continue
        for words, other in _others(value, texts):
            changed = copy.deepcopy(message)
            place: Any = changed
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = other
            yield f"{'.'.join(map(str, path))} {words}", changed


def _leaves(thing: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if path and isinstance(thing, int | float | list | str):
        yield path, thing
    if isinstance(thing, dict):
        for name, value in thing.items():
            yield from _leaves(value, (*path, name))
    elif isinstance(thing, list):
        for place, value in enumerate(thing):
            yield from _leaves(value, (*path, place))


def _others(value: Any, texts: Sequence[str]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str):
        if value in texts:
            yield from ((f"= {other!r}", other) for other in texts if other != value)
        return
    if isinstance(value, list):
        if value:
            yield "without its end", value[:-1]
            yield "with its end twice", [*value, value[-1]]
            yield "empty", []
        return
    if isinstance(value, bool):
        return
    for number in NUMBERS:
        # A float where a float was: an integer there is another mistake.
        other = float(number) if isinstance(value, float) else number
        if other != value and (isinstance(value, float) or number == int(number)):
            yield f"= {other:g}", other if isinstance(value, float) else int(other)


def outcome(reply: Any) -> str:
    """Return the part of a reply that noise does not hide."""
    if not isinstance(reply, dict):
        return type(reply).__name__
    if reply.get("kind") != "refusal":
        return str(reply.get("kind"))
    return f"refusal: {reply.get('error')}: {reply.get('reason')}"


def refusals(
    silo_of: Callable[[Any], Answer],
    messages: Iterable[Message],
    tables: Sequence[tuple[Any, Any]],
    *,
    texts: Sequence[str] = (),
    claimed: float = 1e-3,
    runs: int = 40,
    confidence: float = 0.999,
    name: str = "",
) -> Finding:
    """Send hostile messages to silos over neighbouring tables, and compare replies.

    Parameters
    ----------
    silo_of
        Makes a fresh silo over a table; it answers a message.
    messages
        Messages to start from; hostile versions are made of each.
    tables
        Pairs of neighbouring tables.
    texts
        Further texts to put into messages.
    claimed
        The epsilon of a message.
    runs
        Over how many fresh silos on each table a difference is counted.
    confidence
        The chance that an honest subject is *not* accused.
    name
        What the finding calls the subject.
    """
    start, tried = time.perf_counter(), 0
    shown, event, pair = 0.0, "every reply was of one kind on all tables", "-"
    versions = (
        version
        for base in messages
        for version in mutations(json.loads(json.dumps(base)), texts)
    )
    for words, message in versions:
        tried += 1
        kinds: dict[int, str] = {}  # a table is in several pairs
        for place, both in enumerate(tables):
            ends = [_once(silo_of, data, message, kinds) for data in both]
            if ends[0] != ends[1] and shown <= claimed:
                bound = _counted(silo_of, both, message, ends[0], runs, confidence)
                if bound > shown:
                    shown, pair = bound, f"pair {place + 1}"
                    event = f"{words}: {ends[0][:60]!r} or {ends[1][:60]!r}"
        if shown > claimed:
            break
    if not tried:
        raise ParameterError("there is no message to send.")
    return Finding(
        name or "this silo",
        "refusals",
        violation=shown > claimed,
        claimed=claimed,
        shown=shown,
        event=event,
        pair=pair,
        pairs=len(tables),
        runs=tried,
        confidence=confidence,
        seconds=time.perf_counter() - start,
    )


def _once(silo_of: Any, data: Any, message: Message, kinds: dict[int, str]) -> str:
    if id(data) not in kinds:
        kinds[id(data)] = outcome(silo_of(data)(message))
    return kinds[id(data)]


def _counted(
    silo_of: Any, both: Any, message: Message, end: str, runs: int, confidence: float
) -> float:
    """Return a lower bound on epsilon from how often each table gives this reply."""
    hits = [
        sum(outcome(silo_of(data)(message)) == end for _ in range(runs))
        for data in both
    ]
    alpha = (1 - confidence) / 4  # two directions, two events
    odds = [hits[0], hits[1], runs - hits[0], runs - hits[1]]
    return max(
        float(lower_bound(odds[i], runs, odds[j], 0.0, alpha))
        for i, j in ((0, 1), (1, 0), (2, 3), (3, 2))
    )


__all__ = ["mutations", "outcome", "refusals"]
