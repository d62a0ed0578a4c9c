"""The page of a comparison: which model at which epsilon is worth it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreto.plots import EpsilonCurveDisplay
from discreto.report.markup import Measured
from discreto.report.model import plan_table
from discreto.report.page import Page, fill
from discreto.session.parameters import read_delta
from discreto.text.language import number, speaking, tr

if TYPE_CHECKING:
    from discreto.compare.comparison import CandidateScore, Comparison


def comparison_page(
    comparison: Comparison, *, command: str = "", name: str = "", lang: str = ""
) -> Page:
    """Return a page for the people who may see the rows.

    Parameters
    ----------
    command
        What to run to fit the recommended model for real.
    name
        What the table is called.
    comparison
        What ``discreto compare`` found.
    lang
        ``"en"``, ``"pt"``, ``"es"`` or ``"fr"``; by default the language in use.
    """
    with speaking(lang):
        target, metric = comparison.target, _metric(comparison)
        if name:
            title = tr(
                "Predicting {target} in {name}: privacy against {metric}",
                target=target,
                name=name,
                metric=metric,
            )
        else:
            title = tr(
                "Predicting {target}: privacy against {metric}",
                target=target,
                metric=metric,
            )
        repeats = (
            tr("once")
            if comparison.repeats == 1
            else tr("{repeats} times", repeats=comparison.repeats)
        )
        lead = tr(
            "{count} private models, {prices} values of ε, {folds}-fold "
            "cross-validation, {repeats}.",
            count=len(comparison.candidates),
            prices=len(_epsilons(comparison)),
            folds=comparison.folds,
            repeats=repeats,
        )
        page = Page(title, lead, simulated=True)
        return fill(
            page,
            "comparison.html",
            comparison=comparison,
            command=command,
            measured=lambda score: _number(comparison, score),
            kept=_kept(comparison),
            display=_curves(comparison),
            prices=[f"ε {number(price)}" for price in _epsilons(comparison)],
            matrix=_matrix(comparison),
            candidates=[[c.label, len(c.features)] for c in comparison.candidates],
            plan_table=plan_table,
        )


def fit_command(
    comparison: Comparison,
    *,
    data: str,
    domain: str,
    ledger: str,
    budget: str = "",
    dialect: Sequence[str] = (),
) -> str:
    """Return the command that fits the recommended model for real.

    Parameters
    ----------
    comparison
        What ``discreto compare`` found.
    data, domain, ledger
        The files to name in the command.
    budget
        The budget of a new ledger.
    dialect
        How the data is written, in words such as ``separator=;``.

    Returns
    -------
    str
        A line for a shell; nothing if no model is recommended.
    """
    if comparison.advice is None:
        return ""
    who, score = comparison.advice.candidate, comparison.advice.score
    words = ["discreto", "fit", who.model, data, "--domain", domain]
    words += [part for word in dialect for part in ("--dialect", word)]
    words += ["--target", comparison.target, "--epsilon", str(score.epsilon)]
    if who.part:
        words += ["--columns", ",".join(who.features)]
    if read_delta(comparison.delta):
        words += ["--delta", comparison.delta]
    words += ["--ledger", ledger, *(["--budget", budget] if budget else [])]
    if budget and read_delta(comparison.delta):
        words += ["--budget-delta", comparison.delta]
    return shlex.join([*words, "--out", "model.json"])


def _metric(comparison: Comparison) -> str:
    return tr("error") if comparison.metric == "rmse" else tr(comparison.metric_name)


def _epsilons(comparison: Comparison) -> list[Any]:
    return list(dict.fromkeys(score.epsilon for score in comparison.scores))


def _number(comparison: Comparison, score: CandidateScore) -> Measured:
    epsilon = None if score.epsilon is None else score.price
    return Measured(score.mean, score.spread, epsilon, comparison.unit)


def _kept(comparison: Comparison) -> str:
    """Return the share of the possible gain that the recommended model keeps."""
    if comparison.advice is None:
        return ""
    possible = max(comparison.gain(comparison.reference), 1e-12)
    return number(min(comparison.gain(comparison.advice.score) / possible, 1), ".0%")


def _curves(comparison: Comparison) -> EpsilonCurveDisplay:
    rows = [score.to_dict() | {"epsilon": score.price} for score in comparison.scores]
    unit = comparison.unit if comparison.metric == "rmse" else ""
    axis = f"{tr(comparison.metric_name)}{unit and f' ({unit})'}"
    display = EpsilonCurveDisplay.from_results(rows, score_name=axis)
    display.references = {
        score.model: score.mean for score in (comparison.reference, comparison.baseline)
    }
    return display


def _matrix(comparison: Comparison) -> list[list[Any]]:
    """Return a line for each model: its label, and its score at each price."""
    prices = _epsilons(comparison)
    found = {
        (score.model, score.epsilon): Measured(score.mean, score.spread)
        for score in comparison.scores
    }
    lines: list[list[Any]] = [
        [c.label, *(found[c.label, price] for price in prices)]
        for c in comparison.candidates
    ]
    for score in (comparison.reference, comparison.baseline):
        measured = Measured(score.mean, score.spread)
        lines.append([score.model, *([measured] * len(prices))])
    return lines
