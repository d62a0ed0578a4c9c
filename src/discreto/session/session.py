"""Sessions with the gate: questions that share one cost and keep to their plan.

A statistic or a model is a function of a session. The same function runs against the
gate (and spends) or against a dry run (and does not); with a plan, a session refuses
every question that is not the plan's next one. Where a release decides how to go on,
the ways are public: a dry run goes each of them, and the plan has a form for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step
from discreto.core.gate import Discovery, Gate, Measurement, RowPartition, Selection
from discreto.core.noise.calibration import noises_for, scale_for
from discreto.core.query import Bound, Choice, Derived, Sum, furthest
from discreto.core.unknown_keys import Keys, keys_noise
from discreto.errors import UnsafeError
from discreto.session.work_limits import check_answer, check_question, numbers_of

T = TypeVar("T")


class Ask(Protocol):
    """The interface of a session that statistics and models use."""

    domain: Domain
    cost: Cost

    @property
    def noiseless(self) -> bool: ...

    def measure(
        self, query: Sum | Derived, label: str, share: Fraction = Fraction(1)
    ) -> Measurement: ...

    def select(
        self, query: Choice, label: str, share: Fraction = Fraction(1)
    ) -> Selection: ...

    def discover(self, query: Keys, label: str) -> Discovery: ...

    def seen(self, step: Step) -> Ask: ...

    def sharing(self, share: Fraction) -> Ask: ...

    def split(
        self, partition: RowPartition, label: str, share: Fraction = Fraction(1)
    ) -> Sequence[Ask]: ...

    def once(self, key: Hashable, make: Callable[[], T]) -> T: ...

    def repeat(
        self,
        form: Hashable,
        label: str,
        share: Fraction,
        turn: Callable[[], T],
        check: Callable[[], None],
    ) -> T: ...

    def fork(self, ways: int, way: int) -> int: ...

    def remark(self, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a plan.

    Parameters
    ----------
    door
        ``"measure"`` for noisy sums, ``"select"`` for a noisy choice, ``"discover"``
        for values of a column without a list, ``"parts"`` for a division of the table.
    label
        A short name of the question.
    cost
        The cost of this question.
    sensitivity
        The largest change of each block by one row, in grid steps (squared under rho).
    noise
        The standard deviation of the noise on each block, in grid steps.
    sums
        True if it is made from sums, which add up over silos.
    beliefs
        Names of beliefs that its sensitivity rests on besides the clamp, with proofs.
    """

    door: str
    label: str
    cost: Cost
    sensitivity: tuple[int, ...]
    noise: tuple[float, ...]
    sums: bool = True
    beliefs: tuple[str, ...] = field(default=(), compare=False)

    def ratios(self) -> list[float]:
        """Return the noise of each block divided by the largest change by one row."""
        root = bool(self.cost.rho) and self.door == "measure"  # squares, under rho
        moves = [math.sqrt(s) if root else float(s) for s in self.sensitivity]
        return [n / max(m, 1e-300) for n, m in zip(self.noise, moves, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return {
            "door": self.door,
            "label": self.label,
            "cost": self.cost.to_dict(),
            "sensitivity": list(self.sensitivity),
            "noise": list(self.noise),
        } | ({} if self.sums else {"sums": False})


class Session:
    """Questions that share one cost; with a plan, no question outside of it."""

    def __init__(
        self,
        gate: Gate,
        cost: Cost,
        forms: Iterable[Sequence[Question]] | None = None,
        script: Sequence[int] = (),
        known: Sequence[Bound] = (),
    ) -> None:
        self.domain = gate.domain
        self._gate, self.cost = gate, cost
        self._forms = None if forms is None else list(forms)
        self._script, self._known = list(script), list(known)
        self.asked: list[Question] = []
        self.ahead: list[Bound] = []  # sums that can be folded before any answer
        self._chosen = False  # a choice may decide what is asked next
        self.forks: list[tuple[int, int]] = []  # the way that was gone, of how many
        self.remarks: list[str] = []
        self.numbers = 0  # that were released so far
        self._releases_all = False  # True if these numbers are the answer itself

    def limit_answer(self) -> None:
        """Refuse, in a dry run, more numbers than an answer may have."""
        self._releases_all = True

    @property
    def noiseless(self) -> bool:
        """True in a simulation without noise, False in a rehearsal.

        A rehearsal has no noise either, but must refuse all that the session would.
        """
        planned = self._forms is not None and isinstance(self._gate, Gate)
        return planned and self._gate.noiseless

    def measure(
        self, query: Sum | Derived, label: str, share: Fraction = Fraction(1)
    ) -> Measurement:
        """Return noisy sums, or a noisy function of sums, for a share of the cost."""
        asked: Sum | Derived | Bound = query
        if self._known and self._known[0].query == query:
            asked = self._known.pop(0)  # bound before: its facts are worked out
        bound, cost = self._gate.check(asked, label), self.cost * share
        self._price(bound, label, released=True)
        self._note(question_of(bound, label, cost))
        self._note_sums(bound)
        return self._gate.measure(bound, cost, label)

    def select(
        self, query: Choice, label: str, share: Fraction = Fraction(1)
    ) -> Selection:
        """Return a noisy choice for a share of the cost."""
        bound, cost = self._gate.check(query, label), self.cost * share
        whole = self._gate.part is None
        self._price(bound, label, released=False)
        self._note(question_of(bound, label, cost, whole=whole))
        self._note_sums(bound.tally)
        self._chosen = True
        return self._gate.select(bound, cost, label)

    def discover(self, query: Keys, label: str) -> Discovery:
        """Return the frequent values of a column without a list, for the whole cost.

        The cost is one (epsilon, delta) block.
        """
        noise = keys_noise(self.cost.block_epsilon, self.cost.delta, self.domain)
        spread = math.sqrt(2) * float(noise.scale)
        self._note(Question("discover", label, self.cost, (1,), (spread,), sums=False))
        return self._gate.discover(query, self.cost, label)

    def split(
        self, partition: RowPartition, label: str, share: Fraction = Fraction(1)
    ) -> list[Session]:
        """Return a session with each part. Each may spend a share of the cost."""
        cost = self.cost * share
        self._note(Question("parts", label, cost, (), ()))
        gates = self._gate.parts(partition, cost, label)
        return [self._branch(gate, cost) for gate in gates]

    def seen(self, step: Step) -> Session:
        """Return the same session about a view of the table."""
        return self._branch(self._gate.seen(step), self.cost)

    def sharing(self, share: Fraction) -> Session:
        """Return the same session with a share of the cost."""
        return self._branch(self._gate, self.cost * share)

    def repeat(
        self,
        form: Hashable,
        label: str,
        share: Fraction,
        turn: Callable[[], T],
        check: Callable[[], None],
    ) -> T:
        """Hold a part that a plan repeats, and return what ``turn`` returns.

        A dry run holds one ``turn`` of each ``form``. The others may differ from it in
        the beginning of their labels and in their ``share``, to which all shares in
        ``turn`` are in proportion; a dry run calls ``check`` in their place.
        """
        return turn()

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` makes of public facts; a rehearsal makes it once."""
        return make()

    def _branch(self, gate: Gate, cost: Cost) -> Session:
        return Branch(gate, cost, self)

    def fork(self, ways: int, way: int) -> int:
        """Return the way to go on, out of ``ways``: ``way``, or that of a dry run.

        ``way`` may depend on releases. Each way is a form of the plan of its own, so
        its questions were refused or priced before anything was paid.
        """
        if not 0 <= way < ways:
            raise UnsafeError(f"there are {ways} ways to go on; {way} is none of them.")
        if len(self.forks) < len(self._script):
            way = self._script[len(self.forks)]
        self.forks.append((way, ways))
        return way

    def remark(self, text: str) -> None:
        """Keep a remark about releases for the result. An empty one is dropped."""
        if text and text not in self.remarks:
            self.remarks.append(text)

    def _note_sums(self, bound: Bound | None) -> None:
        """Remember sums of the whole table that no choice before them decided."""
        plain = bound is not None and isinstance(bound.query, Sum)
        if plain and not self._chosen and self._gate.part is None:
            self._trunk_of_sums().append(bound)  # type: ignore[arg-type]

    def _trunk_of_sums(self) -> list[Bound]:
        return self.ahead

    def _price(self, bound: Bound, label: str, *, released: bool) -> None:
        """Count the numbers of a question. A dry run refuses too many of them.

        A paid question is never refused, because its dry run was not.
        """
        numbers = numbers_of(bound)
        self.numbers += numbers if released else 0
        if self._forms is not None:
            return
        check_question(numbers, label)
        if self._releases_all:
            check_answer(self.numbers, label)

    def _note(self, question: Question) -> None:
        if self._forms is not None:
            at = len(self.asked)
            self._forms = [f for f in self._forms if f[at : at + 1] == (question,)]
            if not self._forms:
                raise UnsafeError(
                    f"{question.label!r} is not the next question of the plan that was "
                    "paid for. A session may depend on releases, but not change its "
                    "form."
                )
        self.asked.append(question)


class Branch(Session):
    """A session with a part, or for a share; its questions are in the whole's plan."""

    def __init__(self, gate: Gate, cost: Cost, trunk: Session) -> None:
        super().__init__(gate, cost)
        self._trunk = trunk
        if gate is trunk._gate:  # the same rows: what was bound for them is good here
            self._known = trunk._known

    def limit_answer(self) -> None:
        self._trunk.limit_answer()

    def _price(self, bound: Bound, label: str, *, released: bool) -> None:
        self._trunk._price(bound, label, released=released)

    def _note(self, question: Question) -> None:
        self._trunk._note(question)

    def _trunk_of_sums(self) -> list[Bound]:
        # What is asked of a view is not asked of the table.
        same = self._gate is self._trunk._gate
        return self._trunk._trunk_of_sums() if same else self.ahead

    @property
    def noiseless(self) -> bool:
        return self._trunk.noiseless

    def fork(self, ways: int, way: int) -> int:
        return self._trunk.fork(ways, way)

    def remark(self, text: str) -> None:
        self._trunk.remark(text)


def question_of(
    bound: Bound, label: str, cost: Cost, *, whole: bool = True
) -> Question:
    """Return the line of a plan for a question: cost, sensitivity and noise."""
    query = bound.query
    if isinstance(query, Choice):
        scale = scale_for(bound, cost, whole=whole)
        width = (furthest(bound.moves(whole=whole)),)
        sums = isinstance(query.tally, Sum)
        noise = (float(scale),)
        return Question("select", label, cost, width, noise, sums, bound.beliefs)
    kept: Question | None = bound.kept.get("question")
    if kept is not None and kept.cost is cost and kept.label == label:
        return kept
    noises = noises_for(bound, cost)
    told = tuple(
        [part.told(n.law) for part, n in zip(bound.blocks, noises, strict=True)]
    )
    spread = tuple([math.sqrt(noise.variance) for noise in noises])
    sums = isinstance(query, Sum)
    asked = Question("measure", label, cost, told, spread, sums, bound.beliefs)
    bound.kept["question"] = asked
    return asked
