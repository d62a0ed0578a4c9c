"""A table: rows behind the gate, their public domain, and the ledger that pays."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreto.core.capabilities import AnswersQueries, may_fetch
from discreto.core.charge import Charger, Event, Reservation
from discreto.core.cost import Cost
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Domain
from discreto.core.gate import Gate
from discreto.core.noise.entropy import Entropy
from discreto.core.sampled_steps import Training
from discreto.core.steps import Steps
from discreto.data.engines import DatabaseEngine, LocalEngine
from discreto.data.frames import PersonFrame, open_frame
from discreto.data.frames.owner_check import is_checked
from discreto.data.ledger_marks import remember_ledger
from discreto.data.sql.address import public_name
from discreto.errors import CallError, DomainError, ParameterError, UnknownNameError
from discreto.table.answers import TableAnswers
from discreto.table.rows import Engine, TableRows
from discreto.text.html import escape
from discreto.text.wrong_calls import checked

# What pandas and Polars call what there is under another name.
_WHERE = "Rows are chosen by table.where(dp.col('age') >= 65)."
_COLUMNS = "Columns are made by table.with_columns(old=dp.col('age') >= 65)."
_GROUPS = "Groups are a part of a question: dp.stats.mean(..., by='sex')."
_OTHER_WORDS = {
    **dict.fromkeys(("filter", "query", "loc"), _WHERE),
    **dict.fromkeys(("assign", "eval"), _COLUMNS),
    **dict.fromkeys(("groupby", "group_by"), _GROUPS),
}


class Table(TableAnswers):
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

    @checked
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
        """The gate to these rows, paid by this table's ledger or by a reservation.

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
    """Files and addresses are their own name, without a password; memory has none."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], str | Path):
        return ", ".join(map(str, data))
    return public_name(str(data)) if isinstance(data, str | Path) else ""
