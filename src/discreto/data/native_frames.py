"""Data frames of any make, for those who only need to know one when they see it."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from discreto.errors import MissingExtraError, ParameterError

LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(data: Any) -> Any:
    """A narwhals frame over a pandas, polars or pyarrow one; None for other things."""
    import narwhals as nw

    frame = nw.from_native(data, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def like(data: Any, columns: dict[str, Any]) -> Any:
    """Columns as the kind of thing that ``data`` is: a frame, or a 2-d array."""
    import narwhals as nw

    frame = frame_of(data)
    if frame is not None:
        values = {name: part.tolist() for name, part in columns.items()}
        return nw.from_dict(values, backend=frame.implementation).to_native()
    numbers = all(part.dtype.kind == "f" for part in columns.values())
    return np.column_stack(
        [p if numbers else p.astype(object) for p in columns.values()]
    )


def new_frame(columns: dict[str, Any], library: str | None = None) -> Any:
    """A frame of the library that was asked for, or of the first that is installed."""
    import narwhals as nw

    if library is not None and library not in LIBRARIES:
        raise ParameterError(
            f"library must be one of {', '.join(LIBRARIES)}. Got {library!r}."
        )
    for name in LIBRARIES if library is None else (library,):
        if importlib.util.find_spec(name) is not None:
            return nw.from_dict(columns, backend=name).to_native()  # type: ignore[arg-type]
    raise MissingExtraError(f"there is no {library}: pip install {library}")
