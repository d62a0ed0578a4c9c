"""Questions as a line of text: ``mean(kg / m ** 2) where age >= 65 by region``."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreto.core.expressions import (
    Col,
    Cut,
    Expression,
    Named,
    Step,
    Where,
    WithColumns,
)
from discreto.errors import DiscretoError, ParameterError
from discreto.session.plan import Statistic
from discreto.stats._base import read_probability
from discreto.stats.comparisons import (
    Independence,
    MeanDifference,
    ProportionDifference,
)
from discreto.stats.covariances import Covariance
from discreto.stats.crosstabs import Crosstab
from discreto.stats.distributions import Distribution, Inequality
from discreto.stats.extremes import Extremum
from discreto.stats.histograms import Bounds, Histogram, Mode, Top
from discreto.stats.moments import Count, Mean, Total, Variance
from discreto.stats.quantile_differences import QuantileDifference
from discreto.stats.quantiles import Quantile, Quantiles
from discreto.stats.ratios import Proportion, RatioOfSums, WeightedMean
from discreto.stats.trends import CorrelationTest, Trend
from discreto.stats.unknown_keys import UnknownKeys
from discreto.stats.views import Viewed
from discreto.table.expression_text import hint_for, parse, with_backticks

Make = Callable[[tuple[Any, ...], tuple[Any, ...], tuple[str, ...]], Statistic]
_OF_CONDITIONS = ("proportion", "proportion_difference")


def sentence(text: str) -> Statistic:
    """Read a question.

    Parameters
    ----------
    text
        ``STATISTIC(columns or expressions, options) where CONDITION by GROUPS``, such
        as ``count()``, ``mean(kg / m ** 2) where age >= 65 by region``,
        ``quantile(age, 0.1, 0.9)``, ``histogram(age, 10)``, ``count() by cut(age, [18,
        65]), sex``. Expressions are those of ``table.with_columns``. A column whose
        name has spaces or signs stands in backticks: ``mean(`Weight kg`)``.

    Returns
    -------
    Statistic
        For ``table.answer``, ``table.answers``, ``table.plan``.

    Raises
    ------
    ParameterError
        It cannot be read; the message says which part.

    Examples
    --------
    >>> sentence("mean(age) by sex")
    Mean(column='age', by=('sex',))
    """
    asked, condition, groups = _clauses(text)
    name, args = _call(asked)
    known = KINDS.get(name)
    if known is None:
        raise ParameterError(f"there is no statistic {name!r}. {_near(name)}")
    steps: list[Step] = []
    if condition:
        steps.append(Where(parse(condition)))
    made: dict[str, Expression] = {}
    whole = name in _OF_CONDITIONS  # its first argument is not a column
    conditions = [parse(arg) for arg in args[:1] if whole]
    args = args[1:] if whole else args
    columns = tuple(_column(arg, made) for arg in args if not _is_option(arg))
    options = tuple(ast.literal_eval(arg) for arg in args if _is_option(arg))
    by = tuple(_column(group, made) for group in _split(groups))
    if made:
        steps.append(WithColumns(tuple(Named(n, e) for n, e in made.items())))
    least, most, make = known
    if not least <= len(columns) <= most or len(conditions) != whole:
        raise ParameterError(_takes(name, least, most, asked))
    try:
        statistic = make((*conditions, *columns), options, by)
    except DiscretoError:
        raise
    except (TypeError, ValueError, ArithmeticError):  # too many, too large, a list
        raise ParameterError(f"{name} takes other options. Got {asked!r}.") from None
    return Viewed(statistic, tuple(steps)) if steps else statistic


def _takes(name: str, least: int, most: int, asked: str) -> str:
    """Return how many columns a statistic takes."""
    if name in _OF_CONDITIONS:
        example = "age > 30" + ", sex" * least
        return f"{name} takes a condition first: {name}({example}). Got {asked!r}."
    some = f"{least}" if least == most else f"{least} to {most}"
    example = ", ".join(("age", "income")[:least])
    columns = "column" if most == 1 else "columns"
    return f"{name} takes {some} {columns}: {name}({example}). Got {asked!r}."


def _near(name: str) -> str:
    """Return the statistic that was probably meant, or all of them."""
    found = _OTHER_WORDS.get(name) or next(
        iter(difflib.get_close_matches(name, KINDS, n=1)), None
    )
    return f"Did you mean {found!r}?" if found else f"Known: {', '.join(KINDS)}."


_OTHER_WORDS = {
    "avg": "mean",
    "average": "mean",
    "stddev": "std",
    "var": "variance",
    "percentile": "quantile",
    "corr": "correlation",
    "cov": "covariance",
    "share": "proportion",
    "total": "sum",
}


def _clauses(text: str) -> tuple[str, str, str]:
    """Return question, condition and groups of a text; quoted words are left alone."""
    if not isinstance(text, str) or len(text) > 10_000:
        raise ParameterError("a question is a text of at most 10000 letters.")
    text = with_backticks(text)
    hidden = _QUOTED.sub(lambda found: "_" * len(found[0]), text)
    places = [(found.start(), found[0].lower()) for found in _WORDS.finditer(hidden)]
    order = [word for _, word in places]
    if order not in ([], ["where"], ["by"], ["where", "by"]):
        raise ParameterError(
            f"cannot read {text!r}: write mean(age) where CONDITION by GROUPS."
        )
    starts = [0, *[place for place, _ in places], len(text)]
    parts = {"": text[: starts[1]].strip()}
    for i, word in enumerate(order):
        parts[word] = text[starts[i + 1] + len(word) : starts[i + 2]].strip()
        if not parts[word]:
            raise ParameterError(f"cannot read {text!r}: nothing follows {word!r}.")
    return parts[""], parts.get("where", ""), parts.get("by", "")


_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NAMED = re.compile(r"\bcol\('([^'`\\]+)'\)")
_WORDS = re.compile(r"\b(where|by)\b", re.IGNORECASE)


def _call(text: str) -> tuple[str, list[str]]:
    found = re.fullmatch(r"([a-z_]+)\s*\((.*)\)", text.strip(), re.DOTALL)
    if found is None:
        bare = _QUOTED.sub("", text)
        hint = "write mean(age) where CONDITION by GROUPS"
        if bare.count("(") != bare.count(")"):
            hint = "a bracket is not closed, or closed twice"
        elif re.match(r"(?i)\s*select\b", text):
            hint = "this is no SQL: write mean(age) where CONDITION by GROUPS"
        elif text.strip() in KINDS:
            hint = f"write {text.strip()}(...) with brackets"
        raise ParameterError(f"cannot read {text!r}: {hint}.")
    return found[1], _split(found[2])


def _split(text: str) -> list[str]:
    """Return the parts between commas that are in no bracket and no quotes."""
    if not text.strip():
        return []
    try:
        tree = ast.parse(f"_({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(f"cannot read {text!r}.{hint_for(text)}") from None
    if not isinstance(tree, ast.Call) or tree.keywords:
        raise ParameterError(f"cannot read {text!r}.{hint_for(text)}")
    return [ast.get_source_segment(f"_({text})", arg) or "" for arg in tree.args]


def _is_option(text: str) -> bool:
    """Return True if this is a number, or a list of numbers."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    several = value if isinstance(value, list | tuple) else [value]
    return bool(several) and all(type(one) in (int, float) for one in several)


def _column(text: str, made: dict[str, Expression]) -> str:
    """Return the name of a column, or of one that is made for this question."""
    expression = parse(text)
    if isinstance(expression, Col):
        return expression.name
    name = _NAMED.sub(r"`\1`", " ".join(text.split()))[:200]
    if isinstance(expression, Cut) and isinstance(expression.inside, Col):
        group = f"{expression.inside.name} group"
        name = group if made.get(group, expression) == expression else name
    made[name] = expression
    return name


def _alone(name: str, by: tuple[str, ...]) -> None:
    if by:
        raise ParameterError(f"{name} has no groups yet: leave out 'by'.")


def _quantiles(
    columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
) -> Statistic:
    several = [read_probability(p) for p in _flat(options)]
    if not several:
        raise ParameterError("quantile needs probabilities: quantile(age, 0.5, 0.9).")
    if len(several) == 1 and not by:
        return Quantile(columns[0], several[0])
    return Quantiles(columns[0], tuple(several), by)


def _quantile_difference(
    columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
) -> Statistic:
    _alone("quantile_difference", by)
    several = [read_probability(p) for p in _flat(options)] or [Fraction(1, 2)]
    if len(several) > 1 or not 0 < several[0] < 1:
        raise ParameterError("quantile_difference takes one probability.")
    column, group = columns
    return QuantileDifference(column, group, several[0])


def _median(columns: tuple[str, ...], by: tuple[str, ...]) -> Statistic:
    if by:
        return Quantiles(columns[0], (Fraction(1, 2),), by)
    return Quantile(columns[0])


def _top(
    columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
) -> Statistic:
    _alone("top", by)
    return Top(columns[0], *options)


def _unknown_keys(
    columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
) -> Statistic:
    _alone("unknown_keys", by)
    return UnknownKeys(columns[0], *options)


def _distribution(
    columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
) -> Statistic:
    _alone("distribution", by)
    return Distribution(columns[0], tuple(map(float, _flat(options))))


def _flat(options: tuple[Any, ...]) -> list[Any]:
    out: list[Any] = []
    for option in options:
        out += option if isinstance(option, list | tuple) else [option]
    return out


def _histogram(
    columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
) -> Statistic:
    if len(options) > 1:
        raise ParameterError("histogram takes a number of bins, or a list of cuts.")
    bins = options[0] if options else None
    return Histogram((*columns, *by), tuple(bins) if isinstance(bins, list) else bins)


def _plain(name: str, make: Callable[[tuple[Any, ...]], Statistic]) -> Make:
    def made(
        columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
    ) -> Statistic:
        _alone(name, by)
        if options:
            raise ParameterError(f"{name} takes columns only.")
        return make(columns)

    return made


def _by_group(
    make: Callable[[tuple[Any, ...], tuple[str, ...]], Statistic],
) -> Make:
    def made(
        columns: tuple[Any, ...], options: tuple[Any, ...], by: tuple[str, ...]
    ) -> Statistic:
        if options:
            raise ParameterError("this statistic takes columns only.")
        return make(columns, by)

    return made


# What can be asked, with how many columns.
KINDS: dict[str, tuple[int, int, Make]] = {
    "count": (0, 0, _by_group(lambda columns, by: Count(by))),
    "sum": (1, 1, _by_group(lambda columns, by: Total(columns[0], by))),
    "mean": (1, 1, _by_group(lambda columns, by: Mean(columns[0], by))),
    "variance": (1, 1, _by_group(lambda c, by: Variance(c[0], by=by))),
    "std": (1, 1, _by_group(lambda c, by: Variance(c[0], root=True, by=by))),
    "median": (1, 1, _by_group(_median)),
    "proportion": (0, 0, _by_group(lambda c, by: Proportion(c[0], by))),
    "ratio": (2, 2, _plain("ratio", lambda c: RatioOfSums(c[0], c[1]))),
    "weighted_mean": (
        2,
        2,
        _plain("weighted_mean", lambda c: WeightedMean(c[0], c[1])),
    ),
    "mean_difference": (
        2,
        2,
        _plain("mean_difference", lambda c: MeanDifference(c[0], c[1])),
    ),
    "proportion_difference": (
        1,
        1,
        _plain("proportion_difference", lambda c: ProportionDifference(c[0], c[1])),
    ),
    "quantile_difference": (2, 2, _quantile_difference),
    "correlation_test": (
        2,
        2,
        _plain("correlation_test", lambda c: CorrelationTest(c[0], c[1])),
    ),
    "independence": (2, 2, _plain("independence", lambda c: Independence(c[0], c[1]))),
    "trend": (2, 2, _plain("trend", lambda c: Trend(c[0], c[1]))),
    "distribution": (1, 1, _distribution),
    "gini": (1, 1, _plain("gini", lambda c: Inequality(c[0]))),
    "lorenz": (1, 1, _plain("lorenz", lambda c: Inequality(c[0], curve=True))),
    "top": (1, 1, _top),
    "unknown_keys": (1, 1, _unknown_keys),
    "quantile": (1, 1, _quantiles),
    "min": (1, 1, _plain("min", lambda c: Extremum(c[0], "low"))),
    "max": (1, 1, _plain("max", lambda c: Extremum(c[0], "high"))),
    "bounds": (1, 1, _plain("bounds", lambda c: Bounds(c[0]))),
    "mode": (1, 1, _plain("mode", lambda c: Mode(c[0]))),
    "histogram": (1, 4, _histogram),
    "crosstab": (2, 5, _plain("crosstab", lambda c: Crosstab(c))),
    "covariance": (2, 50, _plain("covariance", lambda c: Covariance(c))),
    "correlation": (
        2,
        50,
        _plain("correlation", lambda c: Covariance(c, correlation=True)),
    ),
}
