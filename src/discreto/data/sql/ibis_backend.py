"""Tables of Ibis: the query is written by it, and run by the driver itself."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import narwhals as nw

from discreto.data.sql import Untranslated
from discreto.data.sql.address import check_session
from discreto.data.sql.backend import Split, silence
from discreto.data.sql.dates import within_calendar
from discreto.data.sql.engine_checks import check_engine
from discreto.data.sql.partitions import DecimalPart
from discreto.data.sql.postgres_types import plain_table
from discreto.errors import DomainError

_EXACT_IBIS = ("duckdb", "postgres")
_WRITING = threading.Lock()
_UNREACHED = (
    "its database cannot be reached. Is the server up, and may the role connect? A "
    "table over a connection of your own needs a new one: make the table anew"
)
_DEEPEST = 4000  # calls inside of each other; a stage of a query takes about forty


class Ibis(Split):
    """An Ibis table: whatever database Ibis knows."""

    def __init__(self, data: Any, names: Collection[str] = ()) -> None:
        self._name = ""
        with suppress(Exception):  # a table without a connection has no backend
            self._name = str(data.get_backend().name)
        self.exact = self._name in _EXACT_IBIS
        self.strict = self._name == "postgres"
        self._odd: frozenset[str] = frozenset()
        self._sessions = 1
        super().__init__(data, names)

    def _lazy(self, data: Any, names: Collection[str]) -> Any:
        if self._name == "postgres":
            check_session(data.get_backend().con)
            data, self._odd = plain_table(data, names)
        return super()._lazy(data, names)

    def unready(self) -> str:
        # A connection that is in use is alive: its question needs no other.
        if self._name == "postgres" and self.lock.acquire(blocking=False):
            try:
                if not self._answers() and not self._reconnect():
                    return _UNREACHED
            finally:
                self.lock.release()
        return super().unready()

    def sessions(self) -> int:
        return self._sessions

    def recovered(self, since: int) -> bool:
        if self._name != "postgres":
            return False
        with self.lock:
            if self._client().con.closed:
                return self._reconnect()
            return self._sessions != since  # another thread has replaced it

    def _client(self) -> Any:
        return self.frame.to_native().get_backend()

    def _answers(self) -> bool:
        """Return True if the server answers on this connection."""
        with suppress(Exception):
            return self._client().con.execute("SELECT 1").fetchone() is not None
        return False

    def _reconnect(self) -> bool:
        """Put a new connection in the place of one that was lost, if that is possible.

        Another server may answer now: it has to calculate as the first one did.
        """
        if self.connect is None:
            return False
        client = self._client()
        lost, new = client.con, None
        try:
            new = client.con = self.connect()
            check_engine(self)
        except DomainError:
            client.con = lost
            if new is not None:
                new.close()
            return False
        weakref.finalize(client, new.close)
        lost.close()
        self._sessions += 1
        return True

    def unreadable(self, name: str, *, person: bool) -> bool:
        if self._name == "duckdb":
            return super().unreadable(name, person=person)
        if self._name == "postgres":
            # Dates that Python does not know are read as others: two people in one.
            return name in self._odd or (person and self._is_dated(name))
        return bool(self.schema[name] == nw.Unknown)

    def _is_dated(self, name: str) -> bool:
        dtype = self.schema[name]
        return bool(dtype == nw.Date or isinstance(dtype, nw.Datetime))

    def _plan_text(self) -> str:
        if self._name != "duckdb":
            return ""
        client, text = self.prepare(self.frame)
        return str(client.con.sql(text).explain())

    def fence(self, frame: Any) -> Any:
        # Ibis and PostgreSQL put expressions into each other; not past a window.
        import ibis

        native = frame.to_native()
        if "fence" in native.columns:
            native = native.drop("fence")
        return nw.from_native(native.mutate(fence=ibis.row_number()))

    def as_read(self, name: str) -> Any:
        found = nw.col(name)
        if self._name == "postgres" and self._is_dated(name):
            return within_calendar(found, self.schema[name]).alias(name)
        return found.cast(nw.String).alias(name) if name in self._decimals() else found

    def _decimals(self) -> list[str]:
        """Columns that are read as texts."""
        kinds = self.schema.items() if self._name == "postgres" else ()
        return [name for name, dtype in kinds if dtype == nw.Decimal]

    def prepare(self, frame: Any) -> Any:
        # Ibis writes the query; the driver itself runs it (Ibis 12 calls functions
        # that DuckDB 2 has dropped).
        native = frame.to_native()
        try:
            with silence(), _deep():
                return native.get_backend(), _text_of(native)
        except Exception:  # nested too deeply, or unknown to this dialect
            raise Untranslated("a question that Ibis cannot write") from None

    def _collect(self, plan: Any) -> dict[str, list[Any]]:
        client, text = plan
        if self._name == "duckdb":
            found = client.con.sql(text).to_arrow_table()
            return {name: found.column(name).to_pylist() for name in found.schema.names}
        if self._name != "postgres":
            return dict(client.sql(text).to_pyarrow().to_pydict())
        with client.con.cursor() as cursor:
            cursor.execute(text)
            names, rows = [one.name for one in cursor.description], cursor.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        if self._name != "duckdb":
            decimals = self._decimals()
            for part in native.to_pyarrow_batches(chunk_size=rows):
                yield DecimalPart(part, decimals) if decimals else part
            return
        connection = native.get_backend().con
        yield from connection.sql(_text_of(native)).to_arrow_reader(rows)


def _text_of(native: Any) -> str:
    """The query of an Ibis table, in which fractions are doubles.

    Ibis writes 0.1, which databases take for a decimal: that calculates otherwise, and
    may overflow for some rows.
    """
    import sqlglot.expressions as sql

    compiler = native.get_backend().compiler
    query = compiler.to_sqlglot(native.unbind())
    for literal in list(query.find_all(sql.Literal)):
        if not literal.is_string and not literal.this.isdigit():
            literal.replace(sql.cast(literal.copy(), "double"))
    return str(query.sql(dialect=compiler.dialect, copy=False))


@contextmanager
def _deep() -> Iterator[None]:
    """Room for queries inside of queries, one writer at a time."""
    with _WRITING:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _DEEPEST))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)
