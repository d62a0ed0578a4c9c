"""Which model, at which epsilon? Models side by side on rows that may be looked at."""

from discreto.compare.compare import compare
from discreto.compare.comparison import Comparison

__all__ = ["Comparison", "compare"]
