"""Does the data fit its domain? Shares of values that are missing, clipped, unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.core.cost import Amount
from discreto.core.domain.domain import Category, Number
from discreto.core.maps import Everyone, Unfit
from discreto.core.query import Block, Sum
from discreto.errors import DomainError
from discreto.release.release import Release
from discreto.session.session import Ask
from discreto.stats._base import Names, names_of, run
from discreto.stats._docstrings import documented_statistic
from discreto.stats._intervals import share_interval
from discreto.table.table import Table
from discreto.text.wrong_calls import checked

_LARGE = 0.05  # a share of clipped or unknown values that is stated in the note


@documented_statistic
@dataclass(frozen=True)
class DomainFit:
    """The share of values of each column that are missing, and that do not fit.

    Parameters
    ----------
    columns
        Names of Number and Category columns; none: all of the domain.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         three counts for each column: missing, outside, inside.
    Bound        the number of columns: a row gives the three of a column 1 together.

    >>> from discreto import Domain, plan
    >>> found = plan.statistics(Domain.cube(4), DomainFit(), epsilon=1)
    >>> [ask.sensitivity for ask in found]
    [(4,)]
    """

    columns: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"fit of {', '.join(self.columns) or 'all columns'}"

    def learn(self, ask: Ask) -> Release:
        domain = ask.domain
        kinds = {n: c for n, c in domain.columns.items() if _asked(c)}
        names = self.columns or tuple(kinds)
        if not names:
            raise DomainError("the domain has no column that can be asked about.")
        answer = ask.measure(Sum(Everyone(), (Block(Unfit(names)),)), self.label)
        noise, keys, parts, wrong = answer.noises[0], [], [], []
        for name, counts in zip(
            names, answer.tables[0].reshape(-1, 3).astype(float), strict=True
        ):
            other = "clipped" if isinstance(domain[name], Number) else "unknown"
            for place, word in enumerate(("missing", other)):
                rest = counts.sum() - counts[place]
                part = share_interval(counts[place], rest, (1, 2), noise)
                keys.append((name, word))
                parts.append(part)
                if word == other and part[1] > _LARGE:
                    wrong.append(f"{part[0]:.0%} of {name} {_harm(other)}")
        value, low, high = np.array(parts).T
        note = "; ".join(wrong)
        return Release(self.label, value, low, high, tuple(keys), "", note)


def _asked(column: object) -> bool:
    return isinstance(column, Number | Category)


def _harm(kind: str) -> str:
    if kind == "clipped":
        return "is outside of its bounds: means and sums of it are of clipped values"
    return "was not declared: see aliases, case and strip of Category"


@checked
def domain_fit(
    table: Table,
    columns: Names | None = None,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    key: str | None = None,
) -> Release:
    """Return shares of missing, clipped, unknown values: how rows fit their domain.

    Parameters
    ----------
    table : Table
        The rows with their domain and ledger.
    columns : str or list of str, optional
        Which columns; by default all that can be asked about. Fewer cost less noise.
    epsilon : int, float, str or Fraction
        What the answer costs, as pure ε. ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are
        the same: a float is read as it prints.
    delta : int, float, str or Fraction
        0: Laplace noise. Above 0, in the same forms: Gaussian noise, and the charge is
        the rho that (ε, δ) allows.
    key : str, optional
        A name for this request. Asked again under its key, by whomever and whenever, it
        gets the stored answer and costs nothing more; another request under the same
        key is refused. The table needs a name (files have their path).

    Returns
    -------
    Release
        Two shares for each column, with their 95 % intervals. Its note says where a
        share of clipped or unknown values is surely large.

    Privacy
    -------
    Charged before a row is read. What is asked and bounded: :class:`DomainFit`.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"sex": dp.Category(["F", "M"])})
    >>> rows = {"sex": ["F", "M", "Female", ""] * 1000}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> found = dp.stats.domain_fit(table, epsilon=1)
    >>> abs(found["sex", "unknown"].value - 0.25) < 0.01, "aliases" in found.note
    (True, True)
    """
    return run(table, DomainFit(names_of(columns)), epsilon, delta, key)
