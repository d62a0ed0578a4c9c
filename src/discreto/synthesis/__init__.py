"""Synthetic tables: rows with the marginals of private ones.

:class:`Synthesizer` releases noisy counts of columns and of pairs of columns, fits a
model to them and draws rows. :func:`quality` says what to expect of the rows, and what
they were in a simulation.
"""

from discreto.synthesis.quality import Quality, expected, measured
from discreto.synthesis.synthesizer import Synthesizer

__all__ = ["Quality", "Synthesizer", "expected", "measured"]
