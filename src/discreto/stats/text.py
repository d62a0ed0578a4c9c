"""Questions as a line of text: ``mean(kg / m ** 2) where age >= 65 by region``."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Kind:
    """A statistic as text can ask for it.

    Parameters
    ----------
    least, most
        How many columns it takes, the condition among them.
    make
        Makes it from columns, options (numbers and lists of numbers) and groups.
    by
        Whether it has groups.
    options
        What its numbers are: ``""`` (it takes none), ``"bins"``, ``"probability"`` or
        ``"number"``.
    condition
        Whether its first column is a condition.
    interval
        Whether its answers have a ``low`` and a ``high`` end.
    """

    least: int
    most: int
    make: Make
    by: bool = False
    options: str = ""
    condition: bool = False
    interval: bool = True


def kind_of(name: str) -> Kind:
    """Return the kind of statistic that a name, or a sentence, asks for.

    Parameters
    ----------
    name
        The name of a statistic, or a sentence that begins with one.

    Raises
    ------
    ParameterError
        There is no such statistic; the message names the nearest one.
    """
    name = name.partition("(")[0].strip()
    if name not in KINDS:
        raise ParameterError(f"there is no statistic {name!r}. {_near(name)}")
    return KINDS[name]


def statistic_of(
    name: str,
    columns: Sequence[Any],
    options: Sequence[Any] = (),
    by: Sequence[str] = (),
) -> Statistic:
    """Return the statistic of that name.

    Parameters
    ----------
    name
        The name of a statistic, as in sentences.
    columns
        Its columns; a condition is an expression.
    options
        Numbers, and lists of numbers.
    by
        The columns of its groups.

    Raises
    ------
    ParameterError
        The statistic takes no groups, or no such options.

    Examples
    --------
    >>> statistic_of("mean", ["age"], by=["sex"])
    Mean(column='age', by=('sex',))
    """
    kind = kind_of(name)
    if by and not kind.by:
        raise ParameterError(f"{name} has no groups yet: leave out 'by'.")
    if options and not kind.options:
        raise ParameterError(f"{name} takes columns only.")
    return kind.make(tuple(columns), tuple(options), tuple(by))


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
    kind = kind_of(name)
    steps: list[Step] = []
    if condition:
        steps.append(Where(parse(condition)))
    made: dict[str, Expression] = {}
    conditions = [parse(arg) for arg in args[:1] if kind.condition]
    args = args[1:] if kind.condition else args
    columns = tuple(_column(arg, made) for arg in args if not _is_option(arg))
    options = tuple(ast.literal_eval(arg) for arg in args if _is_option(arg))
    by = tuple(_column(group, made) for group in _split(groups))
    if made:
        steps.append(WithColumns(tuple(Named(n, e) for n, e in made.items())))
    about = (*conditions, *columns)
    if not kind.least <= len(about) <= kind.most or len(conditions) != kind.condition:
        raise ParameterError(_takes(name, kind, asked))
    try:
        statistic = statistic_of(name, about, options, by)
    except DiscretoError:
        raise
    except (TypeError, ValueError, ArithmeticError):  # too many, too large, a list
        raise ParameterError(f"{name} takes other options. Got {asked!r}.") from None
    return Viewed(statistic, tuple(steps)) if steps else statistic


def _takes(name: str, kind: Kind, asked: str) -> str:
    """Return how many columns a statistic takes."""
    least, most = kind.least, kind.most
    if kind.condition:
        example = "age > 30" + ", sex" * (least - 1)
        return f"{name} takes a condition first: {name}({example}). Got {asked!r}."
    some = f"{least}" if least == most else f"{least} to {most}"
    example = ", ".join(("age", "income")[:least])
    columns = "column" if most == 1 else "columns"
    return f"{name} takes {some} {columns}: {name}({example}). Got {asked!r}."


def _near(name: str) -> str:
    """Return a hint: the statistic that was probably meant, or all of them."""
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
    """Return the call, the condition and the groups of a sentence, as texts."""
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
    """Return the parts between commas that stand outside brackets and quotes."""
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
    several = [read_probability(p) for p in _flat(options)] or [Fraction(1, 2)]
    if len(several) > 1 or not 0 < several[0] < 1:
        raise ParameterError("quantile_difference takes one probability.")
    column, group = columns
    return QuantileDifference(column, group, several[0])


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


def _pair(make: Callable[..., Statistic], *, condition: bool = False) -> Kind:
    """Return the kind of a statistic of two columns without options or groups."""
    return Kind(2, 2, lambda c, o, by: make(*c), condition=condition)


# What can be asked. ``c`` are the columns, ``o`` the options, ``by`` the groups.
_HALF = (Fraction(1, 2),)
KINDS: dict[str, Kind] = {
    "count": Kind(0, 0, lambda c, o, by: Count(by), by=True),
    "sum": Kind(1, 1, lambda c, o, by: Total(c[0], by), by=True),
    "mean": Kind(1, 1, lambda c, o, by: Mean(c[0], by), by=True),
    "variance": Kind(1, 1, lambda c, o, by: Variance(c[0], by=by), by=True),
    "std": Kind(1, 1, lambda c, o, by: Variance(c[0], root=True, by=by), by=True),
    "median": Kind(1, 1, lambda c, o, by: _quantiles(c, _HALF, by), by=True),
    "proportion": Kind(
        1, 1, lambda c, o, by: Proportion(c[0], by), by=True, condition=True
    ),
    "ratio": _pair(RatioOfSums),
    "weighted_mean": _pair(WeightedMean),
    "mean_difference": _pair(MeanDifference),
    "proportion_difference": _pair(ProportionDifference, condition=True),
    "quantile_difference": Kind(2, 2, _quantile_difference, options="probability"),
    "correlation_test": _pair(CorrelationTest),
    "independence": Kind(2, 2, lambda c, o, by: Independence(*c), interval=False),
    "trend": _pair(Trend),
    "distribution": Kind(
        1,
        1,
        lambda c, o, by: Distribution(c[0], tuple(map(float, _flat(o)))),
        options="bins",
    ),
    "gini": Kind(1, 1, lambda c, o, by: Inequality(c[0])),
    "lorenz": Kind(1, 1, lambda c, o, by: Inequality(c[0], curve=True)),
    "top": Kind(1, 1, lambda c, o, by: Top(c[0], *o), options="number"),
    "unknown_keys": Kind(
        1, 1, lambda c, o, by: UnknownKeys(c[0], *o), options="number"
    ),
    "quantile": Kind(1, 1, _quantiles, by=True, options="probability"),
    "min": Kind(1, 1, lambda c, o, by: Extremum(c[0], "low")),
    "max": Kind(1, 1, lambda c, o, by: Extremum(c[0], "high")),
    "bounds": Kind(1, 1, lambda c, o, by: Bounds(c[0]), interval=False),
    "mode": Kind(1, 1, lambda c, o, by: Mode(c[0]), interval=False),
    "histogram": Kind(1, 50, _histogram, by=True, options="bins"),
    "crosstab": Kind(2, 5, lambda c, o, by: Crosstab(c)),
    "covariance": Kind(2, 50, lambda c, o, by: Covariance(c)),
    "correlation": Kind(2, 50, lambda c, o, by: Covariance(c, correlation=True)),
}
