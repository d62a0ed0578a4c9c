"""Nearly right JSON: one place of something valid is changed.

A seeded generator of its own, since a hundred thousand messages are wanted; Hypothesis
drives it by its seed.
"""

from __future__ import annotations

import copy
import math
import random
from typing import Any

NUMBERS = [
    *(0, 1, -1, 2, 3, 5, 7, 255, 256, 257, 65535, 65536, 1 << 20, (1 << 20) + 1),
    *(1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 10**19),
    *(10**400, -(10**400), 10**5000),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -0.5, 2.0, 1e-320, 1e-300, 1e-12, 1e-9, 1e6, 1e12),
    *(1e13, 1e150, 1e300, 1.7e308, math.nan, math.inf, -math.inf),
]
TEXTS = [
    *("", "x", "0", "1", "1/2", "1/0", "0/1", "2/1", "-1/2", "1e400", "1e-400"),
    *("1e99999999", "NaN", "inf", "Infinity", "\ud800", "\0", "é" * 30, "a" * 5000),
    *("9" * 5000, "1/" + "9" * 300, "0.1", "1e-5"),
    *("linear", "pair", "gram", "laplace", "cube", "l1", "l2", "zero", "centre"),
    *(
        "poisson",
        "quantile",
        "squared",
        "logistic",
        "softmax",
        "low",
        "high",
        "gain",
        "native",
        "either",
    ),
    *("sums", "steps", "proximal", "hello", "measure", "round", "replace"),
]


def deep(levels: int) -> Any:
    out: Any = []
    for _ in range(levels):
        out = [out]
    return out


def junk(coins: random.Random, pool: list[Any]) -> Any:
    """Something that does not belong, or belongs elsewhere."""
    draw = coins.random()
    if draw < 0.35:
        return coins.choice(NUMBERS)
    if draw < 0.5:
        return coins.choice(TEXTS)
    if draw < 0.85:
        return copy.deepcopy(coins.choice(pool))
    odd: list[Any] = [None, True, False, [], {}, [[]], [0], [1.0], [0, 1], [None]]
    odd += [{"kind": coins.choice(TEXTS)}, {"kind": None}, {"kind": []}, deep(40)]
    odd += [deep(5000), [0] * 3000, [[0, 1]] * 500, {"a": {"kind": "Sum"}}, ["x", "x"]]
    return coins.choice(odd)


def nudge(data: Any, coins: random.Random, names: list[str]) -> Any:
    """The same with one leaf a little different: another number, another column."""
    if isinstance(data, dict) and data:
        key = coins.choice([k for k in data if k != "kind"] or list(data))
        return data | {key: nudge(data[key], coins, names)}
    if isinstance(data, list) and data and coins.random() < 0.85:
        place = coins.randrange(len(data))
        inner = nudge(data[place], coins, names)
        return [*data[:place], inner, *data[place + 1 :]]
    if isinstance(data, list):
        return coins.choice(
            [data[::-1], data[:-1], data[1:], data * 2, data + data[:1]]
        )
    if isinstance(data, bool):
        return not data
    if isinstance(data, int):
        return coins.choice([data + 1, data - 1, data * 2, data // 2, 0, 1, data + 7])
    if isinstance(data, float):
        far = coins.choice([-1e12, -100.0, -2.0, -1.0, -0.5, 0.0, 0.9, 1.1, 3.0, 1e9])
        return coins.choice([data * far, data + far, far])
    return coins.choice(names) if isinstance(data, str) else data


def rescale(data: Any, coins: random.Random) -> Any:
    """The same in other units: the numbers of a field by one factor, fields by several.

    One number far out is refused. Several that are far out in step with each other may
    be what a check of each alone lets pass, at the very edge of what is allowed most.
    """
    if isinstance(data, dict):
        return {key: rescale(part, coins) for key, part in data.items()}
    numbers = [abs(n) for n in _leaves(data) if isinstance(n, float) and n]
    if not numbers or coins.random() < 0.4:
        if isinstance(data, list) and not numbers:
            return [rescale(part, coins) for part in data]
        return data
    factor = coins.choice([-1.0, 1.0]) * 10.0 ** coins.randint(-13, 13)
    if coins.random() < 0.5:
        factor = 10.0 ** coins.choice([-12, -9, -6, 6, 9, 12]) / max(numbers)
    return _times(data, factor)


def _leaves(data: Any) -> list[Any]:
    if isinstance(data, list):
        return [leaf for part in data for leaf in _leaves(part)]
    return [] if isinstance(data, dict) else [data]


def _times(data: Any, factor: float) -> Any:
    if isinstance(data, list):
        return [_times(part, factor) for part in data]
    return data * factor if isinstance(data, float) else data


def mutate(data: Any, coins: random.Random, pool: list[Any], stop: float = 0.2) -> Any:
    """The same with one place changed; what is given stays as it is."""
    if isinstance(data, dict) and data and coins.random() > stop:
        key = coins.choice(list(data))
        return data | {key: mutate(data[key], coins, pool, stop)}
    if isinstance(data, list) and data and coins.random() > stop:
        place = coins.randrange(len(data))
        inner = mutate(data[place], coins, pool, stop)
        return [*data[:place], inner, *data[place + 1 :]]
    if isinstance(data, dict) and data:
        return _dict(data, coins, pool)
    if isinstance(data, list):
        return _list(data, coins, pool)
    if isinstance(data, bool):
        return coins.choice([not data, int(data), str(data), junk(coins, pool)])
    if isinstance(data, int | float):
        return _number(data, coins, pool)
    return junk(coins, pool)


def _dict(data: dict[str, Any], coins: random.Random, pool: list[Any]) -> Any:
    key, way = coins.choice(list(data)), coins.randrange(7)
    rest = {k: v for k, v in data.items() if k != key}
    if way == 0:
        return rest
    if way == 1:
        return rest | {key + "x": data[key]}
    if way == 2:
        return data | {coins.choice(TEXTS): junk(coins, pool)}
    if way == 3:
        other = coins.choice(list(data))
        return data | {key: data[other], other: data[key]}
    if way == 4:
        return [data]
    if way == 5 and "kind" in data:
        kinds = [p["kind"] for p in pool if isinstance(p, dict) and "kind" in p]
        return data | {"kind": coins.choice(kinds)} if kinds else data
    return junk(coins, pool)


def _list(data: list[Any], coins: random.Random, pool: list[Any]) -> Any:
    way, place = coins.randrange(9), coins.randrange(len(data) + 1)
    if way == 0:
        return data[:place] + data[place + 1 :]
    if way == 1:
        return data[:place] + data[max(place - 1, 0) :]
    if way == 2:
        return [*data[:place], junk(coins, pool), *data[place:]]
    if way == 3:
        return data[::-1]
    if way == 4:
        return data * coins.choice([0, 2, 3, 300])
    if way == 5:
        return [data]
    if way == 6 and data:
        return data[0]
    if way == 7:
        return data[:place]
    return junk(coins, pool)


def _number(data: float, coins: random.Random, pool: list[Any]) -> Any:
    near = [data + 1, data - 1, -data, data * 2, data * 1000, data / 1000, float(data)]
    near += [math.nextafter(data, math.inf), str(data), bool(data), [data], data + 0.5]
    near += [int(data) if math.isfinite(data) else 0]
    return coins.choice(near) if coins.random() < 0.6 else junk(coins, pool)


def parts_of(data: Any) -> list[Any]:
    """Every part of some JSON data that has a kind."""
    found = [data] if isinstance(data, dict) and "kind" in data else []
    inner = data.values() if isinstance(data, dict) else data
    for part in inner if isinstance(data, dict | list) else ():
        found += parts_of(part)
    return found
