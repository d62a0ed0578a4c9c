"""The declared state of every model that can be saved, and its check when it is read.

One table for each model: the name of each attribute that a fit sets, what kind of value
it is, and its shape in terms of the domain. A file with more, less or other state is
refused when it is read, not when it predicts.

Two levels. The structure (names, kinds, shapes, codes in range) is checked for every
text, since compiled loops do not look where they step. Values (finite, no negative
variance) are checked for files only: a predictor is also made of models that are not
released, and then no refusal may depend on the numbers of a fit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreto.core.charge import Receipt
from discreto.core.domain.domain import Category
from discreto.core.maps import Sides
from discreto.core.maps.simplex_features import parts_of, weights_of
from discreto.core.maps.trees import MAX_DEPTH, Grid
from discreto.models.base.features import Space
from discreto.models.base.privacy import Privacy
from discreto.models.boosting.forest import Shipped
from discreto.models.linear.encoding import Encoding

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator


class Sizes:
    """The named sizes of a model's arrays.

    The domain says most of them. A size that it does not say, such as the number of
    trees, is what the first array with that size has; all others must agree.
    """

    def __init__(self, model: PrivateEstimator) -> None:
        self.model, self._known = model, dict[str, int]()
        self.space: Space = model.space_

    @property
    def view(self) -> Space:
        """The columns as the model sees them."""
        found: Space = vars(self.model).get("view_", self.space)
        return found

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
    """A part that the domain fixes: its value must be that of the domain."""

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


_HASH = re.compile("[0-9a-f]{64}")


def _is_view(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for the same columns, of the same kinds, in other bounds."""
    if not isinstance(value, Space):
        return False
    one, two = sizes.space, value
    same = (one.features, one.target) == (two.features, two.target)
    names = (*one.features, *(() if one.target is None else (one.target,)))
    return same and all(
        isinstance(one.domain[n], Category) == isinstance(two.domain[n], Category)
        for n in names
    )


def _are_groups(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for a group of the view for each code of some Categories."""
    if not isinstance(value, dict) or not set(value) <= set(sizes.space.categories):
        return False
    for name, groups in value.items():
        codes = len(sizes.space.domain.category(name).categories)
        many = len(sizes.view.domain.category(name).categories)
        if not is_array(groups, "i", (codes,), sizes):
            return False
        if not ((groups >= 0) & (groups < many)).all():
            return False
    return True


def _are_histograms(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for a table (classes, values) for each Category of the view."""
    names = sizes.view.categories
    if not isinstance(value, list) or len(value) != len(names):
        return False
    many = [len(sizes.view.domain.category(name).categories) for name in names]
    return all(
        FloatsPart(("classes", size)).fits(table, sizes, values)
        for table, size in zip(value, many, strict=True)
    )


def _is_smoothing(value: Any, sizes: Sizes, values: bool) -> bool:
    one = NumberPart(0.0).fits(value, sizes, values)
    return one or FloatsPart(("numbers",), 0.0).fits(value, sizes, values)


def _are_cuts(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for cuts that say for every row in which cell it is."""
    model, view = sizes.model, sizes.view
    if not isinstance(value, tuple) or not sizes.fit("tables", len(value)):
        return False
    fill = tuple(map(float, model.fill_))
    for parts in value:
        weights, marks, offsets = parts
        sides = Sides(view.numbers, view.categories, weights, marks, offsets, fill)
        sides.check(view.domain)
        if not sizes.fit("cells", sides.count(view.domain)):
            return False
    return True


def _is_inner(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for a model of the same columns, which was checked when it was read.

    Its domain may say about how many rows there are; the outer one need not.
    """
    space = getattr(value, "space_", None)
    if not isinstance(space, Space) or not _is_view(space, sizes, values):
        return False
    names = (*space.features, space.goal)
    same = all(space.domain[n] == sizes.space.domain[n] for n in names)
    kind = isinstance(sizes.space.domain[space.goal], Category)
    return same and hasattr(value, "classes_") == kind


def _is_output(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for scikit-learn's choice of a library for results."""
    known = ("default", "pandas", "polars")
    return isinstance(value, dict) and all(
        key == "transform" and word in known for key, word in value.items()
    )


def _is_privacy(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for a promise about the people of this very domain."""
    domain = sizes.space.domain
    return (
        isinstance(value, Privacy)
        and bool(value.plan.questions)
        and _is_receipt(value.receipt)
        and value.neighbours == domain.neighbours
        and value.rows_per_person == domain.rows_per_person
        and value.person == domain.person
    )


def _labels(value: Any, sizes: Sizes, values: bool) -> bool:
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return texts and sizes.fit("terms", len(value))


def _is_receipt(receipt: Receipt) -> bool:
    known = receipt.simulated or _HASH.fullmatch(receipt.hash) is not None
    return receipt.seq >= 0 and known


def _feature_names(value: Any, sizes: Sizes, values: bool) -> bool:
    texts = is_array(value, "O", ("features",), sizes)
    return texts and all(isinstance(name, str) for name in value)


def _are_classes(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for the declared classes, as numpy or as Python has them."""
    if not isinstance(value, np.ndarray):
        return False
    own = value.dtype.kind == "O"
    wanted = np.array(sizes.space.classes, dtype=object if own else None)
    same = value.dtype.kind == wanted.dtype.kind and value.shape == wanted.shape
    return same and bool((value == wanted).all())


def _is_flag(value: Any, sizes: Sizes, values: bool) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any, sizes: Sizes, values: bool) -> bool:
    return isinstance(value, str)


def _are_edges(value: Any, sizes: Sizes, values: bool) -> bool:
    """Return True for the edges of cells of each feature; Categories have none."""
    right = isinstance(value, tuple) and sizes.fit("features", len(value))
    return right and all(is_array(one, "f", (len(one),), sizes) for one in value)


COMMON: dict[str, Part] = {
    "n_features_in_": FactPart(lambda sizes: len(sizes.space.features)),
    "feature_names_in_": FormPart(_feature_names, optional=True),
    "_from_table": FormPart(_is_flag, optional=True),
    "_sklearn_output_config": FormPart(_is_output, optional=True),
    "selection_cost_": FormPart(_is_text, optional=True),
    "privacy_": FormPart(_is_privacy),
}
_VIEW: dict[str, Part] = {"view_": FormPart(_is_view)}
_CLASSES: dict[str, Part] = {"classes_": FormPart(_are_classes)}
_BAYES: dict[str, Part] = {
    **_VIEW,
    **_CLASSES,
    "groups_": FormPart(_are_groups),
    "vote_share_": NumberPart(0.0, 1.0),
    "vote_weights_": FloatsPart(("classes", "votes"), optional=True),
    "vote_slopes_": FloatsPart(("classes", "classes"), optional=True),
    "vote_begins_": FloatsPart(("classes",), optional=True),
    "temper_": NumberPart(0.0),
    "class_count_": FloatsPart(("classes",)),
    "class_prior_": SharesPart(),
    "epsilon_": FormPart(_is_smoothing),
    "theta_": FloatsPart(("classes", "numbers")),
    "var_": FloatsPart(("classes", "numbers"), 0.0),
    "theta_doubt_": FloatsPart(("classes", "numbers"), 0.0),
    "feature_log_prob_": FormPart(_are_histograms),
    "class_sums_": FloatsPart(("classes", "parts"), optional=True),
    "class_sums_noise_": NumberPart(0.0, optional=True),
    "class_sums_rows_": CountPart(optional=True),
}
_CELLS: dict[str, Part] = {
    **_VIEW,
    **_CLASSES,
    "fill_": FloatsPart(("numbers",)),
    "class_prior_": SharesPart(),
    "cell_log_odds_": FloatsPart(("tables", "cells", "classes")),
    "cuts_": FormPart(_are_cuts),
}
_CLUSTERS: dict[str, Part] = {
    "_centres": FloatsPart(("clusters", "terms")),
    "cluster_sizes_": FloatsPart(("clusters",)),
    "n_iter_": CountPart(),
    "cluster_centers_": FloatsPart(("clusters", "terms")),
    "center_names_": FormPart(_labels),
}
_LINE: dict[str, Part] = {
    "coef_": FloatsPart(("terms",)),
    "intercept_": NumberPart(),
    "coef_names_": FormPart(_labels),
    "fill_": FloatsPart(("terms",)),
    "moments_": FloatsPart(("moments", "moments"), optional=True),
    "moments_noise_": FloatsPart(("moments", "moments"), 0.0, optional=True),
    "target_sums_": FloatsPart(("ends",), optional=True),
}
_LOGISTIC: dict[str, Part] = {
    **_VIEW,
    **_CLASSES,
    "n_iter_": CountPart(),
    "coef_": FloatsPart(("scores", "terms")),
    "intercept_": FloatsPart(("scores",)),
    "coef_names_": FormPart(_labels),
    "fill_": FloatsPart(("terms",)),
}
_TREES: dict[str, Part] = {
    "cuts_": FormPart(_are_edges),
    "start_": FloatsPart(("scores",)),
    "depths_": CodesPart(("trees",)),
    "features_": CodesPart(("splits",)),
    "routes_": CodesPart(("splits", "codes")),
    "values_": FloatsPart(("leaves", "scores")),
}
# What files of 0.1 may lack.
_SINCE_0_2 = frozenset(
    ("view_", "groups_", "temper_", "coef_names_", "center_names_", "fill_")
)
STATE: dict[str, dict[str, Part]] = {
    "AutoClassifier": {**_CLASSES, "model_": FormPart(_is_inner)},
    "AutoRegressor": {"model_": FormPart(_is_inner)},
    "CategoricalNB": _BAYES,
    "CellNeighborsClassifier": _CELLS,
    "FuzzyCMeans": _CLUSTERS,
    "GaussianNB": _BAYES,
    "GradientBoostingClassifier": {**_CLASSES, **_TREES},
    "GradientBoostingRegressor": _TREES,
    "KMeans": _CLUSTERS,
    "LinearRegression": _LINE,
    "LogisticRegression": _LOGISTIC,
    "NaiveBayes": _BAYES,
}


def table_of(model: PrivateEstimator) -> dict[str, Part]:
    """Return the declared state of a model."""
    return COMMON | STATE[type(model).__name__]


def misfit(
    model: PrivateEstimator,
    *,
    inner: bool = False,
    values: bool = True,
    old: bool = False,
) -> str | None:
    """Return the name of a part that does not fit, or None if the model is whole.

    ``inner`` models are parts of others, which hold their promise of privacy. ``old``
    ones were written by version 0.1.
    """
    sizes = Sizes(model)
    for name, part in table_of(model).items():
        if name not in vars(model):
            lacks = (old and name in _SINCE_0_2) or (inner and name == "privacy_")
            if part.optional or lacks:
                continue
            return name
        if not _holds(part.fits, vars(model)[name], sizes, values):
            return name
    together = _WHOLE.get(type(model).__name__)
    return None if together is None or _holds(together, model) else "state"


def _holds(check: Callable[..., bool], *given: Any) -> bool:
    """Return what a check says; a form that it stumbles over is a wrong one."""
    try:
        return bool(check(*given))
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError):
        return False


def _has_whole_votes(model: PrivateEstimator) -> bool:
    """Return True unless votes have a share and are not there."""
    names = ("vote_weights_", "vote_slopes_", "vote_begins_")
    return not model.vote_share_ or all(hasattr(model, name) for name in names)


def _has_whole_trees(model: PrivateEstimator) -> bool:
    """Return True if every row of the domain finds its way through the trees.

    They are walked by compiled loops, which do not look where they step.
    """
    routes, depths = model.routes_, model.depths_
    sizes = Grid(
        model.space_.features, tuple(tuple(c.tolist()) for c in model.cuts_)
    ).sizes(model.space_.domain)
    good = routes.shape[1:] == (max(sizes),)
    good = good and ((depths >= 0) & (depths <= MAX_DEPTH)).all()
    if not good or not ((routes >= 0) & (routes < max(sizes))).all():
        return False
    for feature, line in zip(model.features_.tolist(), routes, strict=True):
        if not 0 <= feature < len(sizes) or line[sizes[feature] :].any():
            return False
    shipped = Shipped(model)
    inner = leaves = 0
    for number, levels in enumerate(shipped.levels):
        shipped.tree(number).check_on(shipped.grid, shipped.domain)
        inner, leaves = inner + sum(levels[:-1]), leaves + levels[-1]
    return inner == len(model.routes_) and leaves == len(model.values_)


def _has_known_power(model: PrivateEstimator) -> bool:
    return model._power() > 1  # or it refuses what it is


def _has_known_loss(model: PrivateEstimator) -> bool:
    return isinstance(model.loss, str) and _has_whole_trees(model)


# What the parts of a model must be together, beside what each must be alone.
_WHOLE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("CategoricalNB", "GaussianNB", "NaiveBayes"), _has_whole_votes),
    "FuzzyCMeans": _has_known_power,
    "GradientBoostingClassifier": _has_whole_trees,
    "GradientBoostingRegressor": _has_known_loss,
}


def declare(name: str, table: dict[str, Part], together: Callable[[Any], bool]) -> None:
    """Declare the state of a model of another package of discreto."""
    STATE[name], _WHOLE[name] = table, together
