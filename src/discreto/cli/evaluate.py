"""``discreto evaluate``: how good a fitted model is, on rows that it has not seen."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto import Table
from discreto.cli import options, terminal
from discreto.cli.files import read_domain, written_in
from discreto.core.cost import Cost
from discreto.core.documents import read_json
from discreto.errors import DiscretoError, ParameterError
from discreto.release.release import Release
from discreto.text.language import mark, tr

EXAMPLE = """Example:

`discreto evaluate model.json test.parquet --domain d.json --epsilon 0.5
--ledger patients.ledger`
"""
SAMPLING = mark("The intervals cover the noise, and that these are some rows of many.")
TRAINING = mark("Measured on the rows it was fitted to: it looks better than it is.")


@options.grouped
def evaluate(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file (JSON).")
    ],
    paid: options.Payment,
    *,
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="Epsilon that this question may cost.")
    ],
    domain: Annotated[
        Path | None,
        typer.Option("--domain", help="The domain of DATA; by default the model's."),
    ] = None,
    delta: options.DeltaWord = "0",
    card: Annotated[
        Path | None,
        typer.Option("--card", help="Write the model's card (HTML) with the score."),
    ] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Measure a fitted model on private rows, and pay for it from their ledger.

    Give it rows that the model was not fitted to: on its own rows a model looks better
    than it is. The charge is written down before any row is read.
    """
    from discreto.models import load

    learner = load(model)
    known = learner.space_.domain if domain is None else read_domain(domain)
    known = written_in(known, paid.dialect)
    check(learner, epsilon, delta)
    book = paid.open_ledger(known)
    table = paid.table(known, book)
    judged = keep_scores(model, measure(learner, table, epsilon, delta))
    if card is not None:
        from discreto.report import model_page

        model_page(learner, evaluation=judged).save(card)
    if as_json:
        terminal.print_json({name: r.to_dict() for name, r in judged.items()})
        return
    terminal.say_unchecked(table, paid.data)
    print_scores(judged)
    terminal.out().print(terminal.plain(tr(SAMPLING)), style="dim")
    terminal.print_left(known, book)
    if card is not None:
        terminal.out().print(
            terminal.plain(tr("card      {card}", card=card)), soft_wrap=True
        )


def check(learner: Any, epsilon: str, delta: str) -> None:
    """Refuse what can be refused before a fit or a charge."""
    if not learner._needs_target:
        name = type(learner).__name__
        raise ParameterError(f"{name} predicts nothing: there is nothing to evaluate.")
    Cost.of(epsilon, delta)


def measure(learner: Any, table: Table, epsilon: str, delta: str) -> Any:
    """Return a private evaluation."""
    from discreto.models import evaluate as run

    with terminal.working(tr("measuring the model")):
        return run(learner, table, epsilon=epsilon, delta=delta)


def scores_file(model: Path) -> Path:
    """Return the path of the paid scores of a model file, beside it."""
    return model.with_suffix(".scores.json")


def keep_scores(model: Path, judged: Any) -> Any:
    """Write the paid scores of a model file beside it, for its card. Return them."""
    form = {
        "discreto_scores": 1,
        "model": _digest(model),
        "scores": {name: release.to_dict() for name, release in judged.items()},
    }
    # The scores are paid for: a folder that cannot be written must not lose them.
    with contextlib.suppress(OSError):
        scores_file(model).write_text(json.dumps(form), encoding="utf-8")
    return judged


def kept_scores(model: Path) -> Any:
    """Return the paid scores of exactly this model file, or None."""
    from discreto.models import Evaluation

    try:
        form = read_json(scores_file(model).read_text(encoding="utf-8"))
        if form["discreto_scores"] != 1 or form["model"] != _digest(model):
            return None
        parts: Any = {n: Release.from_dict(part) for n, part in form["scores"].items()}
        return Evaluation(**parts)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, DiscretoError):
        return None


def _digest(model: Path) -> str:
    return hashlib.sha256(model.read_bytes()).hexdigest()


def print_scores(judged: Any) -> None:
    """Print every measure."""
    for line in str(judged).splitlines():
        terminal.out().print(terminal.plain(f"          {line}"), soft_wrap=True)
