"""A lazy table and its engine: what all of them have in common."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import narwhals as nw

from discreto.core.domain.domain import Domain, Opaque
from discreto.data.frames.file_states import OpenedFiles
from discreto.data.sql.engine_checks import check_engine, check_texts
from discreto.errors import DomainError

_PART = float(1 << 16)  # sums of long numbers are made of two sums of short ones
# In the plans of Polars, DuckDB and pyarrow.
_READERS_OF_TEXT = (
    *("csv scan", "json scan", "read_csv", "read_json", "sniff_csv"),
    *("csvfileformat", "jsonfileformat"),
)


@contextmanager
def silence() -> Iterator[None]:
    """No warnings of drivers: they might depend on rows, and nobody here can help."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Backend:
    """A lazy table that narwhals understands, and how its engine is used.

    ``exact``: the engine is asked to calculate. ``strict``: it raises where a product
    underflows, so that tiny numbers must become 0 before.
    """

    exact = True
    strict = False
    files: OpenedFiles | None = None  # of a database that is a file
    connect: Callable[[], Any] | None = None  # makes a new connection, if that is known
    _checked = False

    def __init__(self, data: Any, names: Collection[str] = ()) -> None:
        self.lock = threading.RLock()  # one query at a time on a connection
        self._compared: set[str] = set()  # columns whose collation was looked at
        try:
            with silence():
                self.frame: Any = self._lazy(data, names)
                self.schema = dict(self.frame.collect_schema())
        except DomainError:
            raise
        except Exception:  # it may quote a connection string
            raise DomainError(
                f"the columns of this {type(data).__name__} cannot be read. Is the "
                "connection open, and may its role see the table?"
            ) from None

    def _lazy(self, data: Any, names: Collection[str]) -> Any:
        """The table as narwhals knows it; ``names`` are the columns that are used."""
        return nw.from_native(data)

    def unready(self) -> str:
        """Return why rows cannot be read now, a public reason; empty if they can."""
        return "" if self.files is None else self.files.unready()

    def unchanged(self) -> bool:
        """Return True unless the database is a file that was changed.

        A question is one statement, which reads one state of the table; copies belong
        to one plan. So rows may change between two questions.
        """
        return self.files is None or self.files.unchanged()

    def sessions(self) -> int:
        """Return how many connections there were; 0 where they are not replaced."""
        return 0

    def recovered(self, since: int) -> bool:
        """Return True if a connection was lost and replaced ``since`` so many sessions.

        Then what failed on it may be tried again.
        """
        return False

    def check_columns(self, domain: Domain) -> None:
        """Refuse types of which some rows cannot be read, and texts compared oddly."""
        used = [
            name
            for name, column in domain.columns.items()
            if type(column) is not Opaque or name == domain.person
        ]
        for name in used:
            if self.unreadable(name, person=name == domain.person):
                raise DomainError(
                    f"not every row of column {name!r} can be read: its type is "
                    "special to this database. Cast it in a view, to a number, a text "
                    "or a date."
                )
        texts = [n for n in used if self.exact and self.schema[n] == nw.String]
        if not self._compared.issuperset(texts):
            check_texts(self, texts)
            self._compared.update(texts)

    def unreadable(self, name: str, *, person: bool) -> bool:
        """Whether some rows of this column might make an answer fail."""
        return False

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse names that an engine takes for something else: ``*``, patterns."""
        if self.frame is None:
            return
        for name in names:
            pattern = name[:1] == "^" and name[-1:] == "$"  # old Polars has them as one
            with suppress(Exception), silence():
                found = self.frame.select(found=nw.col(name).is_null())
                if not pattern and found.collect_schema().names() == ["found"]:
                    continue
            raise DomainError(
                f"column {name!r} cannot be asked by its name here. Rename it."
            )

    def check_source(self) -> None:
        """Refuse text files that another reader guesses types of.

        Their types follow from rows, and a row of another type makes the reader fail.
        """
        found = ""
        with suppress(Exception), silence():
            found = self._plan_text().lower()
        if any(word in found for word in _READERS_OF_TEXT):
            raise DomainError(
                "this table is read from a text file by a library that guesses types "
                "from rows, so that one row could make every answer fail. Give the "
                "path of the file instead: Table('data.csv', ...)."
            )

    def _plan_text(self) -> str:
        """How the rows would be read, in the words of the engine."""
        return ""

    def check_settings(self) -> None:
        """Refuse, once, an engine whose session calculates in another way."""
        if self.exact and not self._checked:
            check_engine(self)
            self._checked = True

    def literal(self, value: Any) -> Any:
        """A date or a time as it is written in a query."""
        return nw.lit(value)

    def fence(self, frame: Any) -> Any:
        """The same rows; what was worked out so far is not worked out again."""
        return frame

    def over(self, expr: Any, divisor: float, some: Any) -> Any:
        """A quotient by a constant; ``some`` is a column of finite numbers."""
        return expr / nw.lit(float(divisor), dtype=nw.Float64)

    def wide(self, expr: Any) -> list[Any]:
        """Sums of whole numbers held as floats, in parts that cannot overflow."""
        return [expr.cast(nw.Int64).sum()]

    def joined(self, parts: Sequence[int]) -> int:
        """The whole sum from its parts."""
        return parts[0]

    def prepare(self, frame: Any) -> Any:
        """A query that is ready to run; all that depends on no row happens here."""
        return frame

    def collect(self, plan: Any) -> dict[str, list[Any]]:
        """The few rows of an answer."""
        with self.lock, silence():
            return self._collect(plan)

    def _collect(self, frame: Any) -> dict[str, list[Any]]:
        found = frame.collect(backend="pyarrow").to_native()
        return {name: found.column(name).to_pylist() for name in found.column_names}

    def count(self, frame: Any) -> int:
        """How many rows there are."""
        return int(self.collect(self.prepare(frame.select(n=nw.len())))["n"][0])

    def batches(self, frame: Any, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Arrow tables of at most so many rows."""
        with self.lock:
            with silence():
                wanted = [self.as_read(name) for name in names]
                parts = self._batches(frame.select(*wanted).to_native(), rows)
                part = next(parts, None)
            while part is not None:
                yield part
                with silence():
                    part = next(parts, None)

    def as_read(self, name: str) -> Any:
        """A column with such values only as the driver can read."""
        return nw.col(name)

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        raise NotImplementedError


class Split(Backend):
    """Engines whose sums have 64 bits: each sum is made of two shorter ones."""

    def wide(self, expr: Any) -> list[Any]:
        high = (expr * (1 / _PART)).floor()
        low = expr - high * _PART
        return [high.cast(nw.Int64).sum(), low.cast(nw.Int64).sum()]

    def joined(self, parts: Sequence[int]) -> int:
        return parts[0] * int(_PART) + parts[1]
