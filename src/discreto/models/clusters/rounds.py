"""Base of models with centres: a start, noisy rounds, and centres made of them.

Everything here works on points on [-1, 1] and on releases. The constants were chosen by
measurement over many tables (``docs/models/kmeans.md``), never from the rows of a fit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from discreto.core.gate import bind, noises_for
from discreto.core.maps import Deviations, Nearest, Ranks, Rings, Values
from discreto.core.maps.clusters import Points, diameter, steps_of
from discreto.core.maps.features import SUM_BITS
from discreto.core.maps.unit_columns import Term
from discreto.core.query import Block, Choice, Everyone, Floats, Ones, Sum
from discreto.errors import ParameterError
from discreto.models.base.features import Space
from discreto.models.base.kinds import PrivateClusterer
from discreto.models.clusters.centroids import (
    Overall,
    Round,
    centred_ratio,
    distances_of,
    merge,
    precise,
    shrink,
    starts,
    textbook,
)
from discreto.models.clusters.missing import Gaps
from discreto.models.linear.encoding import INDICATOR, Encoding
from discreto.session.parameters import Reader
from discreto.session.rng import generator
from discreto.session.session import Ask
from discreto.table.table import Table

RINGS = 14  # distances from 1/90 of the largest one up
MEAN_SHARE = Fraction(15, 100)
ROWS_SHARE = Fraction(3, 100)
SPREAD_SHARE = Fraction(8, 100)
FIRST_ROUND = Fraction(4, 10)  # of what is left for rounds, if it only finds starts
LATER_REACH = 0.6  # rows are nearer to their own centre than to the overall mean
CELLS = 8  # the first round splits the rows in up to this many cells for a cluster
MOST_CELLS = 512


class CentreClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateClusterer
):
    """Clusters around centres that come from a few rounds of noisy sums."""

    shrink: Any = True  # whether a model takes less of what is mostly noise

    def _query(self, search: Search, centres: Floats, radius: float) -> Sum:
        """Return the question of one round."""
        return search.hard_query(centres, radius)

    def _learn(self, ask: Ask, space: Space) -> None:
        read = Reader(self)
        wanted, rounds = read.whole("n_clusters"), read.whole("max_iter")
        toss = generator(read.seed())
        self._check(read)
        terms = Encoding(space, INDICATOR)
        if not terms.names:
            raise ParameterError(f"{type(self).__name__} needs at least one column.")
        # Laplace noise follows the l1 norm of a row, Gaussian noise the l2 norm.
        gaps = Gaps(terms.names, terms.gapped)
        search = Search(ask, terms.names, 2 if ask.cost.rho else 1, toss, gaps)
        search.shrink = read.truth("shrink")
        if isinstance(self.init, str):
            centres, sizes = self._search(search, wanted, rounds)
        else:
            given = self._given(terms, wanted)
            centres, sizes = self._from_given(search, given, rounds)
        low = np.where(terms.numbers, -1.0, 0.0)
        self._centres = np.clip(centres, low, np.where(low < 0, 1.0, INDICATOR))
        self.cluster_sizes_ = sizes
        self.n_iter_ = rounds
        self.cluster_centers_ = terms.unscale(self._centres)
        self.center_names_ = terms.labels

    def _search(
        self, search: Search, wanted: int, rounds: int
    ) -> tuple[Floats, Floats]:
        """Find a start from noisy answers, then refine it."""
        looked = search.gaps.look(search.ask)
        overall = search.overall(MEAN_SHARE)
        search.spread(overall.mean[None, :], SPREAD_SHARE)
        left = 1 - MEAN_SHARE - SPREAD_SHARE - looked
        shares = round_shares(rounds, left)
        clusters = search.affordable(overall, shares[-1], 1.0, 1, wanted)
        most = max(min(CELLS * clusters, MOST_CELLS), clusters)
        cells = search.affordable(overall, shares[0], 2.0, clusters, most)
        if clusters == 1 or rounds == 1:
            cells = clusters
        start = starts(cells, len(search.names), search.coins)
        centres = np.clip(overall.mean + start * search.spread_of_columns, -4, 4)
        for number, share in enumerate(shares, start=1):
            radius = search.radius(overall, len(centres), share)
            if number == 1 < rounds:
                query = search.hard_query(centres, radius)
            else:
                query = self._query(search, centres, radius)
            label = f"round {number}"
            done = search.round(query, centres, overall, radius, label, share)
            overall, centres, sizes = done.overall, done.centres, done.sizes
            if number == 1:
                search.reach = LATER_REACH
                if cells > clusters:
                    centres = merge(centres, sizes, clusters, search.coins)
        return search.fill(centres, sizes, wanted)

    def _from_given(
        self, search: Search, centres: Floats, rounds: int
    ) -> tuple[Floats, Floats]:
        """Plain rounds from given starting centres."""
        used = search.gaps.look(search.ask)
        overall, rows_share = search.only_rows(ROWS_SHARE)
        used += rows_share
        search.spread(centres, SPREAD_SHARE)
        share = (1 - used - SPREAD_SHARE) / rounds
        for number in range(1, rounds + 1):
            label = f"round {number}"
            radius = search.radius(overall, len(centres), share)
            query = self._query(search, centres, radius)
            done = search.round(query, centres, overall, radius, label, share)
            centres = done.centres
            # The mean belongs to rows as they were split: it is not carried on.
            known = done.overall
            overall = replace(overall, rows=known.rows)
            overall = replace(overall, rows_variance=known.rows_variance)
        return centres, done.sizes

    def _check(self, read: Reader) -> None:
        """Refuse what else a model was given."""
        if isinstance(self.init, str) and not read.is_auto("init"):
            raise read.bad("init", "'auto' or public starting centres")

    def _given(self, terms: Encoding, clusters: int) -> Floats:
        wanted = (clusters, len(terms.names))
        try:
            points = np.asarray(self.init, dtype=float)
        except (TypeError, ValueError, OverflowError):
            points = np.empty(0)
        if points.shape != wanted or not np.isfinite(points).all():
            raise ParameterError(
                f"{type(self).__name__}: init must be {wanted[0]} x {wanted[1]} finite "
                "numbers: a public starting centre for each cluster."
            )
        return np.clip((points - terms.centres) / terms.halves, -1, 1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster of each row. Free: it uses released centres only.

        A missing number is left out of the distances. A row without any value is put
        in the largest cluster.

        Returns
        -------
        array
            The number of a cluster for each row.
        """
        rows = self._rows(X)  # first: it says so if the model is not fitted
        found = Encoding(self.space_, INDICATOR).nearest(rows, self._centres)
        return np.where(found < 0, int(np.argmax(self.cluster_sizes_)), found)

    def transform(self, X: Any) -> Floats:
        """Return the distance of each row from each centre. Free, like ``predict``.

        Distances are Euclidean, with columns scaled to [-1, 1] by their bounds; two
        categories of a column are 0.71 apart. A missing number is as far as those
        that are there are on average; a row without any is at distance 0.

        Returns
        -------
        array
            One line for each row, one column for each cluster.
        """
        return distances_of(self._unit(X), self._centres)

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Floats:
        """Fit, then return the distances of the same rows, which the caller has anyway.

        Parameters
        ----------
        X
            A data frame or a 2-d array.
        y
            Not used; for pipelines.
        options
            Not used.

        Returns
        -------
        array
            One line for each row, one column for each cluster.
        """
        if isinstance(X, Table):
            raise ParameterError(
                "distances of a Table's rows are private. Use fit(table), then "
                "transform rows of your own."
            )
        return self.fit(X).transform(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _unit(self, X: Any) -> Floats:
        rows = self._rows(X)  # first: it says so if the model is not fitted
        return Encoding(self.space_, INDICATOR).with_gaps(rows)


def round_shares(rounds: int, left: Fraction) -> list[Fraction]:
    """Return the share of each round: the first one only finds the starting centres."""
    if rounds == 1:
        return [left]
    later = left * (1 - FIRST_ROUND) / (rounds - 1)
    return [left * FIRST_ROUND] + [later] * (rounds - 1)


class Search:
    """The session of one fit, and what it has learned about scale."""

    def __init__(
        self, ask: Ask, names: tuple[Term, ...], norm: int, coins: Any, gaps: Gaps
    ) -> None:
        self.ask, self.names, self.norm, self.coins = ask, names, norm, coins
        self.gaps = gaps
        self.width = len(names)
        self.full = diameter(self.width, norm)
        self.distance = self.full  # the typical distance of a row from a centre
        self.reach = 1.0
        self.shrink = True
        self._noises: dict[Fraction, float] = {}
        self.public_rows = ask.domain.neighbours == "replace"

    @property
    def spread_of_columns(self) -> float:
        """The typical deviation of one column."""
        return 2 * self.distance / self.full

    def count_share(self, weight: float) -> Fraction:
        """Return the share of a count beside sums at which their ratio errs least.

        For centres that lie sqrt(weight) spreads away from where sums are taken.
        """
        if self.norm == 1:
            ratio = (weight / self.width**2) ** (1 / 3)
        else:
            ratio = (weight / self.width) ** (1 / 2)
        return Fraction(max(round(1000 * ratio / (1 + ratio)), 1), 1000)

    def overall(self, share: Fraction) -> Overall:
        """Return the noisy mean of all rows, shrunk to one mean for all columns."""
        values = Values(self.names)
        # Cube noise is for numbers that can all be large at once; categories cannot.
        law: Any = "cube" if all(isinstance(n, str) for n in self.names) else "laplace"
        count_share = self.count_share(1.0)
        if self.public_rows:
            blocks: tuple[Block, ...] = (Block(values, noise=law),)
        else:
            sums = Block(values, share=1 - count_share, noise=law)
            blocks = (Block(Ones(), share=count_share), sums)
        query = Sum(Everyone(), self.gaps.beside(blocks))
        answer = self.ask.measure(query, "overall mean", share)
        found = self._rows_of(answer)
        self.gaps.hear(answer, found.safe_rows)
        there = self.gaps.shares
        sums_ = answer.tables[-1][0] / float(1 << SUM_BITS) / there
        noise = answer.noises[-1].variance / float(1 << 2 * SUM_BITS)
        noise *= float((1 / there**2).mean())
        mean, variance = centred_ratio(sums_, noise, found.safe_rows)
        variance = variance + mean**2 * self.gaps.doubt / there**2
        return replace(found, mean=mean, precision=precise(variance))

    def only_rows(self, share: Fraction) -> tuple[Overall, Fraction]:
        """Return the noisy number of rows, and the share that it took."""
        if self.public_rows:
            blocks = self.gaps.alone()
        else:
            blocks = self.gaps.beside((Block(Ones()),))
        if not blocks:
            return self._rows_of(None), Fraction(0)
        answer = self.ask.measure(Sum(Everyone(), blocks), "rows", share)
        found = self._rows_of(answer)
        self.gaps.hear(answer, found.safe_rows)
        return found, share

    def _rows_of(self, answer: Any) -> Overall:
        nothing = np.zeros(self.width)
        if self.public_rows:
            return Overall(nothing, nothing, float(self.ask.domain.rows or 0), 0.0)
        first = self.gaps.first
        rows, noise = float(answer.tables[first][0, 0]), answer.noises[first].variance
        return Overall(nothing, nothing, rows, noise)

    def spread(self, centres: Floats, share: Fraction) -> None:
        """Ask for the median distance of rows from their centre: the scale of noise."""
        rings = Rings(self.names, as_points(centres), RINGS, self.norm)
        tally = Sum(rings, (Block(Ones()),))
        chosen = self.ask.select(Choice(tally, Ranks((1,), 2)), "spread", share)
        self.distance = rings.edge(int(chosen.indices[0]))

    def hard_query(self, centres: Floats, radius: float) -> Sum:
        """Counts and deviations of the rows that are nearest to each centre."""
        points, count_share = as_points(centres), self.count_share(0.1)
        ways = Deviations(self.names, points, radius, self.norm)
        blocks = (Block(Ones(), share=count_share), Block(ways, share=1 - count_share))
        return Sum(Nearest(self.names, points), self.gaps.beside(blocks))

    def noise(self, share: Fraction) -> float:
        """Return the standard deviation of a noisy sum of a round, in radii."""
        if share not in self._noises:
            query = self.hard_query(np.zeros((1, self.width)), 1.0)
            bound = bind(query, self.ask.domain)
            law = noises_for(bound, self.ask.cost * share)[-1]
            self._noises[share] = math.sqrt(law.variance) / steps_of(self.width)
        return self._noises[share]

    def affordable(
        self, overall: Overall, share: Fraction, quality: float, least: int, most: int
    ) -> int:
        """Return how many cells each have a mean that is more than noise."""
        noise = quality * self.noise(share) * self.full / 2
        return int(min(max(math.sqrt(2) * overall.rows / noise, least), most))

    def radius(self, overall: Overall, cells: int, share: Fraction) -> float:
        """Return the distance to which rows are clipped: larger if noise is small."""
        if not self.shrink:
            return self.full
        noise = cells * math.sqrt(self.width) * self.noise(share) / overall.safe_rows
        growth = max(1.0, math.sqrt(1 / (40 * noise)))
        return min(self.distance * self.reach * growth, self.full)

    def round(
        self,
        query: Sum,
        centres: Floats,
        overall: Overall,
        radius: float,
        label: str,
        share: Fraction,
    ) -> Round:
        """Ask for sums around ``centres`` and move the centres."""
        answer = self.ask.measure(query, label, share)
        hard = isinstance(query.cells, Nearest)
        weight_step = 1.0 if hard else float(1 << SUM_BITS)
        wide = self.width if hard else centres.size
        step = radius / steps_of(wide)
        first = self.gaps.first
        sizes = answer.tables[first].reshape(-1) / weight_step
        sums = np.asarray(answer.tables[-1].reshape(centres.shape) * step, np.float64)
        # Sums are over values that are there; they stand for all rows of a centre.
        there = self.gaps.parts(answer, sizes, weight_step)
        sums = sums / there
        if not self.shrink:
            return textbook(centres, sizes, sums, overall)
        size_noise = answer.noises[first].variance / weight_step**2
        sum_noise = answer.noises[-1].variance * step**2 / there**2
        return shrink(centres, sizes, size_noise, sums, sum_noise, overall, hard)

    def fill(
        self, centres: Floats, sizes: Floats, wanted: int
    ) -> tuple[Floats, Floats]:
        """Centres that noise did not allow go next to the largest clusters."""
        extra = wanted - len(centres)
        if not extra:
            return centres, sizes
        order = np.argsort(-sizes, kind="stable")[np.arange(extra) % len(centres)]
        shift = starts(max(extra, 2), self.width, self.coins)[:extra]
        new = centres[order] + 0.5 * self.spread_of_columns * shift
        return np.vstack([centres, new]), np.concatenate([sizes, np.zeros(extra)])


def as_points(centres: Floats) -> Points:
    """Centres as the plain numbers of a question."""
    return tuple(map(tuple, centres.tolist()))
