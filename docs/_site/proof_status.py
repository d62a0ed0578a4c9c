"""The page that says which claims each statistic and model rests on.

Each is asked once in a simulation; the kinds in its questions are looked up on the page
of claims. Nothing is typed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import discreto as dp
from discreto import models, stats
from discreto.core import gate
from discreto.core.validation import forms_of, is_part
from discreto.testing import simulate

CLAIMS = Path(__file__).resolve().parents[1] / "proofs" / "index.md"
# What a question is wrapped in once it is bound to its domain; no kinds of their own.
WRAPPED = {"Bound", "BoundBlock", "Domain", "Shape"}
DOMAIN = dp.Domain(
    {
        "x": dp.Number(0, 1),
        "z": dp.Number(0, 1),
        "g": dp.Category(["a", "b"]),
        "h": dp.Category(["a", "b", "c"]),
        "y": dp.Category(["no", "yes"]),
    },
    target="y",
)
NUMBER = DOMAIN.with_(target="z")
NUMBERS = DOMAIN.select(["x", "z"])
STATISTICS: dict[str, Any] = {
    "count": stats.Count(),
    "sum": stats.Total("x"),
    "mean": stats.Mean("x"),
    "weighted_mean": stats.WeightedMean("x", "z"),
    "variance, std": stats.Variance("x"),
    "median, quantile": stats.Quantile("x"),
    "several quantiles": stats.Quantiles("x", (Fraction(1, 4), Fraction(3, 4))),
    "min, max": stats.Extremum("x", "high"),
    "mode": stats.Mode("h"),
    "top": stats.Top("h", 2),
    "histogram": stats.Histogram(("h",)),
    "crosstab": stats.Crosstab(("g", "h")),
    "distribution": stats.Distribution("x", (0.25, 0.5)),
    "bounds": stats.Bounds("x"),
    "domain_fit": stats.DomainFit(("x", "g")),
    "mean_difference": stats.MeanDifference("x", "g"),
    "quantile_difference": stats.QuantileDifference("x", "g"),
    "correlation_test": stats.CorrelationTest("x", "z"),
    "ratio": stats.RatioOfSums("x", "z"),
    "covariance, correlation": stats.Covariance(("x", "z")),
    "trend": stats.Trend("x", "z"),
    "independence": stats.Independence("g", "h"),
    "gini, lorenz": stats.Inequality("x"),
}
MODELS: dict[str, tuple[Any, dp.Domain]] = {
    "NaiveBayes": (models.NaiveBayes(epsilon=1), DOMAIN),
    "LogisticRegression": (models.LogisticRegression(epsilon=1), DOMAIN),
    "LinearRegression": (models.LinearRegression(epsilon=1), NUMBER),
    "GradientBoostingClassifier": (
        models.GradientBoostingClassifier(epsilon=1, n_estimators=2, max_depth=2),
        DOMAIN,
    ),
    "GradientBoostingRegressor": (
        models.GradientBoostingRegressor(epsilon=1, n_estimators=2, max_depth=2),
        NUMBER,
    ),
    "KMeans": (models.KMeans(2, epsilon=1), NUMBERS),
    "FuzzyCMeans": (models.FuzzyCMeans(2, epsilon=1), NUMBERS),
    "CellNeighborsClassifier": (models.CellNeighborsClassifier(epsilon=1), DOMAIN),
}


def parts(thing: Any) -> Iterator[str]:
    """The names of all kinds in a question."""
    if is_part(thing):
        yield type(thing).__name__
        for name in forms_of(type(thing)):
            yield from parts(getattr(thing, name))
    elif isinstance(thing, tuple):
        for one in thing:
            yield from parts(one)


class Watched:
    """A gate's doors, with a note of what goes through each."""

    def __init__(self) -> None:
        self.kinds: dict[str, None] = {}
        self.doors: dict[str, None] = {}

    def note(self, door: str, question: Any) -> None:
        """Remember one question."""
        self.doors[door] = None
        self.kinds |= dict.fromkeys(parts(question))


def watched(run: Any) -> Watched:
    """What a run asks of the gate."""
    seen, kept = Watched(), {}
    for door in ("measure", "select"):
        kept[door] = getattr(gate.Gate, door)

        def method(
            self: Any, query: Any, *rest: Any, _door: str = door, **more: Any
        ) -> Any:
            seen.note(_door, query)
            return kept[_door](self, query, *rest, **more)

        setattr(gate.Gate, door, method)
    try:
        run()
    finally:
        for door, method in kept.items():
            setattr(gate.Gate, door, method)
    return seen


def claims() -> dict[str, str]:
    """The proof that the page of claims names for each kind."""
    cells = r"^\| (?!what|---)(.+?) \| (.+) \| (.+?) \| (.+?) \| (.+?) \|$"
    line = re.compile(cells, re.M)
    out = {}
    for what, _, proof, _, _ in line.findall(CLAIMS.read_text(encoding="utf-8")):
        for name in re.findall(r"`([^`]+)`", what):
            out[name] = proof
    return out


def rows() -> Iterator[tuple[str, Watched]]:
    """Every statistic and model with what it asked in a simulation."""
    coins = np.random.default_rng(0)
    n = 400
    data = {"x": coins.random(n), "z": coins.random(n)}
    data |= {c: coins.choice(list("ab"), n) for c in "gh"}
    data["y"] = coins.choice(["no", "yes"], n)
    for name, asked in STATISTICS.items():
        table = dp.Table(data, DOMAIN, simulate(0))
        yield f"`{name}`", watched(lambda t=table, a=asked: t.answer(a, epsilon=1))
    for name, (model, domain) in MODELS.items():
        table = dp.Table({c: data[c] for c in domain}, domain, simulate(0))
        yield f"`{name}`", watched(lambda m=model, t=table: m.fit(t))


HEAD = """# What each statistic and model rests on

Each is asked once in a simulation when this page is made, and the kinds of its
questions are looked up among [the claims](index.md). A kind is *proved* if its line
there names a proof, a test that searches for a counterexample and a mutant that the
tests catch; a test keeps those lines complete. What is not in this list is made of
what is.

| name | doors | kinds in its questions | status |
| --- | --- | --- | --- |
"""


def page() -> str:
    """The page."""
    known = claims()
    text = HEAD
    for name, seen in rows():
        kinds = sorted(set(seen.kinds) - WRAPPED)
        lacking = [kind for kind in kinds if kind not in known]
        status = f"open: {', '.join(lacking)}" if lacking else "proved, tested"
        listed = ", ".join(f"`{kind}`" for kind in kinds)
        text += f"| {name} | {', '.join(sorted(seen.doors))} | {listed} | {status} |\n"
    return text
