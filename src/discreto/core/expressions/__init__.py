"""Row-local expressions: derived columns and filters, as data.

A closed language. An expression names columns and constants; from the public domain
follow the bounds or labels of its result (``kind``), and whatever could fail is refused
there. ``rows`` is total and row-local: it cannot fail, and what it gives for a row
depends on that row alone.
"""

from __future__ import annotations

from discreto.core.expressions.arithmetic import Apply, Arithmetic, Clip, Power
from discreto.core.expressions.dates import AgeAt, DatePart, DaysBetween, Period
from discreto.core.expressions.kinds import (
    Expression,
    Kind,
    Labels,
    Real,
    column_of,
    truth,
)
from discreto.core.expressions.logic import (
    Compare,
    Fill,
    IfElse,
    IsIn,
    IsMissing,
    Logic,
    Not,
)
from discreto.core.expressions.recoding import Cut, Recode, Text, ToNumber
from discreto.core.expressions.values import Col, Const
from discreto.core.expressions.view import (
    Named,
    Select,
    Step,
    ViewFrame,
    Where,
    WithColumns,
    view_domain,
    view_from_json,
    view_to_json,
)

__all__ = [
    "AgeAt",
    "Apply",
    "Arithmetic",
    "Clip",
    "Col",
    "Compare",
    "Const",
    "Cut",
    "DatePart",
    "DaysBetween",
    "Expression",
    "Fill",
    "IfElse",
    "IsIn",
    "IsMissing",
    "Kind",
    "Labels",
    "Logic",
    "Named",
    "Not",
    "Period",
    "Power",
    "Real",
    "Recode",
    "Select",
    "Step",
    "Text",
    "ToNumber",
    "ViewFrame",
    "Where",
    "WithColumns",
    "column_of",
    "truth",
    "view_domain",
    "view_from_json",
    "view_to_json",
]
