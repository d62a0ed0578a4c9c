"""What answers, their notes and entries of ledgers say, in the language in use.

Labels are English wherever they are kept: in ledgers, files and JSON. People read them
through ``label_in_words``, which knows their forms; names of columns stay as they are.

>>> from discreto.language import speaking
>>> with speaking("pt"):
...     label_in_words("mean of age by sex"), label_in_words("something else")
('média de age por sex', 'something else')
>>> label_in_words("mean of age by sex")
'mean of age by sex'
"""

from __future__ import annotations

import re

from discreto.language import language, mark, number, tr

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
    *(mark("number of rows"), mark("overall mean"), mark("products of the columns")),
    *(mark("products with the target"), mark("score of a run"), mark("squared error")),
    *(
        mark("sizes of errors"),
        mark("spread of the target"),
        mark("sums of the target"),
    ),
    *(mark("class scores"), mark("class tables"), mark("class sums"), mark("start")),
    *(mark("means"), mark("spread"), mark("spreads"), mark("squared")),
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
_FORMS = (
    (r"gradient (?P<count>\d+)", mark("gradient {count}")),
    (r"look (?P<count>\d+)", mark("look {count}")),
    (r"round (?P<count>\d+)", mark("round {count}")),
    (r"choice (?P<count>\d+)", mark("choice {count}")),
    (r"tree (?P<count>\d+), leaves", mark("tree {count}, leaves")),
    (
        r"tree (?P<count>\d+), level (?P<level>\d+)",
        mark("tree {count}, level {level}"),
    ),
    (
        r"tree (?P<count>\d+), nodes (?P<level>\d+)",
        mark("tree {count}, nodes {level}"),
    ),
    (
        r"size of residuals before tree (?P<count>\d+)",
        mark("size of residuals before tree {count}"),
    ),
    (r"scores of class (?P<count>\d+)", mark("scores of class {count}")),
    (
        r"quartile (?P<count>\d+) of the target",
        mark("quartile {count} of the target"),
    ),
    (r"rows count up to (?P<most>[\d.e+]+)", mark("rows count up to {most}")),
    (r"errors count up to (?P<most>[\d.e+]+)", mark("errors count up to {most}")),
    (
        r"at most (?P<count>\d+) rows short of the true mode",
        mark("at most {count} rows short of the true mode"),
    ),
    (
        r"values in cells of fewer than about (?P<count>\d+) rows may lie outside",
        mark("values in cells of fewer than about {count} rows may lie outside"),
    ),
    (
        r"about (?P<count>\d+) rows lie beyond it",
        mark("about {count} rows lie beyond it"),
    ),
    (
        r"values with a noisy count below (?P<count>[\d.]+) are not shown",
        mark("values with a noisy count below {count} are not shown"),
    ),
    (r"count by (?P<by>.+)", mark("count by {by}")),
    (r"fit (?P<model>[A-Z]\w+)", mark("fit {model}")),
    (r"evaluate (?P<model>[A-Z]\w+)", mark("evaluate {model}")),
    (r"top (?P<count>\d+) of (?P<column>.+)", mark("top {count} of {column}")),
    (
        r"difference of mean (?P<column>.+) by (?P<by>.+)",
        mark("difference of mean {column} by {by}"),
    ),
    (
        r"difference of the share of (?P<column>.+) by (?P<by>.+)",
        mark("difference of the share of {column} by {by}"),
    ),
    (
        r"mean of (?P<column>.+), weighted by (?P<weights>.+)",
        mark("mean of {column}, weighted by {weights}"),
    ),
    (
        r"independence of (?P<first>.+) and (?P<second>.+)",
        mark("independence of {first} and {second}"),
    ),
    (r"trend of (?P<column>.+) on (?P<on>.+)", mark("trend of {column} on {on}")),
    (r"ratio of (?P<first>.+) to (?P<second>.+)", mark("ratio of {first} to {second}")),
    (
        r"(?P<level>[\d.]+)-quantile of (?P<column>.+)",
        mark("{level}-quantile of {column}"),
    ),
    (
        r"(?P<kind>{kinds}) of (?P<column>.+) by (?P<by>.+)",
        mark("{kind} of {column} by {by}"),
    ),
    (r"(?P<kind>{kinds}) of (?P<column>.+)", mark("{kind} of {column}")),
)


def label_in_words(label: str) -> str:
    """A label as people read it; one of an unknown form is left as it is."""
    if language() == "en" or label in _WHOLE:
        return tr(label)
    for form, words in _FORMS:
        found = re.fullmatch(form.replace("{kinds}", "|".join(_KINDS)), label)
        if found:
            parts = found.groupdict()
            if "kind" in parts:
                parts["kind"] = tr(parts["kind"])
            for name in {"level", "most"} & set(parts):
                parts[name] = number(parts[name])
            return tr(words, **parts)
    return label


__all__ = ["label_in_words"]
