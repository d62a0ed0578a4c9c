"""Local privacy: every row is perturbed on its own, before anybody collects it.

The holder of a row could run this without trusting anyone: what leaves is private
whatever happens to it afterwards. The price is noise on every row, so it takes far more
rows than noise on sums does. How many rows there are is not hidden.
"""

from discreto.local.learner import LocalLearner
from discreto.local.response import RandomizedResponse
from discreto.local.sanitizer import LocalSanitizer

__all__ = ["LocalLearner", "LocalSanitizer", "RandomizedResponse"]
