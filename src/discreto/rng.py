"""Public randomness: starting points, random splits, hash functions.

Noise never comes from here; it has its own source in the core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Generator = np.random.Generator


def generator(seed: Any = None) -> Generator:
    """A generator for public choices, from a ``random_state``."""
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31))
    return np.random.default_rng(seed)
