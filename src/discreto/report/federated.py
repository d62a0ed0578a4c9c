"""The card of a model that silos learned together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreto.core.cost import show
from discreto.meaning import explain_cost
from discreto.report.markup import Html, facts, note, table, text
from discreto.report.model import domain_table
from discreto.report.page import Page

if TYPE_CHECKING:
    from discreto.federated.model import FederatedModel


def federated_page(model: FederatedModel, *, title: str = "") -> Page:
    """A page about a model that was learned across silos.

    Parameters
    ----------
    model
        What ``Federation.fit`` or ``discreto federate run`` gave.
    title
        Stands above the page.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    guarantee = model.guarantee
    page = Page(
        title or f"Model card: {model.target}, learned by {len(guarantee.silos)} silos",
        f"Predicts {model.target} from {len(model.features)} columns. No row has left "
        "its silo.",
        simulated=guarantee.simulated,
    )
    page.section("At a glance", *_glance(model))
    page.section("What each silo was charged", *_silos(model))
    page.section("What it has learned", _coefficients(model))
    keep = [*model.features, model.target]
    page.section(
        "What was known before",
        text("Public facts, the same in every silo."),
        domain_table(model.domain.select(keep), target=model.target),
    )
    page.section("Limits", *_limits(model))
    return page


def _glance(model: FederatedModel) -> list[Html]:
    guarantee = model.guarantee
    whom = "a whole silo" if guarantee.protect == "silo" else "one row in one silo"
    shown = {
        "silos": len(guarantee.silos),
        "rounds": len(model.path_),
        "protects": whom,
        "trusted": (guarantee.trusted, "for the guarantee to hold"),
    }
    blocks = [facts(shown), note(str(guarantee), kind="good")]
    if model.dropped:
        rows = list(model.dropped.items())
        blocks.append(table(["dropped out", "why"], rows))
    return blocks


def _silos(model: FederatedModel) -> list[Html]:
    rows = []
    for name, cost in model.guarantee.silos.items():
        meant = explain_cost(cost)
        rows.append([name, str(cost), f"{100 * meant.success:.3g} %"])
    heads = ["silo", "cost", "an attacker guesses right, at most"]
    remark = (
        "The guess is whether a given person's row was used, by somebody who sees all "
        "messages and knows all other rows; half of the guesses are right without them."
    )
    return [table(heads, rows), text(remark)]


def _coefficients(model: FederatedModel) -> Html:
    rows = [["intercept", float(model.intercept_)]]
    rows += [[n, float(c)] for n, c in zip(model.features, model.coef_, strict=True)]
    _, (all_, delta) = model.guarantee.one_silo, _everywhere(model)
    caption = f"in the units of the columns; ε {show(all_)}, δ {show(delta)} in all"
    return table(["column", "coefficient"], rows, caption=caption)


def _everywhere(model: FederatedModel) -> tuple[float, float]:
    return model.guarantee.several(model.guarantee.silos)


def _limits(model: FederatedModel) -> list[Html]:
    epsilon, delta = _everywhere(model)
    return [
        text(
            "The guarantee of each silo holds against everybody outside. Somebody "
            f"with a row in every silo has (ε {show(epsilon)}, δ {show(delta)})."
        ),
        text(
            "It does not hide what is true of people in general, and predictions about "
            "private rows are as private as those rows."
        ),
        text("How good the model is was not measured here: ask the silos to."),
    ]
