"""Which pairs of columns matter more: what a user says of it, in thousandths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreto.core.maps.marginals import WHOLE
from discreto.errors import ParameterError
from discreto.synthesis._fitting import all_pairs
from discreto.synthesis._junction_tree import Places

_SHAPE = (
    'weights is a dict such as {"income": 3, ("age", "income"): 10}, or a list such as '
    '[["income", 3], [["age", "income"], 10]], with numbers from 0 up.'
)


def pair_weights(weights: Any, names: Sequence[str]) -> dict[Places, int]:
    """Return the weight of every pair, in thousandths of the largest.

    A pair counts as said, else as the heavier of its columns, else 1.

    >>> pair_weights({"c": 4, ("a", "b"): 2}, ["a", "b", "c"])
    {(0, 1): 500, (0, 2): 1000, (1, 2): 1000}
    """
    said = _read(weights)
    places = {name: place for place, name in enumerate(names)}
    pairs, columns = {}, {}
    for key, weight in said:
        known = all(name in places for name in key)
        if not known or len(set(key)) != len(key) or len(key) not in (1, 2):
            raise ParameterError(
                f"weights: {' and '.join(map(repr, key))} are no one or two different "
                "columns that are drawn."
            )
        if len(key) == 1:
            columns[places[key[0]]] = weight
        else:
            one, two = sorted(places[name] for name in key)
            pairs[one, two] = weight
    found = {
        (one, two): pairs.get(
            (one, two), max((columns[p] for p in (one, two) if p in columns), default=1)
        )
        for one, two in all_pairs(len(names))
    }
    most = max(found.values(), default=1)
    if most <= 0:
        raise ParameterError("weights: one pair of columns at least must matter.")
    return {pair: math.ceil(WHOLE * (w / most)) for pair, w in found.items()}


def _read(weights: Any) -> list[tuple[tuple[str, ...], float]]:
    """Return columns and their weights, in order."""
    items = weights.items() if isinstance(weights, Mapping) else weights
    if weights is None:
        return []
    if not isinstance(weights, Mapping | list | tuple):
        raise ParameterError(_SHAPE)
    out = []
    for item in items:
        if not isinstance(item, list | tuple) or len(item) != 2:
            raise ParameterError(_SHAPE)
        key, weight = item
        names = (key,) if isinstance(key, str) else key
        good = isinstance(names, list | tuple)
        good = good and all(isinstance(name, str) for name in names)
        good = good and type(weight) in (int, float) and 0 <= weight <= 1e9
        if not good:
            raise ParameterError(_SHAPE)
        out.append((tuple(names), float(weight)))
    return out
