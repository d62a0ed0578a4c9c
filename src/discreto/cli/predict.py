"""``discreto predict``: what a fitted model says about rows. Free of charge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreto.cli import options, terminal
from discreto.cli.files import PARQUET, TEXT, refuse_existing, written_in
from discreto.errors import ParameterError
from discreto.release import export
from discreto.text.language import tr

EXAMPLE = """Examples:

`discreto predict model.json new.csv --out predictions.csv`

`discreto predict model.json new.csv | head`
"""
BATCH = 1 << 16


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file (JSON).")
    ],
    data: options.DataWord,
    *,
    dialect: options.DialectWords = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="A new .csv or .parquet file; else to stdout."),
    ] = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", "--chances", help="Also the probability of every class."
        ),
    ] = False,
) -> None:
    """Predict rows with a fitted model, in their order, one line each.

    A model is made of released numbers, so predicting costs nothing. But what is said
    about a private row is as private as that row.
    """
    from discreto.models import load

    if out is not None and str(out) != "-":
        refuse_existing(out)
        if out.suffix.lower() not in (*PARQUET, *TEXT):
            raise ParameterError("--out must end in .csv, .tsv or .parquet.")
    learner = load(model)
    if probabilities and not hasattr(learner, "predict_proba"):
        raise ParameterError(
            f"a {type(learner).__name__} has no classes: no --probabilities."
        )
    undeclared: dict[str, int] = {}
    with terminal.working(tr("predicting")):
        columns = _columns(
            learner, data, dialect, undeclared, probabilities=probabilities
        )
    if out is None or str(out) == "-":
        typer.echo(export.to_csv(columns, None), nl=False)
    else:
        _write(out, columns)
    console = terminal.err()
    stamp = f"{tr('SIMULATED')} " if learner.privacy_.simulated else ""
    rows = len(columns["prediction"])
    words = tr("predicted {rows} rows, free of charge", rows=rows)
    console.print(f"{stamp}{words}")
    for name, count in undeclared.items():
        words = tr(
            "{count} rows have a {name} that the domain does not declare: they are "
            "predicted as unknown",
            count=count,
            name=name,
        )
        console.print(terminal.plain(words), style="yellow")
    if out is not None:
        console.print(terminal.plain(tr("wrote {out}", out=out)), soft_wrap=True)
    console.print(tr("What is said about a private row is private, too."), style="dim")


def _columns(
    learner: Any,
    data: str,
    dialect: list[str] | None,
    undeclared: dict[str, int],
    *,
    probabilities: bool,
) -> dict[str, list[Any]]:
    """Return predictions, and on request probabilities of classes, by column.

    ``undeclared`` gets the number of rows with values that no Category declares.
    """
    from discreto.data.frames import open_frame
    from discreto.data.frames.convert import UNKNOWN
    from discreto.models.base.features import Ready

    space = learner.space_
    # Rows to predict need the features alone, and no person.
    domain = space.domain.with_(
        person=None, rows_per_person=1, neighbours="add-remove", target=None
    ).select(space.features)
    domain = written_in(domain, dialect)
    classes = list(getattr(learner, "classes_", [])) if probabilities else []
    out: dict[str, list[Any]] = {"prediction": []}
    out |= {f"chance of {kind}": [] for kind in classes}
    for batch, rows in open_frame(data, domain).batches(space.features, BATCH):
        ready = Ready(dict(batch), rows)
        for name in space.categories:
            if odd := int((batch[name] == UNKNOWN).sum()):
                undeclared[name] = undeclared.get(name, 0) + odd
        out["prediction"] += learner.predict(ready).tolist()
        if classes:
            for kind, part in zip(classes, learner.predict_proba(ready).T, strict=True):
                out[f"chance of {kind}"] += part.tolist()
    return out


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    table = pa.table(columns)
    if path.suffix.lower() in PARQUET:
        pq.write_table(table, path)
        return
    tab = "\t" if path.suffix.lower() == ".tsv" else ","
    csv.write_csv(table, path, csv.WriteOptions(delimiter=tab))
