"""Weights of rows: every sum that a model asks for counts a row by its weight.

A weight is a part of a public upper bound, so no row counts more than it would without.
Noisy choices (where the target is, and how wide) count all rows alike: they only say
where to look.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, cast

from discreto.core.domain.domain import Domain
from discreto.core.gate import Measurement
from discreto.core.maps import Weighted
from discreto.core.maps.features import SUM_BITS
from discreto.core.query import Block, Derived, Ones, Sum
from discreto.errors import ParameterError
from discreto.models.base.features import Space
from discreto.session.session import Ask, Session

_ONE = float(1 << SUM_BITS)


class _Spread(NamedTuple):
    """The variance of the noise on a weighted count."""

    variance: float


class _Counts(NamedTuple):
    """A measurement in which weighted counts are in rows of the largest weight."""

    tables: tuple[Any, ...]
    noises: tuple[Any, ...]


@dataclass(frozen=True)
class WeightedSession:
    """A session whose sums count each row by its weight."""

    inner: Session
    weight: str

    @property
    def domain(self) -> Domain:
        """The domain of the table, but for how many rows it has."""
        return uncounted(self.inner.domain)

    @property
    def cost(self) -> Any:
        """The cost that may be spent."""
        return self.inner.cost

    def measure(
        self, query: Sum | Derived, label: str, share: Fraction = Fraction(1)
    ) -> Measurement | _Counts:
        """Return noisy weighted sums for a share of the cost."""
        if not isinstance(query, Sum):
            raise ParameterError("this model has no weights of rows.")
        blocks = tuple(self._block(block) for block in query.blocks)
        answer = self.inner.measure(replace(query, blocks=blocks), label, share)
        tables: list[Any] = list(answer.tables)
        noises: list[Any] = list(answer.noises)
        for i, block in enumerate(query.blocks):
            if isinstance(block.features, Ones):
                tables[i] = tables[i] / _ONE
                noises[i] = _Spread(noises[i].variance / _ONE**2)
        return _Counts(tuple(tables), tuple(noises))

    def _block(self, block: Block) -> Block:
        features = Weighted(block.features, self.weight, block.form)
        form = "linear" if block.form == "pair" else block.form
        return replace(block, features=features, form=form)

    def sharing(self, share: Fraction) -> WeightedSession:
        """Return the same session, in which each question has a share of the cost."""
        return replace(self, inner=self.inner.sharing(share))

    def seen(self, step: Any) -> WeightedSession:
        """Return the same session about a view of the table."""
        return replace(self, inner=self.inner.seen(step))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def weighed(ask: Session, space: Space) -> Ask:
    """Return the session in which a model of this space asks."""
    if space.weight is None:
        return ask
    return cast(Ask, WeightedSession(ask, space.weight))


def weighted_space(space: Space, weight: str) -> Space:
    """Return the space without the column of weights among its features.

    Declared rows do not tell how much they weigh: the model counts where it may.
    """
    domain = space.domain
    if weight == space.target or weight not in domain:
        raise ParameterError(f"the domain has no column {weight!r} with weights.")
    Weighted(Ones(), weight).check(domain)
    features = tuple(name for name in space.features if name != weight)
    space = replace(space, domain=uncounted(domain), features=features)
    return replace(space, weight=weight)


def uncounted(domain: Domain) -> Domain:
    """Return a domain that does not say how many rows there are, where it need not."""
    return domain.with_(rows=None) if domain.neighbours == "add-remove" else domain


__all__ = ["WeightedSession", "weighed", "weighted_space"]
