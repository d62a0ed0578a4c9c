"""``discreto plan``: what a question would cost and how exact it would be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreto.cli import options, terminal
from discreto.cli.files import read_domain
from discreto.core.cost import read_amount
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError
from discreto.release.labels import label_in_words
from discreto.session.dry_run import worst_error
from discreto.session.plan import Plan, Statistic, epsilon_for, statistics
from discreto.stats.text import kind_of
from discreto.text.language import mark, number, tr

EXAMPLE = """Examples:

`discreto plan d.json mean age --epsilon 0.1 --rows 5000`: how exact would it be?

`discreto plan d.json mean age --error 0.5 --rows 5000`: what would that error cost?
"""

WAYS_OUT = {"measure": mark("noisy sums"), "select": mark("noisy choice")}


@options.grouped
def plan(
    domain: Annotated[
        Path, typer.Argument(metavar="DOMAIN", help="A domain file (JSON).")
    ],
    stat: options.StatWord,
    asked: options.QuestionOptions,
    columns: options.ColumnWords = None,
    *,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Epsilon that you would spend.")
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(
            "--error", help="Or the half-width of the 95 % interval that you want."
        ),
    ] = None,
    delta: options.DeltaWord = "0",
    rows: Annotated[
        int | None, typer.Option("--rows", help="About how many rows there are.")
    ] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Say what a question would cost, and how exact it would be. Spends nothing.

    Needs the domain only, no data. Expected errors are for rows spread evenly over the
    domain; `--rows` is your guess of how many there are.
    """
    known = read_domain(domain)
    wanted = asked.statistic(stat, columns)
    if (epsilon is None) == (error is None):
        raise ParameterError("give one of --epsilon and --error.")
    interval = kind_of(stat).interval
    if error is not None:
        if not interval:
            raise ParameterError(f"{stat} has no error bar. Use --epsilon.")
        epsilon = _price(known, wanted, error, rows, delta)
    made = statistics(known, wanted, epsilon=str(epsilon), delta=delta, rows=rows)
    if as_json:
        terminal.print_json({"epsilon": str(epsilon), **made.to_dict()})
    else:
        _print(made, str(epsilon), error, interval=interval)


def _price(
    known: Domain, wanted: Statistic, error: str, rows: int | None, delta: str
) -> str:
    """Return the epsilon that this error costs, as text."""
    # A question that is impossible at any price says so itself.
    statistics(known, wanted, epsilon=1, delta=delta, rows=rows)
    wanted_error = float(read_amount(error, "--error"))
    with terminal.working(tr("looking for the smallest epsilon")):
        found = epsilon_for(known, wanted, error=wanted_error, rows=rows, delta=delta)
    return f"{float(found):.6g}"


def _print(made: Plan, epsilon: str, error: str | None, *, interval: bool) -> None:
    console = terminal.out()
    if error is not None:
        console.print(
            tr(
                "An error of ± {error} costs about [bold]ε {epsilon}[/].",
                error=number(error),
                epsilon=number(epsilon),
            )
        )
    console.print(plan_table(made))
    for release in made.expected:
        worst = worst_error(release)
        unit = f" {release.unit}" if release.unit else ""
        label = label_in_words(release.label)
        if interval:
            text = tr(
                "expected error of {label}: ± {worst}{unit} (95 %)",
                label=label,
                worst=number(worst, ".3g"),
                unit=unit,
            )
        else:
            note = label_in_words(release.note) or tr("no error bar")
            text = f"{label}: {note}"
        console.print(terminal.plain(text))
    console.print(
        tr(
            "if there are {rows} rows, spread evenly over the domain. "
            "Nothing was spent.",
            rows=made.rows,
        ),
        style="dim",
    )


def plan_table(made: Plan) -> Table:
    """Return the questions of a plan, one a line."""
    table = Table(
        title=tr("plan, {total} in all", total=number(made.total)), title_justify="left"
    )
    table.add_column(tr("question"))
    table.add_column(tr("cost"), justify="right")
    table.add_column(tr("how"))
    for question in made:
        how = tr(WAYS_OUT.get(question.door, question.door))
        table.add_row(
            terminal.plain(label_in_words(question.label)), number(question.cost), how
        )
    return table
