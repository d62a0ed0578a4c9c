"""``discreto compare``: which model at which epsilon is worth it, on your table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table as Grid

from discreto.cli import options, terminal
from discreto.text.language import mark, number, speaking, tr

if TYPE_CHECKING:
    from discreto.compare.comparison import CandidateScore, Comparison
    from discreto.compare.cross_validation import Progress as Report

EXAMPLE = """Example:

`discreto compare patients.parquet --domain d.json --target outcome
--epsilon 0.5,1,2,4,8 --out comparison.html`
"""
PRIVATE = mark(
    "SIMULATED: the rows were used freely. These scores are as private "
    "as the rows; do not publish them."
)
ONE_LEDGER = mark(
    "If there is a ledger of these people already, name it and leave out --budget: all "
    "questions about them are paid from one."
)
_BUDGET = 3  # of a new ledger, or what the fit costs


EpsilonWords = Annotated[
    str,
    typer.Option(
        "--epsilon", help="Epsilons that a fit may cost, separated by commas."
    ),
]
RepeatsWord = Annotated[
    int,
    typer.Option(
        "--repeats",
        min=1,
        help="Number of times that the rows are split into folds.",
    ),
]
MetricWord = Annotated[
    str | None,
    typer.Option("--metric", help="accuracy, auc, f1 or log_loss; rmse."),
]


@options.grouped
def compare(
    source: options.SourceOptions,
    *,
    target: options.TargetWord = None,
    epsilon: EpsilonWords = "0.5,1,2,4,8",
    delta: options.DeltaWord = "0",
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Folds in each repeat.")
    ] = 5,
    repeats: RepeatsWord = 2,
    metric: MetricWord = None,
    out: Annotated[Path, typer.Option("--out", help="The report (HTML).")] = Path(
        "comparison.html"
    ),
    as_json: options.JsonFlag = False,
) -> None:
    """Try all suitable models on your table in a simulation, and say what is worth it.

    Nothing is charged, because nothing is protected: the rows are used freely, and the
    report is as private as they are. `discreto fit` then does it for real.
    """
    from discreto.compare.cross_validation import compare as run
    from discreto.report import comparison_page, fit_command

    known, data = source.known(), source.data
    prices = [part.strip() for part in epsilon.split(",") if part.strip()]
    with bar(tr("simulating")) as progress, speaking("en" if as_json else ""):
        # What programs read stays English.
        made = run(
            data,
            known,
            target,
            epsilons=prices,
            delta=delta,
            folds=folds,
            repeats=repeats,
            metric=metric,
            progress=progress,
        )
    ledger = f"{Path(data).stem}.ledger"
    budget = "" if Path(ledger).exists() else budget_for(made)
    command = fit_command(
        made,
        data=data,
        domain=str(source.domain),
        ledger=ledger,
        budget=budget,
        dialect=source.dialect or (),
    )
    comparison_page(made, command=command, name=Path(data).name).save(out)
    if as_json:
        terminal.print_json(made.to_dict())
    else:
        print_comparison(made)
        _print_next(command, out, new=bool(budget))


def _print_next(command: str, report: Path, *, new: bool) -> None:
    """Print the command for a real fit, and the path of the report."""
    console = terminal.out()
    if command:
        console.print()
        console.print(tr("For real:"))
        console.print(terminal.plain(command), soft_wrap=True)
        if new:
            console.print(terminal.plain(tr(ONE_LEDGER)), style="dim")
    console.print()
    console.print(terminal.plain(tr("The report: {out}", out=report)), soft_wrap=True)


def budget_for(made: Comparison) -> str:
    """Return the budget of a new ledger from which the recommended fit can be paid."""
    price = 0.0 if made.advice is None else made.advice.score.price
    return str(max(_BUDGET, math.ceil(price)))


@contextmanager
def bar(what: str) -> Iterator[Report | None]:
    """Yield a progress bar with the time that is left, on a terminal."""
    console = terminal.err()
    if not terminal.moves(console):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def print_comparison(made: Comparison) -> None:
    """Print the scores and the advice."""
    console = terminal.out()
    console.print(f"[yellow]{tr(PRIVATE)}[/]", highlight=False)
    prices = list(dict.fromkeys(score.epsilon for score in made.scores))
    name, target = tr(made.metric), made.target
    if made.higher:
        title = tr(
            "{name} of {target} (higher is better), mean ± spread",
            name=name,
            target=target,
        )
    else:
        title = tr(
            "{name} of {target} (lower is better), mean ± spread",
            name=name,
            target=target,
        )
    grid = Grid(title=terminal.plain(title), title_justify="left")
    grid.add_column(tr("model"))
    for price in prices:
        grid.add_column(f"ε {number(price)}", justify="right", no_wrap=True)
    found = {(score.model, score.epsilon): score for score in made.scores}
    for candidate in made.candidates:
        grid.add_section()
        name = candidate.label
        grid.add_row(name, *(_shown(found[name, price]) for price in prices))
    grid.add_section()
    for score in (made.reference, made.baseline):
        grid.add_row(score.model, _shown(score), style="dim")
    console.print(grid)
    if made.remark:
        console.print(f"[dim]{made.remark}[/]", highlight=False)
    if made.advice is None:
        console.print(tr("No model beats the baseline clearly at these prices."))
        return
    advice = made.advice
    console.print(
        tr(
            "[bold]{label} at ε {epsilon}[/]: {reason}. For real it costs "
            "{total}, in {count} question(s).",
            label=advice.candidate.label,
            epsilon=number(advice.score.epsilon),
            reason=advice.reason,
            total=number(advice.plan.total),
            count=len(advice.plan),
        ),
        highlight=False,
    )


def _shown(score: CandidateScore) -> str:
    digits = terminal.digits_for(score.spread, score.mean)
    spec = f".{digits}f"
    return f"{number(score.mean, spec)}\n± {number(score.spread, spec)}"
