"""Neighbours by hashing: classes are counted in public random cells, once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Charger
from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain
from discreto.core.maps import (
    Categories,
    Completeness,
    Everyone,
    Memberships,
    Ones,
    Present,
    Sides,
    Values,
    present_in,
)
from discreto.core.query import Block, Sum
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import keep_all
from discreto.models.base.features import Space
from discreto.models.base.kinds import PrivateClassifier
from discreto.models.base.signal_to_noise import SizeUp, ask_shares, size_up
from discreto.models.base.views import Seen, ask_windows
from discreto.models.neighbors.hashing import (
    cut_count,
    draw_cuts,
    log_votes,
    middle,
    softmax,
    table_count,
)
from discreto.session.parameters import Reader
from discreto.session.rng import Seed, generator
from discreto.session.session import Ask
from discreto.stats._base import complete_note

_WINDOWS = Fraction(1, 10)  # of the cost, to learn where the numbers are
_LOCATE = Fraction(1, 10)  # the share that finds the middle of the rows
_TEMPER = 0.55  # tables that cut the same rows agree more than they should be trusted


class CellNeighborsClassifier(PrivateClassifier):
    """Rows that fall in the same random cells are neighbours; cells are counted once.

    Several hash tables cut the space by random hyperplanes. The classes in every cell
    are counted with noise, once; a prediction adds up what the cells of its row say,
    and is free. Category features are fine: different values are half a range apart.

    Parameters
    ----------
    n_tables
        How many hash tables; by default 8 epsilon^0.6 (2 to 64): more tables see more
        and see less.
    n_cuts
        Hyperplanes of a table, which has 2^n_cuts cells; by default 4, or 3 if there
        are no more than four tables, which is when noise is large.
    domain, bounds, classes, ledger
        The public facts and the payer when ``fit`` gets arrays or frames.
    random_state
        Seeds the directions of the cuts, which are public. It never touches noise.

    Attributes
    ----------
    classes_, class_prior_
        The declared classes and their noisy shares.
    cuts_
        Weights, marks of categories and offsets of the cuts of every table.
    cell_log_odds_
        What each cell adds to each class: tables x cells x classes.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         the number of rows (1/20) unless the domain declares it: with few of
                 them class counts are all that can be known; where the numbers are
                 (1/10); their mean (1/10), to place the cuts; then the counts of all
                 tables at once.
    Bound        1 for counts; d for where the numbers are, and 1 and d in the l1
                 norm for their mean; a row is in one cell of each table, so
                 ``n_tables`` for the counts.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         predictions: they use counts, public cuts and the domain only.
    Not covered  choosing ``n_tables`` or ``random_state`` by looking at results.

    >>> from discreto import Category, Domain, Number
    >>> domain = Domain({"x": Number(0, 1), "y": Category(["a", "b"])}, target="y")
    >>> plan = CellNeighborsClassifier(epsilon=1).plan(domain, rows=1000)
    >>> [ask.sensitivity for ask in plan] == [(1,), (1,), (1, 1 << 30), (8,)]
    True
    >>> plan.total
    Cost(ε 1)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discreto.testing import simulate
    >>> model = CellNeighborsClassifier(
    ...     epsilon=3, bounds=(0, [8, 5, 7, 3]), classes=[0, 1, 2],
    ...     ledger=simulate(), random_state=0,
    ... )
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(model.fit(X, y).score(X, y) > 0.7)
    True
    """

    def __init__(
        self,
        n_tables: int | None = None,
        n_cuts: int | None = None,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _learn(self, ask: Ask, space: Space) -> None:
        read = Reader(self)
        ours = table_count(ask.cost, space.domain)
        tables = read.whole("n_tables", most=1024, unset=ours)
        size = read.whole("n_cuts", most=12, unset=cut_count(tables))
        toss = generator(read.seed())
        self.classes_ = np.array(space.classes)
        ask, look = size_up(ask, space)
        if look.way == 0:
            shares = ask_shares(ask, space)
            self.class_prior_, self.view_ = shares, space
            cuts = draw_cuts(space, 0 * space.centres(), tables, size, toss)
            self.cell_log_odds_ = np.zeros((tables, 1 << size, len(shares)))
            self.fill_ = 0 * space.centres()
            self.cuts_ = tuple((c.weights, c.marks, c.offsets) for c in cuts)
            return
        goal = space.goal
        ask, space, left = self._look_around(ask, space, look)
        centre, left = self._locate(ask, space, left)
        self.fill_ = np.asarray(centre)
        cuts = draw_cuts(space, centre, tables, size, toss)
        query = Sum(Categories((goal,), declared=True), (Block(Memberships(cuts)),))
        answer = ask.measure(query, "classes in the cells", left)
        counts = answer.tables[0].T.astype(float)
        counts = counts.reshape(tables, 1 << size, -1)
        prior, odds = log_votes(counts, answer.noises[0].variance)
        # Cuts beyond twice the number of columns say again what others said.
        weight = _TEMPER * min(1.0, 2 * len(space.features) / (tables * size))
        self.class_prior_ = prior
        self.cell_log_odds_ = weight * odds
        self.cuts_ = tuple((c.weights, c.marks, c.offsets) for c in cuts)

    def _look_around(
        self, ask: Ask, space: Space, look: SizeUp
    ) -> tuple[Ask, Space, Fraction]:
        """Return the view that the model learns from, and the share that is left."""
        seen, left = Seen(), Fraction(1)
        if look.way == 2 and space.numbers:
            seen, left = Seen(ask_windows(ask, space, _WINDOWS)), left - _WINDOWS
        self.view_ = seen.space(space)
        return seen.ask(ask, space), self.view_, left

    def _locate(self, ask: Ask, space: Space, left: Fraction) -> tuple[Any, Fraction]:
        """Return about where the rows are, and the share that is left after asking."""
        names = space.numbers
        if not names:
            return np.empty(0), left
        values, cells = Values(names), present_in(names, space.domain)
        replace = space.domain.neighbours == "replace"
        if replace and isinstance(cells, Everyone):
            blocks: tuple[Block, ...] = (Block(values),)
        else:
            one = Fraction(1, 1 + len(names))
            blocks = (Block(Ones(), share=one), Block(values, share=1 - one))
        gaps = isinstance(cells, Present)
        if gaps and not replace:
            # Rows without all values have a cell of their own. A row is in one of both
            # cells, so counting them moves no bound and adds no noise.
            cells = Completeness(names)
        answer = ask.measure(Sum(cells, blocks), "middle of the rows", _LOCATE)
        if gaps:
            counts = answer.tables[0][:, 0].astype(float)
            # A replaced row would move both counts, but then their sum is public.
            others = [(space.domain.rows or 0) - counts[0]] if replace else counts[1:]
            variance = answer.noises[0].variance
            ask.remark(complete_note(names, counts[:1], others, variance))
        return middle(answer, space.domain), left - _LOCATE

    def predict_proba(self, X: Any) -> NDArray[Any]:
        X = self._rows(X)
        batch, rows = self.space_.batch(X)
        space = self.view_
        logs = np.tile(np.log(self.class_prior_), (rows, 1))
        for parts, odds in zip(self.cuts_, self.cell_log_odds_, strict=True):
            sides = Sides(space.numbers, space.categories, *parts, self._places())
            logs += odds[sides.codes(batch, space.domain)]
        return softmax(logs)

    def _places(self) -> tuple[float, ...]:
        return tuple(map(float, self.fill_))

    def _unknown_to_old_files(self) -> dict[str, Any]:
        return {"view_": self.space_, "fill_": 0 * self.space_.centres()}

    def reference(self) -> Any:
        from sklearn.neighbors import KNeighborsClassifier

        return KNeighborsClassifier()
