"""Odd calls of every statistic and model: what goes wrong, if anything.

    python tests/properties/odd_calls.py SEED COUNT

makes COUNT calls and prints those that end in an error that is not ours, are charged
though they are refused, or are answered without a charge.
"""

from __future__ import annotations

import inspect
import random
import sys
import warnings
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import discreto as dp
from discreto import models, stats, synthesis
from discreto.errors import DiscretoError, KernelFault

ROWS = 60
HUGE = 10**400
NAN, INF = float("nan"), float("inf")
AT_QUERY = ("KNeighborsClassifier", "RadiusNeighborsClassifier")  # pay at predict


def _rows() -> dict[str, Any]:
    draw = np.random.default_rng(3)
    days = np.array(["2020-01-01"], "datetime64[D]") + draw.integers(0, 300, ROWS)
    return {
        "age": draw.integers(0, 100, ROWS),
        "pay": draw.normal(2000, 500, ROWS),
        "sex": draw.choice(["f", "m"], ROWS),
        "city": draw.choice(["A", "B", "C"], ROWS),
        "sick": draw.random(ROWS) < 0.3,
        "day": days,
        "note": [f"x{i}" for i in range(ROWS)],
    }


DATA = _rows()
COLUMNS: dict[str, Any] = {
    "age": dp.Number(0, 100),
    "pay": dp.Number(0, 5000),
    "sex": dp.Category(["f", "m"]),
    "city": dp.Category(["A", "B", "C"]),
    "sick": dp.Boolean(),
    "day": dp.Date("2020-01-01", "2020-12-31"),
    "note": dp.Opaque(),
}
AMOUNTS: list[Any] = [1, "1", 0.5, np.float32(0.5), np.int64(1), Fraction(1, 3), "1,5"]
AMOUNTS += ["", "abc", None, [], [1], 0, -1, 1e-12, "1e-300", 1e6, 1e7, INF, NAN, True]
AMOUNTS += [1j, np.array([1, 2]), "1/3", b"1", {"a": 1}, "0x10", "1_0", HUGE, "1e400"]
AMOUNTS += [Decimal("0.5"), "٣", "1/0", np.array(1.0), dp.Cost()]
NAMES: list[Any] = [*COLUMNS, "nope", "", None, 3, ["age"], ["age", "pay"], [], {"age"}]
NAMES += [["age", "age"], ("age", "sex"), "age,pay", "age ", "AGE", dp.col("age"), b"a"]
NAMES += [np.str_("age"), NAN, {"age": 1}, np.array(["age", "pay"]), True, "ã" * 300]
NAMES += ["a\x00b", [None], [["sex"]], dp.col("age") > 30, HUGE, "`age`", "'age'"]
NUMBERS: list[Any] = [None, 0, -1, 1, 2, 0.5, "abc", "", [], {}, NAN, INF, "1,5", True]
NUMBERS += [np.int64(2), Fraction(1, 3), 10**9, "auto", (0, 1), [0, 1], b"x", 1j, HUGE]
NUMBERS += [np.array([1, 2]), len, [HUGE], [NAN], [[1]], [None], ["a"], [20, 10], "50%"]
NUMBERS += [{"age": 5}, {"nope": 3}, {3: 3}, [0, 0, 1], range(10_000), (0.5, 0.5)]
CONDITIONS: list[Any] = [dp.col("age") > 30, "age > 30", "age >", "", None, 3, "sick"]
CONDITIONS += ["import os", dp.col("age"), True, "1/0", "age > '30'", "sex > 3", "not"]
CONDITIONS += ["(" * 300, f"age > {HUGE}", len, "day > 'x'", "note == 'x1'", "age in 3"]
CONDITIONS += ["__import__('os')", np.array([True] * ROWS), "`nope` > 1", "'age' > 1"]
KEYS: list[Any] = [None, "k", "", 3, "k" * 10_000, b"k", ["k"], "a\x00", True]
ODD = {"epsilon": AMOUNTS, "delta": AMOUNTS, "condition": CONDITIONS, "key": KEYS}
OF_COLUMNS = ("column", "columns", "first", "second", "numerator", "denominator")
ODD |= dict.fromkeys((*OF_COLUMNS, "weights", "on", "group", "by"), NAMES)
USUAL: dict[str, Any] = {
    "column": "age",
    "columns": ["age", "pay"],
    "condition": dp.col("age") > 30,
    "delta": "1e-5",
    "denominator": "pay",
    "epsilon": 1,
    "first": "age",
    "group": "sex",
    "numerator": "age",
    "on": "pay",
    "points": [10, 20],
    "probability": 0.5,
    "second": "pay",
    "weights": "pay",
}
STATISTICS = sorted(n for n in stats.__all__ if n.islower() and n != "sentence")
MODELS = sorted(
    name for name in models.__all__ if hasattr(getattr(models, name), "fit")
)


class Calls:
    """Odd calls from a seed, and what they ended in."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ends: Counter[str] = Counter()
        self.wrong: list[str] = []

    def statistic(self, name: str) -> None:
        """Call a statistic with up to three odd arguments."""
        ask, args = getattr(stats, name), {}
        known = dict(inspect.signature(ask).parameters)
        del known["table"]
        odd = self.random.sample(sorted(known), min(len(known), self._few()))
        for parameter, spec in known.items():
            if parameter in odd:
                args[parameter] = self.random.choice(ODD.get(parameter, NUMBERS))
            elif spec.default is spec.empty:
                args[parameter] = USUAL[parameter]
        asked = self._table(COLUMNS, "sick")
        self._try(asked, name, lambda: str(ask(asked, **args)), args)

    def model(self, name: str) -> None:
        """Fit a model with up to two odd parameters, and at times odd rows."""
        kind = getattr(models, name, None) or getattr(synthesis, name)
        target = "pay" if "Regress" in name and "Log" not in name else "sick"
        only = ("sex", "city") if name == "CategoricalNB" else ("age", "day")
        columns = {n: COLUMNS[n] for n in dict.fromkeys([*only, target])}
        known = sorted(set(inspect.signature(kind).parameters) - {"domain", "ledger"})
        odd = self.random.sample(known, min(len(known), self._few() - 1))
        args = {n: self.random.choice(ODD.get(n, NUMBERS)) for n in odd}
        args = {"epsilon": 1} | args
        small = {"n_clusters": 2, "n_estimators": 2, "rounds": 2, "max_depth": 2}
        args = {n: v for n, v in small.items() if n in known} | args
        asked = self._table(columns, target)
        if self.random.random() < 0.6 or name == "Synthesizer":
            self._try(asked, name, lambda: kind(**args).fit(asked), args)
            return
        rows = self.random.choice(self._odd_rows(columns, target))
        y = self.random.choice(self._odd_targets(target))
        args |= {"domain": asked.domain, "ledger": asked.ledger}
        call = lambda: kind(**args).fit(rows, y)  # noqa: E731
        self._try(asked, name, call, args | {"X": rows, "y": y})

    def _few(self) -> int:
        return self.random.choice([1, 1, 1, 2, 2, 3])

    def _table(self, columns: dict[str, Any], target: str) -> dp.Table:
        delta = self.random.choice([0, "1e-3"])
        domain = dp.Domain(columns, target=target)
        data = {n: DATA[n] for n in columns}
        return dp.Table(data, domain, dp.Ledger(epsilon=1000, delta=delta), name="t")

    def _odd_rows(self, columns: dict[str, Any], target: str) -> list[Any]:
        frame = pd.DataFrame({n: DATA[n] for n in columns if n != target})
        wide = frame.shape[1]
        large = frame.astype(object)
        large.iloc[:, 0] = HUGE
        out: list[Any] = [
            frame,
            frame.head(0),
            frame.iloc[:, :1],
            None,
            "abc",
            [],
            [[]],
        ]
        out += [frame.to_numpy(), [[None] * wide] * ROWS, [["x"] * wide] * ROWS, large]
        out += [np.full((ROWS, wide), NAN), np.full((ROWS, wide), INF), {"age": [1]}, 5]
        out += [
            np.zeros(ROWS),
            np.zeros((ROWS, 200)),
            [[1], [1, 2]],
            [[HUGE] * wide] * 3,
        ]
        return out

    def _odd_targets(self, target: str) -> list[Any]:
        y = DATA[target]
        out: list[Any] = [y, y, list(y), None, [], y[:3], [None] * ROWS, [NAN] * ROWS]
        return [*out, np.zeros((ROWS, 2)), 5, "no", [1j] * ROWS, [HUGE] * ROWS]

    def _try(self, asked: dp.Table, name: str, call: Any, args: Any) -> None:
        shown = f"{name} {_show(args)}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except KernelFault as error:
            self.wrong.append(f"fault: {shown}: {error}")
        except DiscretoError as error:
            self.ends[type(error).__name__] += 1
            if asked.ledger.entries():
                self.wrong.append(f"charged though refused: {shown}: {error}")
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {shown}: {str(error)[:200]}")
        else:
            self.ends["answered"] += 1
            if not asked.ledger.entries() and name not in AT_QUERY:
                self.wrong.append(f"free: {shown}")


def _show(args: dict[str, Any]) -> str:
    parts = []
    for name, value in args.items():
        huge = isinstance(value, int) and abs(value) > 1e50
        parts.append(f"{name}={'10**400' if huge else str(value)[:60]}")
    return ", ".join(parts)


def run(seed: int, count: int) -> Calls:
    """Make odd calls, three of statistics for each two of models."""
    calls = Calls(seed)
    fits = [*MODELS, "Synthesizer"]
    for i in range(count):
        if i % 5 < 3:
            calls.statistic(STATISTICS[i % len(STATISTICS)])
        else:
            calls.model(fits[i % len(fits)])
    return calls


if __name__ == "__main__":
    made = run(int(sys.argv[1]), int(sys.argv[2]))
    print(dict(made.ends))
    print("\n".join(made.wrong))
