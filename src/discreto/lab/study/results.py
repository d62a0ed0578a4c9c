"""Measured lines, and their means and spreads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Results:
    """Lines of an experiment: the parameters of a cell and what it measured.

    >>> lines = Results([{"epsilon": 1, "error": 3.0}, {"epsilon": 1, "error": 5.0}])
    >>> lines.mean("error"), lines.where(epsilon=1).count, lines.unique("epsilon")
    (4.0, 2, [1])
    """

    rows: Sequence[Mapping[str, Any]]
    quick: bool = False

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def where(self, **wanted: Any) -> Results:
        """The lines with these values."""
        rows = [r for r in self.rows if all(r.get(k) == v for k, v in wanted.items())]
        return Results(rows, self.quick)

    def having(self, name: str) -> Results:
        """The lines in which this measurement is there."""
        return Results([r for r in self.rows if r.get(name) is not None], self.quick)

    def unique(self, name: str) -> list[Any]:
        """The values of a column, in order of appearance."""
        return list(dict.fromkeys(r[name] for r in self.rows if name in r))

    def values(self, name: str) -> Any:
        """A column as an array: 2-d if its values are lists."""
        return np.array([r[name] for r in self.having(name).rows], dtype=float)

    def by(self, *names: str) -> dict[tuple[Any, ...], Results]:
        """The lines in groups with the same values of these columns."""
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row.get(n) for n in names), []).append(row)
        return {key: Results(rows, self.quick) for key, rows in groups.items()}

    def mean(self, name: str) -> Any:
        """The mean of a column; element by element where values are lists."""
        return _plain(self.values(name).mean(axis=0))

    def spread(self, name: str) -> Any:
        """The standard deviation of a column; 0 for a single line."""
        values = self.values(name)
        with np.errstate(invalid="ignore"):  # infinities have none
            return _plain(values.std(axis=0, ddof=1 if len(values) > 1 else 0))

    def margin(self, full: float, runs: int) -> float:
        """A threshold for ``runs`` lines, wider where there are fewer.

        Means of fewer runs vary more, by the root of how many there are.

        >>> Results([{"error": 3.0}] * 5).margin(0.1, runs=20)
        0.2
        """
        return full * max(1.0, runs / max(self.count, 1)) ** 0.5

    def curve(self, x: str, y: str) -> tuple[Any, Any, Any]:
        """Means and spreads of ``y`` for every ``x``, by rising ``x``."""
        groups = sorted(self.having(y).by(x).items())
        xs = np.array([key[0] for key, _ in groups], dtype=float)
        means = np.array([group.mean(y) for _, group in groups])
        return xs, means, np.array([group.spread(y) for _, group in groups])


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def summary(
    results: Results, groups: Sequence[str], repeats: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One line for every group and measurement: mean, spread, extremes and count.

    Measurements are the columns with numbers that are neither groups nor repeats. Lists
    get no line: their means are drawn, not tabled.
    """
    out, parameters = [], (*groups, *repeats)
    for key, lines in results.by(*groups).items():
        names = dict.fromkeys(n for r in lines for n in r if n not in parameters)
        for name in names:
            found = [r[name] for r in lines if _is_number(r.get(name))]
            if not found:
                continue
            some = Results([{name: value} for value in found])
            out.append(
                dict(zip(groups, key, strict=True))
                | {
                    "measurement": name,
                    "mean": some.mean(name),
                    "spread": some.spread(name),
                    "low": float(min(found)),
                    "high": float(max(found)),
                    "count": len(found),
                }
            )
    return out


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
