"""Frames of Spark: sums are worked out there, rows come as Python objects."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw

from discreto.data.sql.backends import DecimalPart, Split
from discreto.data.sql.dates import within_calendar

_NUMBERS = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double")
_DATES = ("date", "timestamp", "timestamp_ntz")


class Spark(Split):
    """A PySpark frame. Whether ANSI mode is on plays no role: nothing overflows.

    Columns are read as Arrow types that follow from Spark's own, never from values.
    """

    def _kind(self, name: str) -> str:
        """Return Spark's own name for the type of a column."""
        return str(self.frame.to_native().schema[name].dataType.simpleString())

    def unreadable(self, name: str, *, person: bool) -> bool:
        kind = self._kind(name)
        # A text with a collation is "string collate ...": two people might be one. And
        # dates that Python does not know are read as others.
        plain = kind in ("string", "void", *_NUMBERS) or kind.startswith("decimal")
        return not plain and (person or kind not in _DATES)

    def fence(self, frame: Any) -> Any:
        # Spark puts expressions into each other, and that of a filter even where they
        # double each time. It does not do so past a sample, here of all rows: a number
        # from 0 up to but not including 1 is always below 1.
        return nw.from_native(frame.to_native().sample(fraction=1.0, seed=0))

    def literal(self, value: Any) -> Any:
        # PySpark writes the year 1 as "1", which Spark does not read.
        if isinstance(value, dt.datetime):
            return nw.lit(value)
        return nw.lit(value.isoformat()).cast(nw.Date)

    def as_read(self, name: str) -> Any:
        found, kind = nw.col(name), self._kind(name)
        if kind.startswith("decimal"):
            return found.cast(nw.String).alias(name)
        if kind in _DATES:  # what Python does not know makes the driver fail
            known = within_calendar(found, self.schema[name], self.literal)
            return known.alias(name)
        return found

    def _collect(self, frame: Any) -> dict[str, list[Any]]:
        native = frame.to_native()
        found = [row.asDict() for row in native.collect()]
        return {name: [row[name] for row in found] for name in native.columns}

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        from pyspark.sql import functions

        names = list(native.columns)
        for name in names:
            if self._kind(name) == "timestamp":  # else by the clock of this process
                instant = functions.unix_micros(native[_quoted(name)])
                native = native.withColumn(name, instant)
        part: list[Any] = []
        for row in native.toLocalIterator(prefetchPartitions=False):
            part.append(row)
            if len(part) >= rows:
                yield self._part(part, names)
                part = []
        if part:
            yield self._part(part, names)

    def _part(self, rows: Sequence[Any], names: Sequence[str]) -> Any:
        import pyarrow as pa

        columns = {}
        for place, name in enumerate(names):
            values, kind = [row[place] for row in rows], self._kind(name)
            if kind == "timestamp":
                whole = pa.array(values, pa.int64())
                columns[name] = whole.cast(pa.timestamp("us", "UTC"))
            else:
                columns[name] = pa.array(values, _arrow(kind))
        decimals = [name for name in names if self._kind(name).startswith("decimal")]
        table = pa.table(columns)
        return DecimalPart(table, decimals) if decimals else table


def _arrow(kind: str) -> Any:
    """Return the Arrow type for a type of Spark."""
    import pyarrow as pa

    known = {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "timestamp_ntz": pa.timestamp("us"),
        "void": pa.null(),
    }
    return known.get(kind, pa.string())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
