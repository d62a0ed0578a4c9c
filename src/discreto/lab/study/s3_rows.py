"""S3, chapter 4: how the headline depends on the number of rows, which is not printed.

The register could not be had, and our stand-in for it has 2,800 rows. That learning at
a true ε of 1 is as good as without noise is a statement about that many rows; 22
quarters of a few dozen credits may well be fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreto.lab.study.debt_data import SIZES, debt
from discreto.lab.study.experiment import Experiment, Picture, ResultTable, StudyFinding
from discreto.lab.study.federated_views import AVERAGING, DEGREES, PROXIMAL
from discreto.lab.study.figures import curves, panels
from discreto.lab.study.results import Results
from discreto.lab.study.s3_federated import last_error
from discreto.lab.study.scores import score_table
from discreto.text.language import mark

SHARES = (1.0, 0.5, 0.2, 0.1)  # of the 2,800 rows
APPROACHES = (AVERAGING, DEGREES, PROXIMAL)


def sizes_of(share: float) -> tuple[int, ...]:
    """The rows of seven creditors.

    >>> sum(sizes_of(0.1))
    280
    """
    return tuple(round(size * share) for size in SIZES)


def _cells(quick: bool) -> list[dict[str, Any]]:
    shares, seeds = (SHARES[::3], 1) if quick else (SHARES, 5)
    return [
        {"approach": name, "rows": sum(sizes_of(share)), "seed": seed}
        for name in APPROACHES
        for share in shares
        for seed in range(seeds)
    ]


def _measure(*, approach: str, rows: int, seed: int) -> dict[str, Any]:
    table = debt(seed, sizes_of(rows / sum(SIZES)))
    facts = ("s3-rows", approach, rows, seed)
    return {
        "final error": min(last_error(approach, 1.0, table, facts), 1e6),
        "least squares": table.error(table.best),
    }


def _tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "final error",
        "least squares",
        groups=("approach", "rows"),
        title="Error after the last round at ε = 1, by the number of rows",
        note="Seven creditors; every one's rows cost (1, 1e-5) over all rounds.",
    )


def _pictures(results: Results) -> Iterator[Picture]:
    figure, axes = panels(1, 1, size=(5.0, 3.4))
    curves(axes[0, 0], results, "rows", "final error", "approach")
    axes[0, 0].axhline(results.mean("least squares"), color="grey", linewidth=0.8)
    axes[0, 0].set_xlabel("rows of all seven creditors")
    note = "The grey line is least squares on the pooled rows."
    yield Picture("rows", "Error at ε = 1 against the number of rows", figure, note)


def _findings(results: Results) -> Iterator[StudyFinding]:
    most, least = max(results.unique("rows")), min(results.unique("rows"))
    best = results.mean("least squares")
    large, small = (
        [results.where(rows=n, approach=a).mean("final error") for a in APPROACHES]
        for n in (most, least)
    )
    yield StudyFinding(
        f"(the stand-in's {most:,} rows) at ε = 1 the error is that without noise",
        ", ".join(f"{a} {e:.3f}" for a, e in zip(APPROACHES, large, strict=True))
        + f"; least squares {best:.3f}",
        agrees=bool(max(large) < best + results.margin(0.02, 60)),
    )
    yield StudyFinding(
        f"(a tenth of them, {least}) it still is",
        ", ".join(f"{a} {e:.3f}" for a, e in zip(APPROACHES, small, strict=True)),
        agrees=bool(max(small) < best + 0.02),
        expected=False,
        why="noise is for one row, so its part of an average grows as rows get fewer",
    )


EXPERIMENTS = (
    Experiment(
        name="s3-rows",
        title=mark("Federated learning by the number of rows"),
        source="S3, chapter 4; the number of rows is not printed",
        shows=mark("Noise does not hinder learning from the register of debts."),
        cells=_cells,
        measure=_measure,
        weight=lambda cell: 0.4,
        tables=_tables,
        pictures=_pictures,
        findings=_findings,
    ),
)
