"""A table: rows behind the gate, their public domain, and the ledger that pays.

One class, so one file: questions, views and training of the same rows.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreto.core.capabilities import AnswersQueries, may_fetch
from discreto.core.charge import Charger, Event, Reservation
from discreto.core.cost import Amount, Cost
from discreto.core.domain.columns import of_python
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Domain
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
from discreto.core.query import Bound
from discreto.core.query_json import digest
from discreto.core.sampled_steps import Training
from discreto.core.steps import Steps
from discreto.data.engines import DatabaseEngine, LocalEngine
from discreto.data.frames import PersonFrame, open_frame
from discreto.data.frames.owner_check import is_checked
from discreto.data.ledger_marks import remember_ledger
from discreto.data.sql.address import public_name
from discreto.errors import CallError, DomainError, ParameterError, UnknownNameError
from discreto.release.release import Release
from discreto.session.parameters import refuse
from discreto.session.perform import Kept, choosy_gate, perform
from discreto.session.plan import (
    Plan,
    Statistic,
    cost_of,
    plan_of,
    split_of,
    statistics,
    together,
)
from discreto.session.shares import Split
from discreto.session.work_limits import work_limits
from discreto.table.expression_text import expression
from discreto.table.expressions import Expr
from discreto.table.rows import Engine, TableRows
from discreto.table.views import check_join, conditions_of
from discreto.text import wrong_calls
from discreto.text.html import escape

# What pandas and Polars call what there is under another name.
_WHERE = "Rows are chosen by table.where(dp.col('age') >= 65)."
_COLUMNS = "Columns are made by table.with_columns(old=dp.col('age') >= 65)."
_GROUPS = "Groups are a part of a question: dp.stats.mean(..., by='sex')."
_OTHER_WORDS = {
    **dict.fromkeys(("filter", "query", "loc"), _WHERE),
    **dict.fromkeys(("assign", "eval"), _COLUMNS),
    **dict.fromkeys(("groupby", "group_by"), _GROUPS),
}


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
    another_ledger
        ``True`` accepts that a file has a ledger already: what both spend adds up. Else
        a second ledger file for the same data file is refused.
    accept_unchecked
        ``True`` accepts that the owner of a text file has not recorded how it is read
        (:func:`discreto.record_check`). Else its answers begin with "NOT CHECKED".

    Raises
    ------
    LedgerError
        The file has another ledger.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> table = dp.Table({"age": [40, 50, 60]}, domain, dp.Ledger(epsilon=1))
    >>> dp.stats.count(table, epsilon="0.5").cost
    Cost(ε 0.5)
    """

    domain: Domain
    ledger: Charger
    name: str
    view: tuple[Step, ...] = ()  # how it came from a table, step by step
    checked: bool = True  # False: texts are read as numbers, and no owner has looked
    choosy = False  # True: its engine refuses what others can answer
    _rows: TableRows
    _plans: dict[Any, Any]

    @wrong_calls.checked
    def __init__(
        self,
        data: Any,
        domain: Domain,
        ledger: Charger,
        *,
        engine: Engine | None = None,
        name: str | None = None,
        dialect: Dialect | None = None,
        another_ledger: bool = False,
        accept_unchecked: bool = False,
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
        self._rows, checked = _open_rows(data, domain, engine)
        self.checked = accept_unchecked or checked
        remember_ledger(data, domain.fingerprint, ledger, another=another_ledger)
        self.choosy = not may_fetch(engine)
        self._plans = {}

    if not TYPE_CHECKING:  # a type checker would take every name for one of these

        def __getattr__(self, name: str) -> Any:
            hint = f"a Table has no {name!r}."
            if name in _OTHER_WORDS:
                hint += f" {_OTHER_WORDS[name]}"
            elif not name.startswith("_"):
                hint += " Rows are not shown, and statistics are functions with a "
                hint += "price: dp.stats.mean(table, 'age', epsilon=0.1)."
            raise UnknownNameError(hint)

        def __getitem__(self, name: Any) -> Any:
            raise CallError(
                f"a Table does not show its rows. Got table[{name!r}]. Ask for a "
                "statistic: dp.stats.mean(table, 'age', epsilon=0.1)."
            )

        def __len__(self) -> int:
            raise CallError(
                "how many rows a Table has is private. Ask for it: "
                "dp.stats.count(table, epsilon=0.1)."
            )

        def __bool__(self) -> bool:
            return True

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
        another_ledger: bool = False,
        accept_unchecked: bool = False,
    ) -> Table:
        """Return a table over files that are read as streams, never whole.

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
        another_ledger
            Whether a file that has a ledger already may have this one too.
        accept_unchecked
            Whether text files may be asked without the owner's check.

        Returns
        -------
        Table
            The table; nothing but the head of the files has been read.
        """
        return cls(
            path,
            domain,
            ledger,
            engine=engine,
            name=name,
            dialect=dialect,
            another_ledger=another_ledger,
            accept_unchecked=accept_unchecked,
        )

    def gate(self, ledger: Charger | None = None) -> Gate:
        """Return the gate to these rows, paid by this ledger or by a reservation.

        Parameters
        ----------
        ledger
            Who pays instead of this table's ledger, such as a reservation.
        """
        payer, rows = ledger or self.ledger, self._rows.for_plan()
        return Gate(self.domain, payer, rows, self._full_name())

    def reload(self) -> Self:
        """Open the same files or database anew, as they are now.

        A table whose files were changed refuses every question, because what it knows
        of its rows belongs to the old files. Tables in memory are copies, which do not
        change: they are returned as they are.

        Returns
        -------
        Table
            The same table or view, over the rows of today, with the same ledger.

        Raises
        ------
        DomainError
            The files are gone, or do not fit the domain any more.
        """
        if not isinstance(getattr(self, "_rows", None), TableRows):
            raise ParameterError("only tables whose rows are here can be reloaded.")
        out = copy.copy(self)
        out._rows = self._rows.reloaded()
        return out

    def has_at_most(self, rows: int) -> bool:
        """Return True if there are at most so many rows. For the owner: it is exact.

        Parameters
        ----------
        rows
            How many rows are enough.
        """
        return self._rows.length() <= rows

    def paid_by(self, ledger: Charger) -> Table:
        """Return the same rows with another payer, such as a reservation.

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
        gate = self.gate()
        if isinstance(gate, Gate):  # silos look after their own rows
            gate.check_rows(label)
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
            With a key the same block is paid once, however often it is opened. A step
            that was begun and has no answer is drawn again for another whole block.
        first
            The number of the first step; every number has one answer for good.
        """
        if self.choosy and steps.rate < 1:
            raise ParameterError(
                f"{label!r} takes secret samples of rows, which would be read from the "
                "database, and the engine has fetch=False. Use rate=1."
            )
        return Training(self.gate(), steps, label, self._facts(key), key, first)

    def _facts(self, key: str | None) -> dict[str, Any]:
        """Return the public facts of the table that a charge keeps with its key."""
        if key is not None and not isinstance(key, str):
            raise refuse(key, "key", "a text")
        if key is not None and not self.name:
            raise ParameterError(
                "a key stands for one answer about one table, so the table needs a "
                "name: Table(data, domain, ledger, name='patients 2024')."
            )
        named = {"table": self.name} if self.name else {}
        seen = {"view": view_to_json(self.view)} if self.view else {}
        return {"domain": self.domain.fingerprint} | named | seen

    def _named_release(self, release: Release, statistic: Statistic) -> Release:
        """Return the answer with the names of the columns of its keys."""
        columns = getattr(statistic, "by", ()) or getattr(statistic, "columns", ())
        if self.view:
            release = replace(release, label=self._label(release.label))
        return release.named(columns) if columns and not release.names else release

    def _stamped(self, release: Release) -> Release:
        """Return the answer, marked if the owner has not checked how texts are read."""
        return release if self.checked else replace(release, checked=False)

    def _label(self, text: str) -> str:
        """Return the label of a question with the conditions of the view."""
        return ", ".join([text, *conditions_of(self.view)])

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
        """Return the cost and the expected errors of questions; spends nothing.

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
        plan, name, known = self._plan(statistic, cost)
        cost = plan.total
        facts = self._facts(key) | {"statistic": name}
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
            known=known,
        )
        return self._stamped(done.result.paid(done.receipt, cost, relation))

    def _plan(
        self, statistic: Statistic, cost: Cost
    ) -> tuple[Plan, str, tuple[Bound, ...]]:
        """Return a statistic's plan, digest and sums, kept for a repetition."""
        limits = work_limits()  # other limits need another plan
        kept = self._plans.get((statistic, cost, limits))
        if kept is None:
            if len(self._plans) >= 64:
                self._plans.clear()
            gate, sums = choosy_gate(self), list[Bound]()
            plan = plan_of(self.domain, [statistic], cost, 0, gate=gate, ahead=sums)
            kept = plan, _digest(statistic), tuple(sums)
            self._plans[statistic, cost, limits] = kept
        return kept

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
            self._stamped(self._named_release(release, statistic)).paid(
                done.receipt, cost * share, domain.neighbours
            )
            for release, statistic, share in zip(
                done.result, wanted, shares, strict=True
            )
        ]

    def _full_name(self) -> str:
        """Return the name of the table and of this view, or an empty text."""
        if not self.name or not self.view:
            return self.name
        return f"{self.name}, view {digest(self.view)}"

    def where(self, condition: Expr | str) -> Self:
        """Return a view of the rows for which a condition is true.

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

    def with_columns(self, **columns: Expr | str) -> Self:
        """Return a view with new columns, each computed from columns of its row.

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

    def select(self, *names: str | Sequence[str]) -> Self:
        """Return a view of some columns only.

        Parameters
        ----------
        names
            The columns to keep, besides the one that says whose rows they are.
        """
        several = [[one] if isinstance(one, str) else one for one in names]
        return self.seen(Select(tuple(of_python(n) for one in several for n in one)))

    def join(self, other: Table, *, how: How = "left") -> Self:
        """Join rows of this table to those of another about the same person.

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
        check_join(self, other)
        domain = joined_domain(self.domain, other.domain, how)
        out = copy.copy(self)
        out.domain, out._plans, out.view = domain, {}, ()
        out.checked = self.checked and other.checked
        domains = (self.domain, other.domain)
        out._rows = self._rows.joined(other._rows, domains, how)
        names = self._full_name(), other._full_name()
        out.name = f"{names[0]}, joined {how} with {names[1]}" if all(names) else ""
        return out

    def with_history(self, order: str, **columns: Past) -> Self:
        """Return a view with values of earlier rows of the same person.

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
        pasts = tuple(NamedPast(n, p) for n, p in columns.items())
        return self.remembering(PersonHistory(order, pasts))

    def remembering(self, history: PersonHistory) -> Self:
        """Return a table with columns from earlier rows, as ``with_history`` makes it.

        Parameters
        ----------
        history
            The order of rows and the new columns, in one piece: it has a JSON form.
        """
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

    def seen(self, step: Step) -> Self:
        """Return a view by a step in data form, as a message brings it.

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

    def named(self, name: str) -> Self:
        """Return the same rows under a name.

        Parameters
        ----------
        name
            Which table this is; a key stands for one answer about one name.
        """
        out = copy.copy(self)
        out.name = name
        return out

    def __repr__(self) -> str:
        return f"Table({self.domain!r})"

    def _repr_html_(self) -> str:
        return f"<p>Table, paid by {escape(self.ledger)}</p>{self.domain._repr_html_()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self


def _open_rows(
    data: Any, domain: Domain, engine: Engine | None
) -> tuple[TableRows, bool]:
    """Return the rows, at most a few of a person, and if their texts were checked."""
    frame: Any = open_frame(data, domain)
    checked = is_checked(frame, domain)
    lazy = isinstance(frame, AnswersQueries)  # it stays where it is
    if domain.person is not None:
        key = Entropy().bytes(24)
        if lazy:
            frame = frame.bounded(key, fetch=may_fetch(engine))
        else:
            frame = PersonFrame(frame, domain, key)
    if domain.neighbours == "replace" and frame.length() != domain.rows:
        raise DomainError(
            f"the domain says rows={domain.rows}, but the table has another number "
            "of rows. With neighbours='replace' that number is public: correct it."
        )
    default = DatabaseEngine() if lazy else LocalEngine()

    def again() -> TableRows:
        return _open_rows(data, domain, engine)[0]

    rows = TableRows(frame, engine or default, again if frame.origins() else None)
    return rows, checked


def _name_of(data: Any) -> str:
    """Return the path or address as a name, without a password; memory has none."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], str | Path):
        return ", ".join(map(str, data))
    return public_name(str(data)) if isinstance(data, str | Path) else ""


def _digest(statistic: Statistic) -> str:
    """Return a digest of a statistic; one of another class has its label only."""
    if not is_dataclass(statistic):
        return statistic.label
    return digest(statistic)
