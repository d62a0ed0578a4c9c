"""What everybody may know about a table: columns, bounds, categories, neighbours.

A ``Domain`` is public. It comes from a code book, a law, or a paid-for question: never
from looking at the rows. Every clamp, grid and category list in the package is read
from here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from discreto.core.documents import check_plain
from discreto.core.domain.columns import (
    Boolean,
    Category,
    Column,
    Number,
    Opaque,
    Value,
    of_python,
)
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.json import (
    check_domain_keys,
    column_from,
    column_to_dict,
    dialect_from,
    domain_text,
    read_domain_file,
)
from discreto.core.domain.owner_statement import OwnerStatement
from discreto.errors import DomainError, ParameterError
from discreto.text.wrong_calls import checked_init, did_you_mean

Neighbours = Literal["add-remove", "replace"]
_MOST_PARTS = 1 << 22  # of a domain file
_LETTERS = 10**4  # of a text in it


@checked_init
@dataclass(frozen=True)
class Domain:
    """The public description of a table.

    Parameters
    ----------
    columns
        A mapping from names to ``Number``, ``Category``, ``Boolean()``, ``Date``,
        ``DateTime`` or ``Opaque``.
    target
        The column to predict, if there is one.
    neighbours
        ``"add-remove"`` (default): tables are neighbours if one has a row more.
        ``"replace"``: if one row differs; then ``rows`` is the public row count.
    rows
        The public number of rows, needed for ``"replace"``.
    person
        The column that says whose row it is, if a person may have several.
    rows_per_person
        How many rows of one person count; surplus rows are dropped by a keyed hash.
    about
        Where the description comes from; it has no part in anything else.
    dialect
        How files of this table are written, unless a reader says otherwise.
    checked
        The owner's statement that text files are read as the domain says; made by
        ``discreto.record_check``. It has no part in fingerprints.

    Examples
    --------
    >>> Domain({"age": Number(0, 120), "sex": Category(["f", "m"])})
    Domain(age: 0 to 120, sex: f | m; neighbours: add-remove)
    """

    columns: Mapping[str, Column]
    target: str | None = None
    neighbours: Neighbours = "add-remove"
    rows: int | None = None
    person: str | None = None
    rows_per_person: int = 1
    about: Mapping[str, str] = field(default_factory=dict, compare=False)
    dialect: Dialect | None = field(default=None, compare=False)
    checked: OwnerStatement | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        plain = {of_python(name): column for name, column in self.columns.items()}
        object.__setattr__(self, "columns", MappingProxyType(plain))
        for fact in ("target", "person", "rows", "rows_per_person"):
            object.__setattr__(self, fact, of_python(getattr(self, fact)))
        if not self.columns:
            raise DomainError("a Domain needs at least one column.")
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name:
                raise DomainError(f"column names must be texts. Got {name!r}.")
            if not isinstance(column, Number | Category | Opaque):
                raise DomainError(
                    f"column {name!r} must be Number, Category, Boolean(), Date, "
                    f"DateTime or Opaque. Got {type(column).__name__}."
                )
        if self.neighbours not in ("add-remove", "replace"):
            raise DomainError(
                "neighbours must be 'add-remove' or 'replace'. "
                f"Got {self.neighbours!r}."
            )
        if self.rows is not None and not _whole(self.rows, 0):
            raise DomainError(f"rows are a whole number from 0 up. Got {self.rows!r}.")
        if self.neighbours == "replace" and not self.rows:
            raise DomainError(
                "neighbours='replace' makes the number of rows public: "
                f"add rows=... to the domain. Got rows={self.rows!r}."
            )
        if not _whole(self.rows_per_person, 1):
            raise DomainError(
                "rows_per_person must be a whole number from 1 up. "
                f"Got {self.rows_per_person!r}."
            )
        if self.rows_per_person > 1 and self.person is None:
            raise DomainError(
                "rows_per_person > 1 needs person='COLUMN', the column that says whose "
                "row it is."
            )
        if self.person is not None and self.neighbours == "replace":
            raise DomainError(
                "person='COLUMN' goes with neighbours='add-remove' only: dropping "
                "surplus rows changes the number of rows, so it cannot be public."
            )
        for role, wanted in (("target", self.target), ("person", self.person)):
            if wanted is not None and wanted not in list(self.columns):
                raise DomainError(f"{role} {wanted!r} is not a column of the domain.")

    @classmethod
    def cube(cls, width: int, **options: Any) -> Domain:
        """``width`` number columns x0, x1, ... on [-1, 1], without gaps.

        Parameters
        ----------
        width
            How many columns.
        options
            Other parameters of the domain, such as ``target``.

        Examples
        --------
        >>> Domain.cube(2)
        Domain(x0: -1 to 1, x1: -1 to 1; neighbours: add-remove)
        """
        unit = Number(-1, 1, missing=False)
        return cls({f"x{i}": unit for i in range(width)}, **options)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        try:
            return self.columns[name]
        except TypeError:
            raise DomainError(f"a column is named by a text. Got {name!r}.") from None
        except KeyError:
            raise DomainError(
                f"{name!r} is not in the domain. {did_you_mean(name, self.columns)}"
            ) from None

    @cached_property
    def _open(self) -> frozenset[str]:
        """The names of the columns that can be asked about."""
        columns = self.columns.items()
        return frozenset([n for n, spec in columns if not isinstance(spec, Opaque)])

    def number(self, name: str) -> Number:
        """The column, which must be a Number.

        Parameters
        ----------
        name
            The name of the column.

        Raises
        ------
        DomainError
            There is no such Number column.
        """
        column = self[name]
        if isinstance(column, Category):
            raise DomainError(
                f"{name!r} is not a Number but a Category: ask for a proportion, such "
                f"as {name} == {column.categories[0]!r}, or for a count by {name}."
            )
        if not isinstance(column, Number):
            raise DomainError(f"{name!r} is not a Number column of the domain.")
        return column

    def category(self, name: str) -> Category:
        """The column, which must be a Category.

        Parameters
        ----------
        name
            The name of the column.

        Raises
        ------
        DomainError
            There is no such Category column.
        """
        column = self[name]
        if not isinstance(column, Category):
            raise DomainError(f"{name!r} is not a Category column of the domain.")
        return column

    def features(self) -> list[str]:
        """Every Number and Category column but the target."""
        return [
            name
            for name, column in self.columns.items()
            if name != self.target and not isinstance(column, Opaque)
        ]

    def with_(self, **changes: Any) -> Domain:
        """A copy with some parts changed.

        Parameters
        ----------
        changes
            Parameters of the domain with their new values.

        Examples
        --------
        >>> Domain.cube(1).with_(neighbours="replace", rows=100).rows
        100
        """
        return replace(self, **changes)

    def select(self, names: Iterable[str]) -> Domain:
        """A copy with these columns only (and the person column, if any).

        Parameters
        ----------
        names
            The columns to keep.
        """
        keep = dict.fromkeys([*names, *([self.person] if self.person else [])])
        target = self.target if self.target in keep else None
        return replace(self, columns={n: self[n] for n in keep}, target=target)

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of everything that bears on privacy."""
        facts = self.to_dict()
        for written in ("dialect", "checked"):  # how a file is read, not what it holds
            facts.pop(written, None)
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """A JSON form, read back by ``from_dict``.

        Fingerprints are made of it, so its words stay those of version 0.1. ``save``
        writes those of Python; both are read.
        """
        out: dict[str, Any] = {"discreto_domain": 1}
        if self.target is not None:
            out["target"] = self.target
        out["neighbours"] = self.neighbours
        if self.rows is not None:
            out["rows"] = self.rows
        if self.person is not None:
            out |= {"person": self.person, "rows_per_person": self.rows_per_person}
        if self.dialect is not None:
            out["dialect"] = self.dialect.to_dict()
        if self.checked is not None:
            out["checked"] = self.checked.to_dict()
        out["columns"] = {n: column_to_dict(c) for n, c in self.columns.items()}
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Domain:
        """Read a JSON form: our own, or a data sheet with typed columns.

        Parameters
        ----------
        data
            What ``to_dict`` returned, or a data sheet with typed columns.

        Raises
        ------
        DomainError
            It cannot be read as a domain.
        """
        try:
            plain = dict(data) if isinstance(data, Mapping) else data
            check_plain(plain, _MOST_PARTS, letters=_LETTERS)
        except ParameterError as error:
            raise DomainError(f"a domain file cannot be read: {error}") from None
        if not isinstance(data, Mapping) or not isinstance(
            data.get("columns"), Mapping
        ):
            raise DomainError('a domain file needs "columns": {name: {...}}.')
        if data.get("discreto_domain", 1) != 1:  # a newer one may have other keys
            raise DomainError(
                "this domain file was written by a newer discreto: update discreto."
            )
        check_domain_keys(data)
        neighbours, rows = data.get("neighbours", "add-remove"), data.get("rows")
        for role in ("target", "person"):
            if not isinstance(data.get(role), str | None):
                raise DomainError(f"the {role} of a domain file is a column's name.")
        return cls(
            {name: column_from(name, d) for name, d in data["columns"].items()},
            target=data.get("target"),
            neighbours=neighbours,
            rows=rows,
            person=data.get("person"),
            rows_per_person=data.get("rows_per_person", 1),
            about={k: str(data[k]) for k in ("dataset", "source") if k in data},
            dialect=dialect_from(data.get("dialect")),
            checked=OwnerStatement.from_dict(data.get("checked")),
        )

    def save(self, path: str | Path) -> None:
        """Write the domain as JSON, in the words of Python: Number, Category, missing.

        Parameters
        ----------
        path
            The file to write.
        """
        Path(path).write_text(domain_text(self), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Read a domain from a JSON file.

        Parameters
        ----------
        path
            A file that ``save`` or ``discreto domain draft`` wrote.

        Raises
        ------
        DomainError
            There is no such file, or it is not a domain.
        """
        return cls.from_dict(read_domain_file(path))

    def __deepcopy__(self, memo: dict[int, Any]) -> Domain:
        return self  # nothing in it can change

    def __reduce__(self) -> tuple[Callable[..., Domain], tuple[Any, ...]]:
        return Domain.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        texts = []
        for name, column in self.columns.items():
            if isinstance(column, Number):
                show = getattr(column, "show", "{:g}".format)  # dates have their own
                ends = f"{show(column.lower)} to {show(column.upper)}"
                texts.append(f"{name}: {ends}")
            elif isinstance(column, Category):
                shown = " | ".join(map(str, column.categories[:4]))
                more = len(column.categories) - 4
                texts.append(f"{name}: {shown}" + (f" | +{more}" if more > 0 else ""))
            else:
                texts.append(f"{name}: {column.kind}")
        return f"Domain({', '.join(texts)}; neighbours: {self.neighbours})"

    def _repr_html_(self) -> str:
        from discreto.core.domain.html import domain_html

        return domain_html(self)


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Domain",
    "Neighbours",
    "Number",
    "Opaque",
    "Value",
]
