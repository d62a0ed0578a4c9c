"""``discreto demo``: a whole analysis of public data, in less than a minute.

The table is the Wisconsin breast cancer data of scikit-learn: 569 tumours, measured
under a microscope. It is public, so exact answers may stand beside private ones. The
models are compared on the Pima data if that is available, else on the tumours.
"""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import track
from rich.table import Table as Grid

from discreto import Category, Domain, Ledger, Number, Release, Table, stats
from discreto.cli import terminal
from discreto.cli.compare import bar, print_comparison
from discreto.cli.ledger import print_ledger
from discreto.cli.plan import plan_table
from discreto.core.ledger.sqlite import ANSWERS
from discreto.data.ledger_marks import forget_ledgers
from discreto.errors import BudgetError, MissingExtraError
from discreto.release.labels import label_in_words
from discreto.session.plan import Statistic, statistics
from discreto.testing import simulate
from discreto.text.language import number, tr

if TYPE_CHECKING:
    from discreto.compare.comparison import Advice
    from discreto.data.datasets import Dataset

EXAMPLE = "Example: `discreto demo --out my-first-try`"
# Round bounds that a code book would give, none of them read from the rows.
DOMAIN = Domain(
    {
        "radius": Number(0, 30, unit="px"),
        "texture": Number(0, 50),
        "concavity": Number(0, 0.5),
        "diagnosis": Category(("benign", "malignant"), missing=False),
    },
    target="diagnosis",
)
BUDGET = 13  # of the ledger: statistics and a model
ANALYST, SHARE = "ana", 4  # the analyst of the statistics, and her part of the budget
CHEAP = "0.1"  # the price of the second histogram in the picture
REPEATS = 500
EDGES = np.linspace(0, 30, 16)
HISTOGRAM = stats.Histogram(("radius",), len(EDGES) - 1)
PROBABILITIES = (0.1, 0.25, 0.75, 0.9)
QUESTIONS: tuple[tuple[Statistic, str], ...] = (
    (stats.Count(), "0.1"),
    (stats.Mean("radius"), "0.25"),
    (stats.Mean("radius", ("diagnosis",)), "0.5"),
    (HISTOGRAM, "1"),
    (stats.Quantile("radius"), "0.3"),
    (stats.Quantiles("radius", tuple(Fraction(str(p)) for p in PROBABILITIES)), "0.5"),
    (stats.Covariance(("radius", "concavity"), correlation=True), "1"),
)
PRICES = ("0.5", "1", "2", "4", "8")
JUDGING = "0.5"  # the price of measuring the fitted model

Columns = dict[str, NDArray[Any]]


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
    out.mkdir(parents=True, exist_ok=True)
    data, book = out / "demo.parquet", out / "demo.ledger"
    # Starting anew is fine for public data. A real ledger is never deleted.
    for name in ("", "-wal", "-shm"):
        Path(f"{book}{name}").unlink(missing_ok=True)
    shutil.rmtree(f"{book}{ANSWERS}", ignore_errors=True)
    forget_ledgers(data)
    with terminal.working(tr("loading the table")):
        people = _load(data)
    DOMAIN.save(out / "demo.domain.json")
    # One ledger pays for all questions about these people, of every analyst.
    ledger = Ledger(book, epsilon=BUDGET, analysts={ANALYST: SHARE})
    table = Table(str(data), DOMAIN, ledger.analyst(ANALYST))
    _introduce()
    _plan()
    releases = _ask(table, people)
    _repeat(people)
    _refuse(table)
    _step(5, tr("The ledger: everything that was spent, in a chain of hashes"))
    print_ledger(ledger)
    try:
        with terminal.working(tr("drawing")):
            _draw(out / "demo.png", releases, people)
    except ImportError:
        _say(tr("Pictures need matplotlib: pip install matplotlib"))
    _learn(out, ledger, download=download)
    _finish(out)


def _step(number: int, title: str) -> None:
    console = terminal.out()
    console.print()
    console.rule(f"[bold]{number}. {title}", align="left")


def _say(text: str) -> None:
    terminal.out().print(text, highlight=False)


def _load(path: Path) -> Columns:
    """Return the columns of the table, and write them to a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreto.data.datasets import load

    found = load("breast_cancer").columns
    numbers = ("radius", "texture", "concavity")
    columns: Columns = {name: found[f"mean_{name}"] for name in numbers}
    columns["diagnosis"] = found["diagnosis"]
    pq.write_table(pa.table({name: pa.array(v) for name, v in columns.items()}), path)
    return columns


def exact_answer(statistic: Statistic, people: Columns) -> list[float]:
    """Return the answer without noise, which a private table would never show."""
    radius, sick = people["radius"], people["diagnosis"] == "malignant"
    match statistic:
        case stats.Count():
            return [float(radius.size)]
        case stats.Mean(by=()):
            return [float(radius.mean())]
        case stats.Mean():
            return [float(radius[~sick].mean()), float(radius[sick].mean())]
        case stats.Histogram():
            return [float(rows) for rows in np.histogram(radius, EDGES)[0]]
        case stats.Covariance():
            return [float(np.corrcoef(radius, people["concavity"])[0, 1])]
        case stats.Quantile():
            return [float(np.median(radius))]
        case _:
            exact = np.quantile(radius, PROBABILITIES, method="inverted_cdf")
            return [float(value) for value in exact]


def _introduce() -> None:
    _step(1, tr("What everybody may know: the domain"))
    _say(tr("Bounds and categories come from a code book, never from the rows."))
    console = terminal.out()
    console.print(terminal.show_domain(DOMAIN))
    console.print(terminal.protects(DOMAIN))
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
    made = statistics(DOMAIN, stats.Mean("radius"), epsilon="0.25", rows=500)
    terminal.out().print(plan_table(made))
    error = number(float(np.max(made.expected[0].error)), ".2g")
    _say(
        tr(
            "expected error: ± {error} px (95 %) if there are about 500 patients",
            error=error,
        )
    )


def _ask(table: Table, people: Columns) -> list[Release]:
    """Ask all questions for real; return the two histograms for the picture."""
    _step(3, tr("Private answers, paid for from the ledger"))
    _say(
        tr(
            "[yellow]The exact column is here only because this data is "
            "public.[/] It is never shown for private data: the interval says how"
            " far off an answer can be."
        )
    )
    grid = Grid()
    grid.add_column(tr("question"))
    grid.add_column(tr("private"), justify="right", style="bold")
    grid.add_column(tr("95 % interval"), justify="right", no_wrap=True)
    grid.add_column(tr("exact (demo)"), justify="right", style="yellow")
    grid.add_column(tr("holds"))
    inside = total = 0
    for statistic, epsilon in QUESTIONS:
        label = label_in_words(statistic.label)
        with terminal.working(tr("asking for the {label}", label=label)):
            release = table.answer(statistic, epsilon=epsilon)
        exact = exact_answer(statistic, people)
        inside, total = inside + _add_lines(grid, release, exact), total + len(exact)
        if statistic is HISTOGRAM:
            dear = release
    cheap = table.answer(HISTOGRAM, epsilon=CHEAP)
    terminal.out().print(grid)
    _say(
        tr(
            "{inside} of {total} intervals hold the exact value; 95 % is the promise.",
            inside=inside,
            total=total,
        )
    )
    return [cheap, dear]


def _add_lines(grid: Grid, release: Release, exact: list[float]) -> int:
    """Add a line for each number; return how many intervals hold the exact value."""
    grid.add_section()
    price = number(release.cost).replace(" ", "\N{NO-BREAK SPACE}")
    title = f"{label_in_words(release.label)}, {price}"
    if release.keys:
        grid.add_row(title)
    held = 0
    parts = (np.ravel(part) for part in (release.value, release.low, release.high))
    for i, (value, low, high) in enumerate(np.stack([*parts], axis=1).tolist()):
        first = f"  {release.keys[i]}" if release.keys else title
        shown, span = terminal.one_line(value, low, high)
        digits = 0 if exact[i].is_integer() else terminal.digits_for((high - low) / 2)
        holds = low <= exact[i] <= high
        held += holds
        known = number(exact[i], f".{digits}f")
        grid.add_row(first, shown, span, known, tr("yes") if holds else tr("no"))
    return held


def _repeat(people: Columns) -> None:
    """Simulate how often the interval of the mean holds the exact mean."""
    exact = float(people["radius"].mean())
    table = Table(people, DOMAIN, simulate(None))
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


def _draw(path: Path, releases: list[Release], people: Columns) -> None:
    """Draw one histogram at two prices, with the exact one."""
    from matplotlib.figure import Figure

    from discreto.plots import HistogramDisplay

    exact = exact_answer(HISTOGRAM, people)
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, len(releases), sharey=True)
    for axes, release in zip(panels, releases, strict=True):
        shown = HistogramDisplay.from_release(
            release, edges=EDGES, exact=exact, quantity=tr("patients")
        )
        shown.plot(axes).ax_.set_xlabel(tr("radius (px)"))
    figure.suptitle(tr("Tumour radius: less noise costs more privacy"))
    figure.savefig(path, dpi=150)


def _learn(out: Path, ledger: Ledger, *, download: bool) -> None:
    """Compare all models, fit the recommended one, and write the report."""
    from discreto import report
    from discreto.compare.cross_validation import compare
    from discreto.data.datasets import load

    with terminal.working(tr("looking for the Pima data")):
        try:
            data = load("pima", download=download)
        except MissingExtraError:
            data = load("breast_cancer")
    _step(6, tr("Which model is worth it? A simulation on {name}", name=data.name))
    _say(
        tr(
            "{about}, {rows} rows from {source}. Public, so we may look.",
            about=data.about,
            rows=data.rows,
            source=data.source,
        )
    )
    price: Any = {"epsilons": PRICES, "repeats": 1}
    with bar(tr("simulating")) as progress:
        made = compare(data.columns, data.domain, progress=progress, **price)
    print_comparison(made)
    page = report.comparison_page(made, name=data.name)
    if made.advice is not None:
        _step(7, tr("That one for real, paid for from the same ledger"))
        model, judged = _fit(out / "model.json", data, made.advice, ledger)
        page.section(tr("Done for real"), *report.model_blocks(model, judged))
        report.model_page(model, evaluation=judged).save(out / "model.html")
    with terminal.working(tr("writing the report")):
        page.save(out / "report.html")


def _fit(path: Path, data: Dataset, advice: Advice, ledger: Ledger) -> tuple[Any, Any]:
    """Fit the recommended model, charge the ledger, and evaluate it privately."""
    from discreto import models

    console = terminal.out()
    console.print(plan_table(advice.plan))
    features, target = advice.candidate.features, data.domain.target or ""
    table = Table(data.columns, data.domain.select([*features, target]), ledger)
    with terminal.working(tr("fitting")):
        model = advice.candidate.make(str(advice.score.epsilon))
        model.fit(table, target)
        judged = models.evaluate(model, table, epsilon=JUDGING)
    models.save(model, path)
    name, privacy = type(model).__name__, number(model.privacy_)
    lines = (
        tr("fitted   {name}, {privacy}", name=name, privacy=privacy),
        tr(
            "accuracy {accuracy}, on the rows it was fitted to",
            accuracy=judged.accuracy,
        ),
        tr("ledger   {ledger}", ledger=ledger),
    )
    for line in lines:
        console.print(line, highlight=False)
    return model, judged


def _finish(out: Path) -> None:
    """List the files, and suggest a command."""
    _step(8, tr("Files"))
    console = terminal.out()
    texts = {
        "demo.png": tr("the histogram at two prices, against the exact one"),
        "demo.parquet": tr("the table (public)"),
        "demo.domain.json": tr("its domain"),
        "demo.ledger": tr("the ledger that paid for it all"),
        "model.json": tr("the model"),
        "model.html": tr("its card: open it in a browser"),
    }
    found = {str(out / name): text for name, text in texts.items()}
    found = {path: text for path, text in found.items() if Path(path).exists()}
    wide = max(map(len, found))
    for path, text in found.items():
        console.print(terminal.plain(f"{path:<{wide}}  {text}"), soft_wrap=True)
    console.print()
    _say(tr("Next, spend what is left:"))
    command = (
        f"discreto query {out / 'demo.parquet'} mean texture --domain "
        f"{out / 'demo.domain.json'} --ledger {out / 'demo.ledger'} "
        f"--analyst {ANALYST} --epsilon 0.25"
    )
    console.print(terminal.plain(command), soft_wrap=True)
    console.print()
    report = tr("The report: {out}", out=(out / "report.html").resolve())
    console.print(terminal.plain(report), style="bold", soft_wrap=True)
