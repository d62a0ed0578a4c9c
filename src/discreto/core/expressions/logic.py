"""Comparisons and what is made of them. What is missing is neither true nor false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.expressions.dates import dated
from discreto.core.expressions.kinds import (
    TRUTHS,
    Expression,
    Kind,
    Labels,
    Operation,
    Real,
    code_of,
    codes_of,
    gather,
    recoded,
    truth,
)
from discreto.core.query import Batch, Floats, Ints
from discreto.errors import DomainError, ParameterError
from discreto.text.wrong_calls import quoted_column

MOST_VALUES = 1 << 16


@dataclass(frozen=True, slots=True)
class Compare(Operation):
    """Whether two numbers, or two labels, stand in a relation."""

    op: Literal["<", "<=", ">", ">=", "==", "!="]
    left: Expression
    right: Expression

    def sides(self, domain: Domain) -> tuple[Expression, Expression]:
        """Both sides; a text beside a date is a date."""
        return dated(self.left, self.right, domain), dated(
            self.right, self.left, domain
        )

    def kind(self, domain: Domain) -> Labels:
        a, b = (part.kind(domain) for part in self.sides(domain))
        if isinstance(a, Real) != isinstance(b, Real):
            raise DomainError(
                f"{self} compares a number with a category."
                f"{quoted_column(self, domain)}"
            )
        clocks = {k.calendar for k in (a, b) if isinstance(k, Real) and k.calendar}
        if len(clocks) > 1:
            raise DomainError(f"{self} compares dates of different clocks.")
        if isinstance(a, Labels) and self.op not in ("==", "!="):
            raise DomainError(f"{self}: categories have no order; use == or is_in.")
        if isinstance(a, Labels) and isinstance(b, Labels):
            _need_common(self, a, b)
        return Labels(TRUTHS, a.missing or b.missing)

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        left, right = self.sides(domain)
        a, b = left.rows(batch, domain), right.rows(batch, domain)
        kinds = left.kind(domain), right.kind(domain)
        if isinstance(kinds[0], Real) or isinstance(kinds[1], Real):
            absent = np.isnan(a) | np.isnan(b)
        else:
            absent = (a < 0) | (b < 0)
            _, table = gather([*kinds[0].values, *kinds[1].values])
            count = len(kinds[0].values)
            a, b = recoded(a, table[:count]), recoded(b, table[count:])
        return np.where(absent, -1, _RELATIONS[self.op](a, b)).astype(np.int64)

    def __str__(self) -> str:
        return f"({self.left} {self.op} {self.right})"


_RELATIONS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def _need_common(part: object, a: Labels, b: Labels) -> None:
    if max(codes_of(b.values, a), default=-1) < 0:
        raise DomainError(
            f"{part} can never be true: the domain declares "
            f"{', '.join(map(repr, a.values[:6]))}."
        )


@dataclass(frozen=True, slots=True)
class Logic(Operation):
    """Truths joined; false and unknown is false, true or unknown is true."""

    op: Literal["and", "or"]
    parts: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.parts) <= MOST_VALUES:
            raise ParameterError(f"{self.op!r} joins two truths or more.")

    def kind(self, domain: Domain) -> Labels:
        kinds = [truth(part, domain, self.op) for part in self.parts]
        return Labels(TRUTHS, any(kind.missing for kind in kinds))

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        settled = 0 if self.op == "and" else 1
        out = np.array(1 - settled, dtype=np.int64)
        for part in self.parts:
            codes = part.rows(batch, domain)
            unknown = np.where((out < 0) | (codes < 0), -1, 1 - settled)
            out = np.where((out == settled) | (codes == settled), settled, unknown)
        return out

    def __str__(self) -> str:
        return f"({f' {self.op} '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Not(Operation):
    """The opposite of a truth."""

    inside: Expression

    def kind(self, domain: Domain) -> Labels:
        return truth(self.inside, domain, "not")

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        codes = self.inside.rows(batch, domain)
        return np.where(codes < 0, -1, 1 - codes)

    def __str__(self) -> str:
        return f"(not {self.inside})"


@dataclass(frozen=True, slots=True)
class IsIn(Operation):
    """Whether a value is one of several."""

    inside: Expression
    values: tuple[float | str | bool, ...]

    def __post_init__(self) -> None:
        if not self.values or len(self.values) > MOST_VALUES:
            raise ParameterError("is_in needs a list of values.")

    def kind(self, domain: Domain) -> Labels:
        kind = self.inside.kind(domain)
        for value in self.values:
            if isinstance(kind, Real):
                known = not isinstance(value, str | bool)
            else:
                known = code_of(value, kind) >= 0
            if not known:
                raise DomainError(f"{self}: {value!r} is not declared in the domain.")
        return Labels(TRUTHS, kind.missing)

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        found, kind = self.inside.rows(batch, domain), self.inside.kind(domain)
        if isinstance(kind, Real):
            wanted = np.array(self.values, dtype=np.float64)
            return np.where(np.isnan(found), -1, np.isin(found, wanted)).astype(
                np.int64
            )
        inside = set(codes_of(self.values, kind))
        return recoded(found, [int(code in inside) for code in range(len(kind.values))])

    def __str__(self) -> str:
        return f"is_in({self.inside}, {list(self.values)!r})"


@dataclass(frozen=True, slots=True)
class IsMissing(Operation):
    """Whether there is no value. This itself is never missing."""

    inside: Expression

    def kind(self, domain: Domain) -> Labels:
        self.inside.kind(domain)
        return Labels(TRUTHS)

    def rows(self, batch: Batch, domain: Domain) -> Ints:
        found = self.inside.rows(batch, domain)
        if isinstance(self.inside.kind(domain), Real):
            return np.isnan(found).astype(np.int64)
        return (found < 0).astype(np.int64)

    def __str__(self) -> str:
        return f"is_missing({self.inside})"


@dataclass(frozen=True, slots=True)
class IfElse(Operation):
    """One value where a condition is true, another where it is false."""

    condition: Expression
    yes: Expression
    no: Expression

    def kind(self, domain: Domain) -> Kind:
        asked = truth(self.condition, domain, "if_else")
        a, b = self.yes.kind(domain), self.no.kind(domain)
        missing = asked.missing or a.missing or b.missing
        if isinstance(a, Real) and isinstance(b, Real):
            low, high = min(a.lower, b.lower), max(a.upper, b.upper)
            return Real(low, high, a.integer and b.integer, missing)
        if isinstance(a, Real) or isinstance(b, Real):
            raise DomainError(f"{self} mixes a number with a category.")
        return Labels(gather([*a.values, *b.values])[0], missing)

    def rows(self, batch: Batch, domain: Domain) -> Floats | Ints:
        asked = self.condition.rows(batch, domain)
        yes, no = self.yes.rows(batch, domain), self.no.rows(batch, domain)
        a, b = self.yes.kind(domain), self.no.kind(domain)
        if isinstance(a, Real) or isinstance(b, Real):
            return np.where(asked < 0, np.nan, np.where(asked == 1, yes, no))
        table = gather([*a.values, *b.values])[1]
        yes = recoded(yes, table[: len(a.values)])
        no = recoded(no, table[len(a.values) :])
        return np.where(asked < 0, -1, np.where(asked == 1, yes, no))

    def __str__(self) -> str:
        return f"if_else({self.condition}, {self.yes}, {self.no})"


@dataclass(frozen=True, slots=True)
class Fill(Operation):
    """A constant where a value is missing."""

    inside: Expression
    value: float | str | bool

    def kind(self, domain: Domain) -> Kind:
        kind = self.inside.kind(domain)
        if isinstance(kind, Labels):
            return Labels(gather([*kind.values, self.value])[0])
        if isinstance(self.value, str | bool) or not abs(self.value) <= 1e150:
            raise DomainError(f"{self} fills a number with something else.")
        whole = kind.integer and float(self.value).is_integer()
        low, high = min(kind.lower, self.value), max(kind.upper, self.value)
        return Real(float(low), float(high), whole)

    def rows(self, batch: Batch, domain: Domain) -> Floats | Ints:
        found, kind = self.inside.rows(batch, domain), self.inside.kind(domain)
        if isinstance(kind, Real):
            return np.where(np.isnan(found), float(self.value), found)
        table = gather([*kind.values, self.value])[1]
        return np.where(found < 0, table[-1], found)

    def __str__(self) -> str:
        return f"fill({self.inside}, {self.value!r})"
