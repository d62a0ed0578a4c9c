"""Cells by how sure a model's scores are of a row, and whether they are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from discreto.core.domain.domain import Domain
from discreto.core.maps import trees_numpy as kernels
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import BATCH_ROWS
from discreto.core.query import Batch, Floats, Ints
from discreto.core.validation import Range
from discreto.errors import ParameterError

_PER_DOUBLING = 2  # cells for each power of two of a margin
_LEAST = 1 / 16  # the first cell reaches from 0 to here


@dataclass(frozen=True, slots=True)
class Margins:
    """Cells by the lead of the best class over the next, at the scores of an ensemble.

    There are ``bins`` cells for rows of the best class, then as many for rows of the
    next one; a row of another class, or of none, is in no cell. The first cell of
    either has leads below 1/16, each further one begins root two times as far.
    """

    of: Gradients
    bins: Annotated[int, Range(1, 1 << 10)] = 24

    def check(self, domain: Domain) -> None:
        """Refuse gradients of another loss than softmax."""
        if self.of.loss != "softmax" or len(self.of.start) < 2:
            raise ParameterError(
                "Margins are those of a softmax loss of two classes or more."
            )

    def count(self, domain: Domain) -> int:
        return 2 * self.bins

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        scores, target = self.of.totals(batch, domain), batch[self.of.target]
        return kernels.margins(scores, target, np.array(self.ends()), self.bins)

    def ends(self) -> tuple[float, ...]:
        """Where each cell of either half but the first begins."""
        steps = range(self.bins - 1)
        return tuple(_LEAST * 2.0 ** (step / _PER_DOUBLING) for step in steps)

    def middles(self) -> Floats:
        """A lead that stands for each cell of either half."""
        ends = _LEAST * 2.0 ** (np.arange(self.bins) / _PER_DOUBLING)
        return np.concatenate([ends[:1] / 2, ends[:-1] * 2 ** (0.5 / _PER_DOUBLING)])

    def columns(self) -> tuple[str, ...]:
        return self.of.columns()

    def batch_rows(self) -> int:
        """How many rows to fold at once."""
        return BATCH_ROWS


__all__ = ["Margins"]
