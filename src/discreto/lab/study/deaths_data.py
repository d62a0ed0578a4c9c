"""A made-up register of deaths, in place of the one that S3, chapter 2, uses.

The original (Mexico, 2021) could not be had. What is printed of it: the most frequent
cause is U071, the next I219; those who died of violence are mostly 20 to 30 years old;
108 minors died of causes related to diabetes; the mean age is 4065.57, in the
register's code that is 4000 and the age in years. The shares below are made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discreto.compare.seeds import generator_for
from discreto.core.domain.domain import Category, Domain, Number

OLDEST = 120
CODE = 4000  # added to an age in years, as the register does
CAUSES = {
    "U071": 0.21, "I219": 0.15, "E112": 0.06, "E119": 0.05, "J449": 0.04, "K746": 0.04,
    "X954": 0.03, "I10X": 0.03, "I119": 0.03, "N189": 0.03, "J189": 0.03, "K703": 0.03,
    "E142": 0.03, "I64X": 0.03, "C349": 0.02, "C509": 0.02, "C61X": 0.02, "X700": 0.02,
    "C169": 0.02, "C229": 0.02, "E149": 0.02, "G309": 0.02, "I678": 0.02, "V892": 0.02,
    "B24X": 0.01,
}  # fmt: skip
VIOLENT = "X954"


@dataclass(frozen=True)
class Deaths:
    """Ages in years and causes."""

    age: Any
    cause: Any

    @property
    def violent(self) -> Any:
        """The ages of those who died of violence."""
        return self.age[self.cause == VIOLENT]


@lru_cache(maxsize=2)
def deaths(rows: int = 20_000) -> Deaths:
    """The made-up register.

    >>> round(deaths().age.mean()), len(deaths().violent) > 500
    (65, True)
    """
    rng = generator_for("deaths", rows)
    shares = np.array(list(CAUSES.values()))
    cause = rng.choice(list(CAUSES), rows, p=shares / shares.sum())
    age = np.where(
        rng.random(rows) < 0.02,
        rng.integers(0, 18, rows),
        110 - rng.gamma(4.2, 10.2, rows),
    )
    young = 17 + rng.gamma(2.2, 7.0, rows)
    age = np.where(cause == VIOLENT, young, age)
    return Deaths(np.clip(np.round(age), 0, 110).astype(int), cause)


def domain() -> Domain:
    """What everybody knows: possible ages, and the code book of causes."""
    years = Number(0, OLDEST, integer=True)
    return Domain({"age": years, "cause": Category(tuple(sorted(CAUSES)))})
