"""Gaps in rows that are clustered: whether there are any, and how many in each column.

A centre moves by a sum over the values that are there, and that is divided by how many
these are. Counting them costs something, so it is only done where a first, cheap count
of complete and of other rows says that there are gaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.maps import Completeness, Presence
from discreto.core.maps.unit_columns import Term
from discreto.core.query import Block, Floats, Ones, Sum
from discreto.session.session import Ask
from discreto.stats._base import complete_note

GAPS_SHARE = Fraction(3, 100)  # for the first count
_COUNTS = Fraction(15, 100)  # of a question that counts values beside its sums
_FEW = 0.01  # so many rows with gaps do no harm
_CLEAR = 2.5  # standard deviations of noise
_APART = 0.02  # the variance of shares between clusters, before anything is known
_LEAST = 0.02  # no column is taken for emptier


Counted = Callable[[tuple[str, ...]], Any]


class Gaps:
    """Shares of missing values from releases; 0 until a release says otherwise."""

    def __init__(self, names: tuple[Term, ...], columns: tuple[str, ...]) -> None:
        self._columns, self._found = columns, False
        self._places = [names.index(name) for name in columns]
        self.shares = np.ones(len(names))  # of the rows, by column: those that have it
        self.doubt = np.zeros(len(names))  # the variance of these

    def look(self, ask: Ask) -> Fraction:
        """Ask whether rows have gaps, if they may; the share that this took."""
        if not self._columns:
            return Fraction(0)
        query = Sum(Completeness(self._columns), (Block(Ones()),))
        answer = ask.measure(query, "rows with gaps", GAPS_SHARE)
        whole, others = answer.tables[0][:, 0].astype(float)
        noise = answer.noises[0].variance
        ask.remark(complete_note(self._columns, whole, others, noise))
        doubt = _CLEAR * math.sqrt(noise)
        many = others > max(doubt, _FEW * (whole + others))
        self._found = bool(ask.fork(2, int(many)))
        return GAPS_SHARE

    def beside(
        self, blocks: tuple[Block, ...], counted: Counted = Presence
    ) -> tuple[Block, ...]:
        """Return the blocks of a question, after counts of known values."""
        if not self._found:
            return blocks
        counts = counted(self._columns)
        # Counts of rows can all be large at once; fuzzy ones add up to one a column.
        many = len(self._columns) > 1 and isinstance(counts, Presence)
        law: Any = "cube" if many else "laplace"
        less = [replace(b, share=b.share * (1 - _COUNTS)) for b in blocks]
        return (Block(counts, share=_COUNTS, noise=law), *less)

    def alone(self) -> tuple[Block, ...]:
        """Return the blocks of a question for counts alone; none without gaps."""
        return (Block(Presence(self._columns)),) if self._found else ()

    def hear(self, answer: Any, rows: float) -> None:
        """Take shares from an answer about all rows, and draw columns to their mean."""
        if not self._found:
            return
        found = answer.tables[0][0] / rows
        noise = answer.noises[0].variance / rows**2
        apart = max(float(found.var()) - noise, 0.0) if len(found) > 1 else 1.0
        kept = apart / max(apart + noise, 1e-300)
        drawn = found.mean() + (found - found.mean()) * kept
        self.shares[self._places] = np.clip(drawn, _LEAST, 1)
        self.doubt[self._places] = noise * (kept + (1 - kept) / len(found))

    def parts(self, answer: Any, sizes: Floats, step: float) -> Any:
        """Return the share of values that are there, for each cluster and column.

        ``sizes`` are rows, or weights whose ``step`` on the grid is not 1.
        """
        if not self._found:
            return 1.0
        out = np.tile(self.shares, (len(sizes), 1))
        rows = np.maximum(sizes, 1.0)[:, None] * step
        usual = self.shares[self._places]
        noise = answer.noises[0].variance / rows**2
        found = answer.tables[0].reshape(len(sizes), -1) / rows - usual
        out[:, self._places] = usual + found * (_APART / (_APART + noise))
        return np.clip(out, _LEAST, 1)

    @property
    def first(self) -> int:
        """Where the other blocks of a question with counts begin."""
        return int(self._found)
