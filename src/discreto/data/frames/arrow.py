"""Arrow columns as numpy arrays, without a copy where none is needed.

``to_numpy`` of pyarrow would do, but it loads pandas wherever that is installed: half a
second and a fifth of the memory of a process that streams a file.
"""

from __future__ import annotations

from typing import Any

from discreto.core import compiled
from discreto.core.frame import Array
from discreto.data.frames.elementwise import np, pc

_KINDS: dict[str, Any] = {
    "double": np.float64,
    "float": np.float32,
    "halffloat": np.float16,
    **{
        f"{u}int{n}": np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)
    },
}


def is_arrow(values: Any) -> bool:
    """Return True for a column of arrow, in one piece or in several."""
    return type(values).__module__.startswith("pyarrow") and hasattr(values, "type")


def numbers_of(values: Any) -> Array | None:
    """Return the numbers of an arrow column, NaN for gaps; None for other types."""
    kind = _KINDS.get(str(values.type))
    if kind is None:
        return None
    parts = [_chunk(chunk, kind) for chunk in _chunks(values)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=kind)


def _chunks(values: Any) -> list[Any]:
    """Return the pieces of a column that hold any cell."""
    chunks = values.chunks if hasattr(values, "chunks") else [values]
    return [chunk for chunk in chunks if len(chunk)]


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


# Numbers that every reader reads alike, and that no reader finds too large.
_SIMPLE = r"^-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?$"


def odd_texts(values: Any) -> Array:
    """Return the places of texts that are not simple numbers."""
    import pyarrow as pa

    where = "discreto.data.frames.digits_numba"
    fast = compiled.loops(len(values), where) if not values.null_count else None
    if fast is None:
        simple = pc.match_substring_regex(values, _SIMPLE)
        simple = pc.and_kleene(simple, pc.is_valid(simple))
        return np.flatnonzero(np.asarray(flat(pc.cast(simple, pa.uint8()))) == 0)
    found, start = [np.empty(0, dtype=np.int64)], 0
    wide = np.int64 if pa.types.is_large_string(values.type) else np.int32
    for chunk in _chunks(values):
        _, ends, letters = chunk.buffers()
        if letters is not None:
            first = chunk.offset
            places = np.frombuffer(ends, dtype=wide)[first : first + len(chunk) + 1]
            marks = np.empty(len(chunk), dtype=bool)
            if fast.find_odd(np.frombuffer(letters, np.uint8), places, marks):
                found.append(start + np.flatnonzero(marks))
        else:  # empty texts, every one of them
            found.append(start + np.arange(len(chunk)))
        start += len(chunk)
    return np.concatenate(found)


def flat(values: Any) -> Array:
    """Return an arrow column of numbers without gaps, not copied if it is one piece."""
    parts = [np.from_dlpack(chunk) for chunk in _chunks(values)]
    return np.concatenate(parts) if len(parts) != 1 else parts[0]
