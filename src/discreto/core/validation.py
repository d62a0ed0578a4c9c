"""Forms of the parts of a question, stated in annotations and checked in one place.

A field of a part is a Boolean, a whole number, a number, a text, a fraction, one of a
few words, another part, or a tuple of these. Its annotation says which, and its limits:
``Annotated[int, Range(1, 30)]``. A question is walked once, from its smallest parts up.
Each field must have the form of its annotation. Then the part's own ``check(domain)``
states relations between its fields and to the domain: kinds of columns, numbers of
codes, sizes. A question that passes can be folded over any rows without an error.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import repeat
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from discreto.core.documents import WHOLE, short
from discreto.core.domain.domain import Domain
from discreto.core.once import MadeOnce
from discreto.errors import ParameterError

DEEPEST = 16
_WHOLE_NUMBERS = range(1 - WHOLE, WHOLE)
_LONG = range(16, 257)  # numbers in a tuple that are worth remembering


class Limit(Protocol):
    """A limit on the values of a form, for ``Annotated``."""

    def allows(self, value: Any) -> bool:
        """Return True if a value, which has the form, is within the limit."""

    def __str__(self) -> str:
        """Return the limit in words that follow "must be"."""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``least`` to ``most``: a number, or each one in a tuple."""

    least: float
    most: float

    def allows(self, value: Any) -> bool:
        """Return True if every number is within the range."""
        if not isinstance(value, tuple):
            return bool(self.least <= value <= self.most)
        if value and isinstance(value[0], tuple):
            return all(map(self.allows, value))
        return not value or bool(self.least <= min(value) <= max(value) <= self.most)

    def __str__(self) -> str:
        return f"from {self.least:.12g} to {self.most:.12g}"


@dataclass(frozen=True, slots=True)
class Length:
    """Tuples and texts of ``least`` to ``most`` entries or letters."""

    least: int
    most: int

    def allows(self, value: Any) -> bool:
        """Return True if the length is within the limits."""
        return self.least <= len(value) <= self.most

    def __str__(self) -> str:
        return f"a list of {self.least} to {self.most} entries"


@dataclass(frozen=True, slots=True)
class Different:
    """Tuples with at least one entry, and none twice, such as names of columns."""

    def allows(self, value: Any) -> bool:
        """Return True if there is an entry, and none stands twice."""
        try:
            return bool(value) and len(set(value)) == len(value)
        except TypeError:  # an entry is a part that holds a list
            return False

    def __str__(self) -> str:
        return "different names, at least one"


Names = Annotated[tuple[str, ...], Different()]  # of columns


def forms_of(kind: Any) -> dict[str, Any]:
    """Return the form of each field of a kind of part, without its limits."""
    return _read_forms(kind)


@cache
def _read_forms(kind: Any, limits: bool = False) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=limits)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def is_part(thing: object) -> bool:
    """Return True if this is a part of a question."""
    return hasattr(type(thing), "__dataclass_fields__")


def kinds_of(part: Any) -> set[str]:
    """Return the kinds of a part of a question and of all parts in it."""
    found = {type(part).__name__}
    for name in forms_of(type(part)):
        value = getattr(part, name)
        for inner in value if isinstance(value, tuple) else (value,):
            if is_part(inner):
                found |= kinds_of(inner)
    return found


class Field(NamedTuple):
    """A field of a kind of part, and the test of its form.

    A value that is exactly of the type ``plain`` fits if it is one ``of`` the values of
    that type that do; without ``of`` all of them do. ``words`` say what it must be.
    """

    name: str
    plain: Any
    of: Callable[[Any], bool] | None
    fits: Callable[[Any], bool]
    holds_parts: bool
    words: str

    def refusal(self, kind: type, value: object) -> ParameterError:
        """Return the error for a value that does not fit."""
        if not self.words:
            return ParameterError(
                f"{kind.__name__}: {self.name!r} is not of the right form."
            )
        return ParameterError(
            f"{kind.__name__}: {self.name} must be {self.words}. Got {short(value)}."
        )


@cache
def fields_of(kind: Hashable) -> tuple[Field, ...]:
    """Return the fields of a kind of part."""
    forms = _read_forms(kind, limits=True).items()
    return tuple(
        [Field(n, *_plain(f), _test_of(f), _holds(f), _words(f)) for n, f in forms]
    )


def _words(form: Any) -> str:
    limits = form.__metadata__ if get_origin(form) is Annotated else ()
    return " and ".join(map(str, limits))


def _plain(form: Any) -> tuple[Any, Callable[[Any], bool] | None]:
    """Return the type that most values of a form have, and a test of such values."""
    if get_origin(form) is Annotated:
        return _plain_within(*get_args(form))
    if form is int:
        return int, _WHOLE_NUMBERS.__contains__
    if form is float:
        return float, math.isfinite
    if get_origin(form) is Literal and set(map(type, get_args(form))) == {str}:
        return str, frozenset(get_args(form)).__contains__
    part = isinstance(form, type) and "__dataclass_fields__" in vars(form)
    return (form if part or form in (bool, str, Fraction) else None), None


def _plain_within(
    form: Any, *limits: Limit
) -> tuple[Any, Callable[[Any], bool] | None]:
    """Return the quick test of a form with limits, where there is one."""
    if len(limits) == 1 and isinstance(limits[0], Range):
        least, most = limits[0].least, limits[0].most
        if form is int and isinstance(least, int) and isinstance(most, int):
            return int, range(least, most + 1).__contains__
        if form is float:
            return float, limits[0].allows  # NaN is in no range
    return None, None


@cache
def _test_of(form: Any) -> Callable[[Any], bool]:
    """Return the test of a form. It is made once, because it is used for every part."""
    origin, args = get_origin(form), get_args(form)
    if origin is Annotated:
        return reduce(_within, args[1:], _test_of(args[0]))
    if origin is tuple:
        return _test_of_tuple(args[0])
    if origin is Literal:
        words = [(type(word), word) for word in args]
        return lambda value: (type(value), value) in words
    if origin in (Union, types.UnionType):
        tests = [_test_of(one) for one in args]
        return lambda value: any(test(value) for test in tests)
    if form in (int, float):
        return lambda value: _are_numbers((value,), form)
    if form in (bool, str, Fraction):
        return lambda value: type(value) is form
    if getattr(form, "_is_protocol", False):
        names = [name for name in vars(form) if not name.startswith("_")]
        return lambda value: is_part(value) and all(map(hasattr, repeat(value), names))
    if hasattr(form, "__dataclass_fields__"):  # then whatever is of it is a part
        return lambda value: isinstance(value, form)
    return lambda value: isinstance(value, form) and is_part(value)


def _within(test: Callable[[Any], bool], limit: Limit) -> Callable[[Any], bool]:
    """Return the test of a form and a limit. The limit compares values of the form."""
    return lambda value: test(value) and limit.allows(value)


def _test_of_tuple(form: Any) -> Callable[[Any], bool]:
    if form in (int, float):
        return lambda value: (
            isinstance(value, tuple)
            and (_known_numbers if len(value) in _LONG else _are_numbers)(value, form)
        )
    test, plain = _test_of(form), _plain_kinds(form)
    # Each once, by identity: most nodes of a tree share what they hold.
    return lambda value: (
        isinstance(value, tuple)
        and (
            set(map(type, value)) <= plain
            or all(map(test, dict(zip(map(id, value), value, strict=True)).values()))
        )
    )


def _plain_kinds(form: Any) -> set[Any]:
    """Return types of which every value has the form, without another look at it."""
    if get_origin(form) in (Union, types.UnionType):
        return set().union(*map(_plain_kinds, get_args(form)))
    kind, of = _plain(form)
    return {kind} if of is None else set()


def _are_numbers(several: tuple[Any, ...], form: Any) -> bool:
    kinds = set(map(type, several))
    if bool in kinds or not all(map(issubclass, kinds, repeat((int, float)))):
        return False
    if form is int:
        whole = kinds <= {int}
        return whole and (not several or -WHOLE < min(several) <= max(several) < WHOLE)
    try:
        return all(map(math.isfinite, several))
    except OverflowError:  # a whole number that no float can hold
        return False


# Trees share what their nodes hold: it is looked at once for all of them.
_known_numbers = MadeOnce(_are_numbers, 1 << 10)


def _holds(form: Any) -> bool:
    """Return True if a value of this form may hold parts."""
    origin, args = get_origin(form), get_args(form)
    if origin is Annotated:
        return _holds(args[0])
    if origin in (tuple, Union, types.UnionType):
        return any(_holds(one) for one in args if one is not Ellipsis)
    return origin is not Literal and form not in (bool, int, float, str, Fraction)


def written(value: Any, form: Any) -> Any:
    """Return a number of this form as it is written: for a float, 1 becomes 1.0."""
    if form is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < WHOLE else value
    if get_origin(form) is tuple and isinstance(value, tuple):
        inner = get_args(form)[0]
        if inner is float and set(map(type, value)) <= {float}:
            return value  # thousands of edges, as they are
        if inner is float or get_origin(inner) is tuple:
            return tuple(written(one, inner) for one in value)
    return value


def check_fields(part: Any) -> None:
    """Refuse a part with a field of another form, without a look at parts inside."""
    kind: Any = type(part)
    for field in fields_of(kind):
        value = getattr(part, field.name)
        if not field.fits(value):
            raise field.refusal(kind, value)


def check_parts(part: Any, domain: Domain, deepest: int = DEEPEST) -> None:
    """Refuse a part of which anything does not fit, however deep inside."""
    if not is_part(part):
        raise ParameterError(f"a question cannot be a {type(part).__name__}.")
    _walk(part, domain, DEEPEST - deepest)


def _walk(part: Any, domain: Domain, depth: int) -> None:
    # Grids and trees remember it: a growing ensemble is asked about again and again.
    memory = getattr(part, "__dict__", None)
    if memory is not None and memory.get("_valid") is domain:
        return
    kind: Any = type(part)
    if depth > DEEPEST:
        raise ParameterError("this question is nested too deeply.")
    for field in fields_of(kind):
        value = getattr(part, field.name)
        plain = type(value) is field.plain
        test = field.of if plain else field.fits
        if test is not None and not test(value):
            raise field.refusal(kind, value)
        if not field.holds_parts:
            continue
        if isinstance(value, tuple):
            # Most trees of a growing ensemble are known: no call for each of them.
            several = [v for v in value if getattr(v, "_valid", None) is not domain]
        else:
            several = [value]
        for inner in several:
            if hasattr(type(inner), "__dataclass_fields__"):  # is a part
                _walk(inner, domain, depth + 1)
    if not hasattr(kind, "check"):
        raise ParameterError(f"{kind.__name__} cannot be asked: it has no check.")
    part.check(domain)  # after the parts in it, and after the forms of its fields
    if memory is not None:
        memory["_valid"] = domain


def check_widths(rows: tuple[tuple[Any, ...], ...], width: int) -> None:
    """Refuse a matrix of which a row has another length than ``width``."""
    if any(len(row) != width for row in rows):
        raise ParameterError(f"each of these lists needs {width} numbers.")
