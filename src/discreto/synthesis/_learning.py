"""The conversation with the gate: counts of each column, then marginals one by one.

The form of it is fixed by public facts: how many columns there are and how many rounds.
Which marginal a round asks for follows from releases, and so do the groups of cells
that it counts; a row is in one of its cells whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps import Categories, MarginalCounts, MarginalErrors
from discreto.core.maps.marginals import WHOLE
from discreto.core.query import Block, Choice, Ones, Sum
from discreto.session.session import Session
from discreto.synthesis._columns import Coding, fine, group, has_gaps, nearest_law, view
from discreto.synthesis._fitting import Model, NoisyMarginal, all_pairs
from discreto.synthesis._junction_tree import Floats, JunctionTree, Places

STEPS = 30  # of a fit between two choices
LAST_STEPS = 300
_SELECT = Fraction(1, 10)  # of a round, to choose its marginal
_LOOK = Fraction(1, 5)  # of the cost, where choices are made from measured pairs
_RARE = 1e-9  # the least probability that a model starts from
_ABSOLUTE = math.sqrt(2 / math.pi)  # the mean of |z| for a normal z


@dataclass
class Learned:
    """The releases of a fit, and the model that was fitted to them."""

    rows: float = 0.0
    counts: list[Floats] = field(default_factory=list)
    spread: float = 0.0
    groups: list[list[int]] = field(default_factory=list)
    present: list[list[int]] = field(default_factory=list)
    marginals: dict[Places, Floats] = field(default_factory=dict)
    pair_spread: float = 0.0
    model: Model = field(default_factory=lambda: Model([1]))


def first_share(gaussian: bool, columns: int) -> Fraction:
    """Return the share of the cost for counts of single columns."""
    if columns == 1:
        return Fraction(1)
    return Fraction(3, 20) if gaussian else Fraction(1, 4)


def default_rounds(columns: int, tree: bool = False) -> int:
    """Return the number of marginals to ask for."""
    if columns == 1:
        return 0
    return columns - 1 if tree else 2 * columns


class Conversation:
    """Questions of a synthesis, for all of a session's cost.

    Parameters
    ----------
    ask
        The session.
    codings
        The columns and their fine cells.
    rounds
        How many marginals of two columns are asked for.
    most_cells
        How many cells the model may have.
    sums_only
        Whether choices are made from measured pairs, not by the gate.
    tree
        Whether pairs must join columns that no chosen pairs join yet.
    weights
        How much each pair matters, in thousandths. Those of 0 are not asked for.
    """

    def __init__(
        self,
        ask: Session,
        codings: Sequence[Coding],
        *,
        rounds: int,
        most_cells: int,
        sums_only: bool,
        tree: bool,
        weights: Mapping[Places, int],
    ) -> None:
        self.ask, self.codings, self.weights = ask, list(codings), weights
        self.rounds, self.most_cells, self.sums_only = rounds, most_cells, sums_only
        self.tree = tree
        self.names = tuple(c.name for c in self.codings)
        self.out = Learned()
        self.measured: list[NoisyMarginal] = []
        self.chosen: list[Places] = []

    def hold(self) -> Learned:
        """Ask everything, and fit."""
        self._columns()
        first = first_share(bool(self.ask.cost.rho), len(self.names))
        left = 1 - first
        if self.rounds and self.sums_only:
            self._look(_LOOK)
            left -= _LOOK
        for number in range(self.rounds):
            self._round(number, left / self.rounds)
        self.out.model.fit(self.measured, self.out.rows, LAST_STEPS)
        return self.out

    def _seen(self, places: Sequence[int], groups: Sequence[list[int]]) -> Session:
        """Return the session about groups of these columns, and of no others."""
        step = view([self.codings[i] for i in places], [groups[i] for i in places])
        return self.ask if step is None else self.ask.seen(step)

    # Single columns

    def _columns(self) -> None:
        """The counts of every column, and the groups that follow from them."""
        out, number = self.out, len(self.names)
        gaussian = bool(self.ask.cost.rho)
        share = first_share(gaussian, number) / number
        cells = [fine(coding) for coding in self.codings]
        for place, name in enumerate(self.names):
            query = Sum(Categories((name,)), (Block(Ones()),))
            asked = self._seen((place,), cells)
            answer = asked.measure(query, f"counts of {name}", share)
            out.counts.append(answer.tables[0][:, 0].astype(float))
            out.spread = math.sqrt(answer.noises[0].variance)
        out.rows = _rows(self.ask.domain, out.counts)
        parts = list(zip(self.codings, out.counts, strict=True))
        out.groups = [group(c, n, out.spread) for c, n in parts]
        for (coding, counts), groups in zip(parts, out.groups, strict=True):
            gaps = has_gaps(coding, counts, out.spread)
            out.present.append(list(range(max(groups) + 1 + gaps)))
        self.sizes = [
            max(groups) + 1 + coding.column.missing
            for coding, groups in zip(self.codings, out.groups, strict=True)
        ]
        for place, counts in enumerate(out.counts):
            self._take_column(place, counts)
        factors = {
            one.places: np.log(np.maximum(nearest_law(one.counts), _RARE))
            for one in self.measured
        }
        out.model = Model([len(present) for present in out.present], factors)

    def _take_column(self, place: int, counts: Floats) -> None:
        groups, present = self.out.groups[place], self.out.present[place]
        member = [*groups, max(groups) + 1][: len(counts)]
        size = max(member) + 1
        table = np.zeros(size)
        np.add.at(table, member, counts)
        many = np.bincount(member, minlength=size)
        variance = self.out.spread**2 * np.maximum(many, 1.0)
        self.measured.append(NoisyMarginal((place,), table[present], variance[present]))
        self.out.marginals[place,] = table

    # Pairs

    def _look(self, share: Fraction) -> None:
        """Every pair once, with much noise: enough to choose from."""
        pairs = [p for p in all_pairs(len(self.names)) if self.weights[p]]
        self.looked = {
            pair: self._measure(
                pair, f"a look at pair {number + 1}", share / len(pairs)
            )
            for number, pair in enumerate(pairs)
        }

    def _round(self, number: int, share: Fraction) -> None:
        """Choose the marginal that the model misses most, and measure it."""
        measure = share if self.sums_only else share * (1 - _SELECT)
        pairs = self._candidates(number)
        if self.sums_only:
            pair = self._best_looked(pairs, measure)
        else:
            pair = self._best(pairs, number, share * _SELECT, measure)
        found = self._measure(pair, f"marginal {number + 1}", measure)
        if self.sums_only and pair not in self.chosen:
            self.measured.append(self.looked[pair])
        self.measured.append(found)
        if pair not in self.chosen:
            self.chosen.append(pair)
        self.out.model.fit(self.measured, self.out.rows, STEPS)

    def _measure(self, pair: Places, label: str, share: Fraction) -> NoisyMarginal:
        names = tuple(self.names[i] for i in pair)
        query = Sum(Categories(names), (Block(Ones()),))
        asked = self._seen(pair, self.out.groups)
        answer = asked.measure(query, label, share)
        table = answer.tables[0][:, 0].reshape([self.sizes[i] for i in pair])
        variance = answer.noises[0].variance
        self.out.marginals[pair] = table.astype(float)
        self.out.pair_spread = math.sqrt(variance)
        one, two = (self.out.present[i] for i in pair)
        return NoisyMarginal(pair, table[np.ix_(one, two)].astype(float), variance)

    def _candidates(self, number: int) -> list[Places]:
        """Pairs that the model can take up: earlier rounds may fill less of it."""
        sizes = [len(present) for present in self.out.present]
        room = max(self.most_cells * (number + 1) / self.rounds, self.most_cells / 4)
        out, every = [], [p for p in all_pairs(len(sizes)) if self.weights[p]]
        if self.tree:
            every = _joining(every, self.chosen) or self.chosen
        for pair in every:
            if (
                pair in self.chosen
                or JunctionTree(sizes, [*self.chosen, pair]).cells <= room
            ):
                out.append(pair)
        return out or [min(every, key=lambda p: (sizes[p[0]] * sizes[p[1]], p))]

    def _best(
        self, pairs: list[Places], number: int, share: Fraction, measure: Fraction
    ) -> Places:
        """Return the marginal that the gate chooses by its distance from the model."""
        expected = self.out.model.pairs()
        noise = _ABSOLUTE * self._spread_of(measure)
        guesses: list[int] = []
        sizes, allowances = [], []
        for pair in pairs:
            table = np.zeros([self.sizes[i] for i in pair])
            one, two = (self.out.present[i] for i in pair)
            table[np.ix_(one, two)] = self.out.rows * expected[pair]
            guesses += np.rint(table).astype(np.int64).ravel().tolist()
            sizes.append(table.size)
            part = self.weights[pair] / WHOLE
            allowances.append(round(part * noise * table.size))
        weights = tuple(self.weights[pair] for pair in pairs)
        score = MarginalErrors(
            tuple(guesses),
            tuple(sizes),
            tuple(allowances),
            () if set(weights) == {WHOLE} else weights,
        )
        tally = MarginalCounts(self.names, tuple(pairs))
        asked = self._seen(range(len(self.names)), self.out.groups)
        answer = asked.select(Choice(tally, score), f"choice {number + 1}", share)
        return pairs[int(answer.indices[0])]

    def _best_looked(self, pairs: list[Places], measure: Fraction) -> Places:
        """The pair whose first look differs most from the model, less the noise."""
        expected = self.out.model.pairs()
        noise = _ABSOLUTE * self._spread_of(measure)

        def score(pair: Places) -> float:
            look = self.looked[pair]
            apart = np.abs(look.counts - self.out.rows * expected[pair])
            usual = _ABSOLUTE * math.sqrt(float(np.max(look.variance)))
            asked = sum(one.places == pair for one in self.measured)
            found = float((apart - usual).sum()) / 2**asked - noise * apart.size / 8
            return found * self.weights[pair]

        return max(pairs, key=score)

    def _spread_of(self, share: Fraction) -> float:
        """Return the noise of a count that gets this share."""
        cost = self.ask.cost
        person = self.ask.domain.rows_per_person
        replaced = self.ask.domain.neighbours == "replace"
        if cost.rho:
            square = (2 if replaced else 1) * person**2
            return math.sqrt(square / (2 * float(cost.rho * share)))
        reach = (2 if replaced else 1) * person
        return math.sqrt(2) * reach / float(cost.epsilon * share)


def _rows(domain: Domain, counts: Sequence[Floats]) -> float:
    """Return the row count: declared, or estimated from all columns together."""
    if domain.neighbours == "replace" and domain.rows is not None:
        return float(domain.rows)
    weights = np.array([1 / len(part) for part in counts])
    totals = np.array([part.sum() for part in counts])
    return max(float((weights * totals).sum() / weights.sum()), 1.0)


def _joining(pairs: Sequence[Places], chosen: Sequence[Places]) -> list[Places]:
    """Return the pairs whose columns no chosen pairs join yet.

    >>> _joining([(0, 1), (0, 2), (1, 2), (2, 3)], [(0, 1), (1, 2)])
    [(2, 3)]
    """
    part = {place: place for pair in pairs for place in pair}
    for one, two in chosen:
        old, new = part[one], part[two]
        part = {place: new if now == old else now for place, now in part.items()}
    return [pair for pair in pairs if part[pair[0]] != part[pair[1]]]
