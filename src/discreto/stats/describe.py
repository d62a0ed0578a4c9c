"""A first look at a table: one request, a line for every column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreto.core.cost import Amount
from discreto.core.domain.domain import Category, Number
from discreto.core.expressions import Col, IsMissing
from discreto.errors import DomainError
from discreto.release.release import Release
from discreto.release.text import releases_html
from discreto.session.plan import Statistic
from discreto.stats._base import names_of
from discreto.stats.histograms import Histogram
from discreto.stats.moments import Count, Mean, Variance
from discreto.stats.quantiles import Quantiles
from discreto.stats.ratios import Proportion
from discreto.table.table import Table
from discreto.text.wrong_calls import checked

_QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


@dataclass(frozen=True)
class Description:
    """What was released about a table: a list of releases.

    Parameters
    ----------
    releases
        The number of rows, then each column's.
    """

    releases: tuple[Release, ...]

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    def __getitem__(self, label: str) -> Release:
        for release in self.releases:
            if release.label == label:
                return release
        known = ", ".join(release.label for release in self.releases)
        raise KeyError(f"there is no {label!r}; there are: {known}")

    def __str__(self) -> str:
        lines = []
        for release in self.releases:
            text = str(release)
            lines.append(text if release.keys else f"{release.label}: {text}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return releases_html(self.releases)


@checked
def describe(
    table: Table,
    columns: Iterable[str] | None = None,
    *,
    epsilon: Amount,
    delta: Amount = 0,
) -> Description:
    """Return an overview: rows, means, spreads, quartiles, gaps, categories.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    columns : list of str, optional
        Which columns; by default all Number and Category columns.
    epsilon : int, float, str or Fraction
        What all of it costs together, shared equally among its parts.
    delta : int, float, str or Fraction
        Above 0: Gaussian noise.

    Returns
    -------
    Description
        The releases, by their labels.

    Privacy
    -------
    One charge before a row is read.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120), "sex": dp.Category(["f", "m"])})
    >>> rows = {"age": [20, 40, 60] * 1000, "sex": ["f", "f", "m"] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.describe(table, epsilon=1)
    >>> abs(found["mean of age"].value - 40) < 1
    True
    """
    domain = table.domain
    names = list(domain) if columns is None else names_of(columns)
    asked: list[Statistic] = [] if domain.neighbours == "replace" else [Count()]
    for name in names:
        column = domain[name]
        if isinstance(column, Number):
            asked += [Mean(name), Variance(name, root=True), Quantiles(name, _QUARTERS)]
        elif isinstance(column, Category):
            asked.append(Histogram((name,)))
        elif columns is not None:
            raise DomainError(f"{name!r} is opaque: it cannot be asked about.")
        if isinstance(column, Number) and column.missing:
            asked.append(Proportion(IsMissing(Col(name))))
    return Description(tuple(table.answers(asked, epsilon=epsilon, delta=delta)))
