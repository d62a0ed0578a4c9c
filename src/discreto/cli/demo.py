"""``discreto demo``: the whole job on public data, in less than a minute."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import track
from rich.table import Table as Grid

from discreto import Ledger, Release, Table, stats
from discreto.cli import demo_data, demo_models, terminal
from discreto.cli.ledger import print_ledger
from discreto.cli.plan import plan_table
from discreto.core.ledger.sqlite import ANSWERS
from discreto.data.ledger_marks import forget_ledgers
from discreto.errors import BudgetError
from discreto.release.labels import label_in_words
from discreto.session.plan import statistics
from discreto.testing import simulate
from discreto.text.language import number, tr

EXAMPLE = "Example: `discreto demo --out my-first-try`"
BUDGET = 13  # for all that is ever asked: statistics and a model
ANALYST, SHARE = "ana", 4  # who asks the statistics, and how much of it is hers
CHEAP = "0.1"  # the price of the second histogram in the picture
REPEATS = 500


@dataclass(frozen=True)
class Files:
    """What the demo writes."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Starting anew is fine for public data. A real ledger is never deleted.
        for name in ("", "-wal", "-shm"):
            Path(f"{self.ledger}{name}").unlink(missing_ok=True)
        shutil.rmtree(f"{self.ledger}{ANSWERS}", ignore_errors=True)
        forget_ledgers(self.data)

    @property
    def data(self) -> Path:
        return self.folder / "demo.parquet"

    @property
    def domain(self) -> Path:
        return self.folder / "demo.domain.json"

    @property
    def ledger(self) -> Path:
        return self.folder / "demo.ledger"

    @property
    def picture(self) -> Path:
        return self.folder / "demo.png"


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="The folder for the files it writes.")
    ] = Path("discreto-demo"),
    download: Annotated[
        bool, typer.Option("--download", help="Fetch the Pima data if it is not here.")
    ] = False,
) -> None:
    """Show the whole job on public data: ask, be refused, compare models, fit one.

    Uses data that comes with scikit-learn, and the Pima data where it can be had.
    Writes the table, its domain, a fresh ledger, a model, a picture and a report. Takes
    less than a minute and needs no network.
    """
    files = Files(out)
    with terminal.working(tr("loading the table")):
        people = demo_data.load()
        _write_parquet(files.data, people)
    demo_data.DOMAIN.save(files.domain)
    # One ledger pays for all that is asked about these people, whoever asks.
    ledger = Ledger(files.ledger, epsilon=BUDGET, analysts={ANALYST: SHARE})
    table = Table(str(files.data), demo_data.DOMAIN, ledger.analyst(ANALYST))
    _introduce(files)
    _plan()
    releases = _ask(table, people)
    _repeat(people)
    _refuse(table)
    _step(5, tr("The ledger: everything that was spent, in a chain of hashes"))
    print_ledger(ledger)
    try:
        with terminal.working(tr("drawing")):
            _draw(files.picture, releases, people)
    except ImportError:
        _say(tr("Pictures need matplotlib: pip install matplotlib"))
    made = _learn(demo_models.ModelFiles(out), ledger, download=download)
    _finish(files, made)


def _step(number: int, title: str) -> None:
    console = terminal.out()
    console.print()
    console.rule(f"[bold]{number}. {title}", align="left")


def _say(text: str) -> None:
    terminal.out().print(text, highlight=False)


def _write_parquet(path: Path, people: demo_data.Columns) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: pa.array(v) for name, v in people.items()}), path)


def _introduce(files: Files) -> None:
    _step(1, tr("What everybody may know: the domain"))
    _say(tr("Bounds and categories come from a code book, never from the rows."))
    console = terminal.out()
    console.print(terminal.show_domain(demo_data.DOMAIN))
    console.print(terminal.protects(demo_data.DOMAIN))
    console.print(
        tr(
            "budget      ε {budget} for everything ever asked about these people, ε "
            "{share} of it for analyst {analyst}",
            budget=BUDGET,
            share=SHARE,
            analyst=ANALYST,
        )
    )


def _plan() -> None:
    _step(2, tr("A plan: how exact would it be? Nothing is spent"))
    mean = stats.Mean("radius")
    made = statistics(demo_data.DOMAIN, mean, epsilon="0.25", rows=500)
    console = terminal.out()
    console.print(plan_table(made))
    error = float(np.max(made.expected[0].error))
    _say(
        tr(
            "expected error: ± {error} px (95 %) if there are about 500 patients",
            error=number(error, ".2g"),
        )
    )


def _ask(table: Table, people: demo_data.Columns) -> list[Release]:
    """Ask everything for real; the two histograms come back for the picture."""
    _step(3, tr("Private answers, paid for from the ledger"))
    _say(
        tr(
            "[yellow]The exact column is here only because this data is "
            "public.[/] With private data nobody sees it: the interval says how"
            " far off an answer can be."
        )
    )
    grid = _answers_grid()
    inside = total = 0
    for question in demo_data.questions():
        with terminal.working(
            tr("asking for the {label}", label=label_in_words(question.statistic.label))
        ):
            release = table.answer(question.statistic, epsilon=question.epsilon)
        exact = question.exact(people)
        held = _add_lines(grid, release, exact)
        inside, total = inside + held, total + len(exact)
        if isinstance(question.statistic, stats.Histogram):
            dear = release
    cheap = table.answer(demo_data.histogram(), epsilon=CHEAP)
    terminal.out().print(grid)
    _say(
        tr(
            "{inside} of {total} intervals hold the exact value; 95 % is the promise.",
            inside=inside,
            total=total,
        )
    )
    return [cheap, dear]


def _answers_grid() -> Grid:
    grid = Grid()
    grid.add_column(tr("question"))
    grid.add_column(tr("private"), justify="right", style="bold")
    grid.add_column(tr("95 % interval"), justify="right", no_wrap=True)
    grid.add_column(tr("exact (demo)"), justify="right", style="yellow")
    grid.add_column(tr("holds"))
    return grid


def _add_lines(grid: Grid, release: Release, exact: list[float]) -> int:
    """One line for each number of a release; how many intervals hold the truth."""
    grid.add_section()
    values, lows, highs = (
        np.ravel(part).tolist() for part in (release.value, release.low, release.high)
    )
    price = number(release.cost).replace(" ", "\N{NO-BREAK SPACE}")
    title = f"{label_in_words(release.label)}, {price}"
    if release.keys:
        grid.add_row(title)
    held = 0
    for i, (value, low, high) in enumerate(zip(values, lows, highs, strict=True)):
        first = f"  {release.keys[i]}" if release.keys else title
        shown, span = terminal.one_line(value, low, high)
        digits = terminal.digits_for((high - low) / 2)
        truth = number(exact[i], f".{0 if exact[i].is_integer() else digits}f")
        holds = low <= exact[i] <= high
        held += holds
        grid.add_row(first, shown, span, truth, tr("yes") if holds else tr("no"))
    return held


def _repeat(people: demo_data.Columns) -> None:
    """How often the interval of the mean holds the exact mean, in a simulation."""
    exact = float(people["radius"].mean())
    table = Table(people, demo_data.DOMAIN, simulate(None))
    console = terminal.err()
    hidden = not terminal.moves(console)
    rounds = track(
        range(REPEATS), tr("repeating"), console=console, disable=hidden, transient=True
    )
    held = 0
    for _ in rounds:
        again = stats.mean(table, "radius", epsilon="0.25")
        held += bool(again.low <= exact <= again.high)
    _say(
        tr(
            "SIMULATED: the mean asked {repeats} times at ε 0.25; the interval "
            "held the exact mean {share} of the time.",
            repeats=REPEATS,
            share=number(held / REPEATS, ".1%"),
        )
    )


def _refuse(table: Table) -> None:
    _step(4, tr("A question that does not fit into the budget is refused"))
    _say(tr("asking for the mean of texture with ε 0.5 ..."))
    try:
        stats.mean(table, "texture", epsilon="0.5")
    except BudgetError as refusal:
        _say(f"[red]BudgetError[/] (exit code {refusal.exit_code}): {refusal}")
        _say(tr("No row was read and nothing was charged."))


def _learn(
    files: demo_models.ModelFiles, ledger: Ledger, *, download: bool
) -> demo_models.ModelFiles:
    """Compare all models, fit the recommended one, and write the report."""
    with terminal.working(tr("looking for the Pima data")):
        data = demo_models.patients(download=download)
    _step(6, tr("Which model is worth it? A simulation on {name}", name=data.name))
    _say(
        tr(
            "{about}, {rows} rows from {source}. Public, so we may look.",
            about=data.about,
            rows=data.rows,
            source=data.source,
        )
    )
    made = demo_models.compare_models(data)
    _step(7, tr("That one for real, paid for from the same ledger"))
    model, judged = demo_models.fit_for_real(files, data, made, ledger)
    with terminal.working(tr("writing the report")):
        demo_models.write_pages(files, data, made, model, judged)
    return files


def _draw(path: Path, releases: list[Release], people: demo_data.Columns) -> None:
    """One histogram at two prices, against the exact one."""
    from matplotlib.figure import Figure

    from discreto.plots import HistogramDisplay

    exact = demo_data.DemoQuestion(demo_data.histogram(), "1").exact(people)
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, len(releases), sharey=True)
    for axes, release in zip(panels, releases, strict=True):
        shown = HistogramDisplay.from_release(
            release, edges=demo_data.EDGES, exact=exact, quantity=tr("patients")
        )
        shown.plot(axes).ax_.set_xlabel(tr("radius (px)"))
    figure.suptitle(tr("Tumour radius: less noise costs more privacy"))
    figure.savefig(path, dpi=150)


def _finish(files: Files, learned: demo_models.ModelFiles) -> None:
    _step(8, tr("Files"))
    console = terminal.out()
    texts = {
        files.picture: tr("the histogram at two prices, against the exact one"),
        files.data: tr("the table (public)"),
        files.domain: tr("its domain"),
        files.ledger: tr("the ledger that paid for it all"),
        learned.model: tr("the model"),
        learned.card: tr("its card: open it in a browser"),
    }
    texts = {path: text for path, text in texts.items() if path.exists()}
    wide = max(len(str(path)) for path in texts)
    for path, text in texts.items():
        console.print(terminal.plain(f"{path!s:<{wide}}  {text}"), soft_wrap=True)
    console.print()
    _say(tr("Next, spend what is left:"))
    command = (
        f"discreto query {files.data} mean texture --domain {files.domain} "
        f"--ledger {files.ledger} --analyst {ANALYST} --epsilon 0.25"
    )
    console.print(terminal.plain(command), soft_wrap=True)
    console.print()
    where = learned.report.resolve()
    console.print(
        terminal.plain(tr("The report: {out}", out=where)), style="bold", soft_wrap=True
    )
