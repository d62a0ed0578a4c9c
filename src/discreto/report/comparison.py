"""The page of a comparison: which model at which epsilon is worth it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreto.plots import EpsilonCurveDisplay
from discreto.report.markup import (
    Html,
    Measured,
    code,
    facts,
    figure,
    note,
    table,
    text,
)
from discreto.report.model import plan_table
from discreto.report.page import Page
from discreto.session.parameters import read_delta
from discreto.text.language import mark, number, speaking, tr

if TYPE_CHECKING:
    from discreto.compare.comparison import CandidateScore, Comparison

PRIVATE = mark(
    "Everything on this page was computed from the rows, freely. If the"
    " rows are private, so are the scores and the advice: do not "
    "publish them. They are for the people who may see the rows. "
    "Fitting for real is paid for; choosing by this page is not. Where "
    "even the choice must be covered, compare on public data, or let "
    "discreto.models.select choose at a price."
)


def comparison_page(
    comparison: Comparison, *, command: str = "", name: str = "", lang: str = ""
) -> Page:
    """A page for the people who may see the rows.

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
            prices=_prices(comparison),
            folds=comparison.folds,
            repeats=repeats,
        )
        page = Page(title, lead, simulated=True)
        page.section(tr("Advice"), *_advice(comparison, command))
        page.section(tr("Scores"), *_scores(comparison), simulated=True)
        page.section(tr("What it would cost for real"), *_cost(comparison))
        page.section(tr("Who took part"), *_candidates(comparison))
        page.section(
            tr("How to read this page"),
            note(tr(PRIVATE), kind="warn"),
            *_method(comparison),
        )
        return page


def fit_command(
    comparison: Comparison,
    *,
    data: str,
    domain: str,
    ledger: str,
    budget: str = "",
    dialect: Sequence[str] = (),
) -> str:
    """The command that fits the recommended model for real.

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


def _prices(comparison: Comparison) -> int:
    return len({score.epsilon for score in comparison.scores})


def _number(comparison: Comparison, score: CandidateScore) -> Measured:
    epsilon = None if score.epsilon is None else score.price
    return Measured(score.mean, score.spread, epsilon, comparison.unit)


def _advice(comparison: Comparison, command: str) -> list[Html]:
    advice = comparison.advice
    reference, baseline = comparison.reference, comparison.baseline
    shown: dict[str, Any] = {}
    if advice is None:
        box = note(
            tr(
                "No model beats the baseline clearly at these prices. More rows, a "
                "larger ε, tighter public bounds or fewer columns would help."
            ),
            kind="warn",
        )
    else:
        kept = comparison.gain(advice.score) / max(comparison.gain(reference), 1e-12)
        box = note(
            text(
                Html("<strong>"),
                advice.candidate.label,
                Html("</strong>"),
                tr(
                    " at ε {epsilon}: {reason}.",
                    epsilon=number(advice.score.epsilon),
                    reason=advice.reason,
                ),
            ),
            kind="good",
        )
        shown[tr("recommended")] = (
            _number(comparison, advice.score),
            tr(
                "keeps {kept} of the gain that is possible without privacy",
                kept=number(min(kept, 1), ".0%"),
            ),
        )
    shown[tr("without privacy")] = (_number(comparison, reference), reference.model)
    shown[tr("baseline")] = (_number(comparison, baseline), baseline.model)
    shown[tr("rows")] = (comparison.rows, tr("a private number"))
    blocks = [box, facts(shown)]
    if command:
        blocks += [text(tr("To do it for real:")), code(command, block=True)]
    return blocks


def _scores(comparison: Comparison) -> list[Html]:
    rows = [score.to_dict() | {"epsilon": score.price} for score in comparison.scores]
    display = EpsilonCurveDisplay.from_results(rows, score_name=_axis(comparison))
    display.references = {
        comparison.reference.model: comparison.reference.mean,
        comparison.baseline.model: comparison.baseline.mean,
    }
    caption = tr(
        "Mean over {count} fits on rows that were not fitted; bands are one"
        " standard deviation.",
        count=comparison.scores[0].count,
    )
    lower = "" if comparison.higher else tr(" Lower is better.")
    return [figure(display, caption=caption + lower), _matrix(comparison)]


def _axis(comparison: Comparison) -> str:
    unit = comparison.unit if comparison.metric == "rmse" else ""
    return f"{tr(comparison.metric_name)}{unit and f' ({unit})'}"


def _matrix(comparison: Comparison) -> Html:
    prices = list(dict.fromkeys(score.epsilon for score in comparison.scores))
    found = {(s.model, s.epsilon): s for s in comparison.scores}
    lines = [
        [c.label, *(_plain(found[c.label, price]) for price in prices)]
        for c in comparison.candidates
    ]
    for score in (comparison.reference, comparison.baseline):
        lines.append([score.model, *([_plain(score)] * len(prices))])
    heads = [tr("model"), *(f"ε {number(price)}" for price in prices)]
    return table(
        heads, lines, caption=tr("Mean ± standard deviation. Press a heading to sort.")
    )


def _plain(score: CandidateScore) -> Measured:
    return Measured(score.mean, score.spread)


def _cost(comparison: Comparison) -> list[Html]:
    if comparison.advice is None:
        return [text(tr("Nothing is recommended, so nothing is priced."))]
    plan = comparison.advice.plan
    return [
        text(
            tr(
                "A fit of {label} asks {count} question(s) and charges {total} to "
                "the ledger, whatever comes out. Predicting with the model "
                "afterwards is free.",
                label=comparison.advice.candidate.label,
                count=len(plan),
                total=number(plan.total),
            )
        ),
        plan_table(plan),
    ]


def _candidates(comparison: Comparison) -> list[Html]:
    ours = [[c.label, len(c.features)] for c in comparison.candidates]
    blocks = [table([tr("model"), tr("columns")], ours)]
    if comparison.left_out:
        rows = [[name, why] for name, why in comparison.left_out.items()]
        blocks.append(table([tr("left out"), tr("why")], rows))
    if comparison.remark:
        blocks.append(note(comparison.remark))
    return blocks


def _method(comparison: Comparison) -> list[Html]:
    return [
        text(
            tr(
                "Each model was fitted with its default settings on all folds but "
                "one and scored on that one, with noise as large as a real fit "
                "would get."
            )
        ),
        text(
            tr(
                "The line without privacy is the better of scikit-learn's gradient "
                "boosted trees and a linear model on the same folds. The baseline "
                "looks at no column."
            )
        ),
    ]
