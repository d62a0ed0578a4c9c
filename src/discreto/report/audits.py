"""The page of audits: what each subject claims, and what could be shown against it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from discreto.errors import ParameterError
from discreto.report.markup import Html, code, facts, note, table, tag, text
from discreto.report.page import Page
from discreto.text.language import number, speaking, tr

NEEDED = {
    *("subject", "method", "violation", "claimed", "shown", "event", "pair"),
    *("pairs", "relation", "unit", "runs"),
}


def audit_page(findings: Iterable[Any], *, title: str = "", lang: str = "") -> Page:
    """A page about what audits found.

    Parameters
    ----------
    findings
        Findings of :mod:`discreto.audit`, or their JSON forms.
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
        several = [f if isinstance(f, Mapping) else f.to_dict() for f in findings]
        if not all(set(finding) >= NEEDED for finding in several):
            raise ParameterError("these are not findings of discreto.audit.")
        broken = [finding for finding in several if finding["violation"]]
        page = Page(
            title or tr("Privacy audit"),
            tr(
                "Each subject was run on pairs of neighbouring tables. An audit can"
                " show that a claim is broken; it can never prove that a claim "
                "holds."
            ),
            simulated=any(finding.get("simulated", True) for finding in several),
        )
        page.section(tr("At a glance"), *_glance(several, broken))
        page.section(tr("Findings"), _findings(several))
        for finding in broken:
            page.section(
                tr("Violation: {subject}", subject=finding["subject"]),
                *_details(finding),
            )
        return page


def _glance(several: list[Any], broken: list[Any]) -> list[Html]:
    shown = facts(
        {
            tr("audits"): len(several),
            tr("violations"): len(broken),
            tr("pairs of tables"): sum(int(f["pairs"]) for f in several),
            tr("runs"): sum(int(f["runs"]) * 2 * int(f["pairs"]) for f in several),
        }
    )
    if broken:
        names = ", ".join(str(finding["subject"]) for finding in broken)
        return [shown, note(tr("Broken: {names}.", names=names), kind="warn")]
    return [shown, note(tr("No claim was shown to be broken."), kind="good")]


def _findings(several: list[Any]) -> Html:
    lines = []
    for finding in several:
        lines.append(
            [
                finding["subject"],
                finding["method"],
                _verdict(finding),
                _claim(finding),
                _loss(finding["shown"]),
                _sure(finding),
                finding["pairs"],
                finding["runs"],
            ]
        )
    heads = [
        tr("subject"),
        tr("method"),
        tr("verdict"),
        tr("claims"),
        tr("shown"),
        tr("confidence"),
        tr("pairs"),
        tr("runs a side"),
    ]
    return table(heads, lines)


def _verdict(finding: Mapping[str, Any]) -> Html:
    broken = bool(finding["violation"])
    word = tr("VIOLATION") if broken else tr("holds")
    return tag("span", word, class_="no" if broken else "yes")


def _claim(finding: Mapping[str, Any]) -> str:
    delta = f", δ {number(finding['delta'], '.2g')}" if finding.get("delta") else ""
    return f"{finding['unit']} {number(_loss(finding['claimed']), '.4g')}{delta}"


def _loss(value: Any) -> float:
    return math.inf if value == "inf" else float(value)


def _sure(finding: Mapping[str, Any]) -> str:
    sure = finding.get("confidence")
    return f"{number(100 * sure, 'g')} %" if sure is not None else tr("exact")


def _details(finding: Mapping[str, Any]) -> list[Html]:
    return [
        text(
            tr(
                "Claims {claim} ({relation}); shown: {unit} {shown}.",
                claim=_claim(finding),
                relation=finding["relation"],
                unit=finding["unit"],
                shown=number(_loss(finding["shown"]), ".4g"),
            )
        ),
        text(tr("The pair of tables:")),
        code(finding["pair"], block=True),
        text(tr("What gave it away:")),
        code(finding["event"], block=True),
    ]
