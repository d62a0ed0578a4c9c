"""The kinds of values that the state of a model is made of, and their sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreto.core.domain.domain import Category
from discreto.core.maps.simplex_features import parts_of, weights_of
from discreto.models.base.features import Space
from discreto.models.linear.encoding import Encoding


class Sizes:
    """The named sizes of a model's arrays.

    The domain says most of them. A size that it does not say, such as the number of
    trees, is what the first array with that size has; all others must agree.
    """

    def __init__(self, model: Any) -> None:
        self.model, self._known = model, dict[str, int]()
        self.space: Space = model.space_

    @property
    def view(self) -> Space:
        """The columns as the model sees them."""
        return getattr(self.model, "view_", self.space)

    def fit(self, name: str | int, length: int) -> bool:
        """Return True if ``length`` is the size of this name."""
        if isinstance(name, int):
            return name == length
        if name not in self._known:
            self._known[name] = self._SAID[name](self) if name in self._SAID else length
        return self._known[name] == length

    def _scores(self) -> int:
        goal = self.space.domain[self.space.goal]
        many = len(goal.categories) if isinstance(goal, Category) else 1
        return 1 if many == 2 else many

    def _by_view(self, width: Callable[..., int]) -> int:
        return sum(width(name, self.view.domain) for name in self.view.features)

    _SAID: Mapping[str, Callable[[Sizes], int]] = {
        "features": lambda self: len(self.space.features),
        "classes": lambda self: len(self.space.classes),
        "scores": _scores,
        "numbers": lambda self: len(self.view.numbers),
        "terms": lambda self: len(Encoding(self.view).names),
        "votes": lambda self: self._by_view(weights_of),
        "parts": lambda self: self._by_view(parts_of),
    }


class Part(Protocol):
    """The values that one attribute may have."""

    @property
    def optional(self) -> bool: ...

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        """Return True if ``value`` is such a part; ``values``: also its numbers."""


@dataclass(frozen=True)
class FloatsPart:
    """An array of numbers, finite and at least ``least``."""

    shape: tuple[str | int, ...]
    least: float = -math.inf
    optional: bool = False

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        if not is_array(value, "f", self.shape, sizes):
            return False
        return not values or bool((np.isfinite(value) & (value >= self.least)).all())


@dataclass(frozen=True)
class SharesPart:
    """Probabilities, one for each class."""

    optional: bool = False

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        if not FloatsPart(("classes",), 0.0).fits(value, sizes, values):
            return False
        return not values or abs(float(value.sum()) - 1) < 1e-6


@dataclass(frozen=True)
class CodesPart:
    """An array of whole numbers."""

    shape: tuple[str | int, ...]
    optional: bool = False

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        return is_array(value, "i", self.shape, sizes)


@dataclass(frozen=True)
class NumberPart:
    """A finite number in a range."""

    least: float = -math.inf
    most: float = math.inf
    optional: bool = False

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        if type(value) is not float:
            return False
        good = self.least <= value <= self.most and math.isfinite(value)
        return not values or good


@dataclass(frozen=True)
class CountPart:
    """A whole number from 0 up."""

    optional: bool = False

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        return type(value) is int and value >= 0


@dataclass(frozen=True)
class FactPart:
    """What the domain says already, and nothing else."""

    of: Callable[[Sizes], Any]
    optional: bool = False

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        wanted = self.of(sizes)
        return type(value) is type(wanted) and bool(value == wanted)


@dataclass(frozen=True)
class FormPart:
    """A part with a form of its own."""

    good: Callable[..., bool]
    optional: bool = False

    def fits(self, value: Any, sizes: Sizes, values: bool) -> bool:
        return self.good(value, sizes, values)


def is_array(
    value: Any, kinds: str, shape: tuple[str | int, ...], sizes: Sizes
) -> bool:
    """Return True for an array of such a kind of numbers, of these sizes."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        return False
    known = zip(shape, value.shape, strict=False)
    return value.ndim == len(shape) and all(sizes.fit(n, many) for n, many in known)
