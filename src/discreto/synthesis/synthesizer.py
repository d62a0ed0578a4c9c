"""Synthetic tables: marginals through the gate, a model of them, rows from it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreto.core.charge import Charger
from discreto.core.cost import Amount, Cost
from discreto.core.domain.domain import Domain, Opaque
from discreto.core.ledger import Ledger
from discreto.data.native_frames import new_frame
from discreto.errors import DomainError, ParameterError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.features import Space
from discreto.models.interop import json as persist
from discreto.models.interop.state import declare
from discreto.session.parameters import Reader, whole
from discreto.session.rng import Generator, Seed, generator
from discreto.synthesis import _target_model as _labels
from discreto.synthesis._columns import Coding, codings, to_values, within
from discreto.synthesis._constraints import Rules
from discreto.synthesis._drawing import draw_cells, draw_codes
from discreto.synthesis._files import DRAWN_STATE, MOST_ROWS, has_whole_state
from discreto.synthesis._fitting import Model
from discreto.synthesis._learning import Conversation, default_rounds
from discreto.synthesis._pair_weights import pair_weights
from discreto.table.table import Table

_LABELS = Fraction(1, 2)  # of the cost, where a model labels the target
_TRIES = 100  # draws for each row that must keep to rules


class Synthesizer(PrivateEstimator):
    """A table of synthetic rows with the marginals of a private one.

    Counts of every column and of the pairs of columns that a model of them misses most
    are released; a graphical model is fitted to them, and rows are drawn from it.
    The rows may be kept, copied and published: nothing else is spent on them.

    Parameters
    ----------
    epsilon, delta
        What a fit costs. ``delta`` above 0 takes Gaussian noise, which is better here.
    rounds
        How many pairs of columns are measured; by default twice as many as there are
        columns, and as many as a tree has.
    structure
        ``"graph"``: any pairs, as AIM does. ``"tree"``: pairs that join all columns
        without a circle, as MST does: quicker, and less is known of other pairs.
    bins
        Cells of Number columns: ``{"age": 20}`` for equal ones, ``{"income": [0, 1000,
        10000]}`` for where they begin. By default 32 equal ones and others that get
        narrower towards 0; of dates the shortest periods of the calendar of which there
        are at most 64. Cells that hold few rows are joined after they were counted.
    weights
        Which pairs of columns matter: ``{"income": 3, ("age", "income"): 10}``, or the
        same as a list of lists. A pair counts as said, else as the heavier of its two
        columns, else 1; what counts 0 is never measured.
    constraints
        Conditions that all drawn rows meet, such as ``"age >= 18"`` or
        ``"not (sex == 'm' and pregnant == 'yes')"``. They must be known without the
        rows.
    derived
        Columns that follow from others: ``{"total": "wages + rent"}``. Nothing is asked
        about them.
    labels
        ``"marginals"``: the target is a column like the others. ``"model"``: half of
        the cost trains a private model, which labels the drawn rows: a classifier for
        a Category, a regressor for a Number (then a fifth of that half counts the
        target, so that labels have its distribution).
    target
        The column to label; by default the domain's target.
    selection
        ``"scores"``: the gate chooses pairs by their distance from the model.
        ``"counts"``: a fifth of the cost measures all pairs, and these are chosen
        from; that works across silos and in databases too. ``"auto"``: as the table
        can.
    max_cells
        How many cells the model may have: time and memory grow with it.
    domain, ledger, random_state
        As in every model; ``random_state`` is not used by a fit.

    Attributes
    ----------
    marginals_
        The noisy counts that were released, by the names of their columns.
    rows_
        About how many rows there are.
    groups_, counts_
        Which cells of a column were joined, and their noisy counts.
    labeller_, target_counts_
        The model that labels rows, or None; the noisy counts of a Number target.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         the counts of each column (3/20 of the cost; 1/4 with pure epsilon),
                 then in each round a choice among pairs (1/10 of the round) and the
                 counts of the chosen pair.
    Bound        1 for counts: a row is in one cell. 1 for the distance of a pair's
                 counts from the model's, by which it is chosen.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         the fit of the model, and all rows that are drawn from it.
    Not covered  bins, constraints and categories that were read from the rows.

    >>> from discreto import Category, Domain, Number
    >>> columns = {"age": Number(0, 120), "sex": Category(["f", "m"])}
    >>> plan = Synthesizer(epsilon=1, rounds=1).plan(Domain(columns))
    >>> for ask in plan:
    ...     print(ask.door, ask.label, ask.sensitivity[0])
    measure counts of age 1
    measure counts of sex 1
    select choice 1 2
    measure marginal 1 1
    >>> plan.total
    Cost(ε 1)

    Examples
    --------
    >>> import numpy as np
    >>> from discreto import Ledger, Table
    >>> rows = {"age": np.arange(6000) % 90, "sex": ["f", "m", "m"] * 2000}
    >>> table = Table(rows, Domain(columns), Ledger(epsilon=1))
    >>> made = Synthesizer(epsilon=1).fit(table).sample(1000, random_state=0)
    >>> made.shape, set(made["sex"]) == {"f", "m"}
    ((1000, 2), True)
    """

    _needs_target = False

    def __init__(
        self,
        epsilon: Amount,
        delta: Amount = 0,
        *,
        rounds: int | None = None,
        structure: str = "graph",
        bins: Mapping[str, Any] | None = None,
        weights: Any = None,
        constraints: Any = (),
        derived: Mapping[str, Any] | None = None,
        labels: str = "marginals",
        target: str | None = None,
        selection: str = "auto",
        max_cells: int = 1 << 17,
        domain: Domain | None = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rounds = rounds
        self.structure = structure
        self.bins = bins
        self.weights = weights
        self.constraints = constraints
        self.derived = derived
        self.labels = labels
        self.target = target
        self.selection = selection
        self.max_cells = max_cells
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    def _space(self, domain: Domain, target: str | None) -> Space:
        if not isinstance(domain, Domain):
            raise DomainError("Synthesizer.plan needs a Domain.")
        if self.target is not None and not isinstance(self.target, str):
            raise Reader(self).bad("target", "the name of a column")
        target = target or self.target or domain.target
        rules = Rules.read(self, domain)
        names = [
            name
            for name, column in domain.columns.items()
            if not isinstance(column, Opaque)
            and name != domain.person
            and name not in rules.derived
        ]
        if not names:
            raise DomainError("there is no Number or Category column to draw.")
        if Reader(self).choice("labels", ("marginals", "model")) == "marginals":
            return Space(domain, tuple(names))
        if target not in names:
            raise ParameterError(
                "labels='model' needs a target: a Number or a Category of the table."
            )
        names.remove(target)
        if not names:
            raise DomainError("there is no column to label rows by.")
        return Space(domain, tuple(names), target)

    def _learn(self, ask: Any, space: Space) -> None:
        self._check()
        known = self._codings(space)
        weights = pair_weights(self.weights, space.features)
        left = self._label(ask, space)
        tree = self.structure == "tree"
        rounds = default_rounds(len(known), tree)
        if self.rounds is not None and len(known) > 1:
            rounds = self.rounds
        found = Conversation(
            left,
            known,
            rounds=rounds,
            most_cells=self.max_cells,
            sums_only=self.selection == "counts",
            tree=tree,
            weights=weights,
        ).hold()
        self.rows_ = found.rows
        self.counts_ = found.counts
        self.groups_ = [np.array(part) for part in found.groups]
        self.present_ = [np.array(part) for part in found.present]
        self.spreads_ = (found.spread, found.pair_spread)
        self.factors_ = list(found.model.factors.items())
        self.marginals_ = {
            tuple(space.features[i] for i in places): table
            for places, table in found.marginals.items()
        }

    def _codings(self, space: Space) -> list[Coding]:
        """Return the cells of all columns that are drawn from the model."""
        bins = _labels.feature_bins(self.bins, space.features, space.target)
        return codings(space.domain, space.features, bins)

    def _label(self, ask: Any, space: Space) -> Any:
        """Learn to label rows, if that is wanted; what is left to ask with."""
        self.labeller_: Any = None
        self.target_counts_: Any = None
        self.target_spread_: Any = None
        if space.target is None:
            return ask
        counts = _LABELS * _labels.target_share(space)
        self.labeller_ = _labels.learn_labeller(
            ask.sharing(_LABELS - counts), space, self.epsilon, self.delta
        )
        if counts:
            self.target_counts_, self.target_spread_ = _labels.count_target(
                ask.sharing(counts), space, self.bins
            )
        return ask.sharing(1 - _LABELS)

    def _check(self) -> None:
        read = Reader(self)
        read.choice("selection", ("auto", "scores", "counts"))
        read.choice("structure", ("graph", "tree"))
        if self.rounds is not None:
            whole(self.rounds, "rounds", least=1, most=10_000, of="Synthesizer")
        read.whole("max_cells", least=1 << 8, most=1 << 26)

    def _table(
        self, X: Any, y: Any, weights: tuple[Any, Any] | None = None
    ) -> tuple[Table, str | None]:
        if isinstance(X, Table):
            return super()._table(X, y)
        if self.domain is None:
            raise ParameterError(
                "Synthesizer needs a Table, or domain=Domain(...) and a frame."
            )
        return Table(X, self.domain, self._payer()), y

    def _fit_table(self, table: Table, target: str | None, cost: Cost) -> Self:
        only = getattr(table, "only_sums", False) or table.choosy
        given = Reader(self).choice("selection", ("auto", "scores", "counts"))
        if given == "auto":  # so that plans and rehearsals know it too
            self.selection = "counts" if only else "scores"
        try:
            return super()._fit_table(table, target, cost)
        finally:
            self.selection = given

    @property
    def model_(self) -> Model:
        """The fitted model of the groups of cells."""
        check_is_fitted(self, "space_")
        return Model([len(part) for part in self.present_], dict(self.factors_))

    def sample(
        self,
        n: int | None = None,
        random_state: Seed = None,
        *,
        library: str | None = None,
    ) -> Any:
        """Draw rows. Nothing is spent, and no private row is looked at.

        Parameters
        ----------
        n
            How many; by default about as many as the private table has.
        random_state
            Seeds the draw: the same seed gives the same rows.
        library
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first of them
            that is installed.

        Returns
        -------
        frame
            One column for each of the table, in its order.

        Raises
        ------
        ParameterError
            The constraints leave almost no row of the model.
        """
        check_is_fitted(self, "space_")
        number = round(self.rows_) if n is None else n
        number = whole(number, "n", least=1, most=MOST_ROWS, of="sample")
        rng = generator(random_state)
        rules = Rules.read(self, self.space_.domain)
        label = _labels.labelling(self)
        batch = rules.kept(
            lambda rows: label(self._draw(rows, rng), rows, rng), number, _TRIES
        )
        columns = self.space_.domain.columns
        values = {n: to_values(batch[n], columns[n]) for n in columns if n in batch}
        return new_frame(values, library)

    def _draw(self, rows: int, rng: Generator) -> dict[str, Any]:
        """Codes and numbers of all columns, in the terms of the domain."""
        codes = draw_codes(self.model_, rows, rng)
        out = {}
        for place, coding in enumerate(self._codings(self.space_)):
            groups = self.groups_[place]
            cells = coding.cells
            many = int(groups.max()) + 1
            members = [np.flatnonzero(groups == g) for g in range(many)]
            laws = within(self.counts_[place][:cells], groups.tolist())
            members.append(np.array([cells]))  # missing
            laws.append(np.ones(1))
            chosen = self.present_[place][codes[:, place]]
            fine = draw_cells(chosen, members, laws, rng.random(rows))
            out[coding.name] = coding.draw(fine, rng)
        return out

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a JSON file.

        Parameters
        ----------
        path
            The file to write.
        """
        persist.save(self, path)

    @classmethod
    def load(cls, path: str | Path, *, ledger: Ledger | None = None) -> Self:
        """Read a synthesizer from a file that ``save`` wrote.

        Parameters
        ----------
        path
            The file.
        ledger
            The ledger that paid for the fit; see ``discreto.models.load``.

        Returns
        -------
        Synthesizer
            It draws the same rows for the same seed.
        """
        return persist.load(path, cls, ledger=ledger)

    def predict(self, X: Any) -> Any:
        """Refused: rows are drawn with ``sample``.

        Parameters
        ----------
        X
            Not used.
        """
        raise ParameterError("a Synthesizer predicts nothing: use sample().")


persist.OTHERS["Synthesizer"] = Synthesizer
declare("Synthesizer", DRAWN_STATE, has_whole_state)
