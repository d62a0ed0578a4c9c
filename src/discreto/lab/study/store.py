"""The output folder: finished cells, results, tables, pictures and manifests."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from discreto import __version__
from discreto.lab.study.experiment import Cell, Experiment

PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "numba", "lightgbm")
Record = dict[str, Any]


def key_of(cell: Cell) -> str:
    """A short name of a cell: the same for the same parameters."""
    text = json.dumps(cell, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:20]


class Folder:
    """What one experiment keeps on disk."""

    def __init__(self, root: str | Path, experiment: Experiment) -> None:
        self.path = Path(root) / experiment.name
        self.experiment = experiment
        self.path.mkdir(parents=True, exist_ok=True)

    @property
    def _cells(self) -> Path:
        return self.path / "cells.jsonl"

    def forget(self) -> None:
        """Drop all finished cells."""
        self._cells.unlink(missing_ok=True)

    def finished(self) -> dict[str, Record]:
        """The records of finished cells, by key.

        The last line may be cut off where a run was killed, and lines of another
        version or edition are about another program: neither counts.
        """
        out = {}
        text = self._cells.read_text("utf-8") if self._cells.exists() else ""
        for line in text.splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            stamp = (record.get("discreto"), record.get("edition"))
            if stamp == (__version__, self.experiment.edition):
                out[record["key"]] = record
        return out

    def keep(self, cell: Cell, done: Record) -> None:
        """Write a finished cell to the disk, now."""
        record = {
            "key": key_of(cell),
            "discreto": __version__,
            "edition": self.experiment.edition,
            "cell": dict(cell),
            **done,
        }
        with self._cells.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                # A line that was cut off must not swallow this one.
                file.write(b"" if file.read(1) == b"\n" else b"\n")
            file.write(json.dumps(record).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file as a whole or not at all."""
        write_json(self.path / name, content)

    def write_parquet(self, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write lines as a Parquet file; missing values are null."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = list(lines)
        columns = dict.fromkeys(column for row in rows for column in row)
        arrays = {c: _array([row.get(c) for row in rows]) for c in columns}
        draft = self.path / f"{name}.draft"
        pq.write_table(pa.table(arrays), draft)
        draft.replace(self.path / name)

    def subfolder(self, name: str) -> Path:
        """An empty folder for tables or pictures."""
        out = self.path / name
        out.mkdir(exist_ok=True)
        for old in out.iterdir():
            old.unlink()
        return out


def _array(values: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and texts in one column
        return pa.array([None if v is None else str(v) for v in values])


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file as a whole or not at all."""
    text = json.dumps(_strict(content), indent=1, ensure_ascii=False, allow_nan=False)
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(path)


def _strict(value: Any) -> Any:
    """JSON has no infinity: it becomes a text, and what is not a number null."""
    if isinstance(value, Mapping):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("∞" if value > 0 else "-∞")
    return value


def versions() -> dict[str, str]:
    """Which programs made the numbers."""
    out = {"discreto": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            out[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return out
