"""The words of a question in the shell: ``mean age --by sex --epsilon 0.1``.

The name of a statistic, its columns and its options become a statistic as in
``discreto.stats.text``, which also reads the questions of files and of the service.

>>> from_words("mean", ["age"], by=["sex"])
Mean(column='age', by=('sex',))
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreto.core.cost import read_amount
from discreto.errors import ParameterError
from discreto.session.parameters import refuse
from discreto.session.plan import Statistic
from discreto.stats import sentence
from discreto.stats.histograms import bins_by_column
from discreto.stats.text import Kind, kind_of, statistic_of
from discreto.table.expression_text import parse


def from_words(
    name: str,
    columns: Sequence[str] | None = None,
    *,
    by: Sequence[str] | None = None,
    bins: Sequence[str] | None = None,
    probability: str | None = None,
) -> Statistic:
    """Return the statistic that these words ask for.

    >>> from_words("histogram", ["age", "bmi"], bins=["age=18,65", "bmi=5"]).bins
    (('age', (18.0, 65.0)), ('bmi', 5))
    """
    if "(" in name or len(name.split()) > 1:
        if any((columns, by, bins, probability)):
            raise ParameterError(
                f"{name!r} says it all: leave out columns and options."
            )
        return sentence(name)
    kind, about = kind_of(name), list(columns or ())
    given: dict[str, Any] = {"bins": bins, "probability": probability}
    for option, value in given.items():
        if value and kind.options != option:
            raise ParameterError(f"{name} has no option --{option}.")
    if by and not (kind.by and name != "histogram"):
        raise ParameterError(f"{name} has no option --by.")
    _check_count(name, kind, about)
    if kind.options == "probability":
        values = _probabilities(name, probability)
    else:
        values = [cuts for cuts in [_bins(name, bins, tuple(about))] if cuts]
    condition = [parse(text) for text in about[:1] if kind.condition]
    return statistic_of(name, [*condition, *about[len(condition) :]], values, by or ())


def _check_count(name: str, kind: Kind, columns: list[str]) -> None:
    if kind.least <= len(columns) <= kind.most:
        return
    many = f"{kind.least} or more columns"
    if kind.most < 2:
        many = ("no column (use --by to count groups)", "one column")[kind.most]
    several = (
        " Ask once for each, or all of them together: --batch FILE."
        if kind.most == 1 and len(columns) > 1
        else ""
    )
    got = ", ".join(columns) or "none"
    raise ParameterError(f"{name} takes {many}. Got {got}.{several}")


def _bins(name: str, words: Sequence[str] | None, columns: tuple[str, ...]) -> Any:
    """Return bins for all columns, or by column where every word names one."""
    if name == "distribution" and "," not in "".join(words or ()):
        raise ParameterError("distribution needs --bins with values, such as 18,40,65.")
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
    for column, equals, text in named:
        if not equals or column in found:
            raise ParameterError(
                f"--bins must name each column once, such as age=18,40,65. Got "
                f"{column + equals + text!r}."
            )
        found[column] = _cuts(text)
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


def _probabilities(name: str, text: str | None) -> list[Fraction]:
    if text is None:
        if name == "quantile":
            raise ParameterError(
                "quantile needs --probability, for example 0.9 or 0.1,0.5,0.9."
            )
        return []
    parts = [read_amount(part, "--probability", zero=True) for part in text.split(",")]
    if max(parts) > 1:
        raise ParameterError(f"--probability must be 0 to 1. Got {text!r}.")
    return parts
