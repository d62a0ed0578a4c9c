"""The gate: the only ways in which a private value leaves a table.

``measure`` releases exact sums, or a function of them, with noise; ``step`` the sums
over a secret sample of rows, as one of many steps that are paid for together;
``select`` the index of a noisy largest score; ``discover`` the values that many rows
have of a column without a list of values; ``randomise`` rows that were perturbed one by
one. ``parts`` opens gates to disjoint parts of the rows for the cost of one.
Each first decides everything from public facts (scale, cost, refusals), then charges,
and only then lets the source touch a row. Nothing else in the package returns a value
that depends on rows. All ways out stand in one file: a reviewer sees them together.

No row can make a checked question fail. Whatever fails nevertheless (a dead worker, a
full disk, a bug) shuts the ledger: it may tell one bit about rows, and not a second.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self, TypeVar, TypeVarTuple, cast

import numpy as np
from numpy.typing import NDArray

from discreto.core import aggregate
from discreto.core.capabilities import BoundsPeople, FoldsAhead, Forgets
from discreto.core.charge import (
    Charger,
    Event,
    Prepaid,
    Receipt,
    Reservation,
    begin,
)
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, ViewFrame, view_domain
from discreto.core.fold import Folded, Keep, check_once
from discreto.core.frame import Frame, Place
from discreto.core.joins import JoinedFrame
from discreto.core.noise.calibration import Noise, noises_for, scale_for
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.core.people import PersonBound
from discreto.core.query import (
    Block,
    Bound,
    Choice,
    Derived,
    Everyone,
    Floats,
    Ints,
    Ones,
    Query,
    Randomise,
    Sum,
    Tally,
    bind,
    inside,
)
from discreto.core.query_json import digest
from discreto.core.randomise import check_randomise, perturbed
from discreto.core.steps import PaidSteps, check_sampling
from discreto.core.unknown_keys import Keys, KeysNoise, keys_noise, shown_keys
from discreto.core.validation import check_parts
from discreto.errors import (
    ChangedError,
    DomainError,
    KernelFault,
    ParameterError,
    StalledError,
    UnsafeError,
)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_FAULT = "the answer could not be computed; the charge stands and the ledger is shut."
_CHANGED = (
    "the rows were changed while they were read: there is no answer, and the charge "
    "stands. Ask again after table.reload()."
)
_COUNT = Sum(Everyone(), (Block(Ones()),))


class Source(Protocol):
    """Rows behind the gate: exact folds and plain columns, for the gate only."""

    def fold(self, asked: Bound, keep: Keep | None = None) -> Folded: ...
    def places(self) -> tuple[Place, ...]: ...
    def refusal(self, asked: Bound | None, sampled: bool = False) -> str: ...
    def column(self, name: str) -> Floats | Ints: ...
    def texts(self, name: str) -> NDArray[Any]: ...
    def seen(self, step: Step, domain: Domain) -> Source: ...

    def unready(self) -> str:
        """Return why rows cannot be read now, a public reason; empty if they can."""

    def unchanged(self) -> bool:
        """Return True if these are still the rows that the source was opened on."""

    def person_bound(self) -> PersonBound | None:
        """Return the proof that no person has too many rows, if there is one."""


def person_bound_of(frame: Frame) -> PersonBound | None:
    """Return the bound that a frame carries, through views and joins of the core."""
    if isinstance(frame, ViewFrame):
        return person_bound_of(frame.frame)
    if isinstance(frame, JoinedFrame):
        bounds = [person_bound_of(one) for one in frame.sides()]
        first, second = bounds
        return None if first is None or second is None else first.times(second)
    found = frame.person_bound if isinstance(frame, BoundsPeople) else None
    return found if isinstance(found, PersonBound) else None


def check_people(source: Source, domain: Domain) -> None:
    """Refuse rows of people unless the core has bounded how many each of them has."""
    if domain.person is None:
        return
    bound = source.person_bound()
    if bound is None or bound.rows > domain.rows_per_person:
        raise UnsafeError(
            f"the domain protects whole people ({domain.person!r}), and nothing bounds "
            "how many rows each of them has here."
        )


class RowPartition(Protocol):
    """Disjoint parts of the rows, each row's by its own content."""

    def count(self, domain: Domain) -> int: ...
    def restrict(self, query: Sum | Tally, number: int) -> Sum | Tally: ...


class Rehearsal:
    """Synthetic rows that refuse all that the rows themselves would refuse."""

    def __init__(self, rows: Source, made_up: Source) -> None:
        self._rows, self._made_up = rows, made_up
        self.fold, self.column = made_up.fold, made_up.column
        self.texts = made_up.texts
        self.refusal = rows.refusal
        self.unready, self.unchanged = rows.unready, rows.unchanged
        self.person_bound = rows.person_bound
        self.places = made_up.places

    def seen(self, step: Step, domain: Domain) -> Source:
        views = self._rows.seen(step, domain), self._made_up.seen(step, domain)
        return Rehearsal(*views)


class FoldedAhead:
    """Rows of which some sums have been folded already, in one pass for all.

    A question gets what was folded for the same question of the same domain, or is
    folded now. Each is handed out once: noise is added to it in place of nothing else.
    """

    def __init__(
        self, rows: Source, several: Sequence[Bound], found: Sequence[Folded | None]
    ) -> None:
        self._rows = rows
        self._several = list(zip(several, found, strict=True))
        self.column, self.texts, self.seen = rows.column, rows.texts, rows.seen
        self.refusal = rows.refusal
        self.forget = rows.forget if isinstance(rows, Forgets) else lambda: None
        self.unready, self.unchanged = rows.unready, rows.unchanged
        self.person_bound = rows.person_bound
        self.places = rows.places

    def fold(self, asked: Bound, keep: Keep | None = None) -> Folded:
        for i, (known, sums) in enumerate(self._several):
            same = keep is None and sums is not None and known.domain is asked.domain
            if same and known.query == asked.query:
                del self._several[i]
                return sums  # type: ignore[return-value]
        return self._rows.fold(asked, keep)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Noisy sums: for each block an integer table (cells x width) and its noise."""

    tables: tuple[Ints, ...]
    noises: tuple[Noise, ...]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidate of each group, and the scale of the noise on scores."""

    indices: Ints
    scale: Fraction
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Discovery:
    """Values that had enough rows, their noisy counts, and the noise on them."""

    keys: tuple[str, ...]
    counts: Ints
    noise: KeysNoise
    receipt: Receipt


class Gate:
    """A source of rows, its domain, and the ledger that pays for what leaves.

    ``name`` says which table it is; it is part of what a key stands for.
    """

    part: tuple[str, int] | None = None  # of a table, if it leads to one only
    _partition: RowPartition | None = None
    _checked: Bound | None = None  # by this very gate, and not asked yet
    _own_sampler: Sampler | None = None  # secret noise, made for the first draw

    def __init__(
        self, domain: Domain, ledger: Charger, source: Source, name: str = ""
    ) -> None:
        self.domain, self.ledger, self.name = domain, ledger, name
        check_people(source, domain)
        self._source = source

    def measure(
        self,
        query: Sum | Derived | Bound,
        cost: Cost,
        label: str,
        key: str | None = None,
    ) -> Measurement:
        """Return sums, or a function of sums, with noise."""
        bound = self._check(query, cost, label, Sum | Derived)
        noises = noises_for(bound, cost)
        receipt = self._charge("measure", bound.query, cost, label, noises, key)
        if receipt.answer is not None:
            return Measurement(_tables(receipt.answer), noises, receipt)
        tables = self._noisy(bound, noises, label)
        if key is not None:
            text = json.dumps([table.tolist() for table in tables])
            tables = _tables(self.ledger.keep(receipt, text))
        return Measurement(tables, noises, receipt)

    def step(self, query: Sum | Derived | Bound, label: str) -> Measurement:
        """Return noisy sums over a fresh secret sample of the rows, as one step.

        The payer is one of many steps; it alone says how many there are, and so how
        much noise each has.
        """
        payer = self.ledger
        if not isinstance(payer, PaidSteps):
            raise ParameterError(f"{label!r} is a step of many, which are paid as one.")
        steps, rate = payer.steps, payer.steps.rate
        bound = self.check(query, label, sampled=rate < 1)
        if not isinstance(bound.query, Sum | Derived):
            raise ParameterError(f"{label!r} cannot be asked in this way.")
        check_sampling(rate, self.domain)
        if rate < 1 and isinstance(bound.query, Derived):
            # It folds the rows many times, and one step pays for one sample.
            raise ParameterError(
                f"{label!r} is a function of sums, which needs all rows. Use rate=1."
            )
        noises = steps.noises(bound)
        receipt = payer.take(label)

        def keep(rows: int) -> NDArray[np.bool_]:
            drawn = self._sampler().entropy.below(rate.denominator, rows)
            return drawn < rate.numerator

        tables = self._noisy(bound, noises, label, keep if rate < 1 else None)
        return Measurement(tables, noises, receipt)

    def parts(self, partition: RowPartition, cost: Cost, label: str) -> list[Self]:
        """Return a gate to each part. Each may spend ``cost``, which is paid once.

        A row is in one part only, by its own content, so what another part answers
        does not depend on it (parallel composition; McSherry 2009). A replaced row may
        leave one part and enter another; ``docs/proofs/sensitivity.md`` shows that the
        two together lose no more than ``cost``.
        """
        count = partition.count(self.domain)
        if self._partition is not None:
            raise ParameterError("a part of a table has no parts of its own.")
        bind(partition.restrict(_COUNT, 0), self.domain)  # before anything is paid
        self.check_rows(label)
        receipt = self.ledger.charge(cost, label)
        out, two = [], self.domain.neighbours == "replace"
        for number in range(count):
            inner = self._copied()
            inner.ledger = Reservation(self.ledger, receipt, shared=two)
            inner._partition, inner.part = partition, (label, number)
            out.append(inner)
        return out

    def seen(self, step: Step) -> Self:
        """Return a gate to a view, whose rows come each from one row alone.

        So views of neighbours are neighbours, and what they answer costs the same.
        """
        if self._partition is not None:
            raise ParameterError("a part of a table has no views: take the view first.")
        out = self._copied()
        out.domain = view_domain(step, self.domain)
        out._source = self._source.seen(step, self.domain)
        check_people(out._source, out.domain)
        out.name = f"{self.name}, {digest(step)}" if self.name else ""
        return out

    def folded_ahead(self, several: Sequence[Bound], label: str) -> Self:
        """Return a gate that has folded several sums, already paid for, in one pass.

        What was folded stays behind the gate until the question about it is asked.
        Sums that are not asked for are forgotten with the gate.
        """
        apart = [asked for asked in several if asked.checked]
        source = self._source
        wanted = len(apart) > 1 and all(a.domain is self.domain for a in apart)
        paid = isinstance(self.ledger, Reservation)
        if (
            not isinstance(source, FoldsAhead)
            or not wanted
            or not paid
            or self._partition is not None
        ):
            return self
        out = self._copied()
        found = self._quietly(label, lambda: source.fold_several(apart))
        out._source = FoldedAhead(self._source, apart, found)
        return out

    def finish(self) -> None:
        """Forget what was made of whole rows for several questions."""
        if isinstance(self._source, Forgets):
            self._source.forget()

    def rehearsed(self, source: Source, ledger: Charger) -> Self:
        """Return a gate to synthetic rows that refuses all that this one would."""
        out = self._copied()
        out._source, out.ledger = Rehearsal(self._source, source), ledger
        return out

    def paid_by(self, ledger: Charger) -> Self:
        """Return the same gate with another payer, such as a reservation."""
        out = self._copied()
        out.ledger = ledger
        return out

    def select(
        self, query: Choice | Bound, cost: Cost, label: str, key: str | None = None
    ) -> Selection:
        """Return the index of the largest noisy score in each group, and no score."""
        bound = self._check(query, cost, label, Choice)
        scale = scale_for(bound, cost, whole=self._partition is None)
        facts = {"scale": str(scale)}
        receipt = self._charge("select", bound.query, cost, label, facts, key)
        if receipt.answer is not None:
            return Selection(_tables(receipt.answer)[0], scale, receipt)
        scores = self._scores(bound, label)
        if self.noiseless:
            indices = scores.argmax(axis=1)
        else:
            # Gumbel noise has a bounded range, which is what rho pays for.
            sampler = self._sampler()
            draw = sampler.gumbel_max if cost.rho else sampler.noisy_max
            indices = draw(scores, scale)
        if key is not None:
            text = json.dumps([indices.tolist()])
            indices = _tables(self.ledger.keep(receipt, text))[0]
        return Selection(indices, scale, receipt)

    def discover(self, query: Keys, cost: Cost, label: str) -> Discovery:
        """Return the frequent values of a column without a list of values."""
        check_parts(query, self.domain)
        self._refuse(None, label)
        if self._partition is not None:
            raise ParameterError(f"{label!r} cannot be asked of a part of a table.")
        if cost != Cost(block_epsilon=cost.block_epsilon, delta=cost.delta):
            raise ParameterError(f"{label!r} costs an (epsilon, delta) as one block.")
        noise = keys_noise(cost.block_epsilon, cost.delta, self.domain)
        scale, reach, shorter = str(noise.scale), noise.reach, noise.shorter
        facts = {"scale": scale, "reach": reach, "shorter": shorter}
        receipt = self._charge("discover", query, cost, label, {"noise": facts}, None)
        sampler = None if self.noiseless else self._sampler()
        drawn = noise if sampler is None else noise.settled(sampler)

        def work() -> tuple[tuple[str, ...], Ints]:
            return shown_keys(self._source.texts(query.column), drawn, sampler)

        keys, counts = self._quietly(label, work)
        return Discovery(keys, counts, drawn, receipt)

    def randomise(self, query: Randomise, cost: Cost, label: str) -> Ints:
        """Return every row's value, perturbed on its own.

        A Category comes back as codes (the last one is "missing" where that is
        allowed), a Number in steps of 2^-20 of half its range around its centre.
        """
        bound = self._check(query, cost, label, Randomise)
        if self.domain.neighbours != "replace":
            raise DomainError(
                f"{label!r} would show how many rows there are. Declare that number "
                "public: Domain(..., neighbours='replace', rows=...)."
            )
        check_randomise(query, cost, self.domain, label)
        self._charge("randomise", bound.query, cost, label, {}, None)
        values = self._quietly(label, lambda: self._source.column(query.column))
        return self._quietly(label, lambda: self._perturb(values, query, cost))

    def _perturb(self, values: Any, query: Randomise, cost: Cost) -> Ints:
        sampler = None if self.noiseless else self._sampler()
        column = self.domain[query.column]
        return perturbed(values, column, query.mechanism, cost.epsilon, sampler)

    def _copied(self) -> Self:
        """Return a copy for other rows or another payer, which has checked nothing."""
        out = copy.copy(self)
        out._checked = None
        return out

    # What stands between a question and the rows

    def _check(self, query: Query | Bound, cost: Cost, label: str, kind: Any) -> Bound:
        if query is self._checked and isinstance(query, Bound):
            bound = query  # a session has just had it checked, here
            self._checked = None
        else:
            bound = self.check(query, label)
        if not isinstance(bound.query, kind):
            raise ParameterError(f"{label!r} cannot be asked in this way.")
        if cost.infinite or bool(cost.epsilon) == bool(cost.rho) or cost.block_epsilon:
            raise ParameterError(f"{label!r} needs a cost of one kind. Got {cost}.")
        return bound

    def check(
        self, query: Query | Bound, label: str, *, sampled: bool = False
    ) -> Bound:
        """Return the question, bound to the domain, or refuse it from public facts.

        A question that is not refused here can be answered for every table. The next
        ``measure`` or ``select`` of this gate takes the result without another check.
        """
        bound = bind(query, self.domain)
        if not isinstance(bound.query, Query):
            raise ParameterError(f"{label!r} cannot be asked in this way.")
        self._refuse(bound, label, sampled)
        if self._partition is not None:
            # Products: their bound takes for granted that replaced rows stay in a cell.
            products = [part for part in bound.blocks if part.block.form == "gram"]
            unfit = products or isinstance(bound.query, Randomise)
            if unfit and self.domain.neighbours == "replace":
                raise ParameterError(f"{label!r} cannot be asked of a part of a table.")
        self._checked = None if sampled else bound
        return bound

    def _refuse(self, bound: Bound | None, label: str, sampled: bool = False) -> None:
        """Refuse what the engine cannot answer; without a question, texts of rows."""
        self.check_rows(label)
        refusal = self._source.refusal(bound, sampled)
        if refusal:
            raise ParameterError(f"{label!r} cannot be asked of this table: {refusal}")

    def check_rows(self, label: str) -> None:
        """Refuse rows that were changed since the opening, or cannot be reached.

        What was made of the rows before (who stays, which rows belong together) is not
        about other rows: laid over them, one person could move any number of rows.
        """
        if isinstance(self.ledger, Prepaid):  # after the charge: too late to refuse
            return self._check_same()
        reason = self._source.unready()
        if reason:
            raise ParameterError(f"{label!r} cannot be asked of this table: {reason}.")

    def _check_same(self) -> None:
        """Give no answer, after a charge, from rows that changed on the way.

        The ledger stays open: that rows were changed, and when, is public.
        """
        if not self._source.unchanged():
            raise ChangedError(_CHANGED)

    def _charge(
        self,
        door: str,
        query: Query | Keys,
        cost: Cost,
        label: str,
        facts: Event | tuple[Noise, ...],
        key: str | None,
    ) -> Receipt:
        if not getattr(self.ledger, "wants_events", True):
            return self.ledger.charge(cost, label, None, key)
        if isinstance(facts, tuple):
            facts = {"noise": [{"law": n.law, "amount": str(n.amount)} for n in facts]}
        event = {
            "door": door,
            "query": digest(query),
            "domain": self.domain.fingerprint,
            "neighbours": self.domain.neighbours,
            **({"table": self.name} if self.name else {}),
            **facts,
        }
        return self.ledger.charge(cost, label, event, key)

    def _fold(self, asked: Bound, label: str, keep: Keep | None = None) -> list[Ints]:
        query, domain = asked.query, self.domain

        def fold(sums: Sum | Tally) -> list[Ints]:
            if self._partition is not None and self.part is not None:
                sums = self._partition.restrict(sums, self.part[1])
            part = inside(sums, domain)
            return self._folded(part, keep)

        if isinstance(query, Derived):
            function, cells = query.function, query.cells
            return self._quietly(label, lambda: [function.compute(fold, cells, domain)])
        if self._partition is not None:
            return self._quietly(label, fold, query)
        return self._quietly(label, self._folded, asked, keep)

    def _folded(self, asked: Bound, keep: Keep | None) -> list[Ints]:
        found = self._source.fold(asked, keep)
        check_once(found, self._source.places())
        return aggregate.checked(asked, found.tables)

    def _noisy(
        self,
        asked: Bound,
        noises: tuple[Noise, ...],
        label: str,
        keep: Keep | None = None,
    ) -> tuple[Ints, ...]:
        exact = self._fold(asked, label, keep)
        noisy = [
            aggregate.add(sums, self._noise(noise, sums.size).reshape(sums.shape))
            for sums, noise in zip(exact, noises, strict=True)
        ]
        return tuple([aggregate.shown(sums) for sums in noisy])

    def _scores(self, asked: Bound, label: str) -> Ints:
        score, tally = asked.query.score, cast(Bound, asked.tally)
        sums = aggregate.bounded(self._fold(tally, label)[0])
        scores: Ints = self._quietly(label, score.scores, sums, self.domain)
        return scores

    def _quietly(self, label: str, work: Callable[[*Ts], T], *facts: *Ts) -> T:
        """Return the result of work on rows. If it fails, the ledger is shut."""
        begin(self.ledger)
        found: list[T] = []
        reason = ""
        try:
            found.append(work(*facts))
        except StalledError as error:  # workers that did nothing quote no row
            reason = f" ({error})"
        except Exception:  # noqa: S110 - its text may quote a row
            pass
        self._check_same()  # first: of changed rows it does not matter what was found
        if found:
            return found[0]
        # Out here, so that the cause, which may quote a row, is not the context.
        self.ledger.fault(label + reason)
        raise KernelFault(_FAULT)

    @property
    def noiseless(self) -> bool:
        """True in a simulation without noise."""
        simulation = self.ledger.simulation
        return simulation is not None and not simulation.noise

    def _sampler(self) -> Sampler:
        simulation = self.ledger.simulation
        if simulation is not None:
            return simulation.sampler
        if self._own_sampler is None:  # a rehearsal never draws
            self._own_sampler = Sampler(Entropy())
        return self._own_sampler

    def _noise(self, noise: Noise, count: int) -> Ints:
        simulation = self.ledger.simulation
        if simulation is not None and not simulation.noise:
            return np.zeros(count, dtype=np.int64)
        return noise.draw(self._sampler(), count)


def _tables(text: str) -> tuple[Ints, ...]:
    """Return the tables of an answer that a ledger has kept."""
    return tuple(np.array(table) for table in json.loads(text))


__all__ = [
    "Discovery",
    "Gate",
    "Keep",
    "Measurement",
    "Noise",
    "RowPartition",
    "Selection",
    "Source",
    "bind",
    "noises_for",
    "scale_for",
]
