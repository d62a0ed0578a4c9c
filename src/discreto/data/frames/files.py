"""Which files a path names, what they are, and what their heads say. No row is read."""

from __future__ import annotations

import glob
import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast
from urllib.parse import unquote

from discreto.core.domain.dialect import Dialect, check_marks
from discreto.data.frames.file_states import FileState, note_state
from discreto.data.frames.records import Layout, header
from discreto.data.frames.refusal_texts import unreadable, wide_letters
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


@contextmanager
def open_bytes(path: str | Path, state: FileState | None = None) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked; with a ``state``, only of a file that has it."""
    suffix = Path(path).suffix.lower()
    if suffix == ".zst":
        import pyarrow as pa

        with open_native(path, state) as packed:
            yield cast(BinaryIO, pa.CompressedInputStream(packed, "zstd"))
        return
    with open(path, "rb") as file:
        if state is not None:
            state.check(file.fileno())
        if suffix == ".gz":
            yield cast(BinaryIO, gzip.GzipFile(fileobj=file))
        else:
            yield file


@contextmanager
def open_native(path: str | Path, state: FileState | None = None) -> Iterator[Any]:
    """A file for pyarrow to read; with a ``state``, only a file that has it."""
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as file:
        if state is not None:
            state.check(file.fileno())
        yield file


def noted(path: Path) -> FileState:
    """Return the state of a file, which has to be there."""
    try:
        return note_state(path)
    except OSError:
        raise unreadable(path.name) from None


def head_of(
    path: Path, dialect: Dialect | None, state: FileState | None = None
) -> Head:
    """The head of a file; no row is read."""
    import pyarrow as pa

    kind = format_of(path)
    try:
        if kind == "text":
            found = _text_head(path, layout_of(path, dialect), state)
        elif kind == "excel":
            from discreto.data.frames.excel import names_of

            found = Head(names_of(path, dialect), {}, {}, [None])
        else:
            found = _typed_head(path, kind, state)
    except (OSError, EOFError, pa.ArrowException):
        raise unreadable(path.name) from None
    more = [name for name in partition_of(path) if name not in found.stored]
    return replace(found, folders=tuple(more))


def _text_head(path: Path, layout: Layout, state: FileState | None) -> Head:
    with open_bytes(path, state) as file:
        check_start(path, file.read(4))
    with open_bytes(path, state) as file:
        found = header(file, layout)
    if found is None or found[0] == [""]:
        raise DomainError(f"the first line of {path.name!r} names no columns.")
    return Head(found[0], {}, {}, [None])


def check_start(path: Path, start: bytes) -> None:
    """Refuse a file without a byte, or with two or four bytes for a letter.

    The first bytes are those of the header, or say which encoding follows: no row.
    """
    wide = "UTF-32" if start[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff") else "UTF-16"
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start[:2]:
        raise wide_letters(path.name, wide)
    if not start.removeprefix(b"\xef\xbb\xbf"):
        raise DomainError(f"{path.name!r} is empty: it has no line with column names.")


def _typed_head(path: Path, kind: Format, state: FileState | None) -> Head:
    import pyarrow.parquet as pq

    parts: Sequence[int | None]
    if kind == "parquet":
        with open_native(path, state) as file, pq.ParquetFile(file) as parquet:
            schema, parts = parquet.schema_arrow, range(parquet.num_row_groups)
    else:
        with open_native(path, state) as file, open_arrow(file) as reader:
            schema, count = reader.schema, getattr(reader, "num_record_batches", None)
            parts = [None] if count is None else range(count)
    kinds = {field.name: arrow_kind(field.type) for field in schema}
    return Head(schema.names, kinds, {field.name: field for field in schema}, parts)


def open_arrow(source: Any) -> Any:
    """An Arrow IPC file or stream, from an open file."""
    import pyarrow as pa

    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:  # a stream has no list of its batches
        source.seek(0)
        return pa.ipc.open_stream(source)
