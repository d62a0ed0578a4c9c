"""The hazards of NIST SP 800-226, filled in for one ledger."""

from __future__ import annotations

from typing import Any

from discreto import __version__
from discreto.core.cost import show
from discreto.core.domain.domain import Domain
from discreto.report.deployment import deployment_of
from discreto.report.page import Page, fill
from discreto.text.language import number, speaking, tr


def checklist_page(
    ledger: Any, domain: Domain | None = None, *, lang: str = ""
) -> Page:
    """Return a page with the hazards of NIST SP 800-226, filled in for a ledger.

    Parameters
    ----------
    ledger
        A :class:`~discreto.Ledger`.
    domain
        The domain of its tables.
    lang
        ``"en"``, ``"pt"``, ``"es"`` or ``"fr"``; by default the language in use.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    with speaking(lang):
        found = deployment_of(ledger, domain)
        name = ledger.population
        page = Page(
            tr("Checklist: {name}", name=name) if name else tr("Checklist"),
            tr("The hazards of NIST SP 800-226, for one ledger."),
        )
        columns: Any = domain or {}
        return fill(
            page,
            "checklist.html",
            found=found,
            ledger=ledger,
            domain=domain,
            numbers=[name for name in columns if hasattr(columns[name], "lower")],
            discovered="discover" in {door for door, _ in found.doors},
            stated=", ".join(
                f"{name} {number(show(value))}"
                for name, value in found.parameters.items()
            ),
            version=__version__,
        )
