"""``discreto synthesize``: made-up rows with the marginals of private ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto import Ledger, Table
from discreto.cli import options, terminal
from discreto.cli.files import open_ledger, read_domain, refuse_existing, write_new
from discreto.cli.fit import SettingWords, configured
from discreto.cli.plan import plan_table
from discreto.core.cost import show
from discreto.errors import ParameterError
from discreto.language import number, tr

EXAMPLE = """Examples:

`discreto synthesize patients.parquet --domain d.json --epsilon 1 --delta 1e-5
--out synthetic.parquet`

`discreto synthesize patients.parquet --domain d.json --epsilon 1 --rows 5000 --seed 1
--constraint "age >= 18" --ledger patients.ledger --out synthetic.csv
--model synthesizer.json --report quality.json`
"""
ENDINGS = (".parquet", ".csv")


def synthesize(
    data: options.DataWord,
    *,
    domain: options.DomainFile,
    dialect: options.DialectWords = None,
    epsilon: Annotated[str, typer.Option("--epsilon", help="What the fit costs.")],
    out: Annotated[
        Path, typer.Option("--out", help="A new file for the rows: .parquet or .csv")
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger", help="Who pays; by default a new ledger beside the rows."
        ),
    ] = None,
    delta: options.DeltaWord = "0",
    rows: Annotated[
        int | None,
        typer.Option("--rows", help="How many; by default about as many as DATA has."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draws the same rows again.")
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option("--constraint", help="What all rows meet: 'age >= 18'"),
    ] = None,
    settings: SettingWords = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Also write the fitted model (JSON)."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Also write the expected errors (JSON)."),
    ] = None,
    budget: options.BudgetWord = None,
    budget_delta: options.BudgetDeltaWord = None,
    analyst: options.AnalystWord = None,
    anchor: options.AnchorFile = None,
    chain_key: options.ChainKey = None,
) -> None:
    """Make up rows with the marginals of private ones; anybody may keep them.

    The charge is written down before any row is read. Drawing rows costs nothing more,
    and neither does the report: expected errors follow from the released model.
    """
    from discreto.synthesis import Synthesizer, expected

    known = read_domain(domain, dialect)
    learner = configured(
        Synthesizer, settings or [], epsilon=epsilon, delta=delta
    ).set_params(constraints=tuple(constraint or ()))
    planned = learner.plan(known)
    files = [path for path in (out, model, report) if path is not None]
    for path in files:
        refuse_existing(path)
    if out.suffix not in ENDINGS:
        raise ParameterError(f"--out is a file that ends in {' or '.join(ENDINGS)}.")
    if ledger is None:
        ledger = out.with_suffix(".ledger")
        refuse_existing(ledger)
        budget, budget_delta = budget or epsilon, budget_delta or delta
    if not ledger.exists():  # refuse what can be refused before a ledger is made
        Table(data, known, Ledger(epsilon=1))
    given: dict[str, Any] = {"budget": budget, "budget_delta": budget_delta}
    book = open_ledger(ledger, **given, anchor=anchor, chain_key=chain_key)
    table = Table(data, known, book.analyst(analyst) if analyst else book)
    console = terminal.out()
    console.print(plan_table(planned))
    with terminal.working(tr("fitting Synthesizer")):
        learner.fit(table)
    if model is not None:
        learner.save(model)  # first: the rows can be drawn again from it
    made = learner.sample(rows, random_state=seed, library="pyarrow")
    _write(made, out)
    console.print(
        tr(
            "made      {num_rows} rows, {privacy}",
            num_rows=made.num_rows,
            privacy=number(learner.privacy_),
        ),
        highlight=False,
    )
    if report is not None:
        with terminal.working(tr("expected errors")):
            found = expected(learner)
        write_new(report, json.dumps(found.to_dict(), indent=1))
        console.print(terminal.plain(str(found)), soft_wrap=True)
    console.print(terminal.protects(known))
    console.print(
        tr(
            "left      ε {remaining} of {epsilon}",
            remaining=number(show(book.remaining())),
            epsilon=number(show(book.epsilon)),
        )
    )
    for path in files:
        console.print(terminal.plain(tr("wrote     {path}", path=path)), soft_wrap=True)


def _write(made: Any, out: Path) -> None:
    """The rows as a file; in CSV, texts are harmless to spreadsheets."""
    if out.suffix == ".csv":
        from discreto.export import to_csv

        write_new(out, to_csv(made.to_pydict(), None))
        return
    import pyarrow.parquet

    with open(out, "xb") as file:
        pyarrow.parquet.write_table(made, file)
