"""The black-box audit: a lower bound on epsilon from many runs of anything.

A mechanism runs n times on each of two neighbouring tables. A quarter of the runs
teaches classifiers to tell the two apart, a quarter chooses the event (a set of
outputs) that shows the most, and the other half, never looked at before, counts it.
The bound is valid whatever was learned: a bad event shows little, never too much.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.audit.bounds import find_events, lower_bound
from discreto.audit.findings import Finding
from discreto.audit.neighbours import Pair
from discreto.audit.output_features import Matrix, low_bits, stack
from discreto.audit.repeat import Runs, bar
from discreto.errors import ParameterError
from discreto.session.parameters import MANY, whole

Mechanism = Callable[[Any], Any]
# When to look, and each look's part of the error that is allowed.
LOOKS = ((0.1, 0.1), (0.35, 0.2), (1.0, 0.7))
_SCOUT = 40  # one run in so many chooses among several pairs
_KEPT = 2  # pairs that are then looked at closely


@dataclass(frozen=True)
class Shown:
    """The best bound of one pair at one look."""

    bound: float
    event: str
    pair: int
    runs: int


def epsilon(
    mechanism: Mechanism,
    first: Any = None,
    second: Any = None,
    *,
    claimed: float,
    pairs: Sequence[Pair] | Sequence[tuple[Any, Any]] = (),
    runs: int = 20_000,
    delta: float = 0.0,
    confidence: float = 0.999,
    bits: bool = False,
    workers: int = 1,
    isolate: bool = False,
    early: bool = True,
    progress: bool = False,
    name: str = "",
) -> Finding:
    """Try to show that a mechanism loses more than it claims.

    Parameters
    ----------
    mechanism
        A callable ``data -> output``: a number, array, text, dict, or an estimator
        (its attributes that end in an underscore are the output). How a run ended is
        an output, too: an exception, a silo's refusal, the death of its process. With
        a method ``many(data, n)`` that returns n outputs as rows of a
        matrix, that is called instead: see :class:`Replicates`.
    first, second, pairs
        The two tables, in whatever form the mechanism takes; or several such pairs. Of
        more than two pairs, a fortieth of the runs on each chooses two.
    claimed, delta
        What the mechanism claims.
    runs, confidence
        Runs on each table; the probability that an honest mechanism is *not* accused.
    bits
        Look at the lowest bits of floats, too.
    workers
        Processes. The mechanism must draw fresh noise in each of them, as ours do; a
        seeded generator would repeat itself and make the result worthless.
    isolate
        Run in another process even with one worker: a crash is then an output, too.
    early
        Stop as soon as a violation is certain; the looks share the allowed error.
    progress
        Show a progress bar on a terminal.
    name
        What the finding calls the subject.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def too_quiet(rows):
    ...     return len(rows) + rng.laplace(0, 0.5)
    >>> finding = epsilon(too_quiet, [1] * 9, [1] * 10, claimed=1, runs=4000)
    >>> finding.verdict, bool(1 < finding.shown < 2)
    ('VIOLATION', True)
    """
    _check(runs, confidence, delta, claimed)
    tables, labels = _tables(first, second, pairs)
    start = time.perf_counter()
    looks = LOOKS if early else ((1.0, 1.0),)
    with (
        Runs(mechanism, workers, isolate=isolate) as source,
        bar(name or "black box", progress) as tick,
    ):
        kept = _scout(source, tables, runs, delta, bits, tick)
        alpha = (1 - confidence) / (2 * len(kept))  # two directions of each pair
        best = Shown(-1.0, "nothing", kept[0], 0)
        drawn: dict[int, tuple[list[Matrix], list[Matrix]]] = {}
        for share, part in looks:
            for place in kept:
                have = drawn.setdefault(place, ([], []))
                _draw(source, tables[place], have, round(runs * share), tick)
                ratio = _ratio(mechanism, tables[place])
                bound, event = _show(source, have, delta, alpha * part, bits, ratio)
                seen = Shown(bound, event, place, round(runs * share))
                best = max(best, seen, key=lambda one: one.bound)
            if best.bound > claimed:
                break
    return Finding(
        name or getattr(mechanism, "__name__", "this mechanism"),
        "black box",
        violation=best.bound > claimed,
        claimed=float(claimed),
        shown=max(best.bound, 0.0),
        event=best.event,
        pair=labels[best.pair],
        pairs=len(tables),
        relation=_relation(pairs),
        delta=float(delta),
        runs=round(runs * share),
        confidence=confidence,
        seconds=time.perf_counter() - start,
    )


def _check(runs: int, confidence: float, delta: float, claimed: float) -> None:
    whole(runs, "runs", least=200, most=MANY, of="audit.epsilon")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be in (0, 1). Got {confidence!r}.")
    if not 0 <= delta < 1 or not claimed >= 0:
        raise ParameterError("claimed must be 0 or more, and delta in [0, 1).")


def _tables(
    first: Any, second: Any, pairs: Sequence[Any]
) -> tuple[list[tuple[Any, Any]], list[str]]:
    if (first is None) != (second is None) or (first is None) == (not pairs):
        raise ParameterError("give two tables, or pairs of tables, and not both.")
    if not pairs:
        return [(first, second)], ["the two tables given"]
    out, labels = [], []
    for i, pair in enumerate(pairs):
        whole = isinstance(pair, Pair)
        out.append((pair.first, pair.second) if whole else tuple(pair))
        labels.append(pair.name if whole else f"pair {i + 1}")
    return out, labels


def _relation(pairs: Sequence[Any]) -> str:
    first = pairs[0] if pairs else None
    return first.domain.neighbours if isinstance(first, Pair) else "as given"


def _ratio(mechanism: Any, pair: tuple[Any, Any]) -> Any:
    return mechanism.ratio(*pair) if hasattr(mechanism, "ratio") else None


def _scout(
    source: Runs, tables: list[Any], runs: int, delta: float, bits: bool, tick: Any
) -> list[int]:
    """Return the pairs that look worst in a few runs, which are not used again."""
    if len(tables) <= _KEPT:
        return list(range(len(tables)))
    found = []
    for place, pair in enumerate(tables):
        have: tuple[list[Matrix], list[Matrix]] = ([], [])
        _draw(source, pair, have, max(runs // _SCOUT, 200), tick)
        found.append((_show(source, have, delta, 0.1, bits)[0], place))
    return [place for _, place in sorted(found, reverse=True)[:_KEPT]]


def _draw(
    source: Runs, pair: Any, have: tuple[list[Matrix], ...], wanted: int, tick: Any
) -> None:
    for data, parts in zip(pair, have, strict=True):
        missing = wanted - sum(map(len, parts))
        if missing > 0:
            parts += source.draw(data, missing, tick)


def _show(
    source: Runs,
    have: tuple[list[Matrix], list[Matrix]],
    delta: float,
    alpha: float,
    bits: bool,
    ratio: Any = None,
) -> tuple[float, str]:
    """Return the bound from these runs, and the event that gives it."""
    runs = sum(map(len, have[0]))
    both = stack([*have[0], *have[1]])
    names = source.names(both.shape[1])
    if bits:
        both = np.hstack([both, low_bits(both)])
        names = [*names, *(f"lowest bit of {name}" for name in names)]
    sides = (both[:runs], both[runs:])
    quarter, half = runs // 4, runs // 2
    learn = (sides[0][:quarter], sides[1][:quarter])
    choose = (sides[0][quarter:half], sides[1][quarter:half])
    kept, best = runs - half, (-1.0, "nothing was seen")
    for event in find_events(learn, choose, names, delta, alpha, ratio=ratio):
        more = event.count(sides[event.likely][half:])
        less = event.count(sides[1 - event.likely][half:])
        bound = float(lower_bound(more, kept, less, delta, alpha))
        if bound > best[0]:
            best = (bound, f"{event.words}: {more} of {kept} runs against {less}")
    return best
