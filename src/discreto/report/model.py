"""The card of a fitted model: what it is, what it cost, and what that protects."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from discreto.core.describe import column_words
from discreto.core.domain import Domain
from discreto.report.markup import (
    Html,
    Measured,
    code,
    facts,
    note,
    table,
    text,
)
from discreto.report.model_summary import learned
from discreto.report.page import Page

DOORS = {"measure": "noisy sums", "select": "noisy choice", "randomise": "noisy rows"}
ELSEWHERE = (
    "domain",
    "ledger",
    "epsilon",
    "delta",
    "bounds",
    "classes",
    "target_bounds",
)
WHO = {
    "add-remove": "adding or removing the rows of one person",
    "replace": "replacing the row of one person",
}


def model_page(model: Any, *, evaluation: Any = None, title: str = "") -> Page:
    """A page about a fitted model.

    Parameters
    ----------
    model
        A fitted model.
    evaluation
        What ``models.evaluate`` returned.
    title
        Stands above the page.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    name, privacy = type(model).__name__, model.privacy_
    lead = _purpose(model)
    page = Page(title or f"Model card: {name}", lead, simulated=privacy.simulated)
    page.section("At a glance", _glance(model), _meaning(privacy))
    if evaluation is not None:
        page.section("How good it is", *evaluation_tables(evaluation))
    page.section("What it has learned", *learned(model))
    page.section(
        "What it asked",
        text("Every question that reached the rows, and the noise in its answer."),
        plan_table(privacy.plan),
    )
    page.section("What was known before", *_known(model))
    page.section("Limits", *_limits(model))
    return page


def model_blocks(model: Any, evaluation: Any = None) -> list[Html]:
    """What a model cost and how good it is, for a section of another page.

    Parameters
    ----------
    model
        A fitted model.
    evaluation
        What ``models.evaluate`` returned.
    """
    judged = [] if evaluation is None else evaluation_tables(evaluation)
    name = type(model).__name__
    return [text(f"{name}. {_purpose(model)}"), _glance(model), *judged]


def _purpose(model: Any) -> str:
    space = model.space_
    if space.target is None:
        return f"Groups rows by {len(space.features)} columns."
    return f"Predicts {space.target} from {len(space.features)} columns."


def _glance(model: Any) -> Html:
    privacy = model.privacy_
    kind = "zero-concentrated" if privacy.cost.rho else "pure"
    return facts(
        {
            "cost": (str(privacy.cost), f"{kind} differential privacy"),
            "protects": (_who(privacy), f"neighbours: {privacy.neighbours}"),
            "questions": len(privacy.plan),
            "ledger entry": (privacy.receipt.seq, f"hash {privacy.receipt.hash[:12]}"),
        }
    )


def _who(privacy: Any) -> str:
    many = privacy.rows_per_person
    return "one row" if many == 1 else f"one person, {many} rows"


def _meaning(privacy: Any) -> Html:
    relation = WHO.get(privacy.neighbours, privacy.neighbours)
    if privacy.simulated:
        return note(
            "A simulation protects nobody: the model must not leave the room.",
            kind="warn",
        )
    if not privacy.cost:
        return note(
            "The fit cost nothing and says nothing: this model answers from the "
            "private rows, and every prediction is paid for. It must stay with them.",
            kind="warn",
        )
    if privacy.cost.rho or privacy.cost.delta or not privacy.cost.epsilon:
        return note(
            f"The model satisfies {privacy.cost} against {relation}.", kind="good"
        )
    odds = math.exp(min(float(privacy.cost.epsilon), 700))
    return note(
        f"Whoever sees this model, and knows anything else, can raise the odds that a "
        f"given person's rows were used by a factor of e^ε = {odds:.3g} at most "
        f"({relation}).",
        kind="good",
    )


def evaluation_tables(evaluation: Any) -> list[Html]:
    """A private evaluation, one table for each measure."""
    names = [part.name for part in fields(evaluation) if part.name != "on_these_rows"]
    blocks = []
    for name in names:
        release = getattr(evaluation, name)
        if release is not None:
            blocks.append(release_table(release))
    remark = (
        "Measured privately. Intervals are for the population that the rows come from: "
        "noise and sampling together; those of counts are for the noise. On the rows "
        "that a model was fitted to, it looks better than it is."
    )
    return [text(remark), *blocks]


def release_table(release: Any) -> Html:
    """A release as a table: value, interval and cost."""
    values, lows, highs = (
        np.ravel(part).tolist() for part in (release.value, release.low, release.high)
    )
    keys = release.keys or ("",) * len(values)
    lines = [
        [_key(key) or release.label, *(_end(n, (b - a) / 2) for n in (v, a, b))]
        for key, v, a, b in zip(keys, values, lows, highs, strict=True)
    ]
    unit = f" ({release.unit})" if release.unit else ""
    caption = f"{release.label}{unit}, {release.cost}"
    caption += f"; {release.note}" if release.note else ""
    sure = f"{100 * release.level:g} % from"
    return table(["", "value", sure, "to"], lines, caption=caption)


def _end(value: float, error: float) -> Measured:
    return Measured(value, error, quiet=True)


def _key(key: Any) -> str:
    return " × ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def plan_table(plan: Any) -> Html:
    """The questions of a plan, one a line."""
    lines = [
        [
            question.label,
            DOORS.get(question.door, question.door),
            str(question.cost),
            ", ".join(f"{ratio:.3g}" for ratio in dict.fromkeys(question.ratios())),
        ]
        for question in plan
    ]
    heads = ["question", "how", "cost", "noise / a row's reach"]
    return table(heads, lines, caption=f"{plan.total} in all")


def _known(model: Any) -> list[Html]:
    space = model.space_
    keep = [*space.features, *([space.target] if space.target else [])]
    params = [
        [name, repr(value)]
        for name, value in sorted(model.get_params(deep=False).items())
        if name not in ELSEWHERE and value is not None
    ]
    blocks = [
        text("Public facts: they came from a code book, not from the rows."),
        domain_table(space.domain.select(keep), target=space.target),
    ]
    if params:
        blocks.append(table(["setting", "value"], [[n, code(v)] for n, v in params]))
    return blocks


def domain_table(domain: Domain, *, target: str | None = None) -> Html:
    """The columns of a domain."""
    lines = [
        [name, "target" if name == target else "", *column_words(column)]
        for name, column in domain.columns.items()
    ]
    return table(["column", "role", "kind", "values", "may be missing"], lines)


def _limits(model: Any) -> list[Html]:
    lines = [
        "The guarantee is about taking part in this one fit. Other questions to the "
        "same people add up: their ledger knows the sum.",
        "It does not hide what is true of people in general: that smokers fall ill can "
        "be learned from a model, about everybody.",
        "Predictions about private rows are as private as those rows.",
    ]
    if model.space_.target is not None:
        lines.append("The model may be wrong, and more so for small groups of people.")
    return [text(line) for line in lines]
