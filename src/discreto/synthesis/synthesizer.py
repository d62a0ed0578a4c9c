"""Synthetic tables: marginals through the gate, a model of them, rows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreto.core.charge import Charger
from discreto.core.cost import Amount, Cost
from discreto.core.domain import Category, Domain, Opaque
from discreto.data.frames.native import new_frame
from discreto.errors import DomainError, ParameterError
from discreto.models import persist
from discreto.models._estimator import PrivateEstimator
from discreto.models._features import Space
from discreto.models.auto import AutoClassifier
from discreto.parameters import Reader, whole
from discreto.rng import Generator, generator
from discreto.session import Session
from discreto.synthesis._columns import codings, within
from discreto.synthesis._drawing import (
    draw_cells,
    draw_codes,
    draw_labels,
    plain_values,
)
from discreto.synthesis._fitting import Model
from discreto.synthesis._learning import Conversation, default_rounds
from discreto.synthesis._rules import Rules
from discreto.tables import Table

_LABELS = Fraction(1, 2)  # of the cost, where a model labels the target
_MOST_ROWS = 10**8
_TRIES = 100  # draws for each row that must keep to rules


class Synthesizer(PrivateEstimator):
    """A table of made-up rows with the marginals of a private one.

    Counts of every column and of the pairs of columns that a model of them misses most
    are released; a graphical model is fitted to them, and rows are drawn from it.
    The rows may be kept, copied and published: nothing else is spent on them.

    Parameters
    ----------
    epsilon, delta
        What a fit costs. ``delta`` above 0 takes Gaussian noise, which is better here.
    rounds
        How many pairs of columns are measured; by default twice as many as there are
        columns.
    bins
        Cells of Number columns: ``{"age": 20}`` for equal ones, ``{"income": [0, 1000,
        10000]}`` for where they begin. By default 32 equal ones and others that get
        narrower towards 0. Cells that hold few rows are joined after they were counted.
    constraints
        Conditions that all drawn rows meet, such as ``"age >= 18"`` or
        ``"not (sex == 'm' and pregnant == 'yes')"``. They must be known without the
        rows.
    derived
        Columns that follow from others: ``{"total": "wages + rent"}``. Nothing is asked
        about them.
    labels
        ``"marginals"``: the target is a column like the others. ``"model"``: half of
        the cost trains a private classifier, which labels the drawn rows.
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
    labeller_
        The classifier that labels rows, or None.

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
        bins: Mapping[str, Any] | None = None,
        constraints: Any = (),
        derived: Mapping[str, Any] | None = None,
        labels: str = "marginals",
        target: str | None = None,
        selection: str = "auto",
        max_cells: int = 1 << 17,
        domain: Domain | None = None,
        ledger: Charger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rounds = rounds
        self.bins = bins
        self.constraints = constraints
        self.derived = derived
        self.labels = labels
        self.target = target
        self.selection = selection
        self.max_cells = max_cells
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    # What is asked

    def _space(self, domain: Domain, target: str | None) -> Space:
        if not isinstance(domain, Domain):
            raise DomainError("Synthesizer.plan needs a Domain.")
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
        if target not in names or not isinstance(domain[target], Category):
            raise ParameterError("labels='model' needs a target that is a Category.")
        names.remove(target)
        if not names:
            raise DomainError("there is no column to label rows by.")
        return Space(domain, tuple(names), target)

    def _learn(self, ask: Any, space: Space) -> None:
        self._check()
        known = codings(space.domain, space.features, self.bins)
        left, self.labeller_ = ask, None
        if space.target is not None:
            left = ask.sharing(1 - _LABELS)
            self.labeller_ = self._labeller(ask.sharing(_LABELS), space)
        rounds = default_rounds(len(known))
        if self.rounds is not None and len(known) > 1:
            rounds = self.rounds
        found = Conversation(
            left,
            known,
            rounds=rounds,
            most_cells=self.max_cells,
            sums_only=self.selection == "counts",
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

    def _labeller(self, ask: Session, space: Space) -> AutoClassifier:
        """A classifier that was trained on the private rows."""
        model = AutoClassifier(epsilon=self.epsilon, delta=self.delta)
        domain = space.domain.select([*space.features, space.goal])
        model._learn(ask, replace(space, domain=domain.with_(target=space.goal)))
        model.space_ = model.model_.space_
        model.n_features_in_ = len(space.features)
        model.classes_ = np.array(space.classes, dtype=object)
        return model

    def _check(self) -> None:
        read = Reader(self)
        read.choice("selection", ("auto", "scores", "counts"))
        if self.rounds is not None:
            whole(self.rounds, "rounds", least=1, most=10_000, of="Synthesizer")
        read.whole("max_cells", least=1 << 8, most=1 << 26)

    def _table(self, X: Any, y: Any) -> tuple[Table, str | None]:
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

    # Rows

    @property
    def model_(self) -> Model:
        """The fitted model of the groups of cells."""
        check_is_fitted(self, "space_")
        return Model([len(part) for part in self.present_], dict(self.factors_))

    def sample(
        self,
        n: int | None = None,
        random_state: Any = None,
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
        number = whole(number, "n", least=1, most=_MOST_ROWS, of="sample")
        rng = generator(random_state)
        rules = Rules.read(self, self.space_.domain)
        batch = rules.kept(lambda rows: self._draw(rows, rng), number, _TRIES)
        columns = self.space_.domain.columns
        values = {n: plain_values(batch[n], columns[n]) for n in columns if n in batch}
        return new_frame(values, library)

    def _draw(self, rows: int, rng: Generator) -> dict[str, Any]:
        """Codes and numbers of all columns, in the terms of the domain."""
        space = self.space_
        codes = draw_codes(self.model_, rows, rng)
        known = codings(space.domain, space.features, self.bins)
        out = {}
        for place, coding in enumerate(known):
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
        if self.labeller_ is not None:
            out[space.goal] = draw_labels(self.labeller_.model_, out, rows, rng)
        return out

    # Files

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a JSON file.

        Parameters
        ----------
        path
            The file to write.
        """
        persist.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a synthesizer from a file that ``save`` wrote.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Synthesizer
            It draws the same rows for the same seed.
        """
        found = persist.load(path)
        if not isinstance(found, cls):
            raise ParameterError(f"{str(path)!r} is no synthesizer.")
        return found

    def _has_whole_state(self) -> bool:
        """Whether rows can be drawn from what a file holds."""
        try:
            space = self.space_
            known = codings(space.domain, space.features, self.bins)
            Rules.read(self, space.domain)
            lists = (self.groups_, self.present_, self.counts_)
            good = all(len(part) == len(known) for part in lists)
            for coding, groups, present, counts in zip(known, *lists, strict=True):
                many = int(groups.max()) + 1
                good = good and groups.shape == (coding.cells,) and present.ndim == 1
                good = good and set(groups.tolist()) == set(range(many))
                good = good and counts.shape == (coding.cells + coding.column.missing,)
                allowed = many + coding.column.missing
                good = good and present.tolist() == list(range(len(present)))
                good = good and many <= len(present) <= allowed
                good = good and bool(np.isfinite(counts).all())
            sizes = [len(part) for part in self.present_]
            for places, factor in self.factors_:
                good = good and list(places) == sorted(set(places))
                good = good and factor.shape == tuple(sizes[i] for i in places)
                good = good and bool(np.isfinite(factor).all()) and min(places) >= 0
            labelled = (self.labeller_ is None) == (space.target is None)
            return good and labelled and 1 <= self.rows_ <= _MOST_ROWS
        except (ValueError, TypeError, AttributeError, LookupError):
            return False

    def predict(self, X: Any) -> Any:
        """Refused: rows are drawn with ``sample``.

        Parameters
        ----------
        X
            Not used.
        """
        raise ParameterError("a Synthesizer predicts nothing: use sample().")


persist.OTHERS["Synthesizer"] = Synthesizer
