"""Arrow columns as numpy arrays, without a copy where there is none to be made.

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


# Numbers that every reader reads alike, and that no reader finds too large.
_SIMPLE = r"^-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?$"


def odd_texts(values: Any) -> Array:
    """The places of texts that are no simple numbers."""
    import pyarrow as pa

    where = "discreto.data.frames.digits_numba"
    fast = compiled.loops(len(values), where) if not values.null_count else None
    if fast is None:
        simple = pc.match_substring_regex(values, _SIMPLE)
        simple = pc.and_kleene(simple, pc.is_valid(simple))
        return np.flatnonzero(np.asarray(flat(pc.cast(simple, pa.uint8()))) == 0)
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    found, start = [np.empty(0, dtype=np.int64)], 0
    wide = np.int64 if pa.types.is_large_string(values.type) else np.int32
    for chunk in chunks:
        _, ends, letters = chunk.buffers()
        if len(chunk) and letters is not None:
            first = chunk.offset
            places = np.frombuffer(ends, dtype=wide)[first : first + len(chunk) + 1]
            marks = np.empty(len(chunk), dtype=bool)
            if fast.find_odd(np.frombuffer(letters, np.uint8), places, marks):
                found.append(start + np.flatnonzero(marks))
        elif len(chunk):  # empty texts, every one of them
            found.append(start + np.arange(len(chunk)))
        start += len(chunk)
    return np.concatenate(found)


def flat(values: Any) -> Array:
    """An arrow column of numbers without gaps, without a copy where it is one piece."""
    import pyarrow as pa

    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    parts = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    return np.concatenate(parts) if len(parts) != 1 else parts[0]
