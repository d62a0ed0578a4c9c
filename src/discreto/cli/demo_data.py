"""The table of the demo: public data that plays the part of private patients.

It is the Wisconsin breast cancer data that scikit-learn carries: 569 tumours, measured
under a microscope. Being public, its exact answers may stand beside the private ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Domain, Number
from discreto.session.plan import Statistic
from discreto.stats import Count, Covariance, Histogram, Mean, Quantile, Quantiles

# Round bounds that a code book would give, none of them read from the rows.
DOMAIN = Domain(
    {
        "radius": Number(0, 30, unit="px"),
        "texture": Number(0, 50),
        "concavity": Number(0, 0.5),
        "diagnosis": Category(("benign", "malignant"), missing=False),
    },
    target="diagnosis",
)
BINS = 15
EDGES = np.linspace(0, 30, BINS + 1)
PROBABILITIES = (0.1, 0.25, 0.75, 0.9)

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class DemoQuestion:
    """What the demo asks, what it pays, and how the exact answer is computed."""

    statistic: Statistic
    epsilon: str

    def exact(self, people: Columns) -> list[float]:
        """The answer that a private table would never show."""
        radius, sick = people["radius"], people["diagnosis"] == "malignant"
        match self.statistic:
            case Count():
                return [float(radius.size)]
            case Mean(by=()):
                return [float(radius.mean())]
            case Mean():
                return [float(radius[~sick].mean()), float(radius[sick].mean())]
            case Histogram():
                return [float(rows) for rows in np.histogram(radius, EDGES)[0]]
            case Covariance():
                return [float(np.corrcoef(radius, people["concavity"])[0, 1])]
            case Quantile():
                return [float(np.median(radius))]
            case _:
                exact = np.quantile(radius, PROBABILITIES, method="inverted_cdf")
                return [float(value) for value in exact]


def load() -> Columns:
    """The columns of the table."""
    from discreto.data.datasets import load as dataset

    found = dataset("breast_cancer").columns
    numbers = ("radius", "texture", "concavity")
    columns: Columns = {name: found[f"mean_{name}"] for name in numbers}
    return columns | {"diagnosis": found["diagnosis"]}


def questions() -> list[DemoQuestion]:
    """The questions of the demo, ε 3.65 in all."""
    probabilities = tuple(Fraction(str(probability)) for probability in PROBABILITIES)
    return [
        DemoQuestion(Count(), "0.1"),
        DemoQuestion(Mean("radius"), "0.25"),
        DemoQuestion(Mean("radius", ("diagnosis",)), "0.5"),
        DemoQuestion(histogram(), "1"),
        DemoQuestion(Quantile("radius"), "0.3"),
        DemoQuestion(Quantiles("radius", probabilities), "0.5"),
        DemoQuestion(Covariance(("radius", "concavity"), correlation=True), "1"),
    ]


def histogram() -> Histogram:
    """The histogram that the picture shows."""
    return Histogram(("radius",), BINS)
