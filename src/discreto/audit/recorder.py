"""A recorder sees everything that leaves a table, and can make it leave again.

The work under audit gets private rows and a recorder. What it releases goes through the
recorder: through a watched table (our own statistics and models), or through ``noise``
and ``choose`` (an algorithm that computes its exact values itself and declares how
far a row can move them). A second recorder replays the answers of the first on
another table, and complains as soon as anything public differs.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.audit.recorded import Diverged, RecordedRelease, difference
from discreto.core.cost import Amount, Cost, read_amount, total_of
from discreto.core.domain.domain import Domain
from discreto.core.gate import (
    Gate,
    Keep,
    Measurement,
    Noise,
    Selection,
)
from discreto.core.query import Bound, Choice, Derived, Ints, Randomise, Sum
from discreto.core.randomise import ROW_STEPS
from discreto.data.engines import LocalEngine
from discreto.data.frames import PersonFrame, open_frame
from discreto.session.session import question_of
from discreto.table.rows import TableRows
from discreto.table.table import Table
from discreto.testing import simulate

GRID = 1 << 20  # steps of a unit in ``noise`` and ``choose``


class Recorder:
    """Records what leaves a table, or replays the record of another recorder.

    Parameters
    ----------
    domain
        The public facts of the rows.
    seed
        Seeds the simulated noise.
    script
        The releases of another recorder. Then no noise is drawn: every release gives
        the answer of the script, and a release that is not the next one is
        ``Diverged``.
    limit
        What may be spent in all, to see what happens then.
    """

    def __init__(
        self,
        domain: Domain,
        seed: int | None = 0,
        script: list[RecordedRelease] | None = None,
        limit: Amount | None = None,
    ) -> None:
        self.domain = domain
        self.ledger = simulate(seed, epsilon=limit)
        self.peak = Cost()  # the most that was ever charged
        self.releases: list[RecordedRelease] = []
        self.early: list[str] = []  # labels of what left before it was paid for
        self._script = script
        self._asked: dict[tuple[str, int] | None, Cost] = {}

    def table(self, data: Any, domain: Domain | None = None) -> Table:
        """Return a watched table over these rows.

        Parameters
        ----------
        data
            A dict of columns.
        domain
            By default the audit's own.
        """
        return WatchedTable(data, domain or self.domain, self)

    def pay(self, epsilon: Amount, label: str = "everything") -> None:
        """Charge the ledger of the audit, as an honest algorithm does first.

        Parameters
        ----------
        epsilon
            What it costs, pure.
        label
            What it is for.
        """
        self.ledger.charge(Cost.of(epsilon), label)

    def noise(
        self,
        label: str,
        value: Any,
        *,
        sensitivity: float,
        epsilon: Amount,
    ) -> Any:
        """Numbers plus Laplace noise of ``sensitivity / epsilon``, on a fine grid.

        Parameters
        ----------
        label
            What is released.
        value
            The exact numbers.
        sensitivity
            How far one row moves them, in the l1 norm.
        epsilon
            What it costs, pure.
        """
        exact = np.asarray(np.rint(np.asarray(value, dtype=float) * GRID), np.int64)
        spent = Cost(epsilon=read_amount(epsilon, "epsilon"))
        reach = max(round(sensitivity * GRID), 0)
        distribution = Noise("laplace", Fraction(max(reach, 1)) / spent.epsilon)
        self.touch(spent, label)
        fresh = distribution.draw(self.ledger.simulation.sampler, exact.size)
        if not reach:  # "no row can move this": released as it is
            fresh[:] = 0
        answer = (exact + fresh.reshape(exact.shape)) / GRID
        facts = ("noise", label, exact.shape, reach, spent)
        return self.record(
            RecordedRelease(
                "noise",
                label,
                facts,
                spent,
                (distribution,),
                (reach,),
                (exact,),
                answer,
            )
        )

    def choose(
        self,
        label: str,
        scores: Any,
        *,
        sensitivity: float,
        epsilon: Amount,
        monotone: bool = False,
    ) -> int:
        """Return the index of a noisy maximum.

        Parameters
        ----------
        label
            What is chosen.
        scores
            The exact score of each candidate.
        sensitivity
            How far one row moves a score.
        epsilon
            What it costs, pure.
        monotone
            A row moves all scores the same way; they get half of the noise.
        """
        exact = np.rint(np.asarray(scores, dtype=float) * GRID).astype(np.int64)[None]
        spent = Cost(epsilon=read_amount(epsilon, "epsilon"))
        reach = max(round(sensitivity * GRID), 1) * (1 if monotone else 2)
        scale = Fraction(reach) / spent.epsilon
        self.touch(spent, label)
        answer = int(self.ledger.simulation.sampler.noisy_max(exact, scale)[0])
        facts = ("choose", label, exact.shape, reach, spent)
        noises = (Noise("laplace", scale),)
        return self.record(
            RecordedRelease(
                "select", label, facts, spent, noises, (reach,), (exact,), answer
            )
        )

    def touch(
        self, cost: Cost, label: str, part: tuple[str, int] | None = None
    ) -> None:
        """Rows are read for this cost: it must have been charged by now.

        Parts of a table are paid for together: the dearest of them counts.

        Parameters
        ----------
        cost
            What the rows are read for.
        label
            What is asked.
        part
            Which part of a division of the table, and its number.
        """
        self._asked[part] = self._asked.get(part, Cost()) + cost
        dearest: dict[str | None, Cost] = {}
        for place, asked in self._asked.items():
            name = place[0] if place else None
            if not dearest.setdefault(name, asked).covers(asked):
                dearest[name] = asked
        spent = self.ledger.spent()
        self.peak = spent if spent.covers(self.peak) else self.peak
        if not spent.covers(total_of(dearest.values())):
            self.early.append(label)

    def record(self, release: RecordedRelease) -> Any:
        """Note a release, and give the answer that it gets.

        Parameters
        ----------
        release
            What was released, and the exact numbers behind it.
        """
        place = len(self.releases)
        self.releases.append(release)
        if self._script is None:
            return release.answer
        if place >= len(self._script):
            raise Diverged(f"{release.label!r} is asked of one of the two tables only")
        told = self._script[place]
        if told.label != release.label or told.door != release.door:
            raise Diverged(
                f"question {place + 1} is {told.label!r} on one table and "
                f"{release.label!r} on the other"
            )
        if told.facts != release.facts or told.noises != release.noises:
            raise Diverged(f"{release.label!r}: {difference(told, release)}")
        return told.answer

    def finish(self) -> None:
        """Complain about releases of the script that never came."""
        if self._script is not None and len(self.releases) < len(self._script):
            missing = self._script[len(self.releases)].label
            raise Diverged(f"{missing!r} is asked of one of the two tables only")


class WatchedTable(Table):
    """A table whose gate is watched. Surplus rows of a person go by a fixed hash."""

    def __init__(self, data: Any, domain: Domain, recorder: Recorder) -> None:
        super().__init__(data, domain, recorder.ledger)
        self.recorder = recorder
        if domain.person is not None:
            # Two tables must drop the same rows of a person, so they share the key.
            frame = PersonFrame(open_frame(data, domain), domain, bytes(range(24)))
            self._rows = TableRows(frame, LocalEngine())

    def gate(self, ledger: Any = None) -> Gate:
        """Return the watched gate."""
        return WatchedGate(
            self.domain, ledger or self.ledger, self._rows, self.recorder
        )

    def watched_by(self, recorder: Recorder) -> WatchedTable:
        """Return the same rows with another recorder, and its ledger."""
        out = copy.copy(self)
        out.recorder, out.ledger = recorder, recorder.ledger
        return out


class WatchedGate(Gate):
    """A gate that shows its recorder the exact values behind every answer."""

    def __init__(
        self, domain: Domain, ledger: Any, source: Any, recorder: Recorder
    ) -> None:
        super().__init__(domain, ledger, source)
        self._recorder = recorder
        self._open: tuple[Cost, str] | None = None  # what is being asked
        self._seen: tuple[Ints, ...] = ()

    def measure(
        self,
        query: Sum | Derived | Bound,
        cost: Cost,
        label: str,
        key: str | None = None,
    ) -> Measurement:
        """As the gate does, and recorded."""
        self._open = (cost, label)
        answer = super().measure(query, cost, label, key)
        self._open = None
        return answer

    def select(
        self, query: Choice | Bound, cost: Cost, label: str, key: str | None = None
    ) -> Selection:
        """As the gate does, and recorded."""
        bound = self.check(query, label)
        self._open = (cost, label)
        answer = super().select(bound, cost, label, key)
        self._open = None
        question = question_of(bound, label, cost, whole=self.part is None)
        facts = (question, bound.query, self._seen[0].shape)
        noises, told = (Noise("laplace", answer.scale),), question.sensitivity
        return self._recorder.record(
            RecordedRelease(
                "select", label, facts, cost, noises, told, self._seen, answer
            )
        )

    def randomise(self, query: Randomise, cost: Cost, label: str) -> Ints:
        """As the gate does, and recorded: a row's values are the exact ones."""
        self._open = (cost, label)
        answer = super().randomise(query, cost, label)
        self._open = None
        far = query.mechanism == "laplace"
        # Elsewhere a step of any size costs epsilon: rows that moved are counted.
        reach = 2 * ROW_STEPS if far else 1
        noises = (Noise("laplace", Fraction(reach) / cost.epsilon),)
        facts = (query, cost, answer.shape)
        return self._recorder.record(
            RecordedRelease(
                "randomise", label, facts, cost, noises, (reach,), self._seen, answer
            )
        )

    def _noisy(
        self,
        asked: Bound,
        noises: tuple[Noise, ...],
        label: str,
        keep: Keep | None = None,
    ) -> tuple[Ints, ...]:
        answer = super()._noisy(asked, noises, label, keep)
        told = tuple(
            part.told(noise.law)
            for part, noise in zip(asked.blocks, noises, strict=True)
        )
        if self._open is None:
            # A step of a training: paid for as a block, over a secret sample. All rows
            # are compared, since the sample of a neighbour may be any other.
            door, cost, label = "step", Cost(), "step of a training"
            self._seen = tuple(super()._fold(asked, label))
        else:
            door, (cost, label) = "measure", self._open
        facts = (asked.query, cost, tuple(part.shape for part in self._seen))
        return self._recorder.record(
            RecordedRelease(door, label, facts, cost, noises, told, self._seen, answer)
        )

    def _fold(self, asked: Bound, label: str, keep: Keep | None = None) -> list[Ints]:
        self._touch()
        out = super()._fold(asked, label, keep)
        self._seen = tuple(out)
        return out

    def _scores(self, asked: Bound, label: str) -> Ints:
        out = super()._scores(asked, label)
        self._seen = (out,)
        return out

    def _perturb(self, values: Any, query: Randomise, cost: Cost) -> Ints:
        self._touch()
        silent = Gate(self.domain, simulate(noise=False), self._source)
        self._seen = (silent._perturb(values, query, cost),)
        return super()._perturb(values, query, cost)

    def _touch(self) -> None:
        if self._open is not None:
            self._recorder.touch(*self._open, self.part)
