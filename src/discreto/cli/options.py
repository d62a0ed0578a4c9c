"""What is typed on the command line becomes a statistic: the only place that knows how.

>>> statistic("mean", ["age"], by=["sex"])
Mean(column='age', by=('sex',))
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto.core.cost import read_amount
from discreto.core.documents import read_json
from discreto.errors import ParameterError
from discreto.session.parameters import refuse
from discreto.session.plan import Statistic
from discreto.stats import (
    Bounds,
    CorrelationTest,
    Count,
    Covariance,
    Crosstab,
    Distribution,
    Extremum,
    Histogram,
    Independence,
    Inequality,
    Mean,
    MeanDifference,
    Mode,
    Proportion,
    ProportionDifference,
    Quantile,
    QuantileDifference,
    Quantiles,
    RatioOfSums,
    Top,
    Total,
    Trend,
    UnknownKeys,
    Variance,
    WeightedMean,
    sentence,
)
from discreto.stats.histograms import bins_by_column
from discreto.table.expression_text import parse


@dataclass(frozen=True)
class Words:
    """The words after the name of a statistic."""

    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    bins: Any = None
    probabilities: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class Kind:
    """How many columns a statistic takes, which options, and how it is made."""

    least: int
    most: int | None
    make: Callable[[Words], Statistic]
    options: tuple[str, ...] = ()
    interval: bool = True  # whether ``low`` and ``high`` are the ends of an interval


def _quantile(words: Words) -> Statistic:
    if not words.probabilities:
        raise ParameterError(
            "quantile needs --probability, for example 0.9 or 0.1,0.5,0.9."
        )
    if len(words.probabilities) == 1 and not words.by:
        return Quantile(words.columns[0], words.probabilities[0])
    return Quantiles(words.columns[0], words.probabilities, words.by)


def _median(words: Words) -> Statistic:
    if words.by:
        return Quantiles(words.columns[0], (Fraction(1, 2),), words.by)
    return Quantile(words.columns[0])


def _sides(words: Words) -> tuple[str, str]:
    return words.columns[0], words.columns[1]


def _points(words: Words) -> Statistic:
    points = words.bins
    if not isinstance(points, tuple) or not all(isinstance(p, float) for p in points):
        raise ParameterError("distribution needs --bins with values, such as 18,40,65.")
    return Distribution(words.columns[0], points)


BY = ("by",)
KINDS = {
    "count": Kind(0, 0, lambda w: Count(w.by), BY),
    "sum": Kind(1, 1, lambda w: Total(w.columns[0], w.by), BY),
    "mean": Kind(1, 1, lambda w: Mean(w.columns[0], w.by), BY),
    "variance": Kind(1, 1, lambda w: Variance(w.columns[0], by=w.by), BY),
    "std": Kind(1, 1, lambda w: Variance(w.columns[0], root=True, by=w.by), BY),
    "histogram": Kind(1, None, lambda w: Histogram(w.columns, w.bins), ("bins",)),
    "crosstab": Kind(2, 5, lambda w: Crosstab(w.columns)),
    "mode": Kind(1, 1, lambda w: Mode(w.columns[0]), interval=False),
    "median": Kind(1, 1, _median, BY),
    "quantile": Kind(1, 1, _quantile, ("probability", "by")),
    "min": Kind(1, 1, lambda w: Extremum(w.columns[0], "low")),
    "max": Kind(1, 1, lambda w: Extremum(w.columns[0], "high")),
    "covariance": Kind(2, None, lambda w: Covariance(w.columns)),
    "correlation": Kind(2, None, lambda w: Covariance(w.columns, correlation=True)),
    "bounds": Kind(1, 1, lambda w: Bounds(w.columns[0]), interval=False),
    "proportion": Kind(1, 1, lambda w: Proportion(parse(w.columns[0]), w.by), BY),
    "ratio": Kind(2, 2, lambda w: RatioOfSums(*_sides(w))),
    "weighted_mean": Kind(2, 2, lambda w: WeightedMean(*_sides(w))),
    "mean_difference": Kind(2, 2, lambda w: MeanDifference(*_sides(w))),
    "proportion_difference": Kind(
        2, 2, lambda w: ProportionDifference(parse(w.columns[0]), w.columns[1])
    ),
    "quantile_difference": Kind(
        2,
        2,
        lambda w: QuantileDifference(*_sides(w), *w.probabilities[:1]),
        ("probability",),
    ),
    "independence": Kind(2, 2, lambda w: Independence(*_sides(w)), interval=False),
    "correlation_test": Kind(2, 2, lambda w: CorrelationTest(*_sides(w))),
    "trend": Kind(2, 2, lambda w: Trend(*_sides(w))),
    "distribution": Kind(1, 1, _points, ("bins",)),
    "gini": Kind(1, 1, lambda w: Inequality(w.columns[0])),
    "lorenz": Kind(1, 1, lambda w: Inequality(w.columns[0], curve=True)),
    "unknown_keys": Kind(1, 1, lambda w: UnknownKeys(w.columns[0])),
    "top": Kind(1, 1, lambda w: Top(w.columns[0])),
}

# The options that `query` and `plan` share.
StatWord = Annotated[
    str,
    typer.Argument(
        metavar="STAT",
        help=f"One of: {', '.join(KINDS)}; or a sentence: 'mean(kg / m ** 2) where "
        "age >= 65 by region'.",
    ),
]
OptionalStat = Annotated[
    str | None,
    typer.Argument(
        metavar="STAT",
        help=f"One of: {', '.join(KINDS)}; or a sentence: 'mean(kg / m ** 2) where "
        "age >= 65 by region'. Not with --batch.",
    ),
]
ColumnWords = Annotated[
    list[str] | None, typer.Argument(metavar="COLUMN", help="What it is about.")
]
ByWords = Annotated[
    list[str] | None,
    typer.Option("--by", help="Answer for each group of this category column."),
]
BinsWord = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        help="Histogram: a number of equal bins, or cuts: 18,40,65. For one of several "
        "columns: age=18,40,65, as often as needed.",
    ),
]
ProbabilityWord = Annotated[
    str | None,
    typer.Option("--probability", help="Quantile: one, or several: 0.1,0.5,0.9"),
]
DeltaWord = Annotated[
    str,
    typer.Option("--delta", help="Above 0: Gaussian noise; the ledger needs a delta."),
]
# The options of commands that open a table, or pay.
DataWord = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Parquet, CSV (also .gz), Arrow or Excel: a file, folder or pattern.",
    ),
]
DialectWords = Annotated[
    list[str] | None,
    typer.Option(
        "--dialect",
        metavar="NAME=VALUE",
        help="How DATA is written, if the domain file does not say: separator=; "
        "decimal=, thousands=. encoding=latin-1 missing=NA|-9 sheet=NAME dates=dmy "
        "quoted=true symbols=€|% brackets=true.",
    ),
]
DomainFile = Annotated[Path, typer.Option("--domain", help="The domain file.")]
TargetWord = Annotated[
    str | None, typer.Option("--target", help="The column to predict.")
]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="The ledger that pays.")]
BudgetWord = Annotated[
    str | None,
    typer.Option("--budget", help="Make the ledger, with this epsilon in all."),
]
BudgetDeltaWord = Annotated[
    str | None, typer.Option("--budget-delta", help="... and this delta in all.")
]
AnotherFlag = Annotated[
    bool,
    typer.Option(
        "--another-ledger",
        help="DATA has a ledger, and may have a second one: what both spend adds up.",
    ),
]
AcceptFlag = Annotated[
    bool,
    typer.Option(
        "--accept-unchecked",
        help="Ask a text file though its owner has not recorded a check.",
    ),
]
AnalystWord = Annotated[
    str | None, typer.Option("--analyst", help="Also charge this analyst's budget.")
]
AnchorFile = Annotated[
    Path | None,
    typer.Option(
        "--anchor",
        help="File on another disk that receives the hash of every entry.",
    ),
]
ChainKey = Annotated[
    Path | None,
    typer.Option(
        "--chain-key",
        envvar="DISCRETO_CHAIN_KEY",
        help="A file with the secret of the ledger's chain.",
    ),
]
# What only people can say about a model, for its card.
PurposeWord = Annotated[
    str, typer.Option("--purpose", help="For the card: what the model is for.")
]
AuthorWord = Annotated[
    str, typer.Option("--author", help="For the card: who answers for it.")
]
AboutWord = Annotated[
    str, typer.Option("--about", help="For the card: what the rows are.")
]
PriorWord = Annotated[
    str,
    typer.Option("--prior", help="For the card: an attacker's belief beforehand."),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


def kind_of(name: str) -> Kind:
    """The kind of statistic with this name, or of a question in a sentence."""
    name = name.partition("(")[0].strip()
    if name not in KINDS:
        near = difflib.get_close_matches(name, KINDS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(KINDS)}."
        raise ParameterError(f"there is no statistic {name!r}. {hint}")
    return KINDS[name]


def statistic(
    name: str,
    columns: Sequence[str] | None = None,
    *,
    by: Sequence[str] | None = None,
    bins: Sequence[str] | None = None,
    probability: str | None = None,
) -> Statistic:
    """The statistic that these words ask for.

    >>> statistic("histogram", ["age", "bmi"], bins=["age=18,65", "bmi=5"]).bins
    (('age', (18.0, 65.0)), ('bmi', 5))
    """
    if "(" in name or len(name.split()) > 1:
        return _sentence(name, columns, by, bins, probability)
    kind, names = kind_of(name), tuple(columns or ())
    given: dict[str, Any] = {"by": by, "bins": bins, "probability": probability}
    for option, value in given.items():
        if value and option not in kind.options:
            raise ParameterError(f"{name} has no option --{option}.")
    if len(names) < kind.least or (kind.most is not None and len(names) > kind.most):
        several = (
            " Ask once for each, or all of them together: --batch FILE."
            if kind.most == 1 and len(names) > 1
            else ""
        )
        got = ", ".join(names) or "none"
        raise ParameterError(f"{name} takes {_how_many(kind)}. Got {got}.{several}")
    return kind.make(
        Words(names, tuple(by or ()), _bins(bins, names), _probabilities(probability))
    )


def _sentence(text: str, *others: object) -> Statistic:
    if any(others):
        raise ParameterError(f"{text!r} says it all: leave out columns and options.")
    return sentence(text)


def value(text: str) -> Any:
    """What a setting says: as JSON writes it, or Python; else it is a word.

    >>> [value(text) for text in ("3", "0.5", ".5", "true", "False", "None", "auto")]
    [3, 0.5, 0.5, True, False, None, 'auto']
    """
    plain = text.strip()
    known = {"true": True, "false": False, "none": None, "null": None}
    if plain.lower() in known:
        return known[plain.lower()]
    with suppress(ParameterError):
        return read_json(plain)
    for kind in (int, float):
        with suppress(ValueError):
            return kind(plain)
    return plain


def _how_many(kind: Kind) -> str:
    if kind.most == 0:
        return "no column (use --by to count groups)"
    if kind.most == 1:
        return "one column"
    return f"{kind.least} or more columns"


def _bins(words: Sequence[str] | None, columns: tuple[str, ...]) -> Any:
    """Bins for all columns, or by column where every word names one."""
    if not words:
        return None
    named = [word.partition("=") for word in words]
    if not any(equals for _, equals, _ in named):
        if len(words) > 1:
            raise ParameterError(
                "--bins several times needs the name of a column each time: "
                "--bins age=18,40,65 --bins bmi=10."
            )
        return _cuts(words[0])
    found: dict[str, Any] = {}
    for name, equals, text in named:
        if not equals or name in found:
            raise ParameterError(
                f"--bins must name each column once, such as age=18,40,65. Got "
                f"{name + equals + text!r}."
            )
        found[name] = _cuts(text)
    return bins_by_column(found, columns)


def _cuts(text: str) -> int | tuple[float, ...]:
    try:
        if "," in text:
            return tuple(float(cut) for cut in text.split(",") if cut.strip())
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise refuse(text, "--bins", "a whole number from 1 up or cuts like 18,40,65")
    return number


def _probabilities(text: str | None) -> tuple[Fraction, ...]:
    if text is None:
        return ()
    probabilities = [
        read_amount(part.strip(), "--probability", zero=True)
        for part in text.split(",")
    ]
    if max(probabilities) > 1:
        raise ParameterError(f"--probability must be 0 to 1. Got {text!r}.")
    # A rank is compared in whole numbers; a ten-thousandth is finer than any answer.
    return tuple(probability.limit_denominator(10_000) for probability in probabilities)
