"""The second half of the demo: which model is worth it, and then that one for real."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreto import Ledger, Table
from discreto.cli import terminal
from discreto.cli.compare import bar, print_comparison
from discreto.cli.plan import plan_table
from discreto.errors import MissingExtraError
from discreto.text.language import number, tr

if TYPE_CHECKING:
    from discreto.compare.comparison import Comparison
    from discreto.data.datasets import Dataset

PRICES = ("0.5", "1", "2", "4", "8")
JUDGING = "0.5"  # spent on measuring the model that was fitted


@dataclass(frozen=True)
class ModelFiles:
    """What this half writes."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model.json"

    @property
    def card(self) -> Path:
        return self.folder / "model.html"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"


def patients(*, download: bool) -> Dataset:
    """Pima where it can be had, else the tumours that scikit-learn carries."""
    from discreto.data.datasets import load

    try:
        return load("pima", download=download)
    except MissingExtraError:
        return load("breast_cancer")


def compare_models(data: Dataset) -> Comparison:
    """All suitable models, simulated, on the console."""
    from discreto.compare.cross_validation import compare

    with bar(tr("simulating")) as progress:
        made = compare(
            data.columns, data.domain, epsilons=PRICES, repeats=1, progress=progress
        )
    print_comparison(made)
    return made


def fit_for_real(
    files: ModelFiles, data: Dataset, made: Comparison, ledger: Ledger
) -> tuple[Any, Any]:
    """The recommended model, charged to the ledger, with a private evaluation."""
    from discreto import models

    advice = made.advice
    if advice is None:  # cannot happen with the public sets of the demo
        return None, None
    price = str(advice.score.epsilon)
    console = terminal.out()
    console.print(plan_table(advice.plan))
    features = advice.candidate.features
    table = Table(data.columns, data.domain.select([*features, made.target]), ledger)
    with terminal.working(tr("fitting")):
        model = advice.candidate.make(price).fit(table, made.target)
        judged = models.evaluate(model, table, epsilon=JUDGING)
    models.save(model, files.model)
    console.print(
        tr(
            "fitted   {name}, {privacy}",
            name=type(model).__name__,
            privacy=number(model.privacy_),
        ),
        highlight=False,
    )
    console.print(
        tr(
            "accuracy {accuracy}, on the rows it was fitted to",
            accuracy=judged.accuracy,
        )
    )
    console.print(tr("ledger   {ledger}", ledger=ledger), highlight=False)
    return model, judged


def write_pages(
    files: ModelFiles, data: Dataset, made: Comparison, model: Any, judged: Any
) -> None:
    """The report, and the card of the model."""
    from discreto import report

    page = report.comparison_page(made, name=data.name)
    if model is not None:
        page.section(tr("Done for real"), *report.model_blocks(model, judged))
        report.model_page(model, evaluation=judged).save(files.card)
    page.save(files.report)
