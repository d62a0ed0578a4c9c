"""The closed set of forms that a part of a question may have, read from annotations.

A field of a map is a truth, a whole number, a number, a text, a fraction, one of a few
words, another part, or a tuple of these. Whatever its annotation says is checked for
every question, so a map need not ask whether a number is a number.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cache
from itertools import repeat
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from discreto.core.once import MadeOnce
from discreto.errors import ParameterError

WHOLE = 1 << 63  # whole numbers are smaller: they fit the arrays of any loop
LONGEST = 1000  # letters of a text that came from outside
_WHOLE_NUMBERS = range(1 - WHOLE, WHOLE)
_LONG = range(16, 257)  # numbers in a tuple that are worth remembering
_FRACTION = re.compile("([0-9]+)(?:/([0-9]+))?")


def forms_of(kind: Any) -> dict[str, Any]:
    """The form of each field of a kind of part."""
    return _read_forms(kind)


@cache
def _read_forms(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def is_part(thing: object) -> bool:
    """Whether this is a part of a question."""
    return hasattr(type(thing), "__dataclass_fields__")


def kinds_of(part: Any) -> set[str]:
    """The kinds of a part of a question and of all parts in it."""
    found = {type(part).__name__}
    for name in forms_of(type(part)):
        value = getattr(part, name)
        for inner in value if isinstance(value, tuple) else (value,):
            if is_part(inner):
                found |= kinds_of(inner)
    return found


class Field(NamedTuple):
    """A field of a kind of part: whether a value has its form, and may hold parts.

    A value that is exactly of the type ``plain`` fits if it is one ``of`` the values of
    that type that do; without ``of`` all of them do.
    """

    name: str
    plain: Any
    of: Callable[[Any], bool] | None
    fits: Callable[[Any], bool]
    holds_parts: bool


@cache
def fields_of(kind: Hashable) -> tuple[Field, ...]:
    """The fields of a kind of part."""
    forms = forms_of(kind).items()
    return tuple([Field(n, *_plain(f), _test_of(f), _holds(f)) for n, f in forms])


def _plain(form: Any) -> tuple[Any, Callable[[Any], bool] | None]:
    """The type that most values of a form have, and which values of that type do."""
    if form is int:
        return int, _WHOLE_NUMBERS.__contains__
    if form is float:
        return float, math.isfinite
    if get_origin(form) is Literal and set(map(type, get_args(form))) == {str}:
        return str, frozenset(get_args(form)).__contains__
    part = isinstance(form, type) and "__dataclass_fields__" in vars(form)
    return (form if part or form in (bool, str, Fraction) else None), None


def fits(value: Any, form: Any) -> bool:
    """Whether a value has a form: finite, of the type it says, all the way down."""
    return _test_of(form)(value)


@cache
def _test_of(form: Any) -> Callable[[Any], bool]:
    """The test of a form, made once: it is asked about again and again."""
    origin, args = get_origin(form), get_args(form)
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


def _test_of_tuple(form: Any) -> Callable[[Any], bool]:
    if form in (int, float):
        return lambda value: (
            isinstance(value, tuple)
            and (_known_numbers if len(value) in _LONG else _are_numbers)(value, form)
        )
    test, (kind, of) = _test_of(form), _plain(form)
    plain = {kind} if of is None else set()
    # Each once, by identity: most nodes of a tree share what they hold.
    return lambda value: (
        isinstance(value, tuple)
        and (
            set(map(type, value)) <= plain
            or all(map(test, dict(zip(map(id, value), value, strict=True)).values()))
        )
    )


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
    """Whether a value of this form may hold parts."""
    origin, args = get_origin(form), get_args(form)
    if origin in (tuple, Union, types.UnionType):
        return any(_holds(one) for one in args if one is not Ellipsis)
    return origin is not Literal and form not in (bool, int, float, str, Fraction)


def written(value: Any, form: Any) -> Any:
    """A number of this form as it is written: a 1 that stands for a float is 1.0."""
    if form is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < WHOLE else value
    if get_origin(form) is tuple and isinstance(value, tuple):
        inner = get_args(form)[0]
        if inner is float and set(map(type, value)) <= {float}:
            return value  # thousands of edges, as they are
        if inner is float or get_origin(inner) is tuple:
            return tuple(written(one, inner) for one in value)
    return value


def read_fraction(text: object, letters: int = 81) -> Fraction:
    """A fraction of whole numbers; 1e99999999 would fill the memory."""
    short = isinstance(text, str) and len(text) <= letters
    found = _FRACTION.fullmatch(str(text)) if short else None
    if found is None or not int(found[2] or 1):
        raise ParameterError("this is not a fraction of whole numbers.")
    return Fraction(int(found[1]), int(found[2] or 1))


def check_amounts(data: Any) -> dict[str, Any]:
    """A cost from outside whose amounts are fractions that can be read."""
    for name, amount in data.items():
        if name != "infinite":
            read_fraction(amount, 10**3)
    return dict(data)


def check_plain(
    data: Any, most: int, depth: int = 16, letters: int = LONGEST, largest: int = WHOLE
) -> None:
    """Refuse JSON data from outside that is too deep, too long, or not plain.

    What is left can be walked, written and printed: whole numbers have 64 bits (or are
    below ``largest``), texts are short and can be encoded, numbers are finite.
    """
    level, seen = [data], 0
    for _ in range(depth + 1):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below += one.keys()
                below += one.values()
            elif isinstance(one, list | tuple):
                below += one
            elif not _is_plain(one, letters, largest):
                raise ParameterError("a message holds something that is not plain.")
            if seen + len(below) > most:
                raise ParameterError(f"a message has too many parts (at most {most}).")
        seen += len(below)
        if not below:
            return
        level = below
    raise ParameterError("a message is nested too deeply.")


def _is_plain(one: Any, letters: int, largest: int) -> bool:
    if type(one) is float:
        return math.isfinite(one)
    if isinstance(one, str):
        return len(one) <= letters and not _SURROGATE.search(one)
    if one is None or isinstance(one, bool):
        return True
    if isinstance(one, float):
        return math.isfinite(one)
    return isinstance(one, int) and -largest < one < 2 * largest


_SURROGATE = re.compile("[\ud800-\udfff]")
