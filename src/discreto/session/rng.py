"""Public randomness: starting points, random splits, hash functions.

Noise never comes from here; it has its own source in the core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Generator = np.random.Generator
# What ``random_state`` may be, in scikit-learn's way.
Seed = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None


def generator(seed: Seed = None) -> Generator:
    """A generator for public choices, from a ``random_state``."""
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31))
    return np.random.default_rng(seed)
