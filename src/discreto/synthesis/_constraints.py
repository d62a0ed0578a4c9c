"""Constraints on drawn rows: public conditions, and columns made of others.

Conditions are met by drawing again, so rows come from the model given the conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.expressions import Expression, Labels, truth
from discreto.errors import DomainError, ParameterError
from discreto.table.expression_text import parse

Rows = dict[str, Any]  # codes (-1: missing) or numbers (NaN: missing) by column


@dataclass(frozen=True, slots=True)
class Rules:
    """Conditions and derived columns, read and checked against a domain."""

    domain: Domain
    conditions: tuple[Expression, ...]
    derived: dict[str, Expression]

    @classmethod
    def read(cls, owner: Any, domain: Domain) -> Rules:
        """Return the rules of a synthesizer, or a refusal."""
        texts = () if owner.constraints is None else owner.constraints
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list | tuple):
            raise ParameterError('constraints is a list of texts: ["age >= 18"].')
        derived = {} if owner.derived is None else owner.derived
        if not isinstance(derived, Mapping):
            raise ParameterError('derived is a dict: {"total": "wages + rent"}.')
        conditions = tuple(parse(text) for text in texts)
        for condition in conditions:
            truth(condition, domain, "a constraint")
        made = {name: parse(text) for name, text in derived.items()}
        for name, expression in made.items():
            cls._check_derived(name, expression, made, domain)
        return cls(domain, conditions, made)

    @staticmethod
    def _check_derived(
        name: str, expression: Expression, made: Mapping[str, Any], domain: Domain
    ) -> None:
        kind = expression.kind(domain)
        if isinstance(kind, Labels) != isinstance(domain[name], Category):
            raise DomainError(f"derived: {name!r} is of another kind in the domain.")
        if set(expression.columns()) & set(made):
            raise ParameterError(f"derived: {name!r} needs columns that are drawn.")

    def kept(
        self, draw: Callable[[int], Rows], wanted: int, tries: int
    ) -> dict[str, Any]:
        """So many rows that meet all conditions, drawn again until there are enough."""
        parts: list[Rows] = []
        found = drawn = 0
        while found < wanted:
            if drawn > tries * wanted + 10_000:
                raise ParameterError(
                    "the constraints leave almost no row: fewer than 1 in "
                    f"{tries} of those that the model draws."
                )
            many = min(max(wanted - found, 256) * 2, 1 << 20) if parts else wanted
            rows = self.with_derived(draw(many), many)
            good = self._meets(rows, many)
            parts.append({name: values[good] for name, values in rows.items()})
            found, drawn = found + int(good.sum()), drawn + many
        names = parts[0]
        return {n: np.concatenate([p[n] for p in parts])[:wanted] for n in names}

    def _meets(self, rows: Rows, many: int) -> Any:
        good = np.ones(many, dtype=bool)
        with np.errstate(all="ignore"):
            for condition in self.conditions:
                good &= np.broadcast_to(condition.rows(rows, self.domain) == 1, many)
        return good

    def with_derived(self, rows: Rows, many: int) -> Rows:
        """Rows with the columns that follow from others."""
        out = dict(rows)
        for name, expression in self.derived.items():
            with np.errstate(all="ignore"):
                found = expression.rows(rows, self.domain)
            found = np.array(np.broadcast_to(found, many))
            out[name] = self._in_domain(name, expression, found)
        return out

    def _in_domain(self, name: str, expression: Expression, found: Any) -> Any:
        column, kind = self.domain[name], expression.kind(self.domain)
        if isinstance(column, Category) and isinstance(kind, Labels):
            codes = {value: k for k, value in enumerate(column.categories)}
            table = np.array([*(codes.get(v, -1) for v in kind.values), -1])
            return table[found]
        if not isinstance(column, Number):
            raise DomainError(f"{name!r} cannot be derived.")
        values = np.clip(found.astype(float), column.lower, column.upper)
        return np.round(values) if column.integer else values
