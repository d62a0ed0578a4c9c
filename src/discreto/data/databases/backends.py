"""What differs between databases: how sums are widened, read and stopped.

Only engines that were tested bit for bit are asked to calculate (``exact``): DuckDB,
Polars, PostgreSQL and Spark. From all others, rows are read and folded here.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import narwhals as nw

from discreto.data.databases import Untranslated
from discreto.data.databases.address import check_encoding
from discreto.data.databases.dates import within_calendar
from discreto.data.databases.parts import DecimalPart, PandasPart
from discreto.data.databases.probes import check_engine
from discreto.errors import DomainError

_PART = float(1 << 16)  # sums of long numbers are made of two sums of short ones
_EXACT_IBIS = ("duckdb", "postgres")
_WRITING = threading.Lock()
_DEEPEST = 4000  # calls inside of each other; a stage of a query takes about forty
# In the plans of Polars, DuckDB and pyarrow.
_READERS_OF_TEXT = (
    *("csv scan", "json scan", "read_csv", "read_json", "sniff_csv"),
    *("csvfileformat", "jsonfileformat"),
)


class Backend:
    """A lazy table that narwhals understands, and how its engine is used.

    ``exact``: the engine is asked to calculate. ``strict``: it raises where a product
    underflows, so that tiny numbers must become 0 before.
    """

    exact = True
    strict = False
    _checked = False

    def __init__(self, data: Any) -> None:
        self.lock = threading.RLock()  # one query at a time on a connection
        try:
            with _silence():
                self.frame: Any = nw.from_native(data)
                self.schema = dict(self.frame.collect_schema())
        except Exception:  # it may quote a connection string
            raise DomainError(
                f"the columns of this {type(data).__name__} cannot be read. Is the "
                "connection open, and may its role see the table?"
            ) from None

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse names that an engine takes for something else: ``*``, patterns."""
        if self.frame is None:
            return
        for name in names:
            pattern = name[:1] == "^" and name[-1:] == "$"  # old Polars has them as one
            with suppress(Exception), _silence():
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
        with suppress(Exception), _silence():
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
        with self.lock, _silence():
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
            with _silence():
                wanted = [self.as_read(name) for name in names]
                parts = self._batches(frame.select(*wanted).to_native(), rows)
                part = next(parts, None)
            while part is not None:
                yield part
                with _silence():
                    part = next(parts, None)

    def as_read(self, name: str) -> Any:
        """A column with such values only as the driver can read."""
        return nw.col(name)

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        raise NotImplementedError


class DuckDB(Backend):
    """A DuckDB relation: sums are 128 bits wide."""

    def _plan_text(self) -> str:
        return str(self.frame.to_native().explain())

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        yield from native.to_arrow_reader(rows)


class Polars(Backend):
    """A Polars LazyFrame, run by its streaming engine."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        if not hasattr(data, "collect_batches"):
            raise DomainError("lazy frames need Polars 1.34: or collect them first.")

    def _plan_text(self) -> str:
        return str(self.frame.to_native().explain(optimized=False))

    def over(self, expr: Any, divisor: float, some: Any) -> Any:
        # Polars multiplies by the reciprocal of a constant, which rounds twice; a
        # column divides as it should.
        return expr / (some * 0.0 + divisor)

    def wide(self, expr: Any) -> list[Any]:
        return [expr.cast(nw.Int64).cast(nw.Int128).sum()]

    def _collect(self, frame: Any) -> dict[str, list[Any]]:
        found = frame.to_native().collect(engine="streaming")
        return dict(found.to_dict(as_series=False))

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        for part in native.collect_batches(chunk_size=rows, maintain_order=False):
            yield part.to_arrow()


class Split(Backend):
    """Engines whose sums have 64 bits: each sum is made of two shorter ones."""

    def wide(self, expr: Any) -> list[Any]:
        high = (expr * (1 / _PART)).floor()
        low = expr - high * _PART
        return [high.cast(nw.Int64).sum(), low.cast(nw.Int64).sum()]

    def joined(self, parts: Sequence[int]) -> int:
        return parts[0] * int(_PART) + parts[1]


class Ibis(Split):
    """An Ibis table: whatever database Ibis knows."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self._name = ""
        with suppress(Exception):  # a table without a connection has no backend
            self._name = str(data.get_backend().name)
        self.exact = self._name in _EXACT_IBIS
        self.strict = self._name == "postgres"

    def check_source(self) -> None:
        """Also refuse texts without an encoding."""
        super().check_source()
        if self._name == "postgres":
            check_encoding(self.frame.to_native().get_backend().con)

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
        found, dtype = nw.col(name), self.schema[name]
        timed = dtype == nw.Date or isinstance(dtype, nw.Datetime)
        if self._name == "postgres" and timed:
            return within_calendar(found, dtype).alias(name)
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
            with _silence(), _deep():
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
        import ibis

        if self._name != "duckdb":
            decimals = self._decimals()
            for part in native.to_pyarrow_batches(chunk_size=rows):
                yield DecimalPart(part, decimals) if decimals else part
            return
        connection = native.get_backend().con
        yield from connection.sql(str(ibis.to_sql(native))).to_arrow_reader(rows)


class Spark(Split):
    """A PySpark frame. Whether ANSI mode is on plays no role: nothing overflows."""

    def _collect(self, frame: Any) -> dict[str, list[Any]]:
        native = frame.to_native()
        found = [row.asDict() for row in native.collect()]
        return {name: [row[name] for row in found] for name in native.columns}

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        import pyarrow as pa

        part: list[Any] = []
        for row in native.toLocalIterator(prefetchPartitions=False):
            part.append(row)
            if len(part) >= rows:
                yield pa.table(_listed(part, native.columns))
                part = []
        if part:
            yield pa.table(_listed(part, native.columns))


class Dask(Backend):
    """A Dask frame, read partition by partition."""

    exact = False

    def count(self, frame: Any) -> int:
        return len(frame.to_native())

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        for number in range(native.npartitions):
            part = native.get_partition(number).compute()
            for start in range(0, len(part), rows):
                yield PandasPart(part.iloc[start : start + rows])


class ArrowDataset(Backend):
    """A pyarrow dataset: files in folders, on a disk or in an object store."""

    exact = False

    def __init__(self, data: Any) -> None:
        self.lock = threading.RLock()
        self._data = data
        empty = data.schema.empty_table()
        self.schema = dict(nw.from_native(empty, eager_only=True).schema)
        self.frame = None  # there is nothing to ask

    def _plan_text(self) -> str:
        several = getattr(self._data, "children", [self._data])
        formats = [getattr(one, "format", None) for one in several]
        return " ".join(f"{type(one).__name__}" for one in formats)

    def count(self, frame: Any) -> int:
        return int(self._data.count_rows())

    def batches(self, frame: Any, names: Sequence[str], rows: int) -> Iterator[Any]:
        with self.lock:
            yield from self._data.to_batches(columns=list(names), batch_size=rows)


@contextmanager
def _silence() -> Iterator[None]:
    """No warnings of drivers: they might depend on rows, and nobody here can help."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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


def _listed(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


_KINDS = {
    "duckdb": ("DuckDBPyRelation", DuckDB),
    "_duckdb": ("DuckDBPyRelation", DuckDB),
    "polars": ("LazyFrame", Polars),
    "ibis": ("Table", Ibis),
    "pyspark": ("DataFrame", Spark),
    "dask": ("DataFrame", Dask),
    "pyarrow": ("Dataset", ArrowDataset),
}


def backend_of(data: Any) -> Backend | None:
    """The backend of a lazy table, or None for data of another kind."""
    for kind in type(data).__mro__:
        room = kind.__module__.partition(".")[0]
        name, backend = _KINDS.get(room, ("", None))
        if backend is not None and kind.__name__ == name:
            made: Backend = backend(data)
            return made
    return None
