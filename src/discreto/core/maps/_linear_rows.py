"""Scaled columns, their weighed sums and norms, row by row: compiled, or by numpy.

Rows lie across: a line for each column. A row's numbers are added up in a fixed order,
so they do not depend, in the last bit, on the rows beside it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from discreto.core import compiled
from discreto.core.aggregate import add_up
from discreto.core.domain.domain import Domain
from discreto.core.maps.unit_columns import Term, facts_of
from discreto.core.query import Batch, Floats

_LOOPS = "discreto.core.maps.linear_rows_numba"


def mix(weights: Floats, rows: Floats) -> Floats:
    """weights @ rows, with each row's sum taken in a fixed order (see ``add_up``)."""
    out = np.zeros((len(weights), rows.shape[1]))
    fast = compiled.loops(rows.size, _LOOPS)
    if fast is not None:
        rows = compiled.plain(rows, *rows.shape)
        fast.mix(rows, np.ascontiguousarray(weights), out)
        return out
    for column, part in zip(weights.T, rows, strict=True):
        out += column[:, None] * part
    return out


def scaled_lines(
    terms: tuple[Term, ...],
    batch: Batch,
    domain: Domain,
    away: tuple[tuple[float, ...], tuple[float, ...]],
    constant: float,
    steps: float = 0.0,
) -> Floats | None:
    """((u - origin) / scale) of each term u, after a line of the constant if any.

    ``away`` holds origins and scales; ``steps`` of a 1 make the numbers whole. None
    where compiled loops are not to be had.
    """
    known = facts_of(terms, domain)
    length, before = len(batch[known.names[0]]), int(constant > 0)
    fast = compiled.loops(len(terms) * length, _LOOPS)
    if fast is None:
        return None
    out = np.empty((before + len(terms), length))
    if before:
        out[0] = np.floor(constant * steps + 0.5) if steps else constant
    columns = [batch[name] for name in known.names]
    for i in known.marks:
        columns[i] = terms[i].values(batch, domain)  # type: ignore[union-attr]
    facts = known.pairs, *away
    for line, values, unit, *own in zip(out[before:], columns, *facts, strict=True):
        if values.dtype != np.float64:
            values = values.astype(np.float64)
        fast.scale_line(compiled.plain(values, length), *unit, *own, steps, line)
    return out


def weighed(
    rows: Floats, units: tuple[float, float], weights: Floats, norm: str
) -> tuple[Floats, Floats]:
    """Weighed sums and norms of rows, which are first taken off a grid, in place."""
    fast = _loops(rows)
    if fast is None:
        if units != (1.0, 1.0):
            rows *= units[0]
            rows *= units[1]
        return mix(weights, rows), sizes_of(rows, norm)
    sums, sizes = np.zeros((len(weights), rows.shape[1])), np.zeros(rows.shape[1])
    weights = np.ascontiguousarray(weights)
    fast.scores(rows, *units, weights, 1 if norm == "l1" else 2, sums, sizes)
    return sums, sizes


def shortened(rows: Floats, reach: float, sizes: Floats, steps: float) -> Floats:
    """Rows of a norm of ``reach`` at most, in steps, in place."""
    fast = _loops(rows)
    if fast is not None:
        fast.shorten(rows, float(reach), sizes, float(steps))
        return rows
    rows *= reach / np.maximum(sizes, reach)
    rows *= steps
    return rows


def products(residuals: Floats, rows: Floats) -> Floats:
    """Each residual times each number of its row; may be written over ``rows``."""
    width = len(residuals) * len(rows)
    fast = _loops(rows)
    if fast is None:
        every: Floats = residuals[:, None, :] * rows[None, :, :]
        return every.reshape(width, rows.shape[1])
    out = rows if len(residuals) == 1 else np.empty((width, rows.shape[1]))
    fast.products(np.ascontiguousarray(residuals), rows, out)
    return out


def add_products(
    residuals: Floats,
    rows: Floats,
    short: tuple[float, Floats, float],
    length: int,
    sums: Any,
) -> bool:
    """Whether products with shortened rows were clamped and added up in one loop.

    ``short`` is what ``shortened`` takes; the rows are not changed.
    """
    fast = compiled.loops(0, _LOOPS)
    if fast is None:
        return False
    reach, sizes, steps = short
    residuals = compiled.plain(residuals, len(residuals), length)
    rows, sizes = compiled.plain(rows, len(rows), length), compiled.plain(sizes, length)
    how = float(reach), sizes, float(steps)
    fast.add_products(residuals, rows, *how, *sums)
    return True


def add_weighed(rows: Floats, by: Floats, length: int, sums: Any) -> bool:
    """Whether rows times a number each were clamped and added up in one loop."""
    fast = compiled.loops(0, _LOOPS)
    if fast is None:
        return False
    rows, by = compiled.plain(rows, len(rows), length), compiled.plain(by, length)
    fast.add_weighed(rows, by, *sums)
    return True


@lru_cache(maxsize=32)
def cosines(width: int) -> Floats:
    """The orthonormal cosine transform of ``width`` columns; its inverse is its T."""
    k, j = np.arange(width)[:, None], np.arange(width)[None, :]
    out = np.cos(math.pi * k * (2 * j + 1) / (2 * width)) * math.sqrt(2 / width)
    out[0] /= math.sqrt(2)
    out.setflags(write=False)
    return out


def sizes_of(rows: Floats, norm: str) -> Floats:
    """The norm of each row."""
    if norm == "l1":
        return add_up(np.abs(rows))
    return np.sqrt(add_up(rows * rows))


def grids(matrix: Floats, length: int, largest: float) -> tuple[float, float]:
    """Steps of a 1, for a matrix and for rows of ``length`` numbers."""
    steps = float(1 << (52 - math.ceil(math.log2(length + 1))) // 2)
    tall = max(float(np.abs(matrix).max(initial=0.0)), 1e-300)
    return steps / tall, steps / max(largest, 1e-300)


def _loops(rows: Floats) -> Any:
    """The compiled loops, for rows in one piece that may be written over."""
    plain = rows.flags.c_contiguous and rows.flags.writeable
    return compiled.loops(rows.size, _LOOPS) if plain else None
