"""Lazy tables and their engines: how sums are widened, read and stopped.

Only engines that were tested bit for bit are asked to calculate (``exact``): DuckDB,
Polars, PostgreSQL and Spark. From all others, rows are read and folded here.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np

from discreto.core.domain.domain import Domain, Opaque
from discreto.core.frame import Array
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
    """Ignore warnings of drivers, because they might depend on rows."""
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
    searches = False  # True if ``placed`` finds the place of a number among many
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
        """Return the table as narwhals knows it; ``names`` are the columns in use."""
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
        """Return True if some rows of this column might make an answer fail."""
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
        """Return the engine's own plan for reading the rows."""
        return ""

    def check_settings(self) -> None:
        """Refuse, once, an engine whose session calculates in another way."""
        if self.exact and not self._checked:
            check_engine(self)
            self._checked = True

    def literal(self, value: Any) -> Any:
        """Return a date or a time as it is written in a query."""
        return nw.lit(value)

    def fence(self, frame: Any) -> Any:
        """Return the same rows, so that no earlier expression is computed again."""
        return frame

    def quotient(self, expr: Any, divisor: float, some: Any) -> Any:
        """Return a quotient by a constant; ``some`` is a column of finite numbers."""
        return expr / nw.lit(float(divisor), dtype=nw.Float64)

    def placed(self, frame: Any, name: str, cuts: Sequence[float], new: str) -> Any:
        """Return rows with a new column: how many sorted cuts lie below a number."""
        raise NotImplementedError

    def wide(self, expr: Any) -> list[Any]:
        """Return sums of whole floats, in parts that cannot overflow."""
        return [expr.cast(nw.Int64).sum()]

    def joined(self, parts: Sequence[int]) -> int:
        """Return the whole sum from its parts."""
        return parts[0]

    def prepare(self, frame: Any) -> Any:
        """Return a query that is ready to run; no row is read here."""
        return frame

    def collect(self, plan: Any) -> dict[str, list[Any]]:
        """Return the few rows of an answer."""
        with self.lock, silence():
            return self._collect(plan)

    def _collect(self, frame: Any) -> dict[str, list[Any]]:
        found = frame.collect(backend="pyarrow").to_native()
        return {name: found.column(name).to_pylist() for name in found.column_names}

    def count(self, frame: Any) -> int:
        """Return the row count."""
        return int(self.collect(self.prepare(frame.select(n=nw.len())))["n"][0])

    def batches(
        self, frame: Any, names: Sequence[str], rows: int, beside: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield Arrow tables of at most so many rows; columns ``beside`` are ours."""
        with self.lock:
            with silence():
                wanted = [*[self.as_read(name) for name in names], *beside]
                parts = self._batches(frame.select(*wanted).to_native(), rows)
                part = next(parts, None)
            while part is not None:
                yield part
                with silence():
                    part = next(parts, None)

    def as_read(self, name: str) -> Any:
        """Return a column with only such values as the driver can read."""
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


class PandasPart:
    """Some rows of a pandas frame; objects stay objects, whatever they are."""

    def __init__(self, frame: Any) -> None:
        self.frame, self.num_rows = frame, len(frame)

    def column(self, name: str) -> Any:
        """Return one column."""
        return nw.from_native(self.frame, eager_only=True).get_column(name)


class DecimalPart:
    """Some rows whose decimals came as texts.

    Arrow has one number of digits for a column: a decimal with more, or one that is no
    number, would make all of it fail.
    """

    def __init__(self, batch: Any, decimals: Collection[str]) -> None:
        self._batch, self._decimals = batch, decimals
        self.num_rows = batch.num_rows

    def column(self, name: str) -> Any:
        """Return one column."""
        found = self._batch.column(name)
        if name not in self._decimals:
            return found
        several = [None if t is None else Decimal(t) for t in found.to_pylist()]
        return np.fromiter(several, dtype=object, count=len(several))


def gathered(parts: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the columns of such parts, or of Arrow's tables, one after the other."""
    return {name: _joined([part.column(name) for part in parts]) for name in names}


def _joined(columns: list[Any]) -> Any:
    import pyarrow as pa

    if isinstance(columns[0], np.ndarray):
        joined: Array = np.concatenate(columns)
        return joined
    if isinstance(columns[0], nw.Series):
        import pandas as pd

        native = [column.to_native() for column in columns]
        return nw.from_native(pd.concat(native, ignore_index=True), series_only=True)
    tables = [pa.table({"c": column}) for column in columns]
    return pa.concat_tables(tables, promote_options="permissive").column("c")


class DuckDB(Backend):
    """A DuckDB relation: sums are 128 bits wide."""

    searches = True

    def placed(self, frame: Any, name: str, cuts: Sequence[float], new: str) -> Any:
        # A binary search, one selection for each step. A single text is read faster
        # than thousands of constants.
        names, native = frame.collect_schema().names(), frame.to_native()
        listed = ", ".join(map(repr, cuts))
        native = native.project(
            f'*, CAST(\'[{listed}]\' AS DOUBLE[]) AS "{new}c", 0 AS "{new}"'
        )
        step = 1 << (len(cuts).bit_length() - 1)
        while step:
            next_one = f'"{new}" + {step}'
            above = f'"{name}" > list_extract("{new}c", {next_one})'
            native = native.project(
                f"* REPLACE (CASE WHEN {next_one} <= {len(cuts)} AND {above} "
                f'THEN {next_one} ELSE "{new}" END AS "{new}")'
            )
            step //= 2
        return nw.from_native(native).select(*names, new)

    def _plan_text(self) -> str:
        return str(self.frame.to_native().explain())

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        yield from native.to_arrow_reader(rows)


class Polars(Backend):
    """A Polars LazyFrame, run by its streaming engine."""

    searches = True

    def __init__(self, data: Any, names: Collection[str] = ()) -> None:
        super().__init__(data, names)
        if not hasattr(data, "collect_batches"):
            raise DomainError("lazy frames need Polars 1.34: or collect them first.")

    def unreadable(self, name: str, *, person: bool) -> bool:
        return self.schema[name] in (nw.Int128, nw.UInt128)  # not by way of Arrow

    def _plan_text(self) -> str:
        return str(self.frame.to_native().explain(optimized=False))

    def placed(self, frame: Any, name: str, cuts: Sequence[float], new: str) -> Any:
        import polars as pl

        sorted_cuts = pl.lit(pl.Series(cuts, dtype=pl.Float64))
        place = sorted_cuts.search_sorted(pl.col(name), side="left")
        native = frame.to_native().with_columns(place.cast(pl.Int64).alias(new))
        return nw.from_native(native)

    def quotient(self, expr: Any, divisor: float, some: Any) -> Any:
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

    def __init__(self, data: Any, names: Collection[str] = ()) -> None:
        self.lock, self._compared = threading.RLock(), set()
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

    def batches(
        self, frame: Any, names: Sequence[str], rows: int, beside: Sequence[str] = ()
    ) -> Iterator[Any]:
        with self.lock:
            yield from self._data.to_batches(columns=list(names), batch_size=rows)


def backend_of(data: Any, names: Collection[str]) -> Backend | None:
    """Return the backend of a lazy table, or None for data of another kind.

    ``names`` are the columns that are used.
    """
    # They need this module, and packages that are not loaded for nothing.
    from discreto.data.sql.ibis_backend import Ibis
    from discreto.data.sql.spark_backend import Spark

    kinds: dict[tuple[str, str], type[Backend]] = {
        ("duckdb", "DuckDBPyRelation"): DuckDB,
        ("_duckdb", "DuckDBPyRelation"): DuckDB,
        ("polars", "LazyFrame"): Polars,
        ("ibis", "Table"): Ibis,
        ("pyspark", "DataFrame"): Spark,
        ("dask", "DataFrame"): Dask,
        ("pyarrow", "Dataset"): ArrowDataset,
    }
    for kind in type(data).__mro__:
        backend = kinds.get((kind.__module__.partition(".")[0], kind.__name__))
        if backend is not None:
            return backend(data, names)
    return None
