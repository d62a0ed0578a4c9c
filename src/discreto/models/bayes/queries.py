"""The two questions of naive Bayes.

The first asks for every column's parts, summed by class. With d columns its noise is
that of d questions, and the errors of all columns add up in the score of a row: what
suffers most is where one class ends and the other begins. The second question is about
that score alone, one number (or one for each class) instead of d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.maps import Categories, Partition, SoftVotes
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.simplex_features import MAX_CLASSES, MAX_WEIGHT, parts_of
from discreto.core.query import Block, Sum
from discreto.models.base.features import Space
from discreto.models.bayes.shrinkage import (
    TINY,
    ClassHistogram,
    Counts,
    Normals,
    call,
    class_counts,
    histogram,
    normals,
)
from discreto.session.session import Ask
from discreto.stats._base import column_note

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator

Array = NDArray[Any]
SECOND = Fraction(1, 4)  # of the cost, for the second question
TRUST = 0.01  # relative noise in the scores at which the second answer has half a say
LEAST = 1e-300
_STEP = float(1 << SUM_BITS)


@dataclass(frozen=True)
class ClassSums:
    """The first answer: parts of all columns by class, in rows, and their noise.

    ``rows``: how many rows there are, where that is public, else 0.
    """

    table: Array
    noise: float
    rows: int

    @classmethod
    def kept_in(cls, model: PrivateEstimator) -> ClassSums:
        """Return the sums that a fitted model holds."""
        return cls(model.class_sums_, model.class_sums_noise_, model.class_sums_rows_)

    def keep_in(self, model: PrivateEstimator) -> None:
        """Let a model hold this."""
        model.class_sums_, model.class_sums_noise_ = self.table, self.noise
        model.class_sums_rows_ = self.rows

    def with_(self, other: ClassSums) -> ClassSums:
        """Return the sums of both batches."""
        known = self.rows and other.rows
        rows = self.rows + other.rows if known else 0
        return ClassSums(self.table + other.table, self.noise + other.noise, rows)


@dataclass(frozen=True)
class Tables:
    """Class tables from the first answer; ``there``: rows that have each Number."""

    counts: Counts
    there: Array
    laws: Normals
    histograms: dict[str, ClassHistogram]


@dataclass(frozen=True)
class Votes:
    """Class scores from the second answer: log posteriors are ``slopes @ q + begins``.

    ``share`` is its part of the final word; naive Bayes has the rest.
    """

    weights: Array
    slopes: Array
    begins: Array
    share: float


def second_share(space: Space, shrink: bool) -> Fraction:
    """Return the share of the second question: 0 unless its noise is smaller."""
    many = len(space.classes)
    # Products of votes are (classes - 1)^2 numbers, against one table a column.
    coarser = (many - 1) ** 2 < len(space.features) and 1 < many <= MAX_CLASSES
    return SECOND if shrink and coarser else Fraction(0)


def read_tables(
    ask: Ask, space: Space, share: Fraction, alpha: float, shrink: bool
) -> Tables:
    """Ask the first question, and return the tables that follow from it."""
    return tables_of(class_sums(ask, space, share), space, alpha, shrink)


def class_sums(ask: Ask, space: Space, share: Fraction) -> ClassSums:
    """Ask the first question."""
    parts = Partition(space.features)
    table, noise = _by_class(ask, space, parts, "class tables", share)
    _remark_on_gaps(ask, space, table, noise)
    return ClassSums(table, noise, public_rows(space) or 0)


def _remark_on_gaps(ask: Ask, space: Space, table: Array, noise: float) -> None:
    """Say which Number column has the fewest values, from its cells for gaps."""
    domain, names = space.domain, space.features
    ends = np.cumsum([0, *(parts_of(name, domain) for name in names)]).tolist()
    worst, note = 0.0, ""
    for name, start, stop in zip(names, ends, ends[1:], strict=False):
        if name not in space.numbers or not domain.number(name).missing:
            continue
        # Three parts of the values that are there, and one for a missing value.
        mine = table[:, start:stop]
        share, text = column_note(name, mine[:, :3], mine[:, 3:], noise)
        if share > worst:
            worst, note = share, text
    ask.remark(note)


def tables_of(sums: ClassSums, space: Space, alpha: float, shrink: bool) -> Tables:
    """Return the distributions that follow from the first answer."""
    domain, names, table, noise = space.domain, space.features, sums.table, sums.noise
    ends = np.cumsum([0, *(parts_of(name, domain) for name in names)]).tolist()
    start = dict(zip(names, ends, strict=False))
    # The parts of all columns add up to as many class sizes as there are columns.
    raw = table.sum(axis=1) / len(names)
    spread = noise * table.shape[1] / len(names) ** 2
    counts = class_counts(raw, spread, sums.rows or None, shrink)
    places = np.array([start[name] for name in space.numbers], dtype=int)
    there = np.repeat(counts.size[:, None], len(places), axis=1)
    for i, name in enumerate(space.numbers):
        if domain.number(name).missing:
            there[:, i] -= table[:, places[i] + 3]
    there = np.maximum(there, 0.5)  # noise can leave less than no row
    parts = table[:, places[:, None] + np.arange(3)]
    histograms = {}
    for name in space.categories:
        many = len(domain.category(name).categories)
        mine = table[:, start[name] : start[name] + many]
        histograms[name] = histogram(mine, counts, noise, alpha, shrink)
    laws = normals(parts, there, counts, noise, shrink)
    return Tables(counts, there, laws, histograms)


def read_votes(
    ask: Ask, space: Space, share: Fraction, tables: Tables
) -> tuple[Votes, Counts]:
    """Ask the second question: how the linear scores of the first fall, by class."""
    weights, noise = linear_scores(space, tables)
    votes = SoftVotes(space.features, tuple(map(tuple, weights.tolist())))
    table, spread = _by_class(ask, space, votes, "class scores", share)
    rows = public_rows(space)
    slopes, begins, counts = call(table, spread, tables.counts, rows)
    return Votes(weights, slopes, begins, noise / (noise + TRUST)), counts


def linear_scores(space: Space, tables: Tables) -> tuple[Array, float]:
    """Return weights of a linear score for each class, and the relative noise in it."""
    prior, laws = tables.counts.prior, tables.laws
    away = laws.mean - laws.middle
    slope = away / (laws.common + laws.doubt + TINY)
    slope -= prior @ slope  # scores are compared, so a common part says nothing
    size = (slope**2 * laws.common).sum(axis=1).mean() + ((slope @ away.T) ** 2).mean()
    noise = (slope**2 * laws.noise).sum(axis=1).mean()
    found: dict[str, Array] = {}
    for i, name in enumerate(space.numbers):
        # x - middle at both ends of the range.
        found[name] = slope[:, i, None] * (np.array([-1.0, 1.0]) - laws.middle[i])
    for name, law in tables.histograms.items():
        ratio = np.log(np.maximum(law.chance, LEAST) / law.common)
        found[name] = ratio - prior @ ratio
        size += (found[name] ** 2 @ law.common).mean()
        noise += (law.doubt @ law.common).mean()
    weights = np.hstack([found[name] for name in space.features])
    if not size > TINY**2:
        return np.zeros_like(weights), 1.0
    weights = np.clip(weights / math.sqrt(size), -MAX_WEIGHT, MAX_WEIGHT)
    return weights, float(noise / size)


def public_rows(space: Space) -> int | None:
    """Return the number of rows that have a class, where that is public."""
    domain = space.domain
    known = domain.neighbours == "replace" and domain.person is None
    known = known and space.weight is None  # it is not how much they weigh
    return domain.rows if known and not domain.category(space.goal).missing else None


def _by_class(
    ask: Ask, space: Space, features: Any, label: str, share: Fraction
) -> tuple[Array, float]:
    """Return sums by class in ones, and the variance of their noise."""
    query = Sum(Categories((space.goal,), declared=True), (Block(features),))
    answer = ask.measure(query, label, share)
    table = answer.tables[0] / _STEP
    return table, answer.noises[0].variance / _STEP**2
