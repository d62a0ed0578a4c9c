"""The card of a model that silos learned together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreto.core.cost import Cost
from discreto.report.model import domain_table
from discreto.report.page import Page, fill
from discreto.text.language import number, speaking, tr
from discreto.text.meaning import explain_cost

if TYPE_CHECKING:
    from discreto.federated.model import FederatedModel


def federated_page(model: FederatedModel, *, title: str = "", lang: str = "") -> Page:
    """Return a page about a model that was learned across silos.

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
        names, target = model.features, model.target
        return fill(
            page,
            "federated.html",
            model=model,
            silos=[_silo(*one) for one in guarantee.silos.items()],
            intercept=float(model.intercept_),
            coefficients=[
                [name, float(value)]
                for name, value in zip(names, model.coef_, strict=True)
            ],
            domain_table=domain_table(
                model.domain.select([*names, target]), target=target
            ),
        )


def _silo(name: str, cost: Cost) -> list[str]:
    return [name, number(cost), f"{number(100 * explain_cost(cost).success, '.3g')} %"]
