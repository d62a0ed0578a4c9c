"""The frequent values of a column without a declared list of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.core.cost import Amount
from discreto.core.unknown_keys import Keys, KeysNoise
from discreto.release.release import LEVEL, Release
from discreto.session.parameters import MANY, whole
from discreto.session.session import Ask
from discreto.stats._base import run
from discreto.stats._docstrings import documented, documented_statistic
from discreto.stats._intervals import Floats
from discreto.table.table import Table
from discreto.text.wrong_calls import checked


@documented_statistic
@dataclass(frozen=True)
class UnknownKeys:
    """The values of a column of open texts that many rows have, with their counts.

    Parameters
    ----------
    column
        The name of an ``OpenText`` column.
    most
        Show at most so many, those with the largest noisy counts; 0 shows all.

    Privacy
    -------
    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         the noisy counts of the values that occur, if they are large enough.
    Bound        1: a row has one value. One row alone is shown with probability delta.
    Composition  one (epsilon, delta) block.

    >>> from discreto import Domain, OpenText, plan
    >>> domain = Domain({"town": OpenText()})
    >>> found = plan.statistics(domain, UnknownKeys("town"), epsilon=1, delta="1e-6")
    >>> [ask.door for ask in found], found.total
    (['discover'], Cost((ε 1, δ 1e-06)))
    """

    column: str
    most: int = 0
    block = True  # it costs (epsilon, delta) as one, not rho

    def __post_init__(self) -> None:
        most = whole(self.most, "most", least=0, most=MANY, of="unknown_keys")
        object.__setattr__(self, "most", most)

    @property
    def label(self) -> str:
        return f"{f'top {self.most} ' if self.most else ''}keys of {self.column}"

    def learn(self, ask: Ask) -> Release:
        Keys(self.column).check(ask.domain)
        found = ask.discover(Keys(self.column), self.label)
        keys, counts = found.keys, found.counts
        if self.most:
            keys, counts = keys[: self.most], counts[: self.most]
        ends = [_interval(int(count), found.noise) for count in counts.tolist()]
        low, high = np.array(ends, dtype=float).reshape(-1, 2).T
        least = found.noise.reach + 1
        note = f"values with a noisy count below {least} are not shown"
        value: Floats = counts.astype(float)
        return Release(self.label, value, low, high, keys, "", note, counts=True)


def _interval(shown: int, noise: KeysNoise) -> tuple[int, int]:
    """Return the counts that may be behind a noisy count, given that it was shown.

    A count is left out if so much, or so little, is shown for it with a probability
    below 2.5 %, given that it is shown at all.
    """
    reach, scale = noise.reach, float(noise.scale)
    sizes = np.arange(-reach, reach + 1)
    chances = np.exp(-np.abs(sizes) / scale)
    above = np.append(
        np.cumsum(chances[::-1])[::-1], 0.0
    )  # P[Z >= z], but for a factor
    counts = np.arange(max(shown - reach, 1), shown + reach + 1)
    tail = (1 - LEVEL) / 2

    def at_least(z: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
        return above[np.clip(z + reach, 0, 2 * reach + 1)]

    whole = at_least(reach + 1 - counts)  # that it is shown
    up, down = at_least(shown - counts), whole - at_least(shown + 1 - counts)
    fits = counts[(up > tail * whole) & (down > tail * whole)]
    if not fits.size:
        return shown, shown
    return int(min(fits[0], shown)), int(max(fits[-1], shown))


@documented(UnknownKeys)
@checked
def unknown_keys(
    table: Table,
    column: str,
    most: int = 0,
    *,
    epsilon: Amount,
    delta: Amount,
    key: str | None = None,
) -> Release:
    """Return frequent values of a column without a list of values, with counts.

    Parameters
    ----------
    column : str
        An ``OpenText`` column of the domain.
    most : int
        Show at most so many; 0 shows all that are frequent enough.
    delta : int, float, str or Fraction
        The probability with which a value of one row alone may be shown. It must be
        above 0 and is charged together with ``epsilon``, as one block.

    Returns
    -------
    Release
        The counts, the largest first; ``keys`` are the values.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"town": dp.OpenText()})
    >>> rows = {"town": ["Bern"] * 900 + ["Chur"] * 300 + ["Sils"] * 2}
    >>> table = dp.Table(rows, domain, dp.testing.simulate(0))
    >>> dp.stats.unknown_keys(table, "town", epsilon=1, delta="1e-6").keys
    ('Bern', 'Chur')
    """
    return run(table, UnknownKeys(column, most), epsilon, delta, key)
