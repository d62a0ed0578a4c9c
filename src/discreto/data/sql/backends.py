"""What differs between databases: how sums are widened, read and stopped.

Only engines that were tested bit for bit are asked to calculate (``exact``): DuckDB,
Polars, PostgreSQL and Spark. From all others, rows are read and folded here.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import narwhals as nw

from discreto.data.sql.backend import Backend
from discreto.data.sql.ibis_backend import Ibis
from discreto.data.sql.partitions import PandasPart
from discreto.data.sql.spark_backend import Spark
from discreto.errors import DomainError


class DuckDB(Backend):
    """A DuckDB relation: sums are 128 bits wide."""

    def _plan_text(self) -> str:
        return str(self.frame.to_native().explain())

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        yield from native.to_arrow_reader(rows)


class Polars(Backend):
    """A Polars LazyFrame, run by its streaming engine."""

    def __init__(self, data: Any, names: Collection[str] = ()) -> None:
        super().__init__(data, names)
        if not hasattr(data, "collect_batches"):
            raise DomainError("lazy frames need Polars 1.34: or collect them first.")

    def unreadable(self, name: str, *, person: bool) -> bool:
        return self.schema[name] in (nw.Int128, nw.UInt128)  # not by way of Arrow

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

    def batches(self, frame: Any, names: Sequence[str], rows: int) -> Iterator[Any]:
        with self.lock:
            yield from self._data.to_batches(columns=list(names), batch_size=rows)


_KINDS = {
    "duckdb": ("DuckDBPyRelation", DuckDB),
    "_duckdb": ("DuckDBPyRelation", DuckDB),
    "polars": ("LazyFrame", Polars),
    "ibis": ("Table", Ibis),
    "pyspark": ("DataFrame", Spark),
    "dask": ("DataFrame", Dask),
    "pyarrow": ("Dataset", ArrowDataset),
}


def backend_of(data: Any, names: Collection[str]) -> Backend | None:
    """The backend of a lazy table, or None for data of another kind.

    ``names`` are the columns that are used.
    """
    for kind in type(data).__mro__:
        room = kind.__module__.partition(".")[0]
        name, backend = _KINDS.get(room, ("", None))
        if backend is not None and kind.__name__ == name:
            made: Backend = backend(data, names)
            return made
    return None
