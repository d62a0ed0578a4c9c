"""Which model, at which epsilon? Models side by side on rows that may be looked at."""

from discreto.compare.comparison import Comparison
from discreto.compare.cross_validation import compare

__all__ = ["Comparison", "compare"]
