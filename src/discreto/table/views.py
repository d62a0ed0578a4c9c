"""Views of a table: filters, derived columns, joins, earlier rows. None is charged."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

from discreto.core.capabilities import is_choosy
from discreto.core.charge import Charger
from discreto.core.domain.columns import of_python
from discreto.core.domain.domain import Domain
from discreto.core.expressions import (
    Named,
    Select,
    Step,
    Where,
    WithColumns,
    view_domain,
)
from discreto.core.history import NamedPast, Past, PersonHistory
from discreto.core.joins import How, joined_domain
from discreto.core.query_json import digest
from discreto.errors import ParameterError
from discreto.table.expression_text import expression
from discreto.table.expressions import Expr
from discreto.table.rows import TableRows


class TableViews:
    """Rows that can be looked at in several ways."""

    domain: Domain
    ledger: Charger
    name: str
    view: tuple[Step, ...] = ()  # how it came from a table, step by step
    checked: bool = True  # False: texts are read as numbers, and no owner has looked
    _rows: TableRows
    _plans: dict[Any, Any]

    def _full_name(self) -> str:
        """The name of the table and what view of it this is, or nothing."""
        if not self.name or not self.view:
            return self.name
        return f"{self.name}, view {digest(self.view)}"

    def where(self, condition: Expr | str) -> Self:
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

    def with_columns(self, **columns: Expr | str) -> Self:
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

    def select(self, *names: str | Sequence[str]) -> Self:
        """Some columns only.

        Parameters
        ----------
        names
            The columns to keep, besides the one that says whose rows they are.
        """
        several = [[one] if isinstance(one, str) else one for one in names]
        return self.seen(Select(tuple(of_python(n) for one in several for n in one)))

    def join(self, other: TableViews, *, how: How = "left") -> Self:
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
        if not isinstance(other, TableViews):
            raise ParameterError("join needs a Table of the same people.")
        here = [isinstance(getattr(t, "_rows", None), TableRows) for t in (self, other)]
        if not all(here):  # silos and services keep their rows
            raise ParameterError("only tables whose rows are here can be joined.")
        if other.ledger is not self.ledger:
            raise ParameterError(
                "tables that are joined are about the same people, so they need the "
                "same ledger: Table(..., ledger) with one ledger for both."
            )
        if is_choosy(self) or is_choosy(other):
            raise ParameterError(
                "rows are joined outside of a database, and the engine has "
                "fetch=False. Join them in the database, or use "
                "DatabaseEngine(fetch=True)."
            )
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
        pasts = tuple(NamedPast(n, p) for n, p in columns.items())
        return self.remembering(PersonHistory(order, pasts))

    def remembering(self, history: PersonHistory) -> Self:
        """A table with columns from earlier rows, as ``with_history`` makes it.

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

    def named(self, name: str) -> Self:
        """The same rows under a name.

        Parameters
        ----------
        name
            Which table this is; a key stands for one answer about one name.
        """
        out = copy.copy(self)
        out.name = name
        return out
