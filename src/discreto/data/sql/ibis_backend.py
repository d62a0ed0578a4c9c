"""Tables of Ibis: the query is written by it, and run by the driver itself."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import narwhals as nw

from discreto.data.sql import Untranslated
from discreto.data.sql.address import check_session
from discreto.data.sql.backends import DecimalPart, Split, silence
from discreto.data.sql.dates import within_calendar
from discreto.data.sql.engine_checks import check_engine
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
        self.strict = self.searches = self._name == "postgres"
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

    def placed(self, frame: Any, name: str, cuts: Sequence[float], new: str) -> Any:
        import ibis

        @ibis.udf.scalar.builtin(
            signature=(("float64", "array<float64>"), "int64"), name="width_bucket"
        )
        def width_bucket(number, ends):
            """Count the ends up to a number; PostgreSQL has it."""

        # It counts cuts that equal the number, too. So both are negated: it counts
        # those that are not below it.
        native = frame.to_native()
        listed = ", ".join(repr(-cut) for cut in reversed(cuts))
        ends = ibis.literal("{" + listed + "}").cast("array<float64>")
        others = width_bucket(-native[name], ends)
        return nw.from_native(native.mutate(**{new: len(cuts) - others}))

    def as_read(self, name: str) -> Any:
        found = nw.col(name)
        if self._name == "postgres" and self._is_dated(name):
            return within_calendar(found, self.schema[name]).alias(name)
        return found.cast(nw.String).alias(name) if name in self._decimals() else found

    def _decimals(self) -> list[str]:
        """Return the columns that are read as texts."""
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
    """Return the query of an Ibis table, in which fractions are doubles.

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
    """Raise the recursion limit for nested queries, one writer at a time."""
    with _WRITING:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _DEEPEST))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


_TEXT = "text"
# The numbers of PostgreSQL's own types; a domain has that of the type below it.
_PLAIN = {
    16: ("boolean", "boolean"),
    20: ("bigint", "int64"),
    21: ("smallint", "int16"),
    23: ("integer", "int32"),
    26: ("bigint", "int64"),  # object identifiers
    700: ("real", "float32"),
    701: ("double precision", "float64"),
    1082: ("date", "date"),
    1114: ("timestamp", "timestamp(6)"),
    1184: ("timestamptz", "timestamp('UTC', 6)"),
    1700: ("numeric", "decimal"),
    **dict.fromkeys((19, 25, 1042, 1043, 2950), (_TEXT, "string")),  # names, UUIDs
}
_OTHER_TEXTS = (
    "SELECT oid FROM pg_catalog.pg_type "
    "WHERE oid = ANY(%s::oid[]) AND (typtype = 'e' OR typname = 'citext')"
)


def plain_table(native: Any, names: Collection[str]) -> tuple[Any, frozenset[str]]:
    """Return an Ibis table with plain columns, and the names of other columns.

    Only the columns of these ``names`` are in it: a role may see them alone. Only their
    types are asked for: no row is read.
    """
    import ibis
    import sqlglot.expressions as sql

    client, kept = native.get_backend(), [n for n in native.columns if n in names]
    native = native.select(*kept) if kept else native
    query = client.compiler.to_sqlglot(native.unbind())
    rows, dialect = query.subquery("given"), client.compiler.dialect
    empty = sql.select("*").from_(rows.copy()).limit(0)
    with client.con.cursor() as cursor:
        cursor.execute(empty.sql(dialect=dialect))
        found = {one.name: one.type_code for one in cursor.description}
        cursor.execute(_OTHER_TEXTS, [list(found.values())])
        texts = {row[0] for row in cursor.fetchall()}
    kinds = _PLAIN | dict.fromkeys(texts, (_TEXT, "string"))
    columns, schema = [], dict(native.schema().items())
    for name, number in found.items():
        column: Any = sql.column(name, quoted=True)
        if number in kinds:
            kind, schema[name] = kinds[number][0], ibis.dtype(kinds[number][1])
            column = sql.Cast(this=column, to=sql.DataType.build(kind, dialect=dialect))
        if number in kinds and kinds[number][0] == _TEXT:
            bytewise = sql.to_identifier("C", quoted=True)
            column = sql.Collate(this=column, expression=bytewise)
        columns.append(sql.alias_(column, name, quoted=True))
    text = sql.select(*columns).from_(rows).sql(dialect=dialect)
    plain = client.sql(text, schema=ibis.schema(schema))
    return plain, frozenset(n for n, number in found.items() if number not in kinds)
