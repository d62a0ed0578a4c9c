"""The losses of a Number target, by the names that scikit-learn gives them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreto.core.maps.tree_gradients import Loss
from discreto.models.base.features import Space
from discreto.session.parameters import Reader

_NAMES: dict[str, Loss] = {
    "squared_error": "squared",
    "absolute_error": "quantile",
    "huber": "squared",
    "poisson": "poisson",
    "quantile": "quantile",
}


@dataclass(frozen=True)
class ChosenLoss:
    """A loss as the gradients of trees know it.

    ``quantile``: the one that scores start from, and that a quantile's loss is about;
    None where they start from class shares or a mean. ``clips``: at which quantiles of
    their sizes residuals are clipped, first and later; None where noise decides.
    """

    name: Loss
    quantile: Fraction | None = None
    clips: tuple[Fraction, Fraction] | None = None


def loss_of(model: Any, space: Space) -> ChosenLoss:
    """The loss of a model for this target."""
    classes = getattr(space.domain[space.goal], "categories", None)
    if classes is not None:
        return ChosenLoss("logistic" if len(classes) == 2 else "softmax")
    read = Reader(model)
    name = read.choice("loss", _NAMES)
    if name == "poisson" and space.domain.number(space.goal).lower < 0:
        raise read.bad("loss", "another one for a target that may be below 0")
    half, most = Fraction(1, 2), Fraction(9, 10)
    given = None
    if name == "quantile" or read.given("quantile") is not None:
        wanted = "a number from 0.001 to 0.999 for loss='quantile'"
        given = read.number("quantile", 0.001, 0.999, wanted=wanted)
    if name == "huber":
        return ChosenLoss("squared", half)
    if name == "squared_error":
        return ChosenLoss("squared")
    if name == "poisson":
        return ChosenLoss("poisson", clips=(Fraction(19, 20), Fraction(19, 20)))
    if name == "quantile" and given is not None:
        half = Fraction(given).limit_denominator(1000)
    return ChosenLoss(_NAMES[name], half, (most, most))


__all__ = ["ChosenLoss", "loss_of"]
