"""A table: rows behind the gate, their public domain, and the ledger that pays."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

from discreto.core.accounting import check_steps
from discreto.core.charge import Charger, Event, Reservation
from discreto.core.cost import Amount, Cost
from discreto.core.dialect import Dialect
from discreto.core.domain import Domain
from discreto.core.expressions import (
    Named,
    Select,
    Step,
    Where,
    WithColumns,
    view_domain,
    view_to_json,
)
from discreto.core.gate import Gate
from discreto.core.history import NamedPast, Past, PersonHistory
from discreto.core.joins import How, joined_domain
from discreto.core.noise.entropy import Entropy
from discreto.core.question_json import digest
from discreto.core.steps import Steps, check_sampling
from discreto.core.training import Training
from discreto.data.databases.address import public_name
from discreto.data.engines import DatabaseEngine, LocalEngine
from discreto.data.frames import PersonFrame, open_frame
from discreto.errors import DomainError, ParameterError
from discreto.expression_text import expression
from discreto.expressions import Expr
from discreto.markup import escape
from discreto.perform import Kept, choosy_gate, perform
from discreto.plan import (
    Plan,
    Statistic,
    cost_of,
    plan_of,
    split_of,
    statistics,
    together,
)
from discreto.release import Release
from discreto.rows import Engine, TableRows
from discreto.shares import Split


class Table:
    """Private rows with their public domain and a ledger.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, a dict of arrays, a 2-d array with the
        domain's columns, or the path of a file, a folder or a pattern: Parquet, Arrow,
        CSV (also packed) or Excel.
    domain
        The public description; its columns must be in the data.
    ledger
        A :class:`~discreto.Ledger`, or ``discreto.testing.simulate()``.
    engine
        Where sums are folded; this process by default.
    name
        Which table this is, for tables in memory: a key stands for one answer about
        one table, so only a table with a name takes keys. Files have their path.
    dialect
        How files (and texts that stand for numbers) are written; by default what the
        domain says.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> table = dp.Table({"age": [40, 50, 60]}, domain, dp.Ledger(epsilon=1))
    >>> dp.stats.count(table, epsilon="0.5").cost
    Cost(ε 0.5)
    """

    view: tuple[Step, ...] = ()  # how it came from a table, step by step
    choosy = False  # whether its engine refuses what others can answer

    def __init__(
        self,
        data: Any,
        domain: Domain,
        ledger: Charger,
        *,
        engine: Engine | None = None,
        name: str | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        if not isinstance(domain, Domain):
            raise DomainError(
                "a Table needs a Domain with public bounds and categories: "
                'Domain({"age": Number(0, 120), "sex": Category(["f", "m"])}).'
            )
        if not hasattr(ledger, "charge"):
            raise ParameterError(
                "a Table needs a ledger: Ledger('people.ledger', epsilon=3)."
            )
        if dialect is not None:
            domain = domain.with_(dialect=dialect)
        self.domain, self.ledger = domain, ledger
        self.name = _name_of(data) if name is None else str(name)
        frame: Any = open_frame(data, domain)
        lazy = hasattr(frame, "query")  # it stays where it is
        if domain.person is not None:
            key = Entropy().bytes(24)
            if lazy:
                frame = frame.bounded(key, fetch=getattr(engine, "fetch", True))
            else:
                frame = PersonFrame(frame, domain, key)
        if domain.neighbours == "replace" and frame.length() != domain.rows:
            raise DomainError(
                f"the domain says rows={domain.rows}, but the table has another number "
                "of rows. With neighbours='replace' that number is public: correct it."
            )
        default = DatabaseEngine() if lazy else LocalEngine()
        self._rows = TableRows(frame, engine or default)
        self.choosy = not getattr(engine, "fetch", True)
        self._plans: dict[tuple[Statistic, Cost], Plan] = {}

    @classmethod
    def scan(
        cls,
        path: str | Path | list[str | Path],
        domain: Domain,
        ledger: Charger,
        *,
        engine: Engine | None = None,
        name: str | None = None,
        dialect: Dialect | None = None,
    ) -> Table:
        """A table over files that are read as streams, never whole.

        Parameters
        ----------
        path
            A Parquet, Arrow or CSV file, a folder, a pattern, or a list of files.
        domain
            The public description; its columns must be in the files.
        ledger
            Who pays.
        engine
            Where sums are folded; this process by default.
        name
            Which table this is, for keys; by default the path.
        dialect
            How the files are written; by default what the domain says.

        Returns
        -------
        Table
            The table; nothing but the head of the files has been read.
        """
        return cls(path, domain, ledger, engine=engine, name=name, dialect=dialect)

    def gate(self, ledger: Charger | None = None) -> Gate:
        """The gate to these rows, paid by this table's ledger or by a reservation.

        Parameters
        ----------
        ledger
            Who pays instead of this table's ledger, such as a reservation.
        """
        return Gate(self.domain, ledger or self.ledger, self._rows, self._full_name())

    def _full_name(self) -> str:
        """The name of the table and what view of it this is, or nothing."""
        if not self.name or not self.view:
            return self.name
        return f"{self.name}, view {digest(self.view)}"

    def where(self, condition: Expr | str) -> Table:
        """The rows for which a condition is true.

        Parameters
        ----------
        condition
            Such as ``dp.col("age") >= 65``, or the text ``"age >= 65"``. Rows for which
            it is unknown, because a value is missing, are left out.

        Returns
        -------
        Table
            A view: the same rows, the same ledger. Nothing was read or charged.

        Raises
        ------
        DomainError
            It does not fit the domain, or the domain makes the number of rows public.

        Privacy
        -------
        Whether a row is in depends on that row alone, so answers about the view cost
        what they cost about the table, and are charged to the same ledger.

        Examples
        --------
        >>> import discreto as dp
        >>> domain = dp.Domain({"age": dp.Number(0, 120)})
        >>> table = dp.Table({"age": [40, 70, 80]}, domain, dp.Ledger(epsilon=1))
        >>> old = table.where(dp.col("age") >= 65)
        >>> dp.stats.count(old, epsilon=1).label
        'count, where age >= 65'
        """
        return self.seen(Where(expression(condition)))

    def with_columns(self, **columns: Expr | str) -> Table:
        """New columns, each worked out from the other columns of its row.

        Parameters
        ----------
        columns
            Such as ``bmi=dp.col("kg") / dp.col("m") ** 2``, or the text
            ``bmi="kg / m ** 2"``. Bounds, categories and whether values may be missing
            follow from the domain.

        Returns
        -------
        Table
            A view with a domain of its own. Nothing was read or charged.

        Raises
        ------
        DomainError
            An expression does not fit the domain, or has no finite bounds.

        Examples
        --------
        >>> import discreto as dp
        >>> domain = dp.Domain({"kg": dp.Number(30, 200), "m": dp.Number(1, 2.5)})
        >>> data = {"kg": [70, 80], "m": [1.7, 1.8]}
        >>> table = dp.Table(data, domain, dp.Ledger(epsilon=1))
        >>> table.with_columns(bmi="clip(kg / m ** 2, 10, 80)").domain["bmi"].upper
        80.0
        """
        made = tuple(Named(name, expression(e)) for name, e in columns.items())
        return self.seen(WithColumns(made))

    def select(self, *names: str) -> Table:
        """Some columns only.

        Parameters
        ----------
        names
            The columns to keep, besides the one that says whose rows they are.
        """
        return self.seen(Select(names))

    def join(self, other: Table, *, how: How = "left") -> Table:
        """Rows of this table beside those of another about the same person.

        Parameters
        ----------
        other
            A table with the same ledger. Both domains name the column that says whose
            rows they are (``person``); identifiers may be stored in different types.
        how
            ``"left"``: rows of people whom the other table does not know stay, with
            missing values. ``"inner"``: they are left out.

        Returns
        -------
        Table
            The joined rows; columns of the other table come after this one's. Nothing
            was charged.

        Raises
        ------
        DomainError
            A domain does not say whose rows they are, or both have a column.
        ParameterError
            The tables have different ledgers.

        Privacy
        -------
        A neighbour is a person with all of her rows in both tables. She has at most as
        many joined rows as the product of both ``rows_per_person``, which is what the
        noise is for.

        Examples
        --------
        >>> import discreto as dp
        >>> who, age, cost = dp.Opaque(), dp.Number(0, 120), dp.Number(0, 900)
        >>> people = dp.Domain({"id": who, "age": age}, person="id")
        >>> several = {"person": "id", "rows_per_person": 3}
        >>> visits = dp.Domain({"id": who, "cost": cost}, **several)
        >>> ledger = dp.Ledger(epsilon=1)
        >>> first = dp.Table({"id": [1, 1, 2], "cost": [10, 20, 30]}, visits, ledger)
        >>> second = dp.Table({"id": [1, 2], "age": [30, 70]}, people, ledger)
        >>> first.join(second).domain.rows_per_person
        3
        """
        if not isinstance(other, Table):
            raise ParameterError("join needs a Table of the same people.")
        here = [isinstance(getattr(t, "_rows", None), TableRows) for t in (self, other)]
        if not all(here):  # silos and services keep their rows
            raise ParameterError("only tables whose rows are here can be joined.")
        if other.ledger is not self.ledger:
            raise ParameterError(
                "tables that are joined are about the same people, so they need the "
                "same ledger: Table(..., ledger) with one ledger for both."
            )
        domain = joined_domain(self.domain, other.domain, how)
        out = copy.copy(self)
        out.domain, out._plans, out.view = domain, {}, ()
        domains = (self.domain, other.domain)
        out._rows = self._rows.joined(other._rows, domains, how)
        names = self._full_name(), other._full_name()
        out.name = f"{names[0]}, joined {how} with {names[1]}" if all(names) else ""
        return out

    def with_history(self, order: str, **columns: Past) -> Table:
        """Values of earlier rows of the same person beside each row.

        Parameters
        ----------
        order
            The column that says which row was earlier: a number, a date or a time.
        columns
            Such as ``before=dp.lag("kg")`` or ``lately=dp.rolling_mean("kg", 5)``.
            Where a person has no earlier row the value is missing.

        Returns
        -------
        Table
            A view; filters and derived columns come after it. Nothing was charged.

        Privacy
        -------
        A neighbour is a person with all of her rows. The view sees all of them, and
        keeps ``rows_per_person`` of each person, which is what the noise is for.

        Examples
        --------
        >>> import discreto as dp
        >>> columns = {"id": dp.Opaque(), "day": dp.Number(0, 9)}
        >>> columns["kg"] = dp.Number(0, 99)
        >>> domain = dp.Domain(columns, person="id", rows_per_person=3)
        >>> data = {"id": [1, 1, 2], "day": [1, 2, 1], "kg": [70, 71, 80]}
        >>> table = dp.Table(data, domain, dp.Ledger(epsilon=1))
        >>> seen = table.with_history("day", before=dp.lag("kg"))
        >>> dp.stats.count(seen.where("not is_missing(before)"), epsilon=1).cost
        Cost(ε 1)
        """
        history = PersonHistory(
            order, tuple(NamedPast(n, p) for n, p in columns.items())
        )
        domain = history.domain(self.domain)
        here = isinstance(getattr(self, "_rows", None), TableRows) and not self.view
        rows = self._rows.remembered(history, self.domain) if here else None
        if rows is None:
            text = (
                "a history is taken of rows that are here, before filters and columns."
            )
            raise ParameterError(text)
        out = copy.copy(self)
        out.domain, out._plans, out._rows = domain, {}, rows
        out.name = f"{self.name}, history {digest(history)}" if self.name else ""
        return out

    def seen(self, step: Step) -> Table:
        """A view by a step in data form, as a message brings it.

        Parameters
        ----------
        step
            ``WithColumns``, ``Where`` or ``Select`` of ``discreto.core.expressions``.
        """
        out = copy.copy(self)
        out.domain = view_domain(step, self.domain)
        out._rows = self._rows.seen(step, self.domain)
        out._plans, out.view = {}, (*self.view, step)
        return out

    def named(self, name: str) -> Table:
        """The same rows under a name.

        Parameters
        ----------
        name
            Which table this is; a key stands for one answer about one name.
        """
        out = copy.copy(self)
        out.name = name
        return out

    def has_at_most(self, rows: int) -> bool:
        """Whether so many rows are enough. For the owner: the answer is exact.

        Parameters
        ----------
        rows
            How many rows are enough.
        """
        return self._rows.length() <= rows

    def paid_by(self, ledger: Charger) -> Table:
        """The same rows with another payer, such as a reservation.

        Parameters
        ----------
        ledger
            Who pays from now on.
        """
        out = copy.copy(self)
        out.ledger = ledger
        return out

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Pay for a whole conversation before its first question.

        Parameters
        ----------
        cost
            What all questions may cost together.
        label
            What it is for, as the ledger shows it.
        event
            Public facts to keep with the entry.

        Returns
        -------
        Reservation
            A payer for ``gate`` and ``paid_by``, until it is used up.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.
        """
        return Reservation(self.ledger, self.ledger.charge(cost, label, event))

    def train(
        self, steps: Steps, label: str, *, key: str | None = None, first: int = 0
    ) -> Training:
        """Pay for Gaussian steps on samples of the rows, all of them up front.

        Parameters
        ----------
        steps
            How many steps, their noise and their sampling rate.
        label
            What it is for, as the ledger shows it.
        key
            With a key the same block is paid once, however often it is opened.
        first
            The number of the first step; every number has one answer for good.
        """
        check_steps(steps)
        check_sampling(steps.rate, self.domain)
        if self.choosy and steps.rate < 1:
            raise ParameterError(
                f"{label!r} takes secret samples of rows, which would be read from the "
                "database, and the engine has fetch=False. Use rate=1."
            )
        event = {"steps": steps.to_dict()} | self._facts(key)
        receipt = self.ledger.charge(steps.cost, label, event, key)
        return Training(self.gate(), steps, receipt, key, first)

    def _facts(self, key: str | None) -> dict[str, Any]:
        """What a charge says about the table, so that a key cannot mean another."""
        if key is not None and not self.name:
            raise ParameterError(
                "a key stands for one answer about one table, so the table needs a "
                "name: Table(data, domain, ledger, name='patients 2024')."
            )
        named = {"table": self.name} if self.name else {}
        seen = {"view": view_to_json(self.view)} if self.view else {}
        return {"domain": self.domain.fingerprint} | named | seen

    def _named_release(self, release: Release, statistic: Statistic) -> Release:
        """The answer, with what its keys are values of."""
        columns = getattr(statistic, "by", ()) or getattr(statistic, "columns", ())
        labelled = replace(release, label=self._label(release.label))
        return labelled.named(columns) if not labelled.names else labelled

    def _label(self, text: str) -> str:
        """What is asked, and of which rows."""
        conditions = [str(step) for step in self.view if isinstance(step, Where)]
        return ", ".join([text, *conditions])

    def plan(
        self,
        wanted: Statistic | Iterable[Statistic],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        rows: int | None = None,
        split: Split = "equal",
        precision: Sequence[Amount | None] | None = None,
    ) -> Plan:
        """What asking would cost and how exact it would be; spends nothing.

        Parameters
        ----------
        wanted
            A statistic, such as ``stats.Mean("age")``, or several.
        epsilon : int, float, str or Fraction
            What it costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the
            same.
        delta : int, float, str or Fraction
            Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
        rows : int, optional
            A guess of how many rows there are; it moves expected errors only.
        split : str or list of numbers
            How the cost is shared: ``"equal"``; ``"weighed"``, so that the expected
            errors, each against its wanted precision, add up to the least; or a number
            for each, to which the shares are in proportion.
        precision : list of numbers, optional
            With ``"weighed"``: the 95 % error that is wanted of each, or None. Without
            it, errors count against the size that is expected of an answer.

        Returns
        -------
        Plan
            The questions, their cost, and the expected errors.
        """
        return statistics(
            self.domain,
            wanted,
            epsilon=epsilon,
            delta=delta,
            rows=rows,
            split=split,
            precision=precision,
        )

    def answer(
        self,
        statistic: Statistic,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        key: str | None = None,
    ) -> Release:
        """Ask one statistic.

        Parameters
        ----------
        statistic
            Such as ``stats.Mean("age")``.
        epsilon : int, float, str or Fraction
            What it costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the
            same.
        delta : int, float, str or Fraction
            Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
        key : str, optional
            A name for this request. Asked again under its key it gets the stored answer
            and costs nothing more; another request under the same key is refused. The
            table needs a name (files have their path).

        Returns
        -------
        Release
            The answer with its error bar and its receipt.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The cost is charged before a row is read. See the statistic for what is asked
        and how far a row can move it.
        """
        cost, relation = cost_of([statistic], epsilon, delta), self.domain.neighbours
        plan = self._plan(statistic, cost)
        facts = self._facts(key) | {"statistic": _digest(statistic)}
        kept = Kept(
            key,
            lambda release, receipt: release.paid(receipt, cost, relation).to_json(),
            lambda text: Release.from_dict(json.loads(text)),
        )
        done = perform(
            self,
            lambda ask: self._named_release(statistic.learn(ask), statistic),
            cost,
            self._label(statistic.label),
            plan=plan,
            facts=facts,
            kept=kept,
        )
        return done.result.paid(done.receipt, cost, relation)

    def _plan(self, statistic: Statistic, cost: Cost) -> Plan:
        """The plan of a statistic, kept for when it is asked again."""
        if (statistic, cost) not in self._plans:
            if len(self._plans) >= 64:
                self._plans.clear()
            gate = choosy_gate(self)
            plan = plan_of(self.domain, [statistic], cost, 0, gate=gate)
            self._plans[statistic, cost] = plan
        return self._plans[statistic, cost]

    def answers(
        self,
        several: Iterable[Statistic],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        split: Split = "equal",
        precision: Sequence[Amount | None] | None = None,
        rows: int | None = None,
    ) -> list[Release]:
        """Ask several statistics for one cost, all or nothing.

        Parameters
        ----------
        several
            Statistics, such as ``[stats.Mean("age"), stats.Count()]``.
        epsilon : int, float, str or Fraction
            What all of them cost together, as pure ε: ``"1/2"``, ``0.5`` and
            ``Fraction(1, 2)`` are the same.
        delta : int, float, str or Fraction
            Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
        split : str or list of numbers
            How the cost is shared: ``"equal"``; ``"weighed"``, so that the expected
            errors, each against its wanted precision, add up to the least; or a number
            for each, to which the shares are in proportion.
        precision : list of numbers, optional
            With ``"weighed"``: the 95 % error that is wanted of each, or None. Without
            it, errors count against the size that is expected of an answer.
        rows : int, optional
            With ``"weighed"``: a guess of how many rows there are.

        Returns
        -------
        list of Release
            One for each statistic, in order.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The cost is charged before a row is read. How it is shared follows from the
        domain and from the guess of ``rows``, never from the rows themselves.

        Examples
        --------
        >>> import discreto as dp
        >>> domain = dp.Domain({"age": dp.Number(0, 120)})
        >>> table = dp.Table({"age": [40, 50, 60]}, domain, dp.Ledger(epsilon=1))
        >>> both = table.answers([dp.stats.Count(), dp.stats.Mean("age")], epsilon=1)
        >>> [release.cost for release in both]
        [Cost(ε 0.5), Cost(ε 0.5)]
        """
        wanted = list(several)
        cost, domain = cost_of(wanted, epsilon, delta), self.domain
        shares = split_of(domain, wanted, cost, split, precision, rows)
        label = ", ".join(statistic.label for statistic in wanted)
        facts = self._facts(None)
        done = perform(
            self, together(wanted, shares), cost, self._label(label), facts=facts
        )
        return [
            self._named_release(release, statistic).paid(
                done.receipt, cost * share, domain.neighbours
            )
            for release, statistic, share in zip(
                done.result, wanted, shares, strict=True
            )
        ]

    def __repr__(self) -> str:
        return f"Table({self.domain!r})"

    def _repr_html_(self) -> str:
        return f"<p>Table, paid by {escape(self.ledger)}</p>{self.domain._repr_html_()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self


def _digest(statistic: Statistic) -> str:
    """A short name for exactly this statistic; a home-made one has its label only."""
    if not is_dataclass(statistic):
        return statistic.label
    return digest(statistic)


def _name_of(data: Any) -> str:
    """Files and addresses are their own name, without a password; memory has none."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], str | Path):
        return ", ".join(map(str, data))
    return public_name(str(data)) if isinstance(data, str | Path) else ""
