"""Pairs of neighbouring tables, chosen to hurt.

The pair matters more than the number of runs: most bugs hide from typical rows. Tables
are dicts of columns; rows sit at the corners of the domain, outside of it, in its
middle, and where values are missing or unknown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.errors import ParameterError

Row = dict[str, Any]
Data = dict[str, Any]  # columns as object arrays
UNKNOWN = "(no such category)"


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables and the domain they share.

    Parameters
    ----------
    name
        How the two tables differ.
    first, second
        The tables, dicts of columns.
    domain
        The domain they share.
    same
        The same rows in another order: nothing may move at all.
    """

    name: str
    first: Data
    second: Data
    domain: Domain
    same: bool = False  # the same rows in another order: nothing may move at all

    def swapped(self) -> Pair:
        """Return the pair the other way round."""
        return Pair(
            f"{self.name}, reversed", self.second, self.first, self.domain, self.same
        )


def hostile_values(column: Column) -> list[Any]:
    """Ends and middle of a column, values outside of it, missing ones."""
    if isinstance(column, Number):
        outside = [column.upper + 1e6 * column.half, math.nan, -math.inf]
        return [column.lower, column.upper, column.centre, *outside]
    if isinstance(column, Category):
        known = column.categories
        return [known[0], known[-1], *known[1:-1][:2], UNKNOWN, None]
    return ["p"]


def hostile_rows(domain: Domain) -> dict[str, Row]:
    """Named rows that pull as hard as a row can.

    Parameters
    ----------
    domain
        The public description of the columns.

    Returns
    -------
    dict
        Rows by a name that says what they do.
    """
    values = {name: hostile_values(column) for name, column in domain.columns.items()}
    kinds = {
        "low corner": 0,
        "high corner": 1,
        "middle": 2,
        "far outside": 3,
        "missing": -1,
    }
    rows = {
        kind: {name: some[place % len(some)] for name, some in values.items()}
        for kind, place in kinds.items()
    }
    for kind, row in rows.items():
        for name, column in domain.columns.items():
            if isinstance(column, Category) and kind in ("middle", "far outside"):
                row[name] = values[name][0] if kind == "middle" else UNKNOWN
            elif isinstance(column, Number) and kind == "missing":
                row[name] = math.nan
    # Opposite ends of neighbouring columns, and the corner with another class.
    rows["mixed corner"] = {
        name: some[i % 2 % len(some)] for i, (name, some) in enumerate(values.items())
    }
    if domain.target is not None and isinstance(domain[domain.target], Category):
        first = values[domain.target][0]
        rows["high corner, first class"] = rows["high corner"] | {domain.target: first}
    return rows


def table_of(rows: Iterable[Row], domain: Domain) -> Data:
    """Rows as columns, each an object array, with ids if a person has a column."""
    rows = list(rows)
    out: Data = {}
    for name in domain.columns:
        column = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            own = name == domain.person
            column[i] = row.get("(person)", f"someone {i}") if own else row[name]
        out[name] = column
    return out


def typical_rows(domain: Domain, count: int, seed: int = 0) -> list[Row]:
    """Rows spread over the domain by a fixed low-discrepancy rule."""
    rows = []
    for i in range(1, count + 1):
        row: Row = {}
        for j, (name, column) in enumerate(domain.columns.items()):
            part = (i * math.sqrt((2, 3, 5, 7, 11, 13)[j % 6]) + 0.37 * seed + j) % 1.0
            if isinstance(column, Number):
                row[name] = column.lower + part * 2 * column.half
            elif isinstance(column, Category):
                row[name] = column.categories[int(part * len(column.categories))]
            else:
                row[name] = "p"
        rows.append(row)
    return rows


def bases(domain: Domain, size: int = 6, seed: int = 0) -> dict[str, list[Row]]:
    """Tables to start from: none, one row, ties, duplicates, missing, corners."""
    rows = hostile_rows(domain)
    typical = typical_rows(domain, size, seed)
    out = {
        "one row": [rows["middle"]],
        "typical rows": typical,
        "ties": [rows["middle"]] * size,
        "duplicates": typical[: size // 2] * 2,
        "all missing": [rows["missing"]] * 3,
        "corners": [rows["low corner"], rows["high corner"]] * (size // 2),
    }
    return out if domain.neighbours == "replace" else {"no rows": [], **out}


def pairs(domain: Domain, *, size: int = 6, seed: int = 0) -> list[Pair]:
    """Hostile neighbours of this domain, under its own neighbour relation.

    With ``neighbours="replace"`` the public row count of each pair is that of its
    tables, whatever the domain says.

    Parameters
    ----------
    domain
        The public description of the columns.
    size
        How many typical rows a table has.
    seed
        Seeds the typical rows.

    Examples
    --------
    >>> from discreto import Domain, Number
    >>> found = pairs(Domain({"age": Number(0, 120)}))
    >>> found[0].name, len(found[0].first["age"]), len(found[0].second["age"])
    ('no rows, then low corner', 0, 1)
    """
    out = []
    extras = hostile_rows(domain)
    for base, rows in bases(domain, size, seed).items():
        table, sized = table_of(rows, domain), _sized(domain, len(rows))
        for kind, extra in extras.items():
            for name, near in _near(domain, rows, kind, extra):
                other = table_of(near, domain)
                out.append(Pair(f"{base}, {name}", table, other, sized))
    typical = typical_rows(domain, size, seed)
    here, there = (table_of(r, domain) for r in (typical, typical[::-1]))
    if domain.person is not None:  # ids travel with their rows
        there[domain.person] = here[domain.person][::-1]
    out.append(Pair("another order", here, there, _sized(domain, size), same=True))
    return out


def _near(
    domain: Domain, rows: list[Row], kind: str, extra: Row
) -> Iterator[tuple[str, list[Row]]]:
    if domain.neighbours == "replace":
        yield f"first becomes {kind}", [extra, *rows[1:]]
        return
    if domain.person is None:
        yield f"then {kind}", [*rows, extra]
        if len(rows) > 3:
            # Codes by first appearance, parts by position and quotes that stay open
            # show in front only.
            yield f"{kind} first", [extra, *rows]
        return
    # As many rows as a person may have, and more, which must be dropped.
    for count in (domain.rows_per_person, domain.rows_per_person + 2):
        person = [extra | {"(person)": "newcomer"}] * count
        yield f"then {count} of {kind}", [*rows, *person]


def _sized(domain: Domain, size: int) -> Domain:
    return domain.with_(rows=size) if domain.neighbours == "replace" else domain


def exhaustive(
    domain: Domain, *, values: int = 2, rows: int = 2, most: int = 2000
) -> list[Pair]:
    """Every pair of neighbouring tables of few rows over few values of each column.

    Parameters
    ----------
    domain
        The public description of the columns.
    values
        How many hostile values of each column.
    rows
        How many rows at most.
    most
        Refuse to make more pairs than this.
    """
    choices = [hostile_values(column)[:values] for column in domain.columns.values()]
    universe = [
        dict(zip(domain.columns, row, strict=True))
        for row in itertools.product(*choices)
    ]
    out = []
    smallest = 1 if domain.neighbours == "replace" else 0
    for size in range(smallest, rows + smallest):
        for places in itertools.combinations_with_replacement(
            range(len(universe)), size
        ):
            rows_here = [universe[i] for i in places]
            table, sized = table_of(rows_here, domain), _sized(domain, size)
            title = " ".join(map(str, places)) or "(none)"
            for i, extra in enumerate(universe):
                for name, near in _near(domain, rows_here, f"row {i}", extra):
                    other = table_of(near, domain)
                    out.append(Pair(f"rows {title}, {name}", table, other, sized))
            if len(out) > most:
                raise ParameterError(
                    f"there are more than {most} pairs. Ask for fewer values or rows."
                )
    return out
