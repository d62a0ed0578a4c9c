"""The page of audits: what each subject claims, and what could be shown against it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from discreto.errors import ParameterError
from discreto.report.page import Page, fill
from discreto.text.language import number, speaking, tr

NEEDED = {
    *("subject", "method", "violation", "claimed", "shown", "event", "pair"),
    *("pairs", "relation", "unit", "runs"),
}


def audit_page(findings: Iterable[Any], *, title: str = "", lang: str = "") -> Page:
    """Return a page about what audits found.

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
        page = Page(
            title or tr("Privacy audit"),
            tr(
                "Each subject was run on pairs of neighbouring tables. An audit can"
                " show that a claim is broken; it can never prove that a claim "
                "holds."
            ),
            simulated=any(finding.get("simulated", True) for finding in several),
        )
        shown = [_shown(finding) for finding in several]
        return fill(
            page,
            "audit.html",
            findings=shown,
            broken=[finding for finding in shown if finding["violation"]],
            pairs=sum(int(f["pairs"]) for f in several),
            runs=sum(int(f["runs"]) * 2 * int(f["pairs"]) for f in several),
        )


def _shown(finding: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding with its claim in words and its losses as numbers."""
    delta = f", δ {number(finding['delta'], '.2g')}" if finding.get("delta") else ""
    claim = f"{finding['unit']} {number(_loss(finding['claimed']), '.4g')}{delta}"
    facts = {"claim": claim, "shown": _loss(finding["shown"])}
    return {"confidence": None} | dict(finding) | facts


def _loss(value: Any) -> float:
    return math.inf if value == "inf" else float(value)
