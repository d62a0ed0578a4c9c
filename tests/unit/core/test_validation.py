"""A field of a question has the form that its annotation says, and no other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from discreto.core.documents import WHOLE
from discreto.core.domain.domain import Domain
from discreto.core.query_json import decode, encode
from discreto.core.validation import Length, Names, Range, check_parts, forms_of
from discreto.errors import ParameterError

DOMAIN = Domain.cube(1)
Word = Literal["l1", "l2"]


@dataclass(frozen=True)
class Leaf:
    """The smallest part."""

    def check(self, domain: Domain) -> None:
        """It fits every domain."""


class Branch(Leaf):
    """A part of another class that is a leaf as well."""


@dataclass(frozen=True)
class Part:
    """A field of each form."""

    whole: int = 1
    number: float = 1.0
    word: Word = "l1"
    text: str = ""
    truth: bool = True
    share: Fraction = Fraction(1)
    leaf: Leaf = Leaf()
    wholes: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()
    words: tuple[Word, ...] = ()
    texts: tuple[str, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    either: int | str = 0

    def check(self, domain: Domain) -> None:
        """It fits every domain."""


GOOD: list[tuple[str, Any]] = [
    ("whole", WHOLE - 1),
    ("whole", 1 - WHOLE),
    ("number", 3),
    ("number", np.float64(0.5)),
    ("word", "l2"),
    ("text", "a"),
    ("truth", False),
    ("leaf", Branch()),
    ("wholes", (1, -2)),
    ("numbers", (1, 0.5)),
    ("words", ("l1", "l2")),
    ("texts", ("a", "b")),
    ("leaves", (Leaf(), Branch())),
    ("either", "a"),
]
BAD: list[tuple[str, Any]] = [
    ("whole", WHOLE),
    ("whole", -WHOLE),
    ("whole", True),
    ("whole", 1.0),
    ("whole", np.int64(1)),
    ("whole", None),
    ("number", float("nan")),
    ("number", float("inf")),
    ("number", True),
    ("number", "1"),
    ("number", 10**400),
    ("number", None),
    ("word", "l3"),
    ("word", 1),
    ("word", ["l1"]),
    ("text", b"a"),
    ("text", None),
    ("truth", 1),
    ("share", 1),
    ("share", 0.5),
    ("leaf", "leaf"),
    ("leaf", Leaf),
    ("leaf", Domain),
    ("wholes", [1]),
    ("wholes", (1, True)),
    ("wholes", (WHOLE,)),
    ("numbers", (0.5, float("nan"))),
    ("numbers", ("1",)),
    ("words", ("l1", "l3")),
    ("words", "l1"),
    ("texts", ("a", 1)),
    ("texts", "ab"),
    ("leaves", (Leaf(), "leaf")),
    ("leaves", [Leaf()]),
    ("leaves", Leaf()),
    ("either", 0.5),
]


def _with(name: str, value: Any) -> Part:
    part = Part()
    object.__setattr__(part, name, value)
    return part


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_what_has_its_form_passes(name, value):
    check_parts(_with(name, value), DOMAIN)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_whatever_else_is_refused(name, value):
    with pytest.raises(ParameterError, match=repr(name)):
        check_parts(_with(name, value), DOMAIN)


def test_parts_inside_are_looked_at():
    inner = _with("number", float("nan"))

    @dataclass(frozen=True)
    class Outer:
        inner: Part
        several: tuple[Part, ...] = ()

        def check(self, domain: Domain) -> None:
            """It fits every domain."""

    Outer.__annotations__.update(inner=Part, several=tuple[Part, ...])
    for outer in (Outer(inner), Outer(Part(), (Part(), inner))):
        with pytest.raises(ParameterError, match="'number'"):
            check_parts(outer, DOMAIN)


@dataclass(frozen=True)
class Limited:
    """A field with each limit."""

    whole: Annotated[int, Range(1, 30)] = 1
    number: Annotated[float, Range(-1.0, 1.0)] = 0.0
    short: Annotated[tuple[float, ...], Length(1, 2), Range(0.0, 9.0)] = (1.0,)
    matrix: Annotated[tuple[tuple[float, ...], ...], Range(0.0, 9.0)] = ()
    names: Names = ("a",)

    def check(self, domain: Domain) -> None:
        """It fits every domain."""


WITHIN: list[tuple[str, Any]] = [
    ("whole", 30),
    ("number", -1),
    ("number", 1.0),
    ("number", np.float64(0.5)),
    ("short", (0.0, 9)),
    ("matrix", ((), (0.0, 9.0))),
    ("names", ("a", "b")),
]
BEYOND: list[tuple[str, Any]] = [
    ("whole", 0),
    ("whole", 31),
    ("whole", True),
    ("whole", 1.0),
    ("number", -1.5),
    ("number", 2),
    ("number", np.float64(-1.5)),
    ("number", float("nan")),
    ("number", "0"),
    ("short", ()),
    ("short", (1.0, 1.0, 1.0)),
    ("short", (1.0, 9.5)),
    ("short", (-0.5, 1.0)),
    ("short", [1.0]),
    ("matrix", ((1.0,), (9.5,))),
    ("matrix", (1.0,)),
    ("names", ()),
    ("names", ("a", "b", "a")),
    ("names", "ab"),
]


@pytest.mark.parametrize(("name", "value"), WITHIN)
def test_a_value_at_its_limit_passes(name, value):
    check_parts(Limited(**{name: value}), DOMAIN)


@pytest.mark.parametrize(("name", "value"), BEYOND)
def test_a_limit_refuses_what_is_beyond_it(name, value):
    with pytest.raises(ParameterError, match=f"Limited: {name} must be"):
        check_parts(Limited(**{name: value}), DOMAIN)


def test_a_message_beyond_a_limit_is_refused_in_words():
    sent = encode(Limited()) | {"whole": 31}
    with pytest.raises(ParameterError, match=r"from 1 to 30\. Got 31\."):
        decode(sent, {"Limited": Limited})


def test_limits_are_no_part_of_the_json_form():
    assert forms_of(Limited)["whole"] is int
    assert decode(encode(Limited()), {"Limited": Limited}) == Limited()
