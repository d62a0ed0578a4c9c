"""Which files a path names, what they are, and what their heads say. No row is read."""

from __future__ import annotations

import glob
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast
from urllib.parse import unquote

from discreto.core.dialect import Dialect, check_marks
from discreto.data.frames.records import Layout, header
from discreto.data.frames.types import Kind, arrow_kind
from discreto.errors import DomainError, ParameterError

Format = Literal["parquet", "arrow", "text", "excel"]
_FORMATS: dict[str, Format] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "text"),
    ".xlsx": "excel",
}
_PACKED = (".gz", ".zst")
KNOWN = ".parquet, .arrow, .csv, .tsv, .txt (also .gz and .zst of these) or .xlsx"
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Head:
    """What is public about a file: its columns, their kinds, and its parts.

    ``fields`` has the arrow field of each column, where the file has types; parts are
    row groups or batches, or None for a file that is read whole.
    """

    stored: list[str]
    kinds: dict[str, Kind]
    fields: dict[str, Any]
    parts: Sequence[int | None]
    folders: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All columns: those that are stored, and those that folders name."""
        return [*self.stored, *self.folders]


def format_of(path: Path) -> Format:
    """What a file is, by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in _PACKED
    last = suffixes[-2:-1] if packed else suffixes[-1:]
    found = _FORMATS.get(last[0]) if last else None
    if found is None or (packed and found != "text"):
        raise DomainError(f"{path.name!r} is no table that can be read: {KNOWN}.")
    return found


def paths_of(pattern: str | Path) -> list[Path]:
    """The files that a path, a folder or a pattern names."""
    text = str(pattern)
    if Path(text).is_dir():
        return _inside(Path(text))
    found = sorted(glob.glob(text, recursive=True)) if glob.has_magic(text) else [text]
    paths = []
    for name in found:
        path = Path(name)
        if path.suffix == ".ledgers" and len(found) > 1:
            continue  # written beside a table, by ledger_marks
        paths += _inside(path) if path.is_dir() else [path] if path.is_file() else []
    if not paths:
        raise DomainError(f"there is no file or folder {text!r}.")
    for path in paths:
        format_of(path)
    return paths


def _inside(folder: Path) -> list[Path]:
    """The tables in a folder and its folders; what is hidden is left out."""
    out = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "_")) for part in parts)
        packed = path.suffix.lower() in _PACKED
        last = path.with_suffix("").suffix if packed else path.suffix
        if path.is_file() and not hidden and last.lower() in _FORMATS:
            out.append(path)
    if not out:
        raise DomainError(f"there is no table in the folder {str(folder)!r}: {KNOWN}.")
    return out


def partition_of(path: str | Path) -> dict[str, str | None]:
    """Columns that the folders of a file name, as in ``year=2024/part.parquet``."""
    out: dict[str, str | None] = {}
    for part in Path(path).parent.parts:
        name, equal, value = part.partition("=")
        if equal and name:
            out[unquote(name)] = None if value == _NOTHING else unquote(value)
    return out


def layout_of(path: Path, dialect: Dialect | None) -> Layout:
    """How the bytes of a text file are cut into records."""
    dialect = dialect or Dialect()
    tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    separator = dialect.separator or ("\t" if tabs else ",")
    try:
        check_marks(dialect, separator)
    except ParameterError as error:
        raise DomainError(f"the dialect of {path.name!r}: {error}") from None
    return Layout(separator, encoding=dialect.encoding)


def open_bytes(path: str | Path) -> BinaryIO:
    """The bytes of a file, unpacked."""
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if suffix == ".zst":
        import pyarrow as pa

        return cast(BinaryIO, pa.input_stream(str(path), compression="zstd"))
    return open(path, "rb")


def head_of(path: Path, dialect: Dialect | None) -> Head:
    """The head of a file; no row is read."""
    import pyarrow as pa

    kind = format_of(path)
    try:
        if kind == "text":
            found = _text_head(path, layout_of(path, dialect))
        elif kind == "excel":
            from discreto.data.frames.excel import names_of

            found = Head(names_of(path, dialect), {}, {}, [None])
        else:
            found = _typed_head(path, kind)
    except (OSError, EOFError, pa.ArrowException):
        raise DomainError(f"{path.name!r} cannot be read as a table.") from None
    more = [name for name in partition_of(path) if name not in found.stored]
    return replace(found, folders=tuple(more))


def _text_head(path: Path, layout: Layout) -> Head:
    with open_bytes(path) as file:
        found = header(file, layout)
    if found is None:
        raise DomainError(f"the first line of {path.name!r} names no columns.")
    return Head(found[0], {}, {}, [None])


def _typed_head(path: Path, kind: Format) -> Head:
    import pyarrow.parquet as pq

    parts: Sequence[int | None]
    if kind == "parquet":
        with pq.ParquetFile(path) as parquet:
            schema, parts = parquet.schema_arrow, range(parquet.num_row_groups)
    else:
        with open_arrow(path) as reader:
            schema, count = reader.schema, getattr(reader, "num_record_batches", None)
            parts = [None] if count is None else range(count)
    kinds = {field.name: arrow_kind(field.type) for field in schema}
    return Head(schema.names, kinds, {field.name: field for field in schema}, parts)


def open_arrow(path: str | Path) -> Any:
    """An Arrow IPC file or stream."""
    import pyarrow as pa

    source = pa.OSFile(str(path), "rb")
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:  # a stream has no list of its batches
        source.seek(0)
        return pa.ipc.open_stream(source)
