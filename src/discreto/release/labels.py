"""Labels of answers, notes and ledger entries, in the language in use.

Labels are English wherever they are kept: in ledgers, files and JSON. People read them
through ``label_in_words``, which knows their forms; names of columns stay as they are.

>>> from discreto.text.language import speaking
>>> with speaking("pt"):
...     label_in_words("mean of age by sex"), label_in_words("something else")
('média de age por sex', 'something else')
>>> label_in_words("mean of age by sex")
'mean of age by sex'
"""

from __future__ import annotations

import re
from functools import cache
from itertools import zip_longest

from discreto.text.language import language, mark, number, tr

# Notes of answers that say next to nothing.
WIDE = mark(
    "it says little: the interval is about as wide as the column's range. Are values "
    "missing, or not read? See discreto domain check --owner"
)
HOLDS_NOTHING = mark(
    "it says little: the interval holds 0. Are values missing, or not read? See "
    "discreto domain check --owner"
)
# Notes of answers about columns that have gaps.
PRESENT = mark("about {count} % of rows have a value")
FEW_PRESENT = mark(
    "only about {count} % of rows have a value: it is about those rows alone. Are "
    "values missing, or not read? See discreto domain check --owner"
)
# The same about fits.
COMPLETE = mark("about {count} % of rows have all values")
FEW_COMPLETE = mark(
    "only about {count} % of rows have all values. Are values missing, or not read? "
    "See discreto domain check --owner"
)
COLUMN_PRESENT = mark("about {count} % of rows have a value in {column}")
FEW_IN_COLUMN = mark(
    "only about {count} % of rows have a value in {column}. Are values missing, or not "
    "read? See discreto domain check --owner"
)
# Labels without a name in them; ``tr`` finds them as they are.
_WHOLE = (
    mark("mean of one class against the rest"),
    *(mark("accuracy"), mark("recall"), mark("macro F1"), mark("log loss")),
    *(mark("Brier score"), mark("AUC"), mark("confusion matrix"), mark("rmse")),
    *(mark("confusion matrix (true, predicted)"), mark("share right by confidence")),
    *(mark("accuracy by group"), mark("recall by group"), mark("calibration")),
    *(mark("share predicted by group"), mark("best candidate"), mark("class counts")),
    *(mark("classes in the cells"), mark("curvature"), mark("how sure to be")),
    *(mark("median of the target"), mark("middle of the rows"), mark("slopes")),
    *(mark("quantile of the target"), mark("share of the most frequent class")),
    *(mark("number of rows"), mark("overall mean"), mark("products of the columns")),
    *(mark("products with the target"), mark("score of a run"), mark("squared error")),
    *(
        mark("sizes of errors"),
        mark("spread of the target"),
        mark("rows far from the median"),
        mark("rows with gaps"),
        mark("sums of the target"),
    ),
    *(mark("class scores"), mark("class tables"), mark("class sums"), mark("start")),
    *(mark("means"), mark("spread"), mark("spreads"), mark("squared")),
    *(WIDE, HOLDS_NOTHING),
    *(mark("where the numbers are"), mark("count"), mark("rows"), mark("shares")),
)
# What comes before "of": the names behind it belong to the user.
_KINDS = (
    *(mark("sum"), mark("mean"), mark("variance")),
    *(mark("median"), mark("min"), mark("max"), mark("mode"), mark("histogram")),
    *(mark("table"), mark("distribution"), mark("bounds"), mark("share")),
    *(mark("Gini coefficient"), mark("Lorenz curve"), mark("covariance")),
    *(mark("correlation"), mark("keys"), mark("quantiles"), mark("counts")),
    mark("std"),
)
# A name in braces is a number, the name of a class, or a word of the user.
_FORMS = (
    *(PRESENT, FEW_PRESENT, COMPLETE, FEW_COMPLETE, FEW_IN_COLUMN, COLUMN_PRESENT),
    mark("gradient {count}"),
    mark("look {count}"),
    mark("round {count}"),
    mark("choice {count}"),
    mark("tree {count}, leaves"),
    mark("tree {count}, level {level}"),
    mark("tree {count}, nodes {level}"),
    mark("size of residuals before tree {count}"),
    mark("scores of class {count}"),
    mark("quartile {count} of the target"),
    mark("rows count up to {most}"),
    mark("errors count up to {most}"),
    mark("at most {count} rows short of the true mode"),
    mark("values in cells of fewer than about {count} rows may lie outside"),
    mark("about {count} rows lie beyond it"),
    mark("values with a noisy count below {count} are not shown"),
    mark("{count} ranges with next to no rows are not shown"),
    mark("count by {by}"),
    mark("fit {model}"),
    mark("evaluate {model}"),
    mark("top {count} of {column}"),
    mark("difference of mean {column} by {by}"),
    mark("difference of the share of {column} by {by}"),
    mark("mean of {column}, weighted by {weights}"),
    mark("independence of {first} and {second}"),
    mark("trend of {column} on {on}"),
    mark("ratio of {first} to {second}"),
    mark("{level}-quantile of {column}"),
    mark("{kind} of {column} by {by}"),
    mark("{kind} of {column}"),
)
_NUMBERS = ("count", "level", "most")


def label_in_words(label: str) -> str:
    """Return a label as people read it; one of an unknown form is left as it is."""
    if language() == "en" or label in _WHOLE:
        return tr(label)
    for form in _FORMS:
        found = _pattern(form).fullmatch(label)
        if found:
            parts = {
                name: tr(part) if name == "kind" else part
                for name, part in found.groupdict().items()
            }
            numbers = {n: number(parts[n]) for n in _NUMBERS if n in parts}
            return tr(form, **(parts | numbers))
    several = label.split("; ")  # a note with two remarks
    return "; ".join(map(label_in_words, several)) if several[1:] else label


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return the expression that labels of this form match."""
    kinds = {"kind": "|".join(_KINDS), "model": r"[A-Z]\w+"}
    kinds |= dict.fromkeys(_NUMBERS, r"[\d.e+-]+")
    pieces = re.split(r"\{(\w+)\}", form)
    texts, names = map(re.escape, pieces[::2]), pieces[1::2]
    groups = [f"(?P<{name}>{kinds.get(name, '.+')})" for name in names]
    return re.compile(
        "".join(a + b for a, b in zip_longest(texts, groups, fillvalue=""))
    )


__all__ = [
    "COLUMN_PRESENT",
    "COMPLETE",
    "FEW_COMPLETE",
    "FEW_IN_COLUMN",
    "FEW_PRESENT",
    "HOLDS_NOTHING",
    "PRESENT",
    "WIDE",
    "label_in_words",
]
