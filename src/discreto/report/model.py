"""The card of a fitted model: what it is, what it cost, and what that protects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain
from discreto.core.domain.html import column_words, unit_of_privacy
from discreto.models.base.process_facts import last_evaluation
from discreto.release.labels import label_in_words
from discreto.release.text import key_in_words
from discreto.report.effects import effect_blocks
from discreto.report.markup import (
    Html,
    Measured,
    code,
    facts,
    side_by_side,
    table,
    text,
)
from discreto.report.model_summary import learned
from discreto.report.page import Page, fill
from discreto.text.language import mark, number, speaking, tr
from discreto.text.meaning import deployments_near, explain_cost

WAYS_OUT = {
    "measure": mark("noisy sums"),
    "select": mark("noisy choice"),
    "randomise": mark("noisy rows"),
}
ELSEWHERE = (
    "domain",
    "ledger",
    "epsilon",
    "delta",
    "bounds",
    "classes",
    "target_bounds",
)
MOST_QUESTIONS = 12  # each on a line of its own


def model_page(
    model: Any,
    *,
    evaluation: Any = None,
    title: str = "",
    purpose: str = "",
    author: str = "",
    data: str = "",
    date: str = "",
    prior: Amount = "0.1",
    lang: str = "",
) -> Page:
    """Return the card of a fitted model, for those who decide whether it may be used.

    Parameters
    ----------
    model
        A fitted model.
    evaluation
        What ``models.evaluate`` returned; by default the last one that was paid for
        this model in this process. A model file has none.
    title
        Stands above the page.
    purpose
        What the model is for.
    author
        Who answers for it.
    data
        What the rows are: where from, when, who is in them.
    date
        When it was made; by default today.
    prior
        What an attacker is assumed to believe beforehand, for the odds of one person.
    lang
        ``"en"``, ``"pt"``, ``"es"`` or ``"fr"``; by default the language in use.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    evaluation = last_evaluation(model) if evaluation is None else evaluation
    with speaking(lang):
        name, privacy = type(model).__name__, model.privacy_
        page = Page(
            title or tr("Model card: {name}", name=name),
            _purpose(model),
            simulated=privacy.simulated,
            compact=True,
        )
        told = {tr("purpose"): purpose, tr("data"): data, tr("author"): author}
        protected = bool(privacy.cost) and not privacy.simulated
        meant = explain_cost(privacy.cost, prior=prior) if protected else None
        judged = None if evaluation is None else evaluation_tables(evaluation)
        return fill(
            page,
            "model.html",
            privacy=privacy,
            stated=[[word, value or tr("not stated")] for word, value in told.items()],
            date=date or datetime.now(UTC).strftime("%Y-%m-%d"),
            glance=_glance(model),
            meant=meant,
            unit=unit_of_privacy(model.space_.domain),
            others="" if meant is None else _others(min(e for e, _ in meant.points)),
            evaluation=judged,
            learned=[*effect_blocks(model), *learned(model)],
            plan_table=plan_table,
            beliefs=[list(belief.split(": ", 1)) for belief in privacy.plan.beliefs],
            domain_table=_known(model),
            settings=_settings(model),
            predicts=model.space_.target is not None,
        )


def model_blocks(model: Any, evaluation: Any = None) -> list[Html]:
    """Return what a model cost and how good it is, for a section of another page.

    Parameters
    ----------
    model
        A fitted model.
    evaluation
        What ``models.evaluate`` returned; by default as for ``model_page``.
    """
    evaluation = last_evaluation(model) if evaluation is None else evaluation
    judged = [] if evaluation is None else evaluation_tables(evaluation)
    name = type(model).__name__
    return [text(f"{name}. {_purpose(model)}"), _glance(model), *judged]


def _purpose(model: Any) -> str:
    space = model.space_
    if hasattr(model, "marginals_"):
        many = len(space.features) + (space.target is not None)
        return tr("Generates synthetic rows with {count} columns.", count=many)
    if space.target is None:
        return tr("Groups rows by {count} columns.", count=len(space.features))
    return tr(
        "Predicts {target} from {count} columns.",
        target=space.target,
        count=len(space.features),
    )


def _glance(model: Any) -> Html:
    privacy = model.privacy_
    kind = tr("zero-concentrated") if privacy.cost.rho else tr("pure")
    paid = tr("hash {hash}", hash=privacy.receipt.hash[:12])
    return facts(
        {
            tr("cost"): (
                number(privacy.cost),
                tr("{kind} differential privacy", kind=kind),
            ),
            tr("protects"): (
                _who(privacy),
                tr("neighbours: {neighbours}", neighbours=privacy.neighbours),
            ),
            tr("questions"): len(privacy.plan),
            tr("ledger entry"): (privacy.receipt.seq, paid),
        }
        | ({tr("values"): label_in_words(privacy.note)} if privacy.note else {})
    )


def _who(privacy: Any) -> str:
    many = privacy.rows_per_person
    if privacy.person is None and many == 1:
        return tr("one row")
    return tr("one person") if many == 1 else tr("one person, {many} rows", many=many)


def _others(epsilon: float) -> str:
    """Return published values of ε near to this one, with what they protect."""
    near = deployments_near(epsilon)
    words = [
        tr(
            "ε {epsilon} for {unit} ({who})",
            epsilon=number(one.epsilon, "g"),
            unit=tr(one.unit),
            who=tr(one.who),
        )
        for one in near
    ]
    return tr("published beside it: {names}", names="; ".join(words))


def evaluation_tables(evaluation: Any) -> list[Html]:
    """Return a private evaluation: single numbers, then a table for each other one."""
    single = [part for _, part in evaluation.items() if not part.keys]
    several = [part for _, part in evaluation.items() if part.keys]
    remark = tr(
        "Measured privately. Intervals are for the population that the rows"
        " come from: noise and sampling together; those of counts are for "
        "the noise. On the rows that a model was fitted to, it looks better"
        " than it is."
    )
    scores = {
        label_in_words(part.label): (_end(part.value, part.error), _interval(part))
        for part in single
    }
    cost = number(evaluation.items()[0][1].cost)
    return [
        text(remark, " ", tr("{cost} for all of these together", cost=cost), "."),
        *([facts(scores)] if scores else []),
        side_by_side(*map(release_table, several)),
    ]


def _interval(release: Any) -> str:
    unit = f" {release.unit}" if release.unit else ""
    return f"95 %: {_span(release.low, release.high)}{unit}"


def release_table(release: Any) -> Html:
    """Return a release as a table: value and interval."""
    values, lows, highs = (
        np.ravel(part).tolist() for part in (release.value, release.low, release.high)
    )
    keys = release.keys or ("",) * len(values)
    lines = [
        [
            key_in_words(key) or label_in_words(release.label),
            _end(v, (b - a) / 2),
            _span(a, b),
        ]
        for key, v, a, b in zip(keys, values, lows, highs, strict=True)
    ]
    unit = f" ({release.unit})" if release.unit else ""
    caption = f"{label_in_words(release.label)}{unit}"
    caption += f"; {label_in_words(release.note)}" if release.note else ""
    return table(["", tr("value"), "95 %"], lines, caption=caption)


def _span(low: float, high: float) -> str:
    first, last = (_end(end, (high - low) / 2).shown for end in (low, high))
    return tr("{low} to {high}", low=first, high=last)


def _end(value: float, error: float) -> Measured:
    return Measured(value, error, quiet=True)


def plan_table(plan: Any) -> Html:
    """Return the questions of a plan, one a line; many of a kind share a line."""
    kinds: dict[tuple[str, str, str], list[str]] = {}
    for question in plan:
        noise = ", ".join(
            number(ratio, ".3g") for ratio in dict.fromkeys(question.ratios())
        )
        how = tr(WAYS_OUT.get(question.door, question.door))
        kinds.setdefault((how, number(question.cost), noise), []).append(
            label_in_words(question.label)
        )
    if len(plan) > MOST_QUESTIONS:
        lines = [[_several(labels), *kind] for kind, labels in kinds.items()]
    else:
        lines = [[label, *kind] for kind, labels in kinds.items() for label in labels]
    heads = [tr("question"), tr("how"), tr("cost of each"), tr("noise / a row's reach")]
    return table(heads, lines, caption=tr("{total} in all", total=number(plan.total)))


def _several(labels: list[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return tr(
        "{first} to {last} ({count} questions)",
        first=labels[0],
        last=labels[-1],
        count=len(labels),
    )


def _known(model: Any) -> Html:
    space = model.space_
    keep = [*space.features, *([space.target] if space.target else [])]
    return domain_table(space.domain.select(keep), target=space.target)


def _settings(model: Any) -> list[list[Any]]:
    """Return the parameters of a model that the card does not show elsewhere."""
    return [
        [name, code(repr(value))]
        for name, value in sorted(model.get_params(deep=False).items())
        if name not in ELSEWHERE and value is not None
    ]


def domain_table(domain: Domain, *, target: str | None = None) -> Html:
    """Return a table of the columns of a domain."""
    lines = [
        [name, tr("target") if name == target else "", *column_words(column)]
        for name, column in domain.columns.items()
    ]
    return table(
        [tr("column"), tr("role"), tr("kind"), tr("values"), tr("may be missing")],
        lines,
    )
