"""What questions about points may be given: points, norms, fuzzifiers, radii."""

from __future__ import annotations

from discreto.errors import ParameterError


def check_points(points: object, width: int) -> None:
    """Refuse anything but a tuple of points with ``width`` numbers from -4 to 4."""
    good = isinstance(points, tuple) and 1 <= len(points) <= 1 << 16
    for point in points if good else ():  # type: ignore[attr-defined]
        good = good and isinstance(point, tuple) and len(point) == width
        good = good and all(_between(v, -4, 4) for v in point)
    if not good:
        raise ParameterError(f"points need {width} coordinates from -4 to 4 each.")


def check_norm(norm: object) -> None:
    """Refuse norms other than l1 and l2."""
    if isinstance(norm, bool) or norm not in (1, 2):
        raise ParameterError(f"norm must be 1 or 2. Got {norm!r}.")


def check_power(power: object) -> None:
    """Refuse what is no fuzzifier."""
    if not _between(power, 1.001, 100):
        raise ParameterError(f"a fuzzifier is from 1.001 to 100. Got {power!r}.")


def check_positive(value: object) -> None:
    """Refuse what is no radius."""
    if not _between(value, 1e-9, 1e9):
        raise ParameterError(f"radius must be from 1e-9 to 1e9. Got {value!r}.")


def _between(value: object, low: float, high: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and low <= value <= high  # type: ignore[operator]
