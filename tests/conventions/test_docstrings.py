"""Whatever is public says what it is and what each of its parameters means."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any, Protocol

import public_surface
import pytest

SURFACE = dict(public_surface.surface())
HEAD = re.compile(r"^Parameters\n-{10}\n(.*?)(?=\n\n\S|\Z)", re.MULTILINE | re.DOTALL)


def described(doc: str) -> list[str]:
    """The names in the Parameters section of a docstring."""
    section = HEAD.search(inspect.cleandoc(doc))
    lines = section[1].splitlines() if section else []
    heads = [line.partition(" : ")[0] for line in lines if line and line[0] != " "]
    names = [name.strip(" *") for head in heads for name in head.split(",")]
    return [name for name in names if name]  # a long head goes on on the next line


def parameters(member: Any) -> list[str]:
    """The names of the parameters a caller may give."""
    if getattr(member, "_is_protocol", False):
        return []  # nobody makes one
    try:
        found = inspect.signature(member).parameters
    except ValueError:
        return []  # errors and texts, made as Python makes them
    return [name for name in found if name not in ("self", "cls")]


def complaints(name: str, member: Any) -> list[str]:
    doc = member.__doc__ or ""
    if not doc.strip():
        return [f"{name} has no docstring."]
    listed, taken = described(doc), parameters(member)
    return [
        *(f"{name}: Parameters lacks {n!r}." for n in taken if n not in listed),
        *(f"{name}: there is no parameter {n!r}." for n in listed if n not in taken),
    ]


@pytest.mark.parametrize("name", SURFACE)
def test_a_public_name_describes_its_parameters(name: str) -> None:
    assert complaints(name, SURFACE[name]) == []


@pytest.mark.parametrize("name", public_surface.MODULES)
def test_a_public_module_has_a_docstring(name: str) -> None:
    assert (importlib.import_module(name).__doc__ or "").strip()


def test_help_answers_what_newcomers_ask() -> None:
    doc = SURFACE["discreto.stats.mean"].__doc__
    assert "key : str, optional" in doc
    assert "costs nothing more" in doc
    assert '``"1/2"``, ``0.5`` and ``Fraction(1, 2)``' in doc


def bare(x: int) -> None: ...


def silent(x: int) -> None:
    """Says nothing of x."""


def wrong(x: int) -> None:
    """Another.

    Parameters
    ----------
    y : int
        Not there.

    x
        Too late: this is another section.
    """


def good(x: int, *, y: int, z: int = 0, **options: int) -> None:
    """Says all.

    Parameters
    ----------
    x, y
        Two of them.
    z : int, default=0
        More.
    **options
        Others.

    Returns
    -------
    nothing
        Never a parameter.
    """


class Wire(Protocol):
    """Nobody makes one."""


@pytest.mark.parametrize(
    ("member", "wanted"), [(bare, 1), (silent, 1), (wrong, 2), (good, 0), (Wire, 0)]
)
def test_a_gap_is_found(member: Callable[..., Any], wanted: int) -> None:
    assert len(complaints("it", member)) == wanted
