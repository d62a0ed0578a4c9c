"""Column names inside questions, which may come from strangers."""

from __future__ import annotations

from itertools import repeat

from discreto.errors import ParameterError


def check_names(names: object) -> None:
    """Refuse anything but a non-empty tuple of distinct texts."""
    good = isinstance(names, tuple) and all(map(isinstance, names, repeat(str)))
    if not good or not names or len(set(names)) != len(names):  # type: ignore[call-overload, arg-type]
        raise ParameterError(f"columns must be different names. Got {names!r}.")
