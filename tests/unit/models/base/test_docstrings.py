"""Models show shared descriptions as if they had been written in each of them."""

from __future__ import annotations

import inspect

import pytest

from discreto import models
from discreto.models.base.estimator import PrivateEstimator

KINDS = [
    kind
    for name in models.__all__
    if inspect.isclass(kind := getattr(models, name))
    and issubclass(kind, PrivateEstimator)
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_describes_every_parameter(kind: type) -> None:
    text = kind.__doc__ or ""
    for name in inspect.signature(kind).parameters:
        assert any(
            name in line.partition(" : ")[0].replace(" ", "").split(",")
            for line in text.splitlines()
        ), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_method_without_a_docstring_has_that_of_its_base(kind: type) -> None:
    for name, member in vars(kind).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            assert member.__doc__, name
            assert ("X" in inspect.signature(member).parameters) <= (
                "\nX" in member.__doc__
            ), name


def test_own_descriptions_come_before_shared_ones() -> None:
    text = models.NaiveBayes.__doc__ or ""
    assert "random_state\n    Not used." in text
    assert "The seed of public random numbers" not in text
    assert text.index("epsilon, delta") < text.index("\nalpha") < text.index("\ndomain")


def test_scores_say_what_they_refuse() -> None:
    text = models.GradientBoostingRegressor.score.__doc__ or ""
    assert "an exact score of private rows has no price" in text
    assert (
        models.AutoRegressor.predict.__doc__ == models.LinearRegression.predict.__doc__
    )
