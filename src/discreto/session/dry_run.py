"""Gates to synthetic rows, or to none, for plans that spend nothing.

Synthetic rows are public: spread evenly over the domain, weighted to a number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core import aggregate
from discreto.core.charge import Event, Receipt, Simulation
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.expressions import Step
from discreto.core.fold import Folded, Keep, made_up
from discreto.core.frame import Place
from discreto.core.gate import Gate, Source
from discreto.core.maps.cells import MISSING
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.core.people import PersonBound, bound_of_nobody
from discreto.core.query import Batch, Bound, Floats, Ints
from discreto.text.language import tr

_SAMPLE = 2048  # synthetic rows behind a plan


def dry_run_gate(domain: Domain, rows: int, gate: Gate | None = None) -> Gate:
    """Return a gate to synthetic rows, or to none, without charges or noise.

    With a ``gate`` to real rows it refuses what that one would refuse.
    """
    source: Source = MadeUpRows(domain, rows) if rows else NoRows()
    if gate is not None:
        return gate.rehearsed(source, _NoLedger())
    return Gate(domain, _NoLedger(), source)


def assumption(rows: int) -> str:
    """Return what expected errors rest on, in the language in use.

    >>> assumption(1000)
    'if there are 1000 rows, spread evenly over the domain'
    """
    return tr("if there are {rows} rows, spread evenly over the domain", rows=rows)


def worst_error(release: Any) -> float:
    """Return the largest expected error of an answer, over groups with names.

    No synthetic row is missing or other, so such groups have no expected error.
    """
    errors = np.ravel(release.error).astype(float)
    parts = [key if isinstance(key, tuple) else (key,) for key in release.keys]
    named = np.array([MISSING not in part for part in parts], dtype=bool)
    return float(np.max(errors[named] if named.any() else errors))


class _PublicRows:
    """Rows of no table and no person: nothing about them is refused or changes."""

    def refusal(self, asked: Bound | None, sampled: bool = False) -> str:
        """Return no reason: nothing is refused."""
        return ""

    def unready(self) -> str:
        """Return nothing: there is no file and no server."""
        return ""

    def unchanged(self) -> bool:
        """Return True: these rows are not shared."""
        return True

    def places(self) -> tuple[Place, ...]:
        """Return nothing: these rows are of no table."""
        return ()

    def person_bound(self) -> PersonBound:
        """Return the bound of rows that belong to no person."""
        return bound_of_nobody()


class NoRows(_PublicRows):
    """A table without rows: enough to learn which questions will be asked."""

    def fold(self, asked: Bound, keep: Keep | None = None) -> Folded:
        """Return zeros."""
        return made_up(aggregate.empty(asked))

    def column(self, name: str) -> Floats | Ints:
        """Return an empty column."""
        return np.empty(0)

    def texts(self, name: str) -> NDArray[Any]:
        """Return no texts."""
        return np.empty(0, dtype=object)

    def seen(self, step: Step, domain: Domain) -> Source:
        """Return itself: a view of no rows has no rows."""
        return self


class MadeUpRows(_PublicRows):
    """Public rows spread evenly over a domain, weighted to ``rows`` in all."""

    def __init__(self, domain: Domain, rows: int) -> None:
        self._domain, self._rows = domain, rows

    def fold(self, asked: Bound, keep: Keep | None = None) -> Folded:
        """Return the sums of the synthetic rows, to the nearest step."""
        batch, length = self.batch(asked.columns)
        exact = aggregate.fold(asked, batch, length)
        if not asked.blocks:
            return made_up(exact)
        share = self._rows / _SAMPLE
        out = []
        for part in exact:
            # Running totals are rounded, not cells: many small cells must add up.
            whole = np.rint(np.cumsum(part * share, axis=0))
            out.append(np.diff(whole, axis=0, prepend=0.0).astype(np.int64))
        return made_up(out)

    def batch(self, names: Sequence[str]) -> tuple[Batch, int]:
        """Return the synthetic rows, and their count before weighting."""
        return {name: self.column(name) for name in names}, _SAMPLE

    def texts(self, name: str) -> NDArray[Any]:
        """Return a few texts: the more frequent, the earlier in the alphabet."""
        ranks = np.minimum(np.geomspace(1, 26, self._rows + 1).astype(int), 26)[:-1]
        return np.array([f"text {chr(96 + rank)}" for rank in ranks], dtype=object)

    def seen(self, step: Step, domain: Domain) -> Source:
        """Return a view of the synthetic rows."""
        return _MadeUpView(self, step, domain)

    def column(self, name: str) -> Floats | Ints:
        """Return a synthetic column."""
        # Fractional parts of k * sqrt(prime) fill the cube evenly.
        prime = _prime(list(self._domain).index(name))
        spread = (np.arange(1, _SAMPLE + 1) * math.sqrt(prime)) % 1.0
        column = self._domain[name]
        if isinstance(column, Category):
            return (spread * len(column.categories)).astype(np.int64)
        if isinstance(column, Number):
            spread = column.lower + spread * (column.upper - column.lower)
            spread = np.round(spread) if column.integer else spread
        return spread.astype(np.float64)


class _MadeUpView(MadeUpRows):
    """A view of synthetic rows."""

    def __init__(self, source: MadeUpRows, step: Step, domain: Domain) -> None:
        super().__init__(step.domain(domain), source._rows)
        self._source, self._step, self._before = source, step, domain

    def batch(self, names: Sequence[str]) -> tuple[Batch, int]:
        rows, length = self._source.batch(self._step.needs(names))
        with np.errstate(all="ignore"):
            return self._step.apply(rows, length, names, self._before)

    def column(self, name: str) -> Floats | Ints:
        out: Floats | Ints = self.batch((name,))[0][name]
        return out


@lru_cache
def _prime(index: int) -> int:
    """Return the prime number with this index. Plans need only a few."""
    found: list[int] = []
    number = 1
    while len(found) <= index:
        number += 1
        if all(number % p for p in found if p * p <= number):
            found.append(number)
    return found[index]


class _NoLedger:
    """A ledger that writes nothing and adds no noise."""

    wants_events = False
    simulation: Simulation | None = Simulation(Sampler(Entropy()), noise=False)

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        return Receipt(0, label, cost, "plan", simulated=True)

    def keep(self, receipt: Receipt, answer: str) -> str:
        return answer

    def fault(self, label: str) -> None:
        """There is nothing to shut."""
