"""Evaluation of a model on private rows: a question like any other, and paid for.

The rows are compared with the model's predictions behind the gate; what comes out is a
noisy confusion matrix, noisy sums of losses, noisy counts of scores. Each score has two
intervals: for the population that the rows were drawn from, and for these rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from discreto.core.cost import Amount, Cost
from discreto.core.domain.domain import Category
from discreto.core.maps import Categories, Cross, Ones, Present
from discreto.core.maps.losses import LOG_BOUND, LossParts, ScoreBins
from discreto.core.maps.predictions import (
    CONFIDENCE_BINS,
    Predicted,
    Right,
    predictor_of,
)
from discreto.core.query import Block, Sum
from discreto.errors import ParameterError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.process_facts import keep_evaluation
from discreto.models.interop import json as persist
from discreto.models.scoring import classifier_metrics as _scores
from discreto.models.scoring.classifier_metrics import CALIBRATION, ModelScore
from discreto.models.scoring.regressor_metrics import number_scores
from discreto.release.release import LEVEL, Release
from discreto.release.text import releases_html, text_of
from discreto.session.parameters import read_level
from discreto.session.perform import perform
from discreto.session.session import Ask
from discreto.table.table import Table
from discreto.text.language import number, tr

CLASS_METRICS = {"accuracy": 4, "auc": 1, "log_loss": 1, "brier": 1, "calibration": 1}
NUMBER_METRICS = {"rmse": 2, "r2": 1}
# What others want to do with an evaluation, by who they are.
AFTER_EVALUATION: dict[str, Callable[[Any], None]] = {}


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Private measures of a model, each a Release; ``None`` where it does not apply.

    Intervals are for the population that the rows were drawn from: noise and sampling
    together. ``on_these_rows`` has the same values with intervals for the table alone.

    Parameters
    ----------
    accuracy, confusion, recall, macro_f1
        The share of correct classes, the counts of true and predicted ones, the share
        of each class that was found, and the mean F1 over classes.
    baseline
        The share of the most frequent class: what always naming it would get right.
    auc
        The probability that a row of a class scores higher than one of another; with
        more than two classes, the mean of each class against the rest.
    log_loss, brier
        The mean of minus the logarithm of the true class's probability, and of the
        squared error of probabilities (over all classes where there are more than two).
    calibration
        For each range of probabilities, how often it was right.
    group_accuracy, group_recall, group_rates
        With ``by``: accuracy, recall of each class, and how often each class is
        predicted, in each group.
    rmse, r2
        Of a regressor: the root of the mean squared error, and R².
    on_these_rows
        The same with intervals that cover the scores on this table, over the noise.
    """

    accuracy: Release | None = None
    confusion: Release | None = None
    log_loss: Release | None = None
    calibration: Release | None = None
    rmse: Release | None = None
    r2: Release | None = None
    recall: Release | None = None
    macro_f1: Release | None = None
    auc: Release | None = None
    brier: Release | None = None
    group_accuracy: Release | None = None
    group_recall: Release | None = None
    group_rates: Release | None = None
    baseline: Release | None = None
    on_these_rows: Evaluation | None = None

    def items(self) -> list[tuple[str, Release]]:
        """The measures there are, by name: single numbers first, accuracy before all.

        What an accuracy is worth is seen beside the baseline, so that comes next.
        """
        names = [part.name for part in fields(self) if part.name != "on_these_rows"]
        parts = [(name, getattr(self, name)) for name in names]
        given = [(name, part) for name, part in parts if part is not None]
        first = ("accuracy", "baseline")
        return sorted(
            given, key=lambda pair: (bool(pair[1].keys), pair[0] not in first)
        )

    def __str__(self) -> str:
        shown = [(name, _with_rows(part)) for name, part in self.items()]
        lines = [f"{name}: {text_of(part, priced=False)}" for name, part in shown]
        if shown:
            cost = number(shown[0][1].cost)
            lines.append(tr("{cost} for all of these together", cost=cost))
        if not all(part.checked for _, part in shown):
            lines.insert(0, tr("NOT CHECKED"))
        return "\n".join(lines)

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.items())
        return f"Evaluation({names})"

    def _repr_html_(self) -> str:
        shown = [_with_rows(part) for _, part in self.items()]
        return releases_html(shown, together=True)


def _with_rows(release: Release) -> Release:
    """Return a calibration without the ranges of which nothing is known."""
    if release.label != CALIBRATION:
        return release
    wide = np.subtract(release.high, release.low) >= 1
    left = [i for i, nothing in enumerate(wide) if not nothing]
    if len(left) in (0, len(wide)):
        return release
    return replace(
        release,
        value=np.asarray(release.value)[left],
        low=np.asarray(release.low)[left],
        high=np.asarray(release.high)[left],
        keys=tuple(release.keys[i] for i in left),
        note=f"{len(wide) - len(left)} ranges with next to no rows are not shown",
    )


def evaluate(
    model: PrivateEstimator,
    table: Table,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    metrics: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    level: float = LEVEL,
) -> Evaluation:
    """Measure a fitted model on a private table.

    A classifier gets its confusion matrix with accuracy, recall and F1 (half of the
    cost), AUC, mean log loss, Brier score and calibration (an eighth each). A regressor
    gets RMSE (two thirds) and R². Ask for fewer and each has more of the cost.

    Parameters
    ----------
    model
        A fitted model.
    table
        Rows that the model was not trained on, unless you want its training error.
    epsilon : int, float, str or Fraction
        What it costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the
        same.
    delta : int, float, str or Fraction
        Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
    metrics : str or list of str, optional
        Some of accuracy (with confusion, recall and F1), auc, log_loss, brier,
        calibration; or of rmse, r2. By default all that apply.
    by : str or list of str, optional
        Category columns: accuracy, recall and predicted classes of each group as well.
        It costs nothing more, but the noise of all groups adds up in the whole.
    level
        With what probability intervals cover.

    Returns
    -------
    Evaluation
        Releases by name. Their intervals are for the population; those of
        ``on_these_rows`` are for this table.

    Privacy
    -------
    Charged to the table's ledger before a row is read. A row is in one cell of every
    count, and is split into parts of one for every loss.

    Examples
    --------
    >>> import discreto as dp
    >>> from discreto.models import NaiveBayes, evaluate
    >>> columns = {"x": dp.Number(0, 1), "y": dp.Category([0, 1])}
    >>> domain = dp.Domain(columns, target="y")
    >>> rows = {"x": [0.1, 0.9] * 1000, "y": [0, 1] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> model = NaiveBayes(epsilon=1).fit(table)
    >>> evaluate(model, table, epsilon=1).accuracy.value > 0.9
    True
    """
    text, cost = persist.dumps(model), Cost.of(epsilon, delta)
    goal = model.space_.goal
    classes = isinstance(table.domain[goal], Category)
    known = CLASS_METRICS if classes else NUMBER_METRICS
    parts = _shares(metrics, known)
    groups = (by,) if isinstance(by, str) else tuple(by or ())
    if groups and "accuracy" not in parts:
        raise ParameterError("groups need a classifier's metric 'accuracy'.")
    asked = _Asked(text, goal, parts, groups, read_level(level))
    work = _judge_classes if classes else _judge_number
    label = f"evaluate {type(model).__name__}"
    done = perform(table, lambda ask: work(ask, asked), cost, label)

    def released(*, population: bool) -> Evaluation:
        made: dict[str, Any] = {}
        for name, score in done.result.items():
            one = score.release(asked.level, population=population)
            paid = one.paid(done.receipt, cost, table.domain.neighbours)
            made[name] = paid if table.checked else replace(paid, checked=False)
        return Evaluation(**made)

    rows = released(population=False)
    judged = replace(released(population=True), on_these_rows=rows)
    keep_evaluation(model, judged)
    for after in AFTER_EVALUATION.values():
        after(judged)
    return judged


def _shares(
    metrics: str | Sequence[str] | None, known: dict[str, int]
) -> dict[str, Fraction]:
    """Return the share of the cost that each metric has."""
    wanted = [metrics] if isinstance(metrics, str) else list(metrics or known)
    if not wanted or any(name not in known for name in wanted):
        raise ParameterError(
            f"metrics are some of {', '.join(known)}. Got {metrics!r}."
        )
    total = sum(known[name] for name in set(wanted))
    return {name: Fraction(known[name], total) for name in known if name in wanted}


@dataclass(frozen=True)
class _Asked:
    """The parts of an evaluation's question."""

    text: str
    goal: str
    parts: dict[str, Fraction]
    by: tuple[str, ...]
    level: float


def _judge_classes(ask: Ask, asked: _Asked) -> dict[str, ModelScore]:
    classes = list(predictor_of(asked.text).classes)
    if tuple(classes) != ask.domain.category(asked.goal).categories:
        raise ParameterError("the model's classes are not those of the table's domain.")
    out: dict[str, ModelScore] = {}
    for name, part in asked.parts.items():
        if name == "accuracy":
            out |= _confusion(ask, asked, classes, part)
        elif name == "auc":
            out["auc"] = _auc(ask, asked, len(classes), part)
        elif name == "calibration":
            out["calibration"] = _calibration(ask, asked, part)
        else:
            out[name] = _loss(ask, asked, name, len(classes), part)
    return out


def _confusion(
    ask: Ask, asked: _Asked, classes: list[Any], part: Fraction
) -> dict[str, ModelScore]:
    size = len(classes)
    truth = Cross(Categories((asked.goal,), declared=True), Predicted(asked.text))
    cells = Cross(Categories(asked.by), truth) if asked.by else truth
    answer = ask.measure(Sum(cells, (Block(Ones()),)), "confusion matrix", part)
    names = list(Categories(asked.by).labels(ask.domain)) if asked.by else [()]
    table = answer.tables[0][:, 0].astype(float)
    counts = table.reshape(len(names), size, size)
    noise = answer.noises[0]
    out = _scores.of_confusion(counts, noise, classes, asked.level)
    if asked.by:
        out |= _scores.of_groups(counts, noise, classes, names, asked.level)
    return out


def _auc(ask: Ask, asked: _Asked, size: int, part: Fraction) -> ModelScore:
    places = [1] if size == 2 else range(size)
    tables = []
    for place in places:
        query = Sum(ScoreBins(asked.text, place), (Block(Ones()),))
        share = part / len(places)
        answer = ask.measure(query, f"scores of class {place + 1}", share)
        tables.append(answer.tables[0])
    return _scores.of_score_bins(tables, answer.noises[0], asked.level)


def _loss(ask: Ask, asked: _Asked, name: str, size: int, part: Fraction) -> ModelScore:
    log = name == "log_loss"
    most = LOG_BOUND if log else 1.0
    block = Block(LossParts(asked.text, "log" if log else "brier", most))
    label = "log loss" if log else "Brier score"
    answer = ask.measure(Sum(Present((asked.goal,)), (block,)), label, part)
    note = f"rows count up to {most:.3g}" if log else ""
    # With more than two classes the Brier score is not halved, as in scikit-learn.
    scale = 2.0 if not log and size > 2 else 1.0
    noise = answer.noises[0]
    return _scores.of_loss_parts(
        label, answer.tables[0], noise, most * scale, asked.level, note
    )


def _calibration(ask: Ask, asked: _Asked, part: Fraction) -> ModelScore:
    cells = Cross(Predicted(asked.text, confidence=True), Right(asked.text))
    answer = ask.measure(Sum(cells, (Block(Ones()),)), "calibration", part)
    bins = answer.tables[0][:, 0].reshape(CONFIDENCE_BINS, 2).astype(float)
    edges = np.linspace(0, 1, CONFIDENCE_BINS + 1)
    keys = tuple(f"{a:.1f} to {b:.1f}" for a, b in pairwise(edges))
    return _scores.of_calibration(bins, answer.noises[0], keys, asked.level)


def _judge_number(ask: Ask, asked: _Asked) -> dict[str, ModelScore]:
    return number_scores(ask, asked.text, asked.goal, asked.parts, asked.level)
