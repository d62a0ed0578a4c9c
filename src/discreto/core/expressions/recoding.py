"""Categories from numbers and from other categories, by public lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from discreto.core.domain.domain import Domain, Value
from discreto.core.expressions.kinds import (
    Expression,
    Labels,
    Operation,
    Real,
    codes_of,
    gather,
    labels,
    real,
    recoded,
    tidy_ends,
)
from discreto.core.expressions.logic import MOST_VALUES
from discreto.core.query import Batch, Floats, Ints
from discreto.errors import DomainError, ParameterError


@dataclass(frozen=True, slots=True)
class Cut(Operation):
    """Groups of a number: below the first edge, ..., from the last edge up."""

    inside: Expression
    edges: tuple[float, ...]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        edges = self.edges
        rising = all(a < b for a, b in pairwise(edges))
        if not edges or len(edges) > MOST_VALUES or not rising:
            raise ParameterError("cut needs rising edges.")
        count = len(self.labels)
        if count != len(edges) + 1 or count != len(set(self.labels)):
            raise ParameterError(f"cut needs {len(edges) + 1} different labels.")

    def kind(self, domain: Domain) -> Labels:
        return Labels(self.labels, real(self.inside, domain, "cut").missing)

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        numbers = self.inside.rows(batch, domain)
        codes = np.searchsorted(np.array(self.edges, dtype=float), numbers, "right")
        return np.where(np.isnan(numbers), -1, codes)

    def __str__(self) -> str:
        return f"cut({self.inside}, {list(self.edges)!r}, {list(self.labels)!r})"


@dataclass(frozen=True, slots=True)
class Recode(Operation):
    """Other names for some labels; those that are not named stay."""

    inside: Expression
    old: tuple[float | str | bool, ...]
    new: tuple[float | str | bool, ...]

    def __post_init__(self) -> None:
        _check_pairs(self.old, self.new)

    def kind(self, domain: Domain) -> Labels:
        kind = labels(self.inside, domain, "recode")
        _need_declared(self, self.old, kind)
        return Labels(gather(self._values(kind))[0], kind.missing)

    def _values(self, kind: Labels) -> list[Value]:
        changed = dict(zip(codes_of(self.old, kind), self.new, strict=True))
        return [changed.get(code, value) for code, value in enumerate(kind.values)]

    def codes(self, domain: Domain) -> list[int]:
        """The new code of each old one."""
        return gather(self._values(labels(self.inside, domain, "recode")))[1]

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        return recoded(self.inside.rows(batch, domain), self.codes(domain))

    def __str__(self) -> str:
        pairs = dict(zip(self.old, self.new, strict=True))
        return f"recode({self.inside}, {pairs!r})"


@dataclass(frozen=True, slots=True)
class Text(Operation):
    """Labels in small or large letters, or without spaces around them.

    Labels that become the same are one from then on.
    """

    function: Literal["lower", "strip", "upper"]
    inside: Expression

    def kind(self, domain: Domain) -> Labels:
        kind = labels(self.inside, domain, self.function)
        return Labels(gather(self._values(kind))[0], kind.missing)

    def _values(self, kind: Labels) -> list[Value]:
        change: dict[str, Callable[[str], str]]
        change = {"lower": str.lower, "strip": str.strip, "upper": str.upper}
        made = change[self.function]
        return [made(v) if isinstance(v, str) else v for v in kind.values]

    def codes(self, domain: Domain) -> list[int]:
        """The new code of each old one."""
        return gather(self._values(labels(self.inside, domain, self.function)))[1]

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        return recoded(self.inside.rows(batch, domain), self.codes(domain))

    def __str__(self) -> str:
        return f"{self.function}({self.inside})"


@dataclass(frozen=True, slots=True)
class ToNumber(Operation):
    """A number for each label; labels without one are missing."""

    inside: Expression
    old: tuple[float | str | bool, ...]
    new: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_pairs(self.old, self.new)
        if not all(abs(number) <= 1e150 for number in self.new):
            raise ParameterError("to_number takes numbers of at most 1e150.")

    def kind(self, domain: Domain) -> Real:
        kind = labels(self.inside, domain, "to_number")
        _need_declared(self, self.old, kind)
        whole = all(float(number).is_integer() for number in self.new)
        missing = kind.missing or len(self.old) < len(kind.values)
        return Real(*tidy_ends(*self.new), whole, missing)

    def rows(self, batch: Batch, domain: Domain) -> Floats:
        kind = labels(self.inside, domain, "to_number")
        table = np.full(len(kind.values) + 1, np.nan)
        for code, new in zip(codes_of(self.old, kind), self.new, strict=True):
            table[code] = new
        return table[self.inside.rows(batch, domain)]

    def __str__(self) -> str:
        return (
            f"to_number({self.inside}, {dict(zip(self.old, self.new, strict=True))!r})"
        )


def _check_pairs(old: tuple[Value, ...], new: tuple[Value, ...]) -> None:
    good = 1 <= len(old) == len(new) <= MOST_VALUES
    different = len({(isinstance(value, str), value) for value in old}) == len(old)
    if not good or not different:
        raise ParameterError("a mapping names each old value once, with its new one.")


def _need_declared(part: object, values: tuple[Value, ...], kind: Labels) -> None:
    for value, code in zip(values, codes_of(values, kind), strict=True):
        if code < 0:
            raise DomainError(f"{part}: {value!r} is not declared in the domain.")
