"""``discreto study``: the figures and tables of the sources, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as Grid

from discreto.cli import terminal
from discreto.session.parameters import whole
from discreto.text.language import mark, number, tr

if TYPE_CHECKING:
    from discreto.lab.study import Experiment, Outcome

HELP = """The figures and tables of the sources, computed again (all of it SIMULATED).

`discreto study list` names the experiments. A run that is stopped goes on where it was
when it is started again. `--quick` runs a small set of everything.
"""
app = typer.Typer(name="study", help=HELP, no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", help="The folder for results.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small set, in minutes.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", help="Processes. As many as cores if not given.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget what is in the folder.")]
FOLDER = Path("discreto-study")
SOURCES = {
    "S0": mark("slides on private nearest neighbours"),
    "S1": mark("a lecture on the Laplace mechanism"),
    "S2": mark("a paper on PrivCatBoost and PrivRandBoost"),
    "S3": mark("a thesis on private and federated learning"),
    "S4": mark("slides on private naive Bayes, regression and k-means"),
}


@app.command("list")
def list_() -> None:
    """Name every experiment, with its source and the number of its cells."""
    with terminal.working(tr("looking for experiments")):
        from discreto.lab.study import experiments

        known = experiments()
    grid = Grid()
    for column in (tr("name"), tr("source"), tr("title")):
        grid.add_column(column)
    for column in (tr("cells"), tr("quick")):
        grid.add_column(column, justify="right")
    for one in known.values():
        sizes = [str(len(list(one.cells(quick)))) for quick in (False, True)]
        grid.add_row(one.name, one.source, tr(one.title), *sizes)
    terminal.out().print(grid)
    for code, what in SOURCES.items():
        terminal.out().print(f"{code}  {tr(what)}")


@app.command("run", epilog="Example: `discreto study run s2 --quick`")
def run(
    names: Annotated[
        list[str], typer.Argument(help="Names, or first parts of names such as s2.")
    ],
    out: Out = FOLDER,
    quick: Quick = False,
    jobs: Jobs = None,
    fresh: Fresh = False,
) -> None:
    """Run some experiments."""
    from discreto.lab.study import find

    _go(find(names), out, quick, jobs, fresh)


@app.command("all")
def all_(
    out: Out = FOLDER, quick: Quick = False, jobs: Jobs = None, fresh: Fresh = False
) -> None:
    """Run every experiment: minutes with --quick, up to an hour without."""
    from discreto.lab.study import experiments

    _go(list(experiments().values()), out, quick, jobs, fresh)


def _go(
    chosen: list[Experiment], out: Path, quick: bool, jobs: int | None, fresh: bool
) -> None:
    from discreto.lab.study import run as run_all

    if jobs is not None:
        whole(jobs, "--jobs")
    console = terminal.out()
    console.print(tr("[yellow]SIMULATED[/]: public data, simulation ledgers."))
    try:
        with Bars() as bars:
            outcomes = run_all(
                chosen, out, quick=quick, jobs=jobs, fresh=fresh, watch=bars
            )
    except KeyboardInterrupt:
        terminal.err().print(tr("Stopped. The same command goes on from here."))
        raise typer.Exit(130) from None
    _report(outcomes, out)


def _report(outcomes: list[Outcome], out: Path) -> None:
    from discreto.lab.study.words import in_words

    console = terminal.out()
    for reason in dict.fromkeys(s["why"] for o in outcomes for s in o.skipped):
        words = tr("skipped: {reason}", reason=in_words(reason))
        console.print(terminal.plain(words))
    failed = [(o.experiment.name, f) for o in outcomes for f in o.failed]
    for name, failure in failed:
        console.print(terminal.plain(f"{name} {failure['cell']}: {failure['error']}"))
    surprises = [(o.experiment.name, f) for o in outcomes for f in o.surprises]
    for name, found in surprises:
        verb = (
            tr("should hold and does not")
            if found["expected"]
            else tr("should not hold")
        )
        claim, seen = in_words(found["claim"]), in_words(found["seen"])
        words = f"{name}: {claim!r} {verb}: {seen}"
        console.print(terminal.plain(words), soft_wrap=True)
    console.print(terminal.plain(tr("results in {out}", out=out)), soft_wrap=True)
    command = f"discreto report {out}"
    console.print(terminal.plain(command), soft_wrap=True)
    if failed:
        message = tr(
            "{count} cell(s) failed; run again to retry them.", count=len(failed)
        )
        terminal.err().print(f"[red]{message}")
    if surprises:
        message = tr(
            "{count} finding(s) are not what docs/study.md says.", count=len(surprises)
        )
        terminal.err().print(f"[red]{message}")
    if failed or surprises:
        raise typer.Exit(1)


class Bars:
    """Progress bars on a terminal, plain lines in a pipe."""

    def __init__(self) -> None:
        console = terminal.err()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not terminal.moves(console),
        )
        self._tasks: dict[str, TaskID] = {}
        self._all = self._progress.add_task(tr("everything"), total=0)

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._progress.stop()

    def begin(self, experiment: Experiment, total: float, done: float) -> None:
        """A bar for an experiment; what an earlier run did is not counted."""
        name = experiment.name
        self._tasks[name] = self._progress.add_task(name, total=total - done)
        whole = self._progress.tasks[self._all].total or 0
        self._progress.update(self._all, total=whole + total - done)

    def cell(self, experiment: Experiment, weight: float, error: str | None) -> None:
        """One step."""
        for task in (self._tasks[experiment.name], self._all):
            self._progress.advance(task, weight)
        if error:
            text = terminal.plain(f"{experiment.name}: {error}")
            self._progress.console.print(text)

    def end(self, outcome: Outcome) -> None:
        """A line that stays."""
        self._progress.update(self._tasks[outcome.experiment.name], visible=False)
        words = f"{outcome.experiment.name}: " + tr(
            "{done} of {cells} cells", done=outcome.done, cells=outcome.cells
        )
        words += ", " + tr(
            "{seconds} s of one core", seconds=number(outcome.seconds, ".0f")
        )
        self._progress.console.print(terminal.plain(words))
