"""Tables of scores: a line for each candidate, means with their spreads."""

from __future__ import annotations

from discreto.lab.study.experiment import ResultTable, Spread
from discreto.lab.study.results import Results


def spread(results: Results, name: str) -> Spread:
    """The mean of a measurement with its spread."""
    return Spread(results.mean(name), results.spread(name), results.count)


def score_table(
    results: Results,
    *measurements: str,
    groups: tuple[str, ...] = ("candidate", "epsilon"),
    title: str = "Scores",
    note: str = "",
) -> ResultTable:
    """Means and spreads of measurements for each group of lines."""
    rows = []
    for key, some in results.by(*groups).items():
        cells = (spread(some, n) if some.having(n) else None for n in measurements)
        rows.append((*key, *cells))
    heads = ("ε" if name == "epsilon" else name for name in (*groups, *measurements))
    return ResultTable("scores", title, tuple(heads), tuple(rows), note)
