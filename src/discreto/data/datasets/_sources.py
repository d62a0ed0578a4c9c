"""The places that data sets come from. A place without a set says why, as a text."""

from __future__ import annotations

import importlib
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.domain.domain import Category
from discreto.data.datasets._catalogue import CATALOGUE, Entry, Sheet, read_sheet
from discreto.errors import MissingExtraError
from discreto.session.rng import Generator
from discreto.text.install_commands import install_command

MADE_UP = "made-up rows"
Found = tuple[dict[str, Any], str] | str
# What OpenML calls our classes.
LABELS = {
    "pima": {"tested_negative": "negative", "tested_positive": "positive"},
}
PATIENCE = 10  # seconds for an answer of OpenML


def pandas(what: str) -> Any:
    """The pandas package, or how to get it."""
    try:
        return importlib.import_module("pandas")
    except ImportError:
        raise MissingExtraError(
            f"{what} needs pandas: {install_command('datasets')}"
        ) from None


def folder() -> Path | None:
    """The folder of data sets: DISCRETO_DATA, or shared/data beside a checkout."""
    named = os.environ.get("DISCRETO_DATA")
    if named:
        return Path(named)
    source = Path(__file__).resolve().parents[3]
    beside = source.parents[1] / "shared" / "data"
    return beside if source.name == "src" and beside.is_dir() else None


def folder_sheet(name: str) -> Sheet | None:
    """The sheet of NAME.domain.json in the folder, if it is there."""
    where = folder()
    path = where / f"{name}.domain.json" if where else None
    if path is None or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    return read_sheet(name, text, CATALOGUE.get(name, Entry()))


def folder_names() -> set[str]:
    """The sets of the folder that have a domain file."""
    where, end = folder(), ".domain.json"
    return (
        {path.name.removesuffix(end) for path in where.glob(f"*{end}")}
        if where
        else set()
    )


def from_folder(sheet: Sheet) -> Found:
    """NAME.parquet of the folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    where = folder()
    if where is None:
        return "DISCRETO_DATA is not set"
    path = where / f"{sheet.name}.parquet"
    if not path.is_file():
        return f"the data folder has no {path.name}"
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        return f"{path.name} of the data folder cannot be read"
    kept = [name for name in table.column_names if name in list(sheet.domain)]
    columns = {name: _array(table.column(name)) for name in kept}
    return columns, "the data folder"


def _array(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_numpy()


def from_sklearn(sheet: Sheet) -> Found:
    """A set that scikit-learn carries."""
    if not sheet.entry.sklearn:
        return "no installed package carries it"
    from sklearn import datasets

    # The diabetes set in its own units: scaled columns would have no public bounds.
    options = {"scaled": False} if sheet.entry.sklearn == "load_diabetes" else {}
    raw = getattr(datasets, sheet.entry.sklearn)(**options)
    features = sheet.domain.features()
    columns = {name: raw.data[:, i] for i, name in enumerate(features)}
    target = raw.target
    if isinstance(sheet.domain[sheet.target], Category) and sheet.name != "digits":
        target = np.asarray(raw.target_names)[target].astype(object)
    return columns | {sheet.target: target}, "scikit-learn"


def from_openml(sheet: Sheet) -> Found:
    """A set of openml.org, downloaded once and kept by scikit-learn."""
    if not sheet.entry.openml:
        return "OpenML is not known to have it"
    pandas("downloading")
    from sklearn.datasets import fetch_openml

    try:
        with _patience(PATIENCE), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about retries
            raw = fetch_openml(
                data_id=sheet.entry.openml,
                as_frame=True,
                parser="auto",
                n_retries=1,
                delay=0.1,
            )
    # Whatever goes wrong on the way to a server is one answer here: not to be had.
    except Exception as error:
        return f"OpenML does not answer ({type(error).__name__})"
    features = sheet.domain.features()
    if raw.data.shape[1] != len(features):
        return "OpenML has another version of it"
    pairs = zip(features, raw.data.columns, strict=True)
    columns = {name: _values(sheet, name, raw.data[theirs]) for name, theirs in pairs}
    columns[sheet.target] = _values(sheet, sheet.target, raw.target)
    return columns, "OpenML"


def _values(sheet: Sheet, name: str, series: Any) -> Any:
    column = sheet.domain[name]
    if not isinstance(column, Category):
        return series.to_numpy(dtype=np.float64)
    texts = series.astype(object)
    # OpenML has no value where the source has a code for "missing".
    if "?" in column.categories:
        texts = texts.where(texts.notna(), "?")
    labels = LABELS.get(sheet.name, {}) if name == sheet.target else {}
    return np.array([labels.get(value, value) for value in texts], dtype=object)


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """A limit for every wait on a network."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def made_up(sheet: Sheet, rows: int, coins: Generator) -> dict[str, Any]:
    """Rows of the shape of YearPredictionMSD: 90 numbers and a year.

    Years crowd at the end of their range as the real ones do. A quarter of their
    variance can be learned from the features: part of it linear, part of it not.
    """
    features = sheet.domain.features()
    noise = coins.standard_normal((rows, len(features)), dtype=np.float32)
    weights = coins.normal(size=len(features)) / (1 + np.arange(len(features)))
    signal = noise @ (weights / np.linalg.norm(weights)).astype(np.float32)
    bent = (np.abs(noise[:, 0]) - 0.8) / 0.6
    rest = coins.standard_normal(rows)
    score = 0.4 * signal + 0.4 * bent + 0.82 * rest
    target = sheet.domain.number(sheet.target)
    years = target.upper - 1 - 9 * np.exp(-0.75 * score)
    columns: dict[str, Any] = {}
    for i, name in enumerate(features):
        bounds = sheet.domain.number(name)
        values = bounds.centre + bounds.half / 5 * noise[:, i]
        columns[name] = np.clip(values, bounds.lower, bounds.upper)
    columns[sheet.target] = np.clip(np.rint(years), target.lower, target.upper)
    return columns
