"""Comparing models on simulated rows: free, since no row of the table is read.

``{"compare": {"target": "readmitted", "rows": 2000}, "epsilon": "1"}`` compares all
models that suit a table's domain. The rows are the analyst's own (``"columns"``), or
are drawn here from the domain alone: random features, and a target that follows
some of them. So it shows what a model can learn from so many rows at such a cost, and
nothing about the people in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.compare import compare
from discreto.core.cost import Amount, Cost, read_amount, show
from discreto.core.domain.domain import Category, Domain, Number
from discreto.errors import ParameterError
from discreto.session.parameters import whole
from discreto.session.plan import Plan
from discreto.session.rng import generator

MOST_ROWS, MOST_COSTS = 5000, 4
_NAMES = ("target", "rows", "seed", "epsilons", "columns")
Report = Callable[[], None]


def read_comparison(data: Any, epsilon: Amount, delta: Amount) -> dict[str, Any]:
    """Return a comparison from JSON data of any origin, in one fixed form."""
    if not isinstance(data, dict) or not set(data) <= set(_NAMES):
        raise ParameterError(f"a comparison has {', '.join(_NAMES)}, or some of them.")
    target = data.get("target")
    if not isinstance(target, str | None):
        raise ParameterError("target is the name of the column to predict.")
    costs = data.get("epsilons") or [epsilon]
    if not isinstance(costs, list) or len(costs) > MOST_COSTS:
        raise ParameterError(f"a comparison has at most {MOST_COSTS} epsilons.")
    out = {
        "target": target,
        "epsilons": [_plain(read_amount(one, "epsilon")) for one in costs],
        "delta": str(delta),
        "rows": _whole(data, "rows", 1000, 100, MOST_ROWS),
        "seed": _whole(data, "seed", 0, 0, 10**6),
    }
    columns = data.get("columns")
    return out if columns is None else out | {"columns": _own_rows(columns)}


def _plain(amount: Fraction) -> str:
    """Return a decimal where that is exact."""
    short = show(amount)
    return short if Fraction(short) == amount else str(amount)


def _whole(data: Mapping[str, Any], name: str, plain: int, low: int, high: int) -> int:
    value = data.get(name)
    return plain if value is None else whole(value, name, least=low, most=high)


def _own_rows(columns: Any) -> dict[str, list[Any]]:
    good = isinstance(columns, dict) and all(
        isinstance(values, list) and 0 < len(values) <= MOST_ROWS
        for values in columns.values()
    )
    if not good or len({len(values) for values in columns.values()}) != 1:
        raise ParameterError(
            f"columns are lists of one length, of at most {MOST_ROWS} rows."
        )
    for values in columns.values():
        if not all(isinstance(v, str | int | float | None) for v in values):
            raise ParameterError("a column holds numbers or texts.")
    return {str(name): list(values) for name, values in columns.items()}


def compare_simulated(
    asked: Mapping[str, Any], domain: Domain, report: Report | None
) -> dict[str, Any]:
    """Return the scores of all models that suit a domain, as JSON data."""
    rows = asked.get("columns") or simulated_rows(
        domain, asked["target"], asked["rows"], asked["seed"]
    )

    def progress(done: int, of: int) -> None:
        if report is not None:
            report()

    found = compare(
        rows,
        domain,
        asked["target"],
        epsilons=asked["epsilons"],
        delta=asked["delta"],
        folds=3,
        repeats=1,
        seed=asked["seed"],
        progress=progress,
    )
    whose = "yours" if "columns" in asked else "made up from the domain"
    return {"comparison": found.to_dict() | {"whose_rows": whose}}


def simulated_rows(
    domain: Domain, target: str | None, rows: int, seed: int
) -> dict[str, NDArray[Any]]:
    """Return rows made of a domain alone, whose target follows its columns.

    Parameters
    ----------
    domain
        What everybody may know of a table.
    target
        The column that follows the others; nothing: the domain's.
    rows, seed
        How many, and which: equal seeds give equal rows.
    """
    target = target or domain.target
    draw = generator(seed)  # synthetic rows
    places = {
        name: draw.beta(2, 2, rows) if isinstance(column, Number) else draw.random(rows)
        for name, column in ((one, domain[one]) for one in domain)
        if isinstance(column, Number | Category)
    }
    if target in places:
        score = np.zeros(rows)
        for name, place in places.items():
            if name != target:
                score += draw.normal() * (place - 0.5)
        score += 0.3 * (score.std() or 1.0) * draw.normal(size=rows)
        ranks = score.argsort(kind="stable").argsort(kind="stable")
        places[target] = (ranks + 0.5) / rows
    return {name: _values(domain[name], place) for name, place in places.items()}


def _values(column: Any, place: NDArray[np.float64]) -> NDArray[Any]:
    """Return the values at places from 0 to 1 of a column's range or list."""
    if isinstance(column, Category):
        codes = (place * len(column.categories)).astype(np.int64)
        return np.array(column.categories, dtype=object)[codes]
    out = column.lower + place * (column.upper - column.lower)
    return np.round(out) if column.integer else out


def no_plan(domain: Domain, rows: int | None) -> Plan:
    """Return a comparison costs nothing, so there is nothing to plan."""
    raise ParameterError("a comparison on simulated rows is free: it has no plan.")


def comparison_label(asked: Mapping[str, Any]) -> str:
    """Return the label of a comparison, for the chain and for pages."""
    costs = ", ".join(asked["epsilons"])
    return f"compare models on simulated rows at ε {costs}"


FREE = Cost()
