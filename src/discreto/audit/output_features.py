"""Outputs of any kind as rows of numbers, for a classifier to tell apart."""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
TAIL = 2  # columns that every matrix of outputs ends with
# Public facts and proofs of payment say nothing about rows.
_PUBLIC = (
    "privacy_",
    "space_",
    "feature_names_in_",
    "n_features_in_",
    "receipt",
    "noises",
    "scale",
    "cost",
)


def numbers_of(output: Any) -> tuple[list[str], list[float]]:
    """Names and values of everything numeric in an output; texts become codes.

    Of an estimator, the attributes that end in an underscore. An exception is an
    output like any other: its kind and its message become numbers, too.
    """
    pairs = list(_walk("", output))
    return [name or "output" for name, _ in pairs], [value for _, value in pairs]


def _walk(name: str, thing: Any) -> Iterator[tuple[str, float]]:
    if thing is None:
        yield name, math.nan
    elif isinstance(thing, str | bytes):
        yield name, _code(thing)
    elif isinstance(thing, BaseException):
        yield f"{name} raised", _code(f"{type(thing).__name__}: {thing}")
    elif isinstance(thing, np.ndarray):
        yield from _array(name, thing)
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from _walk(f"{name}[{key}]" if name else str(key), value)
    elif isinstance(thing, list | tuple):
        for i, value in enumerate(thing):
            yield from _walk(f"{name}[{i}]", value)
    elif hasattr(thing, "fit") or dataclasses.is_dataclass(thing):
        yield from _walk(name, _attributes(thing))
    else:
        try:
            yield name, float(thing)
        except (TypeError, ValueError):
            yield name, _code(str(type(thing)))


def _array(name: str, array: Any) -> Iterator[tuple[str, float]]:
    if array.dtype.kind in "biuf":
        flat = array.astype(np.float64).ravel().tolist()
        many = len(flat) != 1
        yield from ((f"{name}[{i}]" if many else name, v) for i, v in enumerate(flat))
    else:
        yield from _walk(name, array.ravel().tolist())


def _attributes(thing: Any) -> dict[str, Any]:
    if hasattr(thing, "fit"):
        names = [n for n in vars(thing) if n.endswith("_") and not n.startswith("_")]
    else:
        names = [f.name for f in dataclasses.fields(thing)]
    return {n: getattr(thing, n) for n in sorted(names) if n not in _PUBLIC}


def _code(text: str | bytes) -> float:
    data = text.encode() if isinstance(text, str) else text
    return float(zlib.crc32(data))


def ending_of(output: Any) -> str:
    """Return the error of a run: an exception's kind, or that of a silo's refusal.

    >>> ending_of(3.0), ending_of(ValueError("x")), ending_of({"kind": "refusal"})
    ('', 'ValueError', 'refusal: None')
    """
    if isinstance(output, BaseException):
        return type(output).__name__
    if isinstance(output, dict) and output.get("kind") == "refusal":
        return f"refusal: {output.get('error')}"
    return ""


def matrix_of(rows: list[list[float]], endings: list[str] | None = None) -> Matrix:
    """Rows as a matrix; shorter ones are filled up with NaN, their length is kept.

    The last two columns are how a run ended (0: well) and how many numbers it gave: a
    refusal or a shape can be a leak.
    """
    width = max((len(row) for row in rows), default=0)
    out = np.full((len(rows), width + TAIL), np.nan)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
        out[i, -2] = _code(endings[i]) if endings and endings[i] else 0.0
        out[i, -1] = len(row)
    return out


def stack(parts: list[Matrix]) -> Matrix:
    """Matrices of one batch each, on top of each other."""
    width = max(part.shape[1] for part in parts)
    filled = []
    for part in parts:
        gap = np.full((len(part), width - part.shape[1]), np.nan)
        filled.append(np.hstack([part[:, :-TAIL], gap, part[:, -TAIL:]]))
    return np.vstack(filled)


def low_bits(values: Matrix) -> Matrix:
    """Return the exponent of the lowest bit that is set in each number.

    Noise that is added to a float shows the float there: sums are rounded to the grid
    of the larger of the two.
    """
    fraction, power = np.frexp(np.nan_to_num(values, posinf=0, neginf=0))
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.where(whole > 0, power - 53 + lowest, 0.0)
