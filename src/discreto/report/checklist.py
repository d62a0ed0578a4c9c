"""The hazards of NIST SP 800-226, filled in for one ledger."""

from __future__ import annotations

from typing import Any

from discreto import __version__
from discreto.core.cost import show
from discreto.core.domain.domain import Domain
from discreto.report.deployment import Deployment, deployment_of
from discreto.report.markup import facts, note, table, text
from discreto.report.page import Page
from discreto.text.language import mark, number, speaking, tr

HEADS = [
    mark("hazard"),
    mark("what ledger, domain and code show"),
    mark("what the owner must say"),
]


def checklist_page(
    ledger: Any, domain: Domain | None = None, *, lang: str = ""
) -> Page:
    """A page with the hazards of NIST SP 800-226, filled in for a ledger.

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
        at = (
            tr("at δ {delta}", delta=number(show(ledger.delta)))
            if ledger.delta
            else tr("pure ε")
        )
        glance = {
            tr("spent"): (f"ε {number(show(ledger.total()))}", at),
            tr("budget"): (f"ε {number(show(ledger.epsilon))}", tr("in all")),
            tr("entries"): (ledger.verify(), tr("chain intact")),
            tr("unit"): (found.unit[0], tr("who is protected")),
        }
        page.section(tr("At a glance"), facts(glance))
        page.section(
            tr("Hazards"),
            table([tr(head) for head in HEADS], [list(row) for row in hazards(found)]),
        )
        page.section(
            tr("How to read it"),
            text(
                tr(
                    "The middle column holds facts that the ledger's chain, the domain "
                    "file or the tests of the code show. The last column holds what no "
                    "program can know. An empty cell there means that nothing is left "
                    "to say."
                )
            ),
            note(
                tr(
                    "NIST SP 800-226 describes hazards and is no form; nobody certifies"
                    " by it. This page was made by discreto {version}.",
                    version=__version__,
                )
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
            tr("Floating point"),
            tr(
                "Values are rounded to a grid and clamped as integers; sums and "
                "noise are exact integers; no float is released but as a function "
                "of them."
            ),
            "",
        ),
        (
            tr("Timing and other side channels"),
            tr(
                "Noise takes constant work. Reading rows takes time that depends on"
                " how many there are; the service has time buckets, the library "
                "does not."
            ),
            tr("Who can measure how long an answer takes?"),
        ),
        _trust(found),
        _failures(found),
        (
            tr("Bias: systemic, human, statistical"),
            tr(
                "Intervals cover the noise. Small groups have the same noise as "
                "large ones, so a larger relative error; clipping bends means of "
                "values that are outside of their bounds."
            ),
            tr(
                "Which groups are small? Was domain_fit asked? Were scores by group"
                " paid for (evaluate by=)? Who may be harmed by an error?"
            ),
        ),
        (
            tr("Other releases about the same people"),
            tr("This ledger counts what goes through it and nothing else."),
            tr("What else was or will be published about them, with or without noise?"),
        ),
        (
            tr("Data at rest, access, minimisation"),
            tr("Out of the library's hands."),
            tr("Who can read the files? When are they deleted?"),
        ),
    ]


def _unit(found: Deployment) -> tuple[str, str, str]:
    person = found.domain is not None and found.domain.person
    ask = (
        ""
        if person
        else tr("Can one person have several rows? Then a row is too little.")
    )
    if found.domain is not None:
        many = found.asked_under_this_domain
        fact = tr(
            " {many} of {count} entries name this domain",
            many=many,
            count=len(found.charged),
        )
        fact += tr(" (others: parts, views or other tables of the population).")
        return tr("Unit of privacy"), found.unit[1] + fact, ask
    return tr("Unit of privacy"), tr("Not known: the domain file was not given."), ask


def _parameters(found: Deployment) -> tuple[str, str, str]:
    stated = ", ".join(f"{n} {number(show(v))}" for n, v in found.parameters.items())
    return (
        tr("Parameters"),
        tr(
            "{variant}: {stated} (spent, as recorded: {spent}).",
            variant=found.variant,
            stated=stated,
            spent=found.spent,
        ),
        tr("Why is this enough protection? What would an attacker believe before?"),
    )


def _composition(found: Deployment) -> tuple[str, str, str]:
    shut = tr("shut") if found.ledger.shut else tr("open")
    return (
        tr("Composition"),
        tr(
            "{count} charges, each before a row was read, none given back; the "
            "chain was verified for this page; the ledger is {shut}. The filter"
            " holds for questions chosen after answers were seen.",
            count=len(found.charged),
            shut=shut,
        ),
        tr("Is there another ledger, or a copy of this one, for the same people?"),
    )


def _bounds(found: Deployment) -> tuple[str, str, str]:
    if found.domain is None:
        shown = tr("Not known: the domain file was not given.")
    else:
        numbers = [n for n in found.domain if hasattr(found.domain[n], "lower")]
        names = ", ".join(numbers) or tr("no column")
        shown = tr("Declared for {names}; values are clipped.", names=names)
        if found.domain.about:
            shown += tr(" Source: {about}.", about=found.domain.about)
    return (
        tr("Bounds of values and contributions"),
        shown,
        tr("Where do the bounds come from?"),
    )


def _bins(found: Deployment) -> tuple[str, str, str]:
    doors = {door for door, _ in found.doors}
    shown = tr(
        "Categories and cuts are declared before rows are read; empty cells appear."
    )
    if "discover" in doors:
        shown += tr(" Values that nobody listed were found by paid-for thresholds.")
    return (
        tr("Bins, categories, unknown values"),
        shown,
        tr("Were categories read off the rows?"),
    )


def _trust(found: Deployment) -> tuple[str, str, str]:
    noise = "; ".join(found.mechanisms) or tr("none yet")
    return (
        tr("Trust model"),
        tr(
            "Central: whoever runs the process reads the rows. Noise: {noise}.",
            noise=noise,
        ),
        tr("Who runs it? Does anybody who is not trusted share the process?"),
    )


def _failures(found: Deployment) -> tuple[str, str, str]:
    faults = found.ledger.faults
    ask = tr("What were they, and what was done?") if faults else ""
    return (
        tr("Implementation"),
        tr(
            "Own implementation with proofs, brute force on small domains, "
            "planted bugs and audits; no outside review yet. Failures after a "
            "charge: {faults}.",
            faults=faults,
        ),
        ask,
    )
