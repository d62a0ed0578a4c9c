"""``discreto synthesize``: synthetic rows with the marginals of private rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto.cli import options, terminal
from discreto.cli.files import refuse_existing, write_new
from discreto.cli.fit import SettingWords, configured
from discreto.cli.plan import plan_table
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError
from discreto.text.language import mark, number, tr

EXAMPLE = """Examples:

`discreto synthesize patients.parquet --domain d.json --epsilon 1 --delta 1e-5
--ledger patients.ledger --budget 3 --budget-delta 1e-5 --out synthetic.parquet`

`discreto synthesize patients.parquet --domain d.json --epsilon 1 --rows 5000 --seed 1
--constraint "age >= 18" --ledger patients.ledger --out synthetic.csv
--model synthesizer.json --report quality.json`
"""
ENDINGS = (".parquet", ".csv")
RowsWord = Annotated[
    int | None,
    typer.Option(
        "--rows", help="Number of synthetic rows; by default about as many as DATA has."
    ),
]
SeedWord = Annotated[
    int | None, typer.Option("--seed", help="Seed: the same seed draws the same rows.")
]
ConstraintWords = Annotated[
    list[str] | None,
    typer.Option(
        "--constraint", help="Condition that all synthetic rows meet: 'age >= 18'"
    ),
]
ModelFile = Annotated[
    Path | None, typer.Option("--model", help="Also write the fitted model (JSON).")
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Also write the expected errors (JSON).")
]


@options.grouped
def synthesize(
    source: options.PaidSource,
    *,
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="Epsilon that the fit costs.")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="A new file for the rows: .parquet or .csv")
    ],
    delta: options.DeltaWord = "0",
    rows: RowsWord = None,
    seed: SeedWord = None,
    constraint: ConstraintWords = None,
    settings: SettingWords = None,
    model: ModelFile = None,
    report: ReportFile = None,
) -> None:
    """Make synthetic rows with the marginals of private rows. They may be published.

    The charge is written down before any row is read. Drawing rows costs nothing more,
    and neither does the report: expected errors follow from the released model.
    """
    known = source.known()
    learner = _learner(settings, constraint, epsilon=epsilon, delta=delta)
    planned = learner.plan(known)
    files: dict[str, Path | None] = {
        mark("rows"): out,
        mark("domain"): out.with_suffix(".domain.json"),
        mark("model"): model,
        mark("report"): report,
    }
    _check_files(files)
    book = source.open_ledger(known)
    table = source.table(known, book)
    terminal.say_unchecked(table, source.data)
    terminal.out().print(plan_table(planned))
    with terminal.working(tr("fitting Synthesizer")):
        learner.fit(table)
    _deliver(learner, files, known, rows, seed)
    terminal.print_left(known, book)


def _learner(
    settings: list[str] | None, constraint: list[str] | None, **price: Any
) -> Any:
    from discreto.synthesis import Synthesizer

    made = configured(Synthesizer, settings or [], **price)
    return made.set_params(constraints=tuple(constraint or ()))


def _check_files(files: dict[str, Path | None]) -> None:
    for path in files.values():
        if path is not None:
            refuse_existing(path)
    out = files["rows"]
    if out is None or out.suffix not in ENDINGS:
        raise ParameterError(f"--out is a file that ends in {' or '.join(ENDINGS)}.")


def _deliver(
    learner: Any,
    files: dict[str, Path | None],
    known: Domain,
    rows: int | None,
    seed: int | None,
) -> None:
    """Write what was paid for: the model first, from which all else can be drawn."""
    from discreto.synthesis import expected

    console = terminal.out()
    if files["model"] is not None:
        learner.save(files["model"])
    made = learner.sample(rows, random_state=seed, library="pyarrow")
    if files["rows"] is not None and files["domain"] is not None:
        own = _write(made, files["rows"], known)
        own.save(files["domain"])
    console.print(
        tr(
            "made      {num_rows} rows, {privacy}",
            num_rows=made.num_rows,
            privacy=number(learner.privacy_),
        ),
        highlight=False,
    )
    if files["report"] is not None:
        with terminal.working(tr("expected errors")):
            found = expected(learner)
        write_new(files["report"], json.dumps(found.to_dict(), indent=1))
        console.print(terminal.plain_lines(str(found)), soft_wrap=True)
    for what, path in files.items():
        if path is not None:
            console.print(terminal.plain(f"{tr(what):<9} {path}"), soft_wrap=True)


def _write(made: Any, out: Path, known: Domain) -> Domain:
    """Write the rows, a CSV in the dialect of the domain; return their own domain."""
    import pyarrow.parquet

    from discreto.data.written_csv import domain_of, written_csv

    with open(out, "xb") as file:
        if out.suffix == ".csv":
            text, own = written_csv(made.to_pydict(), known)
            file.write(text)
            return own
        pyarrow.parquet.write_table(made, file)
    return domain_of(made.column_names, known)
