"""Column names inside questions, which may come from strangers."""

from __future__ import annotations

from discreto.errors import ParameterError


def check_names(names: object) -> None:
    """Refuse anything but a non-empty tuple of distinct texts."""
    good = isinstance(names, tuple) and names and all(isinstance(n, str) for n in names)
    if not good or len(set(names)) != len(names):  # type: ignore[arg-type, call-overload]
        raise ParameterError(f"columns must be different names. Got {names!r}.")
