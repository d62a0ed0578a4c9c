"""Days and times of the calendar: columns of whole steps since the start of 1970.

A date is a Number, so every map, bound and noise is that of numbers. What it counts is
in its ``unit``, such as ``days since 1970-01-01``; a time counts on the clock of its
declared zone, so that an hour is the hour that people there saw.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any, Literal
from zoneinfo import ZoneInfo

from discreto.core.domain.columns import Number
from discreto.errors import DomainError
from discreto.text.wrong_calls import checked_init

Resolution = Literal["day", "hour", "minute", "second"]
SECONDS: dict[str, int] = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_START = dt.datetime(1970, 1, 1)
_UNIT = re.compile(r"(day|hour|minute|second)s since 1970-01-01(?: \((.+)\))?")


@checked_init
@dataclass(frozen=True, slots=True, init=False)
class DateTime(Number):
    """A point in time between two public ends, on the clock of a declared zone.

    Parameters
    ----------
    first, last
        The public range: ``datetime`` objects or texts such as ``"2024-01-01 08:00"``.
        Values outside are clipped to it.
    resolution
        What is kept of a time: ``"second"``, ``"minute"``, ``"hour"`` or ``"day"``.
    zone
        The time zone of the clock, such as ``"Europe/Zurich"``. Values that name their
        zone are moved to it; those that do not are taken as they are.
    missing
        Whether a value may be missing.

    Raises
    ------
    DomainError
        The ends are no times in order, or the zone is not known.

    Examples
    --------
    >>> DateTime("2024-01-01 00:00", "2024-12-31 23:59", resolution="minute").unit
    'minutes since 1970-01-01 (UTC)'
    """

    resolution: str = "second"
    zone: str = "UTC"

    def __init__(
        self,
        first: str | dt.datetime | dt.date,
        last: str | dt.datetime | dt.date,
        *,
        resolution: Resolution = "second",
        zone: str = "UTC",
        missing: bool = True,
    ) -> None:
        if resolution not in SECONDS:
            raise DomainError(f"resolution is one of {', '.join(SECONDS)}.")
        _check_zone(zone)
        low, high = (steps(end, resolution, zone) for end in (first, last))
        if low is None or high is None:
            raise DomainError(
                f"a range of dates is two texts such as '2024-01-31'. Got {first!r} "
                f"and {last!r}."
            )
        if not low < high:
            raise DomainError(
                f"a range of dates needs a first day before the last. Got {first!r} "
                f"and {last!r}. Write the earlier one first."
            )
        where = f" ({zone})" if zone else ""
        fields = {
            "lower": low,
            "upper": high,
            "integer": True,
            "missing": missing,
            "unit": f"{resolution}s since 1970-01-01{where}",
            "resolution": resolution,
            "zone": zone,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        Number.__post_init__(self)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of the column in a domain file."""
        ends = {"first": self.show(self.lower), "last": self.show(self.upper)}
        missing = {"nullable": True} if self.missing else {}
        if type(self) is Date:
            return {"type": "date"} | ends | missing
        more = {"resolution": self.resolution, "zone": self.zone}
        return {"type": "datetime"} | ends | more | missing

    def show(self, value: float) -> str:
        """A value as people write it.

        Parameters
        ----------
        value
            Whole steps since the start of 1970.
        """
        return show_date(value, self.unit)

    def __repr__(self) -> str:
        ends = f"{self.show(self.lower)!r}, {self.show(self.upper)!r}"
        if type(self) is Date:
            return f"Date({ends})"
        return f"DateTime({ends}, resolution={self.resolution!r}, zone={self.zone!r})"


@checked_init
@dataclass(frozen=True, slots=True, init=False)
class Date(DateTime):
    """A day of the calendar between two public ends.

    Parameters
    ----------
    first, last
        The public range: ``date`` objects or texts such as ``"2024-01-31"``. Values
        outside are clipped to it.
    missing
        Whether a value may be missing.

    Raises
    ------
    DomainError
        The ends are no days in order.

    Examples
    --------
    >>> Date("2024-01-01", "2024-12-31").unit
    'days since 1970-01-01'
    """

    def __init__(
        self, first: str | dt.date, last: str | dt.date, *, missing: bool = True
    ) -> None:
        DateTime.__init__(self, first, last, resolution="day", zone="", missing=missing)


def _check_zone(zone: str) -> None:
    if zone in ("", "UTC"):
        return
    try:
        ZoneInfo(zone)
    except Exception:
        raise DomainError(
            f"there is no time zone {zone!r}. Known ones are like 'Europe/Zurich'."
        ) from None


def steps(value: object, resolution: str, zone: str) -> float | None:
    """A point in time as whole steps since the start of 1970, or None.

    A value that names its zone is moved to ``zone``; what is finer than a step is cut.
    """
    try:
        if isinstance(value, bytes):
            value = value.decode("utf-8")
        if isinstance(value, str):
            value = dt.datetime.fromisoformat(value.strip())
        if isinstance(value, dt.datetime):
            if value.tzinfo is not None:
                there = dt.UTC if zone in ("", "UTC") else ZoneInfo(zone)
                value = value.astimezone(there).replace(tzinfo=None)
        elif isinstance(value, dt.date):
            value = dt.datetime(value.year, value.month, value.day)
        else:
            return None
        past = value - _START
        return float((past.days * 86400 + past.seconds) // SECONDS[resolution])
    except Exception:  # whatever is wrong with it, it is no date
        return None


def show_date(value: float, unit: str) -> str:
    """A number of steps as a date, if its unit says that it is one; else as it is."""
    found = _UNIT.fullmatch(unit)
    if found is None:
        return f"{value:g}"
    try:
        past = dt.timedelta(seconds=round(value) * SECONDS[found[1]])
        when = _START + past
    except (OverflowError, ValueError):
        return f"{value:g}"
    if found[1] == "day":
        return when.date().isoformat()
    return when.isoformat(
        sep=" ", timespec="seconds" if found[1] == "second" else "minutes"
    )


def is_date_unit(unit: str) -> bool:
    """Whether numbers of this unit are points in time."""
    return _UNIT.fullmatch(unit) is not None


def difference_unit(unit: str) -> str:
    """The unit of differences: days, where the numbers are days since 1970."""
    found = _UNIT.fullmatch(unit)
    return unit if found is None else f"{found[1]}s"


def column_from_dict(data: Any, *, missing: bool) -> DateTime:
    """A column of a domain file of the type ``date`` or ``datetime``."""
    first, last = data["first"], data["last"]
    if not isinstance(first, str) or not isinstance(last, str):
        raise TypeError
    if data["type"] in ("date", "Date"):
        return Date(first, last, missing=missing)
    resolution, zone = data.get("resolution", "second"), data.get("zone", "UTC")
    if not isinstance(resolution, str) or not isinstance(zone, str):
        raise TypeError
    return DateTime(
        first,
        last,
        resolution=resolution,  # type: ignore[arg-type]
        zone=zone,
        missing=missing,
    )
