"""Dry runs of a request: one session for every form that its plan may have.

A rehearsal asks as little as it can. Questions before a fork are asked once, and the
ways that leave there are given the same answers again. A part that is repeated, such as
one tree of many, is asked once. The bounds of the first give the prices of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, cast

from discreto.core.cost import Cost
from discreto.core.gate import Discovery, Gate, Measurement, RowPartition, Selection
from discreto.core.query import Bound, Choice, Derived, Sum
from discreto.core.unknown_keys import Keys
from discreto.session.session import Branch, Question, Session, question_of

T = TypeVar("T")


class _DryAnswer(NamedTuple):
    """One question of a dry run with its answer; a division of a table has none."""

    question: Question
    bound: Bound | None
    numbers: int
    answer: Any


@dataclass
class _Part:
    """The questions of a part that is repeated, each with its share of the part."""

    result: Any
    asked: list[tuple[_DryAnswer, Fraction]]
    prefix: int  # characters of the label that differ from repetition to repetition
    priced: dict[tuple[Cost, Fraction], list[Question]] = field(default_factory=dict)


@dataclass
class _Tape:
    """The questions of one dry run, and the answers that it is given again."""

    parts: dict[Hashable, _Part]
    made: dict[Hashable, Any]
    given: Sequence[_DryAnswer] = ()
    asked: list[_DryAnswer] = field(default_factory=list)
    at_forks: list[int] = field(default_factory=list)  # questions before each fork

    def next(self, label: str) -> _DryAnswer | None:
        """Return the next question whose answer is known, if it has this label."""
        at = len(self.asked)
        if at < len(self.given) and self.given[at].question.label == label:
            return self.given[at]
        self.given = ()  # an answer that was not asked for tells nothing of later ones
        return None


class _Rehearsed(Session):
    """Methods of a dry run and of its branches."""

    tape: _Tape
    whole: DryRun

    def measure(
        self, query: Sum | Derived, label: str, share: Fraction = Fraction(1)
    ) -> Measurement:
        """Return the sums without noise, or those that were found before the fork."""
        measure = super().measure
        return self._answer(label, lambda: measure(query, label, share))

    def select(
        self, query: Choice, label: str, share: Fraction = Fraction(1)
    ) -> Selection:
        """Return the best index, or the one that was found before the fork."""
        select = super().select
        return self._answer(label, lambda: select(query, label, share))

    def discover(self, query: Keys, label: str) -> Discovery:
        """Return frequent values, or those that were found before the fork."""
        discover = super().discover
        return self._answer(label, lambda: discover(query, label))

    def split(
        self, partition: RowPartition, label: str, share: Fraction = Fraction(1)
    ) -> list[Session]:
        """Return a session for each part; parts are divided again on every way."""
        self.tape.next(label)
        branches = super().split(partition, label, share)
        self.tape.asked.append(_DryAnswer(self.whole.asked[-1], None, 0, None))
        return branches

    def repeat(
        self,
        form: Hashable,
        label: str,
        share: Fraction,
        turn: Callable[[], T],
        check: Callable[[], None],
    ) -> T:
        """Hold the first part of a ``form``, and note the questions of its repetitions.

        A repetition asks the same questions with the same bounds for a share of its
        own, so only its noise is worked out. ``check`` refuses what only repetitions
        can make too large.
        """
        key = (self.domain.fingerprint, self._gate.part is None, form)
        part = self.tape.parts.get(key)
        if part is None:
            start, forks = len(self.tape.asked), len(self.whole.forks)
            result = turn()
            whole, asked = self.cost * share, self.tape.asked[start:]
            # Forks and divisions of the table cannot be repeated from their bounds.
            plain = len(self.whole.forks) == forks
            if plain and all(one.bound is not None for one in asked):
                parts = [(one, _ratio(one.question.cost, whole)) for one in asked]
                self.tape.parts[key] = _Part(result, parts, len(label))
            return result
        check()
        price = (self.cost, share)
        if price not in part.priced:
            cost = self.cost * share
            part.priced[price] = [self._priced(one, cost * r) for one, r in part.asked]
        for (one, _), q in zip(part.asked, part.priced[price], strict=True):
            words = label + q.label[part.prefix :]
            facts = (q.cost, q.sensitivity, q.noise, q.sums, q.beliefs)
            named = Question(q.door, words, *facts)
            self.whole.asked.append(named)
            self.whole.numbers += one.numbers
            self.tape.asked.append(one._replace(question=named))
        return part.result

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` made the first time for this ``key``."""
        made = self.tape.made
        if key not in made:
            made[key] = make()
        return made[key]

    def _priced(self, one: _DryAnswer, cost: Cost) -> Question:
        bound, whole = cast(Bound, one.bound), self._gate.part is None
        return question_of(bound, one.question.label, cost, whole=whole)

    def _answer(self, label: str, ask: Callable[[], T]) -> T:
        known = self.tape.next(label)
        if known is not None:
            self.whole.asked.append(known.question)
            self.whole.numbers += known.numbers
            self.tape.asked.append(known)
            return known.answer
        before = self.whole.numbers
        answer = ask()
        numbers = self.whole.numbers - before
        question = self.whole.asked[-1]
        self.tape.asked.append(_DryAnswer(question, self.whole.bound, numbers, answer))
        return answer

    def _branch(self, gate: Gate, cost: Cost) -> Session:
        return _DryBranch(gate, cost, self)


class DryRun(_Rehearsed):
    """A session that spends nothing and keeps what it asks.

    ``script`` holds the way at each of its first forks, ``tape`` the answers before the
    last of them.
    """

    def __init__(
        self,
        gate: Gate,
        cost: Cost,
        script: Sequence[int] = (),
        tape: _Tape | None = None,
    ) -> None:
        super().__init__(gate, cost, script=script)
        self.tape, self.whole = tape or _Tape({}, {}), self
        self.bound: Bound | None = None  # of the question that was asked last

    def fork(self, ways: int, way: int) -> int:
        """Return the way of the script, or ``way``."""
        self.tape.at_forks.append(len(self.tape.asked))
        return super().fork(ways, way)

    def _price(self, bound: Bound, label: str, *, released: bool) -> None:
        self.bound = bound
        super()._price(bound, label, released=released)


class _DryBranch(_Rehearsed, Branch):
    """A dry run with a part or a view, or for a share."""

    def __init__(self, gate: Gate, cost: Cost, trunk: _Rehearsed) -> None:
        super().__init__(gate, cost, trunk)
        self.tape, self.whole = trunk.tape, trunk.whole


def every_way(
    first: Gate,
    others: Callable[[], Gate],
    work: Callable[[Session], T],
    cost: Cost,
) -> Iterator[tuple[DryRun, T]]:
    """Yield dry runs of ``work`` and their results: one for each of its forms.

    The first goes its own way at ``first``; the others take the other ways at forks.
    """
    parts: dict[Hashable, _Part] = {}
    made: dict[Hashable, Any] = {}
    run = DryRun(first, cost, tape=_Tape(parts, made))
    yield run, work(run)
    todo = _turns_off(run, 0)
    while todo:
        script, given = todo.pop()
        run = DryRun(others(), cost, script, _Tape(parts, made, given))
        yield run, work(run)
        todo += _turns_off(run, len(script))


def _turns_off(run: DryRun, known: int) -> list[tuple[list[int], Sequence[_DryAnswer]]]:
    """Return the ways that a run did not go at its forks from ``known`` on.

    Each comes with the questions that are asked before it leaves.
    """
    gone = [way for way, _ in run.forks]
    return [
        ([*gone[:i], other], run.tape.asked[: run.tape.at_forks[i]])
        for i in range(known, len(gone))
        for other in range(run.forks[i][1])
        if other != gone[i]
    ]


def _ratio(part: Cost, whole: Cost) -> Fraction:
    """Return which share of a cost another one is; both are of one kind."""
    pairs = ((part.epsilon, whole.epsilon), (part.rho, whole.rho))
    return next(some / all_ for some, all_ in pairs if all_)
