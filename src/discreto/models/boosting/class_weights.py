"""Weights of classes, as a shift of the scores: public or released, and free.

To count rows of a class w times multiplies its odds by w. That needs no question: the
logarithm of w is added to where the scores of the class start.
"""

from __future__ import annotations

import math
from typing import Any

from discreto.models.base.features import Space
from discreto.session.parameters import Reader

_WANTED = (
    "None, 'balanced' or a public number above 0 for every class, {class: number} or "
    "a list"
)


def shift_of(model: Any, space: Space, shares: tuple[float, ...]) -> tuple[float, ...]:
    """What is added to the scores; ``shares`` are scores of released class shares."""
    read = Reader(model)
    given = read.given("class_weight")
    if read.is_auto("class_weight", "balanced"):
        if not shares:
            raise read.bad("class_weight", "numbers: class shares are not asked for")
        return tuple(-share for share in shares)
    if isinstance(given, dict) and set(given) == set(space.classes):
        given = [given[name] for name in space.classes]
    numbers = list(given) if isinstance(given, list | tuple) else []
    plain = all(type(n) in (int, float) and 1e-9 <= n <= 1e9 for n in numbers)
    if not plain or len(numbers) != len(space.classes):
        raise read.bad("class_weight", _WANTED)
    logs = [math.log(n) for n in numbers]
    if len(logs) == 2:
        return (logs[1] - logs[0],)
    return tuple(one - sum(logs) / len(logs) for one in logs)


__all__ = ["shift_of"]
