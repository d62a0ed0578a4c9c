"""Reports: one self-contained HTML file for a study, a model, a ledger or an audit.

A :class:`Page` is made of sections, a section of blocks: ``text``, ``facts``,
``table``, ``figure``, ``note``, ``code``. What is not made by these is escaped.

>>> page = Page("My page", simulated=True)
>>> page.section("Scores", table(["model", "score"], [["KMeans", Measured(1, 0.1)]]))
"""

from discreto.report.audits import audit_page
from discreto.report.checklist import checklist_page
from discreto.report.comparison import comparison_page, fit_command
from discreto.report.deployment import registry_entry
from discreto.report.federated import federated_page
from discreto.report.markup import (
    Html,
    Measured,
    code,
    facts,
    figure,
    note,
    side_by_side,
    stamp,
    table,
    text,
)
from discreto.report.model import model_blocks, model_page
from discreto.report.page import Page
from discreto.report.spending import ledger_page

__all__ = [
    "Html",
    "Measured",
    "Page",
    "audit_page",
    "checklist_page",
    "code",
    "comparison_page",
    "facts",
    "federated_page",
    "figure",
    "fit_command",
    "ledger_page",
    "model_blocks",
    "model_page",
    "note",
    "registry_entry",
    "side_by_side",
    "stamp",
    "table",
    "text",
]
