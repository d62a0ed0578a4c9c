"""Arrow columns as numpy arrays, without a copy where there is none to be made.

``to_numpy`` of pyarrow would do, but it loads pandas wherever that is installed: half a
second and a fifth of the memory of a process that streams a file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.data.frames.base import Array

_KINDS = {
    "double": np.float64,
    "float": np.float32,
    "halffloat": np.float16,
    **{f"{u}int{n}": np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
}


def is_arrow(values: Any) -> bool:
    """Whether a column is one of arrow, in one piece or in several."""
    return type(values).__module__.startswith("pyarrow") and hasattr(values, "type")


def numbers_of(values: Any) -> Array | None:
    """The numbers of an arrow column, NaN where there is none; None for other kinds."""
    kind = _KINDS.get(str(values.type))
    if kind is None:
        return None
    chunks = values.chunks if hasattr(values, "chunks") else [values]
    parts = [_chunk(chunk, kind) for chunk in chunks if len(chunk)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=kind)


def _chunk(values: Any, kind: Any) -> Array:
    valid, data = values.buffers()
    start, many = values.offset, len(values)
    out: Array = np.frombuffer(data, dtype=kind, count=start + many)[start:]
    if not values.null_count:
        return out
    bits = np.unpackbits(
        np.frombuffer(valid, dtype=np.uint8), count=start + many, bitorder="little"
    )[start:]
    if out.dtype.kind != "f":
        out = out.astype(np.float64)
    return np.where(bits, out, np.asarray(np.nan, dtype=out.dtype))
