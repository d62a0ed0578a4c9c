"""Names and numbers inside questions, which may come from strangers."""

from __future__ import annotations

from itertools import repeat

from discreto.errors import ParameterError


def check_names(names: object) -> None:
    """Refuse anything but a non-empty tuple of distinct texts."""
    good = isinstance(names, tuple) and all(map(isinstance, names, repeat(str)))
    if not good or not names or len(set(names)) != len(names):  # type: ignore[call-overload, arg-type]
        raise ParameterError(f"columns must be different names. Got {names!r}.")


def check_range(numbers: object, count: int, low: float, high: float) -> None:
    """Refuse anything but a tuple of ``count`` numbers within a range."""
    good = isinstance(numbers, tuple) and len(numbers) == count
    for number in numbers if good else ():  # type: ignore[attr-defined]
        plain = isinstance(number, int | float) and not isinstance(number, bool)
        good = good and plain and low <= number <= high
    if not good:
        raise ParameterError(f"this question needs {count} numbers in their range.")
