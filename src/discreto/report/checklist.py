"""The hazards of NIST SP 800-226, filled in for one ledger."""

from __future__ import annotations

from typing import Any

from discreto import __version__
from discreto.core.cost import show
from discreto.core.domain import Domain
from discreto.report.deployment import Deployment, deployment_of
from discreto.report.markup import facts, note, table, text
from discreto.report.page import Page

HEADS = ["hazard", "what ledger, domain and code show", "what the owner must say"]


def checklist_page(ledger: Any, domain: Domain | None = None) -> Page:
    """A page with the hazards of NIST SP 800-226, filled in for a ledger.

    Parameters
    ----------
    ledger
        A :class:`~discreto.Ledger`.
    domain
        The domain of its tables.

    Returns
    -------
    Page
        Save it with ``page.save(path)``.
    """
    found = deployment_of(ledger, domain)
    name = ledger.population
    page = Page(
        f"Checklist: {name}" if name else "Checklist",
        "The hazards of NIST SP 800-226, for one ledger.",
    )
    at = f"at δ {show(ledger.delta)}" if ledger.delta else "pure ε"
    glance = {
        "spent": (f"ε {show(ledger.total())}", at),
        "budget": (f"ε {show(ledger.epsilon)}", "in all"),
        "entries": (ledger.verify(), "chain intact"),
        "unit": (found.unit[0], "who is protected"),
    }
    page.section("At a glance", facts(glance))
    page.section("Hazards", table(HEADS, [list(row) for row in hazards(found)]))
    page.section(
        "How to read it",
        text(
            "The middle column holds facts that the ledger's chain, the domain file or "
            "the tests of the code show. The last column holds what no program can "
            "know. An empty cell there means that nothing is left to say."
        ),
        note(
            "NIST SP 800-226 describes hazards and is no form; nobody certifies "
            f"by it. This page was made by discreto {__version__}."
        ),
    )
    return page


def hazards(found: Deployment) -> list[tuple[str, str, str]]:
    """The rows of the checklist: hazard, what is shown, what is to be said."""
    return [
        _unit(found),
        _parameters(found),
        _composition(found),
        _bounds(found),
        _bins(found),
        (
            "Floating point",
            "Values are rounded to a grid and clamped as integers; sums and noise are "
            "exact integers; no float is released but as a function of them.",
            "",
        ),
        (
            "Timing and other side channels",
            "Noise takes constant work. Reading rows takes time that depends on how "
            "many there are; the service has time buckets, the library does not.",
            "Who can measure how long an answer takes?",
        ),
        _trust(found),
        _failures(found),
        (
            "Bias: systemic, human, statistical",
            "Intervals cover the noise. Small groups have the same noise as large "
            "ones, so a larger relative error; clipping bends means of values that "
            "are outside of their bounds.",
            "Which groups are small? Was domain_fit asked? Were scores by group paid "
            "for (evaluate by=)? Who may be harmed by an error?",
        ),
        (
            "Other releases about the same people",
            "This ledger counts what goes through it and nothing else.",
            "What else was or will be published about them, with or without noise?",
        ),
        (
            "Data at rest, access, minimisation",
            "Out of the library's hands.",
            "Who can read the files? When are they deleted?",
        ),
    ]


def _unit(found: Deployment) -> tuple[str, str, str]:
    person = found.domain is not None and found.domain.person
    ask = (
        "" if person else "Can one person have several rows? Then a row is too little."
    )
    if found.domain is not None:
        many = found.asked_under_this_domain
        fact = f" {many} of {len(found.charged)} entries name this domain"
        fact += " (others: parts, views or other tables of the population)."
        return "Unit of privacy", found.unit[1] + fact, ask
    return "Unit of privacy", "Not known: the domain file was not given.", ask


def _parameters(found: Deployment) -> tuple[str, str, str]:
    stated = ", ".join(f"{n} {show(v)}" for n, v in found.parameters.items())
    return (
        "Parameters",
        f"{found.variant}: {stated} (spent, as recorded: {found.spent}).",
        "Why is this enough protection? What would an attacker believe before?",
    )


def _composition(found: Deployment) -> tuple[str, str, str]:
    shut = "shut" if found.ledger.shut else "open"
    return (
        "Composition",
        f"{len(found.charged)} charges, each before a row was read, none given back; "
        f"the chain was verified for this page; the ledger is {shut}. The filter "
        "holds for questions chosen after answers were seen.",
        "Is there another ledger, or a copy of this one, for the same people?",
    )


def _bounds(found: Deployment) -> tuple[str, str, str]:
    if found.domain is None:
        shown = "Not known: the domain file was not given."
    else:
        numbers = [n for n in found.domain if hasattr(found.domain[n], "lower")]
        shown = f"Declared for {', '.join(numbers) or 'no column'}; values are clipped."
        if found.domain.about:
            shown += f" Source: {found.domain.about}."
    return "Bounds of values and contributions", shown, "Where do the bounds come from?"


def _bins(found: Deployment) -> tuple[str, str, str]:
    doors = {door for door, _ in found.doors}
    shown = "Categories and cuts are declared before rows are read; empty cells appear."
    if "discover" in doors:
        shown += " Values that nobody listed were found by paid-for thresholds."
    return (
        "Bins, categories, unknown values",
        shown,
        "Were categories read off the rows?",
    )


def _trust(found: Deployment) -> tuple[str, str, str]:
    return (
        "Trust model",
        f"Central: whoever runs the process reads the rows. Noise: "
        f"{'; '.join(found.mechanisms) or 'none yet'}.",
        "Who runs it? Does anybody who is not trusted share the process?",
    )


def _failures(found: Deployment) -> tuple[str, str, str]:
    faults = found.ledger.faults
    ask = "What were they, and what was done?" if faults else ""
    return (
        "Implementation",
        f"Own implementation with proofs, brute force on small domains, planted bugs "
        f"and audits; no outside review yet. Failures after a charge: {faults}.",
        ask,
    )
