"""``discreto fit``: learn a model for real, pay for it, and write its card."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto import Ledger, Table
from discreto.cli import evaluate as scores
from discreto.cli import options, terminal
from discreto.cli.files import refuse_existing, reserved
from discreto.cli.plan import plan_table
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError
from discreto.text.language import mark, number, tr
from discreto.text.meaning import explain

EXAMPLE = """Examples:

`discreto fit auto patients.parquet --domain d.json --target outcome
--epsilon 1 --ledger patients.ledger --budget 3 --out model.json`

`discreto fit NaiveBayes patients.parquet --domain d.json --target outcome
--epsilon 1 --ledger patients.ledger --budget 3 --out model.json`

`discreto fit KMeans patients.parquet --domain d.json --columns age,bmi
--set n_clusters=3 --epsilon 1 --ledger patients.ledger --out groups.json`

`discreto fit GradientBoostingClassifier patients.parquet --domain d.json
--target outcome --set max_depth=3 --set splits=random --epsilon 1
--ledger patients.ledger --out trees.json`
"""
# What other options say, or what only Python can say.
NOT_SET = (
    *("epsilon", "delta", "domain", "bounds", "classes", "target_bounds", "ledger"),
    "n_categories",  # the domain has the categories
    "settings",  # each of them by its own name
)

WRITTEN = (mark("model"), mark("card"))  # the names of its files
FeatureWords = Annotated[
    str | None, typer.Option("--columns", help="Use only these columns: age,bmi")
]
SettingWords = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A parameter of the model, or one of the settings of boosted trees: "
        "n_clusters=3, split_share=0.3",
    ),
]
CardFile = Annotated[
    Path | None,
    typer.Option(
        "--card", help="File for the model card (HTML); by default next to the model."
    ),
]
TestFile = Annotated[
    str | None,
    typer.Option("--test", help="Evaluate on the rows of this file instead of DATA."),
]


@options.grouped
def fit(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="auto, or the name of a model, such as NaiveBayes."
        ),
    ],
    source: options.PaidSource,
    stated: options.Statement,
    *,
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="Epsilon that the fit costs.")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="A new file for the model (JSON).")
    ],
    target: options.TargetWord = None,
    columns: FeatureWords = None,
    settings: SettingWords = None,
    delta: options.DeltaWord = "0",
    evaluate: Annotated[
        str | None,
        typer.Option("--evaluate", help="Also evaluate the model, at this epsilon."),
    ] = None,
    test: TestFile = None,
    card: CardFile = None,
) -> None:
    """Fit a private model for real: show the plan, charge the ledger, write the model.

    The charge is written down before any row is read, and nothing is given back. The
    model file and its card hold released numbers and public facts only.
    """
    known = _narrow(source.known(), columns, target)
    learner = _make(auto(model, known, target), settings, epsilon=epsilon, delta=delta)
    planned = learner.plan(known, target)
    _check_scores(learner, evaluate, test, delta)
    explain(1, prior=stated.prior)  # refuses an impossible prior
    card = card or out.with_suffix(".html")
    refuse_existing(card)
    with reserved(out) as file:
        book = source.open_ledger(known)
        table = source.table(known, book)
        others = table if test is None else source.table(known, book, test)
        terminal.say_unchecked(table, source.data)
        terminal.out().print(plan_table(planned))
        file.write(_fit(learner, table, target))
    cost = None if evaluate is None else (evaluate, delta)
    judged = _judge(learner, others, cost, card, stated.said())
    if judged is not None:
        scores.keep_scores(out, judged)
    _print(learner, judged, book, {"model": out, "card": card}, apart=test is not None)


def _judge(
    learner: Any,
    table: Table,
    cost: tuple[str, str] | None,
    card: Path,
    said: dict[str, str],
) -> Any:
    """Return the scores of a model, if they are asked for; its card in any case."""
    judged = None
    try:
        if cost is not None:
            judged = scores.measure(learner, table, *cost)
    finally:  # the model is paid for, whatever its evaluation says
        _write_card(card, learner, judged, said)
    return judged


def _check_scores(
    learner: Any, evaluate: str | None, test: str | None, delta: str
) -> None:
    if test is not None and evaluate is None:
        raise ParameterError("--test needs --evaluate EPSILON: what may it cost?")
    if evaluate is not None:
        scores.check(learner, evaluate, delta)


def _fit(learner: Any, table: Table, target: str | None) -> str:
    """Fit the model; its JSON form."""
    from discreto.models.interop.json import dumps

    with terminal.working(tr("fitting {name}", name=type(learner).__name__)):
        learner.fit(table, target if learner._needs_target else None)
    return dumps(learner)


def _narrow(known: Domain, columns: str | None, target: str | None) -> Domain:
    if columns is None:
        return known
    names = [name.strip() for name in columns.split(",") if name.strip()]
    target = target or known.target
    return known.select([*names, *([target] if target else [])])


def kinds() -> dict[str, Any]:
    """Return the models that can be fitted from the command line, by name."""
    from discreto import models
    from discreto.models.base.estimator import PrivateEstimator
    from discreto.models.neighbors.pay_per_prediction import Voters

    return {
        found: kind
        for found in models.__all__
        if isinstance(kind := getattr(models, found), type)
        and issubclass(kind, PrivateEstimator)
        and not issubclass(kind, Voters)  # they answer from rows: no file can hold them
    }


def auto(name: str, known: Domain, target: str | None) -> str:
    """Return the name of a model; ``auto`` is the one that suits the target.

    >>> from discreto import Category, Number
    >>> auto("auto", Domain({"a": Number(0, 1), "b": Category([0, 1])}), "b")
    'AutoClassifier'
    """
    if name.lower() != "auto":
        return name
    goal = target or known.target
    if goal is None:
        raise ParameterError("fit auto needs --target COLUMN: what is to be predicted?")
    return f"Auto{'Classifier' if hasattr(known[goal], 'categories') else 'Regressor'}"


def _make(name: str, settings: list[str] | None, **price: Any) -> Any:
    """Return the model of that name with these settings, checked."""
    known_kinds = kinds()
    if name not in known_kinds:
        near = difflib.get_close_matches(name, known_kinds, n=1)
        known = f"Known: {', '.join(known_kinds)}."
        hint = f"Did you mean {near[0]!r}?" if near else known
        raise ParameterError(f"there is no model {name!r} to fit and save. {hint}")
    return configured(known_kinds[name], settings or [], **price)


def configured(kind: Any, settings: list[str], **price: Any) -> Any:
    """Return a model with settings ``NAME=VALUE``, those of boosting among them.

    >>> from discreto.models import GradientBoostingClassifier
    >>> configured(GradientBoostingClassifier, ["split_share=0.3"], epsilon=1).settings
    BoostingSettings(split_share=0.3)
    """
    from discreto.models.boosting.settings import SETTING_NAMES, take_settings

    names = kind._get_param_names()
    finer = SETTING_NAMES if "settings" in names else ()
    allowed = [n for n in (*names, *finer) if n not in NOT_SET]
    given = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or key not in allowed:
            raise ParameterError(
                f"--set takes NAME=VALUE with a setting of {kind.__name__}: "
                f"{', '.join(allowed)}. Got {text!r}."
            )
        given[key] = options.value(value)
    return kind(**(take_settings(given) if finer else given), **price)


def _write_card(path: Path, learner: Any, judged: Any, said: dict[str, Any]) -> None:
    from discreto.report import model_page

    model_page(learner, evaluation=judged, **said).save(path)


def _print(
    learner: Any, judged: Any, book: Ledger, files: dict[str, Path], *, apart: bool
) -> None:
    console = terminal.out()
    privacy = learner.privacy_
    console.print(
        tr(
            "fitted    {name}, {privacy}",
            name=type(learner).__name__,
            privacy=number(privacy),
        ),
        highlight=False,
    )
    if judged is not None:
        scores.print_scores(judged)
        console.print(tr(scores.SAMPLING if apart else scores.TRAINING), style="dim")
    terminal.print_left(learner.space_.domain, book)
    for what, path in files.items():
        console.print(terminal.plain(f"{tr(what):<9} {path}"), soft_wrap=True)
