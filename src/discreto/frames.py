"""Any table becomes plain arrays, in the terms of the domain.

A Number becomes float64 with NaN for what is missing or is no number; a Category
becomes the place of its value in the declared list, -1 for anything else. Once rows are
read nothing here raises, warns or prints because of what is in them: only names and
column types, which are public, are refused.
"""

from __future__ import annotations

import copy
import glob
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreto.errors import DomainError
from discreto.kernel.domain import Category, Domain, Number, Opaque

Array = NDArray[Any]
STREAM_ROWS = 1 << 16  # rows read from a file at once
_ALONE_BELOW = 1 << 17  # rows that one thread folds sooner than two


class Frame(Protocol):
    """Rows in the terms of a domain."""

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        """Arrays of at most ``size`` rows, and how many rows there are."""

    def split(self, parts: int) -> list[Frame]:
        """At most ``parts`` frames that hold these rows between them."""

    def column(self, name: str) -> Array:
        """One whole column."""

    def raw(self, name: str) -> Array:
        """One whole column as stored, for person identifiers."""

    def length(self) -> int:
        """The number of rows: private unless the domain says otherwise."""


def open_frame(data: Any, domain: Domain) -> Frame:
    """A frame over pandas, polars, pyarrow, a dict or array, or Parquet/CSV paths."""
    if isinstance(data, str | Path):
        return StreamFrame(_paths(data), domain)
    if isinstance(data, list | tuple) and all(isinstance(p, str | Path) for p in data):
        return StreamFrame([Path(p) for p in data], domain)
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or data.shape[1] != len(domain.columns):
            raise DomainError(
                f"an array needs the {len(domain.columns)} columns of the domain, in "
                f"its order. Got shape {('rows', *data.shape[1:])}."
            )
        data = {name: data[:, i] for i, name in enumerate(domain)}
    if isinstance(data, Mapping):
        columns = {str(name): np.asarray(values) for name, values in data.items()}
        return MemoryFrame(columns, domain)
    return MemoryFrame(_native_columns(data, domain), domain)


def _native_columns(data: Any, domain: Domain) -> dict[str, Any]:
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise DomainError(
            f"cannot read a {type(data).__name__}. Give a pandas, polars or pyarrow "
            "table, a dict of arrays, or the path of a Parquet or CSV file."
        ) from None
    _need(domain, frame.columns)
    for name, column in domain.columns.items():
        dtype = frame.schema[name]
        bad = dtype.is_nested() or (dtype.is_temporal() and _asked(column))
        if bad or dtype == nw.Binary:
            raise _wrong_type(name, column, str(dtype))
    return {name: frame.get_column(name) for name in domain}


def _wrong_type(name: str, column: object, found: str) -> DomainError:
    return DomainError(
        f"column {name!r} is {type(column).__name__} in the domain but holds {found} "
        "values. Change the domain or convert the column."
    )


def _asked(column: object) -> bool:
    return isinstance(column, Number | Category)


def _need(domain: Domain, present: Sequence[str]) -> None:
    absent = [name for name in domain if name not in set(present)]
    if absent:
        raise DomainError(
            f"the table lacks the column{'s' if len(absent) > 1 else ''} "
            f"{', '.join(map(repr, absent))} of the domain. Take them out with "
            "domain.select([...]) or give a table that has them."
        )


class MemoryFrame:
    """A table in memory; a column is converted when it is first asked for."""

    def __init__(self, columns: Mapping[str, Any], domain: Domain) -> None:
        _need(domain, list(columns))
        lengths = {len(columns[name]) for name in domain}
        if len(lengths) != 1:
            raise DomainError("the columns of a table must have the same length.")
        for name, spec in domain.columns.items():
            values = columns[name]
            if isinstance(values, np.ndarray) and (
                values.ndim != 1 or (values.dtype.kind in "mMcV" and _asked(spec))
            ):
                raise _wrong_type(name, spec, str(values.dtype))
        self._raw, self._domain, self._length = columns, domain, lengths.pop()
        self._ready: dict[str, Array] = {}

    def length(self) -> int:
        return int(self._length)

    def column(self, name: str) -> Array:
        if name not in self._ready:
            values = convert(self._raw[name], self._domain[name])
            self._ready[name] = values
        return self._ready[name]

    def raw(self, name: str) -> Array:
        values = self._raw[name]
        return values if isinstance(values, np.ndarray) else values.to_numpy()

    def split(self, parts: int) -> list[Frame]:
        if self._length < _ALONE_BELOW:
            return [self]
        ends = [self._length * i // parts for i in range(parts + 1)]
        return [_Slice(self, a, b) for a, b in pairwise(ends)]

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        return _Slice(self, 0, self._length).batches(names, size)


class _Slice:
    """Some rows of a table in memory."""

    def __init__(self, frame: MemoryFrame, start: int, stop: int) -> None:
        self._frame, self._start, self._stop = frame, start, stop

    def length(self) -> int:
        return self._stop - self._start

    def split(self, parts: int) -> list[Frame]:
        return [self]

    def column(self, name: str) -> Array:
        return self._frame.column(name)[self._start : self._stop]

    def raw(self, name: str) -> Array:
        return self._frame.raw(name)[self._start : self._stop]

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        columns = {name: self._frame.column(name) for name in names}
        for start in range(self._start, self._stop, size):
            stop = min(start + size, self._stop)
            yield {n: c[start:stop] for n, c in columns.items()}, stop - start


class StreamFrame:
    """Parquet or CSV files, read a piece at a time and never whole."""

    def __init__(self, paths: Sequence[Path], domain: Domain) -> None:
        self._paths, self._domain = paths, domain
        self._part = (0, 1)  # which row groups to read: those i with i % 1 == 0
        for path in paths:
            names, types = _schema(path)
            _need(domain, names)
            for name, spec in domain.columns.items():
                if _asked(spec) and (found := types.get(name)):
                    raise _wrong_type(name, spec, found)

    def length(self) -> int:
        import pyarrow.parquet as pq

        if all(_is_parquet(path) for path in self._paths):
            return sum(pq.ParquetFile(path).metadata.num_rows for path in self._paths)
        return sum(rows for _, rows in self._pieces([next(iter(self._domain))]))

    def split(self, parts: int) -> list[Frame]:
        if not all(_is_parquet(path) for path in self._paths):
            return [self]
        out: list[Frame] = []
        for part in range(parts):
            piece = copy.copy(self)
            piece._part = (part, parts)
            out.append(piece)
        return out

    def column(self, name: str) -> Array:
        parts = [batch[name] for batch, _ in self.batches([name], STREAM_ROWS)]
        return (
            np.concatenate(parts) if parts else convert(np.empty(0), self._domain[name])
        )

    def raw(self, name: str) -> Array:
        parts = [
            np.asarray(piece[name].to_numpy(zero_copy_only=False), dtype=object)
            for piece, _ in self._pieces([name])
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=object)

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        # A question about no column still has to count rows.
        wanted = list(names) or [next(iter(self._domain))]
        for piece, rows in self._pieces(wanted):
            ready = {n: convert(piece[n], self._domain[n]) for n in names}
            for start in range(0, rows, size):
                stop = min(start + size, rows)
                yield {n: c[start:stop] for n, c in ready.items()}, stop - start

    def _pieces(self, names: list[str]) -> Iterator[tuple[dict[str, Any], int]]:
        for path in self._paths:
            if _is_parquet(path):
                pieces = _parquet(path, names, *self._part)
            else:
                pieces = _csv(path, names)
            for piece in pieces:
                yield {name: piece.column(name) for name in names}, piece.num_rows


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def _paths(pattern: str | Path) -> list[Path]:
    text = str(pattern)
    found = sorted(glob.glob(text)) if glob.has_magic(text) else [text]
    paths = [Path(name) for name in found if Path(name).is_file()]
    if not paths:
        raise DomainError(f"there is no file {text!r}.")
    for path in paths:
        if not _is_parquet(path) and path.suffix.lower() not in (".csv", ".tsv"):
            raise DomainError(f"{path.name!r} is neither .parquet nor .csv nor .tsv.")
    return paths


def _schema(path: Path) -> tuple[list[str], dict[str, str]]:
    """Column names, and the types among them that no column of a domain can have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if not _is_parquet(path):
            with _open_csv(path, None) as reader:
                return reader.schema.names, {}
        schema = pq.ParquetFile(path).schema_arrow
    except (OSError, pa.ArrowException):
        raise DomainError(f"{path.name!r} cannot be read as a table.") from None
    kinds = pa.types
    odd = {
        field.name: str(field.type)
        for field in schema
        if kinds.is_nested(field.type)
        or kinds.is_temporal(field.type)
        or kinds.is_binary(field.type)
    }
    return schema.names, odd


def _parquet(path: Path, names: list[str], part: int, parts: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        groups = list(range(part, file.num_row_groups, parts))
        yield from file.iter_batches(STREAM_ROWS, row_groups=groups, columns=names)


def _csv(path: Path, names: list[str]) -> Iterator[Any]:
    with _open_csv(path, names) as reader:
        yield from reader


def _open_csv(path: Path, names: list[str] | None) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    # Everything is read as text: a type guessed from rows would depend on rows. A line
    # that does not parse is passed over.
    names = names or []
    tab = "\t" if path.suffix.lower() == ".tsv" else ","
    return csv.open_csv(
        path,
        parse_options=csv.ParseOptions(
            delimiter=tab, invalid_row_handler=lambda row: "skip"
        ),
        convert_options=csv.ConvertOptions(
            include_columns=names,
            column_types={name: pa.string() for name in names},
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )


# Values: from here on nothing may raise.


def convert(values: Any, column: object) -> Array:
    """A column in the terms of the domain: float64, or int64 codes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(column, Category):
            codes = _text_codes(values, column)
            return _codes(_plain(values), column) if codes is None else codes
        return _numbers(_plain(values))


def _text_codes(values: Any, column: Category) -> Array | None:
    """Codes of a column of plain texts, fast; None if it is not one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not all(type(kind) is str for kind in column.categories):
        return None
    try:
        texts = values.to_arrow() if hasattr(values, "to_arrow") else values
        if not isinstance(texts, pa.Array | pa.ChunkedArray):
            return None
        if pa.types.is_dictionary(texts.type):
            texts = texts.cast(texts.type.value_type)
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            return None
        known = pa.array(column.categories, type=texts.type)
        found = pc.fill_null(pc.index_in(texts, value_set=known), -1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
    except Exception:
        return None


def _plain(values: Any) -> Array:
    """A numpy array of numbers, or of Python objects."""
    if isinstance(values, np.ndarray):
        return values
    try:
        out = values.to_numpy(zero_copy_only=False)  # pyarrow
    except TypeError:
        out = values.to_numpy()  # narwhals, or several chunks of pyarrow
    return np.asarray(out)


def _numbers(values: Array) -> Array:
    if values.dtype.kind in "fiub":
        return np.asarray(values, dtype=np.float64)  # a view of what fits already
    texts = values.tolist()
    try:
        return np.array(texts, dtype=np.float64)
    except Exception:
        return np.fromiter((_number(text) for text in texts), np.float64, len(texts))


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except Exception:
        return np.nan


def _codes(values: Array, column: Category) -> Array:
    kinds = column.categories
    if values.dtype.kind in "fiub":
        keys = np.array([_number(kind) for kind in kinds])
        order = np.argsort(keys, kind="stable")  # NaN, from texts, comes last
        numbers = values.astype(np.float64)
        place = np.searchsorted(keys[order], numbers).clip(0, len(kinds) - 1)
        found = order[place]
        return np.where(keys[found] == numbers, found, -1).astype(np.int64)
    lookup: dict[object, int] = {}
    for code, kind in enumerate(kinds):
        lookup[kind] = code
        for name in _spellings(kind):
            lookup.setdefault(name, code)
    return np.fromiter(
        (_look_up(lookup, value) for value in values.tolist()), np.int64, values.size
    )


def _spellings(kind: object) -> list[str]:
    """How a category may be written in a text file."""
    if isinstance(kind, bool):
        return ["true", "True", "1"] if kind else ["false", "False", "0"]
    return [str(kind), f"{kind}.0"] if isinstance(kind, int) else [str(kind)]


def _look_up(lookup: dict[object, int], value: object) -> int:
    try:
        return lookup.get(value, -1)
    except Exception:
        return -1


class PersonFrame:
    """A frame in which no person has more than ``k`` rows.

    Which rows of a person stay depends on a keyed hash of their content alone: not on
    other people, and not on the order of rows.
    """

    def __init__(self, frame: Frame, domain: Domain, key: bytes) -> None:
        self._frame, self._domain, self._key = frame, domain, key
        self._kept: NDArray[np.bool_] | None = None

    def length(self) -> int:
        return int(self._keep().sum())

    def split(self, parts: int) -> list[Frame]:
        return [self]

    def column(self, name: str) -> Array:
        return self._frame.column(name)[self._keep()]

    def raw(self, name: str) -> Array:
        return self._frame.raw(name)[self._keep()]

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        keep, start = self._keep(), 0
        for batch, rows in self._frame.batches(names, size):
            chosen = keep[start : start + rows]
            yield {n: c[chosen] for n, c in batch.items()}, int(chosen.sum())
            start += rows

    def _keep(self) -> NDArray[np.bool_]:
        if self._kept is None:
            person = self._domain.person
            people = _person_numbers(self._frame.raw(str(person)))
            order = np.lexsort((self._row_hashes(), people))
            ordered = people[order]
            first = np.flatnonzero(
                np.r_[True, ordered[1:] != ordered[:-1]][: order.size]
            )
            starts = np.repeat(first, np.diff(np.r_[first, order.size]))
            keep = np.empty(order.size, dtype=bool)
            rank = np.arange(order.size) - starts
            keep[order] = rank < self._domain.rows_per_person
            self._kept = keep
        return self._kept

    def _row_hashes(self) -> NDArray[np.uint64]:
        """A keyed 64-bit mix of all columns that can be asked about."""
        names = [
            n for n, c in self._domain.columns.items() if not isinstance(c, Opaque)
        ]
        seeds = np.frombuffer(self._key, dtype=np.uint64)
        parts = []
        for batch, rows in self._frame.batches(names, STREAM_ROWS):
            mixed = np.full(rows, seeds[0])
            for name in names:
                values = np.ascontiguousarray(batch[name]).view(np.uint64)
                mixed = _mix(mixed ^ _mix(values, seeds[1]), seeds[2])
            parts.append(mixed)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _mix(words: NDArray[np.uint64], seed: Any) -> NDArray[np.uint64]:
    """The finaliser of splitmix64."""
    words = words + seed
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _person_numbers(values: Array) -> NDArray[np.int64]:
    """A number for each different person; rows without an id are one person."""
    if values.dtype.kind in "iub":
        return np.unique(values, return_inverse=True)[1]
    seen: dict[object, int] = {}
    return np.fromiter(
        (seen.setdefault(_name(v), len(seen)) for v in values.tolist()),
        np.int64,
        values.size,
    )


def _name(value: object) -> object:
    try:
        hash(value)
    except Exception:
        return repr(value)
    return None if value != value else value
