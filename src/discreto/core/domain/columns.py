"""The kinds of columns of a domain: numbers, categories, and what is not asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.errors import DomainError
from discreto.text.wrong_calls import checked_init

Value = str | int | float | bool


def of_python(value: Any) -> Any:
    """What is a number or text to numpy, or a kind of text, as just that.

    >>> of_python(np.int64(3)), of_python(np.str_("age"))
    (3, 'age')
    """
    if isinstance(value, str):  # which an Enum of texts shows as something else
        return str.__str__(value)
    return value.item() if isinstance(value, np.generic) else value


@checked_init
@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column with public bounds; values outside are clipped to them.

    Parameters
    ----------
    lower, upper
        The public bounds. They come from a code book, never from the rows.
    integer
        Whether only whole numbers occur.
    missing
        Whether a value may be missing (default): a gap is then left out of means and
        counted as missing. ``False`` is a promise that there are no gaps; one that is
        there all the same counts as the middle of the range.
    unit
        What the numbers count, such as ``"years"``; answers show it.

    Raises
    ------
    DomainError
        The bounds are not two finite numbers in order.

    Examples
    --------
    >>> Number(0, 120, integer=True, unit="years").centre
    60.0
    """

    lower: float
    upper: float
    integer: bool = False
    missing: bool = True
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", of_python(self.lower))
        object.__setattr__(self, "upper", of_python(self.upper))
        for end in (self.lower, self.upper):
            if isinstance(end, bool) or not isinstance(end, int | float):
                raise DomainError(f"Number bounds must be numbers. Got {end!r}.")
            if not abs(end) <= 1e150:
                raise DomainError(
                    f"Number bounds must be finite (at most 1e150). Got {end!r}. "
                    "Choose the widest range that the code book allows."
                )
        for name in ("lower", "upper"):
            end = getattr(self, name)
            if isinstance(end, int) and not -(2**63) <= end < 2**63:
                # No array of integers holds it: the nearest float stands for it.
                object.__setattr__(self, name, float(end))
        if not self.lower < self.upper or self.half < 1e-290:
            raise DomainError(
                f"Number needs lower < upper. Got {self.lower!r} and {self.upper!r}."
            )

    @property
    def centre(self) -> float:
        """The middle of the range."""
        return self.lower / 2 + self.upper / 2

    @property
    def half(self) -> float:
        """Half the width of the range."""
        return self.upper / 2 - self.lower / 2


@checked_init
@dataclass(frozen=True, slots=True, init=False)
class Category:
    """A column with a public, closed list of values; others are unknown.

    Parameters
    ----------
    categories
        The values that may occur: texts or numbers, each once.
    missing
        Whether a value may be missing or unknown (default): tables then have a cell
        for both together. ``False`` is a promise that there is no such value; one that
        is there all the same is in no cell.
    aliases
        Other spellings and the category that each stands for.
    case
        Whether upper and lower case differ.
    strip
        Whether spaces around a text are left out before it is compared.

    Raises
    ------
    DomainError
        The list is empty or names a value twice, or a spelling stands for two.

    Examples
    --------
    >>> Category(["f", "m"]).categories
    ('f', 'm')
    >>> sex = Category(["F", "M"], aliases={"Female": "F"}, case=False, strip=True)
    >>> [sex.spelling(text) for text in ("f", " FEMALE ", "m", "x")]
    ['F', 'F', 'M', None]
    """

    categories: tuple[Value, ...]
    missing: bool = True
    aliases: tuple[tuple[str, Value], ...] = ()
    case: bool = True
    strip: bool = False

    def __init__(
        self,
        categories: Iterable[Value],
        missing: bool = True,
        *,
        aliases: Mapping[str, Value] | Iterable[tuple[str, Value]] = (),
        case: bool = True,
        strip: bool = False,
    ) -> None:
        if isinstance(categories, str) or not isinstance(categories, Iterable):
            raise DomainError("Category needs a list of values.")
        other = aliases.items() if isinstance(aliases, Mapping) else aliases
        object.__setattr__(self, "categories", tuple(map(of_python, categories)))
        object.__setattr__(self, "missing", missing)
        pairs = tuple((of_python(a), of_python(b)) for a, b in other)
        object.__setattr__(self, "aliases", pairs)
        object.__setattr__(self, "case", case)
        object.__setattr__(self, "strip", strip)
        self._check_values()
        self._check_spellings()

    def _check_values(self) -> None:
        if not self.categories:
            raise DomainError("Category needs at least one value. Got none.")
        for value in self.categories:
            finite = isinstance(value, str | int) or (
                isinstance(value, float) and math.isfinite(value)
            )
            if not finite:
                raise DomainError(
                    f"Category values must be texts or numbers. Got {value!r}."
                )
        # 1, 1.0 and True are one value to Python, and so to us.
        seen: set[Value] = set()
        for value in self.categories:
            if value in seen:
                raise DomainError(f"Category lists {value!r} more than once.")
            seen.add(value)

    def _check_spellings(self) -> None:
        known: dict[str, Value] = {}
        values = set(self.categories)
        pairs = [(value, value) for value in self.categories if isinstance(value, str)]
        for text, value in [*pairs, *self.aliases]:
            if not isinstance(text, str):
                raise DomainError(f"aliases are texts. Got {text!r}.")
            if not isinstance(value, Value) or value not in values:
                raise DomainError(f"alias {text!r} stands for {value!r}: no category.")
            if known.setdefault(self.plain(text), value) != value:
                first = known[self.plain(text)]
                raise DomainError(f"{text!r} stands for {first!r} and for {value!r}.")

    def plain(self, text: str) -> str:
        """A text as it is compared: without spaces around it or case, if so declared.

        Parameters
        ----------
        text
            Any text.
        """
        text = text.strip() if self.strip else text
        return text if self.case else text.casefold()

    def spellings(self) -> dict[str, int]:
        """The place of the category that each known text stands for."""
        places = {value: place for place, value in enumerate(self.categories)}
        pairs = [(value, value) for value in self.categories if isinstance(value, str)]
        return {self.plain(text): places[v] for text, v in [*pairs, *self.aliases]}

    def spelling(self, text: str) -> Value | None:
        """The category that a text stands for, or None.

        Parameters
        ----------
        text
            Any text.
        """
        place = self.spellings().get(self.plain(text))
        return None if place is None else self.categories[place]


def Boolean(*, missing: bool = True) -> Category:
    """A column of truths: true and false, or 1 and 0.

    A text file that says yes and no has ``Category(["no", "yes"])``.

    Parameters
    ----------
    missing
        Whether a value may be missing.

    Examples
    --------
    >>> Boolean().categories
    (False, True)
    """
    return Category((False, True), missing=missing)


@dataclass(frozen=True, slots=True)
class Opaque:
    """A column that is known to exist but is never asked about (an id, a date).

    Parameters
    ----------
    kind
        What it is, for readers.
    """

    kind: str = "identifier"


Column = Number | Category | Opaque
