"""The card of a model that silos learned together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreto.core.cost import show
from discreto.report.markup import Html, facts, note, table, text
from discreto.report.model import domain_table
from discreto.report.page import Page
from discreto.text.language import number, speaking, tr
from discreto.text.meaning import explain_cost

if TYPE_CHECKING:
    from discreto.federated.model import FederatedModel


def federated_page(model: FederatedModel, *, title: str = "", lang: str = "") -> Page:
    """A page about a model that was learned across silos.

    Parameters
    ----------
    model
        What ``Federation.fit`` or ``discreto federate run`` gave.
    title
        Stands above the page.
    lang
        ``"en"``, ``"pt"``, ``"es"`` or ``"fr"``; by default the language in use.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    with speaking(lang):
        guarantee = model.guarantee
        page = Page(
            title
            or tr(
                "Model card: {target}, learned by {count} silos",
                target=model.target,
                count=len(guarantee.silos),
            ),
            tr(
                "Predicts {target} from {count} columns. No row has left its silo.",
                target=model.target,
                count=len(model.features),
            ),
            simulated=guarantee.simulated,
        )
        page.section(tr("At a glance"), *_glance(model))
        page.section(tr("What each silo was charged"), *_silos(model))
        page.section(tr("What it has learned"), _coefficients(model))
        keep = [*model.features, model.target]
        page.section(
            tr("What was known before"),
            text(tr("Public facts, the same in every silo.")),
            domain_table(model.domain.select(keep), target=model.target),
        )
        page.section(tr("Limits"), *_limits(model))
        return page


def _glance(model: FederatedModel) -> list[Html]:
    guarantee = model.guarantee
    whom = (
        tr("a whole silo") if guarantee.protect == "silo" else tr("one row in one silo")
    )
    shown = {
        tr("silos"): len(guarantee.silos),
        tr("rounds"): len(model.path_),
        tr("protects"): whom,
        tr("trusted"): (tr(guarantee.trusted), tr("for the guarantee to hold")),
    }
    blocks = [facts(shown), note(number(guarantee), kind="good")]
    if model.dropped:
        rows = list(model.dropped.items())
        blocks.append(table([tr("dropped out"), tr("why")], rows))
    return blocks


def _silos(model: FederatedModel) -> list[Html]:
    rows = []
    for name, cost in model.guarantee.silos.items():
        meant = explain_cost(cost)
        rows.append([name, number(cost), f"{number(100 * meant.success, '.3g')} %"])
    heads = [tr("silo"), tr("cost"), tr("an attacker guesses right, at most")]
    remark = tr(
        "The guess is whether a given person's row was used, by somebody "
        "who sees all messages and knows all other rows; half of the "
        "guesses are right without them."
    )
    return [table(heads, rows), text(remark)]


def _coefficients(model: FederatedModel) -> Html:
    rows = [[tr("intercept"), float(model.intercept_)]]
    rows += [[n, float(c)] for n, c in zip(model.features, model.coef_, strict=True)]
    _, (all_, delta) = model.guarantee.one_silo, _everywhere(model)
    caption = tr(
        "in the units of the columns; ε {all}, δ {delta} in all",
        all=number(show(all_)),
        delta=number(show(delta)),
    )
    return table([tr("column"), tr("coefficient")], rows, caption=caption)


def _everywhere(model: FederatedModel) -> tuple[float, float]:
    return model.guarantee.several(model.guarantee.silos)


def _limits(model: FederatedModel) -> list[Html]:
    epsilon, delta = _everywhere(model)
    return [
        text(
            tr(
                "The guarantee of each silo holds against everybody outside. "
                "Somebody with a row in every silo has (ε {epsilon}, δ {delta}).",
                epsilon=number(show(epsilon)),
                delta=number(show(delta)),
            )
        ),
        text(
            tr(
                "It does not hide what is true of people in general, and "
                "predictions about private rows are as private as those rows."
            )
        ),
        text(tr("How good the model is was not measured here: ask the silos to.")),
    ]
