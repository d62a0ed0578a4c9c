"""Descriptions that many docstrings share, written once and filled in by a decorator.

A docstring describes what is particular. :class:`Shared` adds the shared parameters
that the signature has, in the order of the signature, and shared sections. ``help()``
and the reference show the whole.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")
# The order of sections in a docstring; sections with other titles come last.
_ORDER = ("", "Parameters", "Attributes", "Returns", "Yields", "Raises", "Privacy")
_TITLE = re.compile(r"^(\w[\w ]*)\n(-{3,})$", re.MULTILINE)


class Shared:
    """A decorator that completes docstrings from shared descriptions.

    Parameters
    ----------
    parameters
        Entries as in a Parameters section, in a text that begins with a line break.
    sections
        Bodies of sections by their titles, for docstrings without such a section;
        they begin with a line break, too.
    methods
        Docstrings by name, for methods and properties of a decorated class that have
        none.

    >>> shared = Shared('''
    ...     epsilon : float
    ...         The cost of the answer.
    ... ''')
    >>> @shared
    ... def half(column, *, epsilon):
    ...     '''Return half of a column.
    ...
    ...     Parameters
    ...     ----------
    ...     column : str
    ...         A Number column.
    ...     '''
    >>> print(half.__doc__)
    Return half of a column.
    <BLANKLINE>
    Parameters
    ----------
    column : str
        A Number column.
    epsilon : float
        The cost of the answer.
    """

    def __init__(
        self,
        parameters: str = "",
        sections: Mapping[str, str] | None = None,
        methods: Mapping[str, str] | None = None,
    ) -> None:
        self.parameters = _entries(inspect.cleandoc(parameters))
        self.sections = {k: inspect.cleandoc(v) for k, v in (sections or {}).items()}
        self.methods = dict(methods or {})

    def __call__(self, thing: T) -> T:
        """Complete the docstring of a function, a method or a class.

        Parameters
        ----------
        thing
            A function or a class; it is changed in place and returned.
        """
        if isinstance(thing, type):
            for name, text in self.methods.items():
                member: Any = vars(thing).get(name)
                if member is not None and not member.__doc__:
                    member.__doc__ = inspect.cleandoc(text)
                    if isinstance(member, property) and member.fget is not None:
                        member.fget.__doc__ = member.__doc__
        if thing.__doc__:  # python -OO removes docstrings
            thing.__doc__ = self.complete(thing.__doc__, _names(thing))
        return thing

    def complete(self, text: str, names: list[str]) -> str:
        """Return a docstring with the shared entries and sections that it lacks.

        Parameters
        ----------
        text
            The docstring as it is written.
        names
            Names of the parameters, in their order.
        """
        sections = dict(self.sections) | _sections(inspect.cleandoc(text))
        entries = _entries(sections.get("Parameters", ""))
        told = {name for several in entries for name in several}
        open_names = set(names) - told
        more = {k: v for k, v in self.parameters.items() if open_names.issuperset(k)}
        entries |= more
        if entries:
            place = {name: number for number, name in enumerate(names)}
            listed = sorted(entries, key=lambda key: place.get(key[0], len(place)))
            sections["Parameters"] = "\n".join(entries[key] for key in listed)
        titles = sorted(sections, key=_place)
        return "\n\n".join(_section(title, sections[title]) for title in titles)


def _place(title: str) -> int:
    return _ORDER.index(title) if title in _ORDER else len(_ORDER)


def _section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}" if title else body


def _sections(text: str) -> dict[str, str]:
    """Return the bodies of sections by their titles; the summary has the title ""."""
    parts = _TITLE.split(text)
    found = {"": parts[0].strip()}
    for title, body in zip(parts[1::3], parts[3::3], strict=True):
        found[title] = body.strip("\n")
    return found


def _entries(body: str) -> dict[tuple[str, ...], str]:
    """Return the entries of a Parameters section by the names that they describe."""
    found: dict[tuple[str, ...], str] = {}
    for entry in re.split(r"\n(?=\S)", body) if body else []:
        head = entry.partition("\n")[0].partition(" : ")[0]
        found[tuple(name.strip(" *") for name in head.split(","))] = entry
    return found


def _names(thing: Any) -> list[str]:
    try:
        return list(inspect.signature(thing).parameters)
    except ValueError:  # a class made in C has no signature
        return []
