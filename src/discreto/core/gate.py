"""The gate: the only ways in which a private value leaves a table.

``measure`` releases exact sums, or a function of them, with noise; ``step`` the sums
over a secret sample of rows, as one of many steps that are paid for together;
``select`` the index of a noisy largest score; ``discover`` the values that many rows
have of a column that nobody has listed; ``randomise`` rows that were perturbed one by
one. ``parts`` opens gates to disjoint parts of the rows for the cost of one.
Each first decides everything from public facts (scale, cost, refusals), then charges,
and only then lets the source touch a row. Nothing else in the package returns a value
that depends on rows.

No row can make a checked question fail. Whatever fails nevertheless (a dead worker, a
full disk, a bug) shuts the ledger: it may tell one bit about rows, and not a second.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreto.core import aggregate
from discreto.core import source as sources
from discreto.core.answers import Discovery, Measurement, Selection
from discreto.core.answers import noise_facts as _laws
from discreto.core.answers import stored_tables as _tables
from discreto.core.bound import Bound, bind, inside
from discreto.core.capabilities import FoldsAhead, Forgets
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
from discreto.core.expressions import Step, view_domain
from discreto.core.fold import Keep, check_once
from discreto.core.noise.calibration import Noise, noises_for, scale_for
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.core.query import (
    Block,
    Choice,
    Derived,
    Everyone,
    Ints,
    Ones,
    Query,
    Randomise,
    Sum,
    Tally,
)
from discreto.core.query_json import digest
from discreto.core.randomise import check_randomise, perturbed
from discreto.core.source import FoldedAhead, Rehearsal, RowPartition, Source
from discreto.core.steps import PaidSteps, check_sampling
from discreto.core.unknown_keys import Keys, keys_noise, shown_keys
from discreto.core.validation import check_parts
from discreto.errors import DomainError, KernelFault, ParameterError

T = TypeVar("T")
_FAULT = "the answer could not be computed; the charge stands and the ledger is shut."
_COUNT = Sum(Everyone(), (Block(Ones()),))


class Gate:
    """A source of rows, its domain, and the ledger that pays for what leaves.

    ``name`` says which table it is; it is part of what a key stands for.
    """

    part: tuple[str, int] | None = None  # of a table, if it leads to one only
    _partition: RowPartition | None = None

    def __init__(
        self, domain: Domain, ledger: Charger, source: Source, name: str = ""
    ) -> None:
        self.domain, self.ledger, self.name = domain, ledger, name
        sources.check_people(source, domain)
        self._source = source
        self._system = Sampler(Entropy())

    def measure(
        self,
        query: Sum | Derived | Bound,
        cost: Cost,
        label: str,
        key: str | None = None,
    ) -> Measurement:
        """Exact sums, or a function of them, plus noise."""
        bound = self._check(query, cost, label, Sum | Derived)
        noises = noises_for(bound, cost)
        receipt = self._charge("measure", bound.query, cost, label, _laws(noises), key)
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
        bound = self.check(query, label, Sum | Derived, sampled=rate < 1)
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
        """A gate to each part. Each may spend ``cost``, which is paid once.

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
            inner = copy.copy(self)
            inner.ledger = Reservation(self.ledger, receipt, shared=two)
            inner._partition, inner.part = partition, (label, number)
            out.append(inner)
        return out

    def seen(self, step: Step) -> Self:
        """A gate to a view: each of its rows comes from one row, by that row alone.

        So views of neighbours are neighbours, and what they answer costs the same.
        """
        if self._partition is not None:
            raise ParameterError("a part of a table has no views: take the view first.")
        out = copy.copy(self)
        out.domain = view_domain(step, self.domain)
        out._source = self._source.seen(step, self.domain)
        sources.check_people(out._source, out.domain)
        out.name = f"{self.name}, {digest(step)}" if self.name else ""
        return out

    def folded_ahead(self, several: Sequence[Bound], label: str) -> Self:
        """A gate that has folded several sums in one pass; they are paid for already.

        What was folded stays behind the gate until the question about it is asked.
        Sums that nobody asks for are forgotten with the gate.
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
        out = copy.copy(self)
        found = self._quietly(label, lambda: source.fold_several(apart))
        out._source = FoldedAhead(self._source, apart, found)
        return out

    def finish(self) -> None:
        """Let go of what was made of whole rows for several questions."""
        if isinstance(self._source, Forgets):
            self._source.forget()

    def rehearsed(self, source: Source, ledger: Charger) -> Self:
        """A gate to made-up rows that refuses what this one would refuse."""
        out = copy.copy(self)
        out._source, out.ledger = Rehearsal(self._source, source), ledger
        return out

    def paid_by(self, ledger: Charger) -> Self:
        """The same gate with another payer, such as a reservation."""
        out = copy.copy(self)
        out.ledger = ledger
        return out

    def select(
        self, query: Choice | Bound, cost: Cost, label: str, key: str | None = None
    ) -> Selection:
        """The index of the largest noisy score in each group, and nothing else."""
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
        """The frequent values of a column whose values nobody has listed."""
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
        """Every row's value, perturbed on its own.

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

    # What stands between a question and the rows

    def _check(self, query: Query | Bound, cost: Cost, label: str, kind: Any) -> Bound:
        bound = self.check(query, label, kind)
        if cost.infinite or bool(cost.epsilon) == bool(cost.rho) or cost.block_epsilon:
            raise ParameterError(f"{label!r} needs a cost of one kind. Got {cost}.")
        return bound

    def check(
        self, query: Query | Bound, label: str, kind: Any = Query, sampled: bool = False
    ) -> Bound:
        """The question, bound to the domain, or a refusal from public facts.

        What is not refused here can be answered for every table.
        """
        bound = bind(query, self.domain)
        if not isinstance(bound.query, kind):
            raise ParameterError(f"{label!r} cannot be asked in this way.")
        self._refuse(bound, label, sampled)
        if self._partition is not None:
            # Products: their bound takes for granted that replaced rows stay in a cell.
            products = [part for part in bound.blocks if part.block.form == "gram"]
            unfit = products or isinstance(bound.query, Randomise)
            if unfit and self.domain.neighbours == "replace":
                raise ParameterError(f"{label!r} cannot be asked of a part of a table.")
        return bound

    def _refuse(self, bound: Bound | None, label: str, sampled: bool = False) -> None:
        """Refuse what the engine cannot answer; without a question, texts of rows."""
        self.check_rows(label)
        refusal = self._source.refusal(bound, sampled)
        if refusal:
            raise ParameterError(f"{label!r} cannot be asked of this table: {refusal}")

    def check_rows(self, label: str) -> None:
        """Refuse rows that were changed since the opening, or cannot be reached."""
        if isinstance(self.ledger, Prepaid):
            return sources.check_same(self._source)
        sources.check_ready(self._source, label)

    def _charge(
        self,
        door: str,
        query: Query | Keys,
        cost: Cost,
        label: str,
        facts: Event,
        key: str | None,
    ) -> Receipt:
        if not getattr(self.ledger, "wants_events", True):
            return self.ledger.charge(cost, label, None, key)
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
            return self._quietly(label, lambda: fold(query))
        return self._quietly(label, lambda: self._folded(asked, keep))

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
        return tuple(
            aggregate.shown(
                aggregate.add(sums, self._noise(noise, sums.size).reshape(sums.shape))
            )
            for sums, noise in zip(exact, noises, strict=True)
        )

    def _scores(self, asked: Bound, label: str) -> Ints:
        score, tally = asked.query.score, cast(Bound, asked.tally)
        sums = aggregate.bounded(self._fold(tally, label)[0])
        scores: Ints = self._quietly(label, lambda: score.scores(sums, self.domain))
        return scores

    def _quietly(self, label: str, work: Callable[[], T]) -> T:
        """Work on rows that must not fail; if it does, the ledger is shut."""
        begin(self.ledger)
        found, reason = sources.attempt(self._source, work)
        if found:
            return found[0]
        # Out here, so that the cause, which may quote a row, is not the context.
        self.ledger.fault(label + reason)
        raise KernelFault(_FAULT)

    @property
    def noiseless(self) -> bool:
        """Whether this is a simulation without noise."""
        simulation = self.ledger.simulation
        return simulation is not None and not simulation.noise

    def _sampler(self) -> Sampler:
        simulation = self.ledger.simulation
        return self._system if simulation is None else simulation.sampler

    def _noise(self, noise: Noise, count: int) -> Ints:
        if self.noiseless:
            return np.zeros(count, dtype=np.int64)
        return noise.draw(self._sampler(), count)


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
