"""The settings of boosted trees: those that a user gives, and those of one fit.

:class:`BoostingSettings` holds what a user may set. :class:`Choices` reads it once and
fills in the rest from public facts: epsilon, the declared rows, the domain. The rules
were found by measurement on public tables (benchmarks/boosting), never on the rows of a
fit. :class:`ResolvedSettings` is the result.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreto.core.cost import Cost
from discreto.core.domain.domain import Category
from discreto.core.maps.tree_gradients import NUMBER_LOSSES, ROUND, Loss
from discreto.errors import ParameterError
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import (
    CLEAR,
    clear_classes,
    too_few,
    unit_strength,
)
from discreto.session.parameters import Reader

if TYPE_CHECKING:
    from discreto.models.boosting.base import Boosting

# Where the domain does not say, and no count is asked for.
ASSUMED_ROWS = 10_000
MANY_CLASSES = 7  # from which on trees alone are behind naive Bayes
_START = 40.0  # rows over the noise, for the mean of a target
_MEANS_CLEAR = 2.0  # noises that a class needs, for its means to stand out
_TREES_CLEAR = (120, 30)  # rows of a class over the noise, for trees alone
_CHOICES = {
    "splits": ("greedy", "random", "cyclic"),
    "split_score": ("l1", "gain"),
    "leaf": ("newton", "pair", "mean"),
    "encoding": ("native", "onehot", "either", "subset"),
    "rows": ("all", "disjoint"),
}
_NAMES: dict[str, Loss] = {
    "squared_error": "squared",
    "absolute_error": "quantile",
    "huber": "squared",
    "poisson": "poisson",
    "quantile": "quantile",
}
# What depends on the number of rows: shares of the cost, and how many trees there are.
_OF_ROWS = (
    *("depths", "ensemble", "start_share", "quantile_share"),
    *("table_share", "means_strength", "temper_share", "clip_share", "clip_turns"),
)


@dataclass(frozen=True, slots=True, repr=False)
class BoostingSettings:
    """Finer settings: how trees are grown, and how the cost is divided.

    Whatever is None is chosen from public facts, as the parameters of
    :class:`~discreto.models.GradientBoostingClassifier` are. The values are checked by
    ``plan`` and ``fit``, before anything is charged.

    Parameters
    ----------
    reg_lambda
        Added to the weight of every leaf (default 1).
    splits
        ``"greedy"`` (default): noisy choices; ``"random"``: public random numbers, so
        that all of the cost is left for leaves; ``"cyclic"``: public random numbers,
        each tree on ``group_size`` columns in turn.
    split_score
        What greedy splits maximise: ``"l1"``, the absolute gradient sums of the
        children (default), or ``"gain"``, the usual gain.
    split_share
        Which part of a tree's cost greedy splits get (default one half).
    leaf
        ``"newton"`` (default): sums of gradients and of curvatures. ``"pair"``: sums of
        (1 + g) / 2 and (1 - g) / 2. ``"mean"``, the papers' leaf: its value itself, for
        comparison; its noise does not shrink with the rows of the leaf. The last two
        are for two classes or a Number.
    staged
        Whether greedy trees add the values of every level before they choose the
        next one (default for a Number target), or only those of the leaves.
    encoding
        What a Category does in a split: ``"native"`` (default), a child for every
        category; ``"onehot"``, one against the rest; ``"either"`` of them (greedy
        splits), or a random ``"subset"`` (random splits).
    multiway
        Whether greedy splits may cut a Number column into eight at once.
    max_leaves, group_size
        The most leaves of a tree (default 1024), columns of a cyclic tree (default 1).
    rows, trees_per_ensemble
        ``"all"``: every tree sees all rows and gets its part of the cost.
        ``"disjoint"``: ``trees_per_ensemble`` trees (default: all) share the rows, each
        row goes to one of them by a public hash of its values, and each tree may spend
        what its ensemble may.
    leaf_clipping
        Whether the values of the i-th tree of an ensemble are bounded by
        (1 - learning_rate)^(i - 1).
    start
        Whether the first question is for class shares, or the mean of a Number target,
        to start from.
    shrink
        Whether leaf values are drawn toward their parents' by as much as noise tells.
    monotone
        Columns along which scores may only rise (1) or fall (-1), as ``{"age": 1}``:
        Number features, two classes or a Number target, greedy or random splits. Leaf
        values that noise put in another order are moved together, which is free.
    residual_bound
        For a Number target: the largest residual that counts whole, in units of the
        target: Huber's loss. None (default): from a noisy choice of a quantile of
        residuals.
        ``"range"``: half the range.
    filtering
        For a Number target: rows with larger residuals are left out instead of clipped.

    Examples
    --------
    >>> from discreto.models import GradientBoostingClassifier
    >>> settings = BoostingSettings(splits="random", encoding="subset")
    >>> settings
    BoostingSettings(splits='random', encoding='subset')
    >>> GradientBoostingClassifier(epsilon=1, settings=settings).settings.splits
    'random'
    """

    reg_lambda: float | None = None
    splits: str | None = None
    split_score: str | None = None
    split_share: float | None = None
    leaf: str | None = None
    staged: bool | None = None
    encoding: str | None = None
    multiway: bool = True
    max_leaves: int | None = None
    group_size: int | None = None
    rows: str = "all"
    trees_per_ensemble: int | None = None
    leaf_clipping: bool = False
    start: bool = True
    shrink: bool = True
    residual_bound: float | str | None = None
    monotone: Any = None
    filtering: bool = False

    def __repr__(self) -> str:
        """Only what was changed."""
        given = [
            f"{field.name}={value!r}"
            for field in fields(self)
            if (value := getattr(self, field.name)) is not field.default
        ]
        return f"BoostingSettings({', '.join(given)})"


SETTING_NAMES = tuple(field.name for field in fields(BoostingSettings))


def settings_of(model: Boosting) -> BoostingSettings:
    """Return the settings object of a model, or the default one."""
    if model.settings is None:
        return BoostingSettings()
    if not isinstance(model.settings, BoostingSettings):
        raise ParameterError(
            f"{type(model).__name__}: settings must be None or BoostingSettings(...). "
            f"Got a {type(model.settings).__name__}."
        )
    return model.settings


def take_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters with all settings among them gathered in one object.

    >>> take_settings({"epsilon": 1, "splits": "random"})
    {'epsilon': 1, 'settings': BoostingSettings(splits='random')}
    """
    fine = {name: value for name, value in given.items() if name in SETTING_NAMES}
    if not fine:
        return given
    if given.get("settings") is not None:
        raise ParameterError(f"give {', '.join(fine)} in the settings object.")
    plain = {name: value for name, value in given.items() if name not in fine}
    return plain | {"settings": BoostingSettings(**fine)}


def warn_of_old(names: list[str], stacklevel: int) -> None:
    """Say that these parameters of 0.1 are settings now."""
    words = ", ".join(f"{name}=..." for name in names)
    warnings.warn(
        f"since 0.2 write settings=BoostingSettings({words}).",
        DeprecationWarning,
        stacklevel=stacklevel + 1,
    )


def with_old_names(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that still takes the parameters of 0.1, for one release.

    They are not in its signature, from which scikit-learn reads what a model has.
    """

    @functools.wraps(init)
    def read_old(self: Any, *args: Any, **given: Any) -> None:
        old = [name for name in given if name in SETTING_NAMES]
        if old:
            warn_of_old(old, stacklevel=2)
            given = take_settings(given)
        init(self, *args, **given)

    return read_old


@dataclass(frozen=True)
class ResolvedSettings:
    """Everything that is decided before the first question."""

    loss: Any
    gaussian: bool
    depths: tuple[int, ...]  # of each tree
    staged: bool  # whether leaves are asked for, and added, level by level
    rate: float
    ridge: float
    splits: str
    score: Any
    leaf: str
    encoding: Any
    bins: int
    group: int
    max_leaves: int
    several: bool
    shrink: bool
    ensemble: int  # trees that share the rows among them; 1: each sees all rows
    geometric: bool
    clip: float | None  # in units of the target; None: from a noisy choice
    drop: bool
    start_share: Fraction
    table_share: Fraction  # of class tables to start from, instead of class shares
    means_strength: float | None  # class means instead of tables, for such a strength
    temper_share: Fraction  # of the question for how sure these should be
    clip_share: Fraction  # of each question for the size of residuals
    clip_turns: Mapping[int, Fraction]  # before which trees, and at which quantile
    split_part: Fraction  # of what a tree gets
    quantile: Fraction = Fraction(1, 2)  # of a quantile's loss
    quantile_share: Fraction = Fraction(0)  # of a quantile of the target to start from
    monotone: tuple[int, ...] = ()  # for each feature: 1 rises, -1 falls, 0 anything

    @property
    def norm(self) -> Any:
        """The norm in which the noise counts."""
        return "l2" if self.gaussian else "l1"

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.depths)

    @property
    def trees_share(self) -> Fraction:
        """The part of the cost that all trees get."""
        clips = self.clip_share * len(self.clip_turns)
        tables = self.table_share and self.table_share + self.temper_share
        return 1 - self.start_share - self.quantile_share - tables - clips

    def most(self, number: int) -> float:
        """Return the largest leaf value of a tree, before the learning rate."""
        if not self.geometric:
            return 1.0 if self.loss in NUMBER_LOSSES else 4.0
        return float(max(1 - self.rate, 0.0) ** (number % self.ensemble))

    def tree_form(self, number: int, *price: Hashable) -> Hashable:
        """Return what decides the questions of a tree, but for its label and noise.

        Trees of the same form ask the same questions with the same bounds.
        """
        # The lean of a quantile toward 0 is in units of the noise.
        noise = price if self.loss == "quantile" else None
        return self.common, self.depths[number], self.most(number), noise

    @cached_property
    def common(self) -> Hashable:
        """All that does not depend on how many rows there are."""
        found = vars(self)
        return tuple([found[f.name] for f in _OF_TREES])

    @property
    def prior(self) -> float:
        """The variance that leaf values are expected to have, where they shrink.

        Residuals are in units of their bound, which most of them are well within.
        """
        return 0.3 if self.loss in NUMBER_LOSSES else 1.0

    def level_share(self, whole: Fraction, depth: int) -> Fraction:
        """Return the share of one level's choices in the share of a tree."""
        return whole * self.split_part / depth

    def leaf_shares(self, whole: Fraction, depth: int) -> list[Fraction]:
        """Return the shares of leaves in that of a tree; the last level has most."""
        rest = whole * (1 - self.split_part)
        if not self.staged or depth == 1:
            return [rest]
        early = rest * Fraction(3, 10)
        return [early / (depth - 1)] * (depth - 1) + [rest - early]

    @property
    def weight(self) -> float:
        """The weight of a row's curvature next to its gradient."""
        if self.loss == "logistic":  # the most that costs nothing
            return ROUND if self.gaussian else 1.0
        if self.loss == "softmax":
            return 1.0
        return 0.35 if self.gaussian else 0.25


_OF_TREES = tuple([f for f in fields(ResolvedSettings) if f.name not in _OF_ROWS])


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


def loss_of(model: Boosting, space: Space) -> ChosenLoss:
    """Return the loss of a model for this target."""
    column = space.domain[space.goal]
    if isinstance(column, Category):
        return ChosenLoss("logistic" if len(column.categories) == 2 else "softmax")
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


class Choices:
    """The parameters of one model, read and checked once for a cost and a space.

    ``at`` gives the settings of a fit: what the model says, and our choice where it is
    silent.
    """

    def __init__(self, model: Boosting, cost: Cost, space: Space) -> None:
        given = settings_of(model)
        read, fine = Reader(model), Reader(given)
        word = {n: fine.choice(n, k, unset=k[0]) for n, k in _CHOICES.items()}
        self.cost, self.space = cost, space
        self.loss = loss_of(model, space)
        name, gaussian = self.loss.name, bool(cost.rho)
        self.greedy = word["splits"] == "greedy"
        _check_words(fine, word, name)
        self.start = fine.truth("start")
        self._trees: int | None = None
        if read.given("n_estimators") is not None:
            self._trees = read.whole("n_estimators", most=10_000)
        self._group: int | None = None
        if fine.given("trees_per_ensemble") is not None:
            self._group = fine.whole("trees_per_ensemble", most=10_000)
        self._disjoint = word["rows"] == "disjoint"
        self._depth: int | None = None
        if read.given("max_depth") is not None:
            self._depth = read.whole("max_depth", most=20)
        part = fine.number("split_share", 0.01, 0.99, unset=0.5)
        self._fixed: dict[str, Any] = {
            "loss": name,
            "gaussian": gaussian,
            "staged": fine.truth("staged", unset=name in NUMBER_LOSSES) and self.greedy,
            "rate": read.number(
                "learning_rate", 1e-6, 10, unset=_rate(self.greedy, gaussian)
            ),
            "ridge": fine.number("reg_lambda", 0, 1e6, unset=1.0),
            "splits": word["splits"],
            "score": word["split_score"],
            "leaf": word["leaf"],
            "encoding": word["encoding"],
            "bins": read.whole("max_bins", most=1 << 14, unset=_bins(space)),
            "group": fine.whole("group_size", unset=1),
            "max_leaves": fine.whole("max_leaves", unset=1024),
            "several": fine.truth("multiway"),
            "shrink": fine.truth("shrink"),
            "geometric": fine.truth("leaf_clipping"),
            "clip": _bound(fine, name, space),
            "drop": _filtering(fine, name),
            "quantile": self.loss.quantile or Fraction(1, 2),
            "monotone": _monotone(fine, given.monotone, name, space),
            "split_part": Fraction(part).limit_denominator(1000)
            if self.greedy
            else Fraction(0),
        }

    @property
    def counts_first(self) -> bool:
        """True if a noisy count of rows decides how many trees there are."""
        open_number = self._trees is None and not self.space.domain.rows
        return self.start and self.greedy and open_number

    def at(self, strength: float | None = None) -> ResolvedSettings:
        """Return the settings for a ``strength``: a sum over all rows, over its noise.

        By default it is that of the rows that the domain declares.
        """
        cost, space, loss = self.cost, self.space, self.loss.name
        if strength is None:
            rows = space.domain.rows or ASSUMED_ROWS
            strength = rows * unit_strength(cost)
        trees = self._trees
        if trees is None:
            trees = _trees(cost, strength, self.greedy, loss)
            if self.start and too_few(strength, cost, space):
                trees = 0
        several = self.start and loss == "softmax" and len(space.classes) > 2
        means = strength if several and _means_first(strength, cost, space) else None
        tables = _table_share(strength, cost, space) if several else Fraction(0)
        if not trees:  # class means are all that can be known, if even they can
            tables = Fraction(0) if means is None else Fraction(1)
            tables -= self._start_share(tables, False, strength) if tables else 0
        adaptive = loss in NUMBER_LOSSES and self._fixed["clip"] is None and trees
        median = self.start and self.loss.quantile is not None
        quantile = _quantile_share(self.loss, strength) if median else Fraction(0)
        group = max(trees, 1) if self._group is None else self._group
        return ResolvedSettings(
            **self._fixed,
            depths=self._depths(trees),
            ensemble=min(group, max(trees, 1)) if self._disjoint else 1,
            start_share=self._start_share(tables, median, trees and strength),
            quantile_share=quantile,
            table_share=tables,
            means_strength=means,
            temper_share=Fraction(1, 20) if means is None else Fraction(0),
            clip_share=_clip_share(strength),
            clip_turns=_clip_turns(self.loss, cost, strength, trees)
            if adaptive
            else {},
        )

    def _start_share(self, tables: Fraction, median: bool, strength: float) -> Fraction:
        """Return the share of class counts or of the target's mean.

        It is 0 where something else tells them. A mean needs some rows over its noise
        to be closer than trees would bring it.
        """
        if not self.start:
            return Fraction(0)
        space = self.space
        if not space.domain.rows and (not median or self.counts_first):
            return Fraction(1, 10)
        if tables or median:
            return Fraction(0)
        number = not isinstance(space.domain[space.goal], Category)
        least = _START / strength if number and strength else 0.0  # all is for a mean
        return Fraction(min(max(least, 0.05), 0.3)).limit_denominator(100)

    def _depths(self, trees: int) -> tuple[int, ...]:
        plain = self._depth is None and self.greedy
        if plain and self.loss.name not in NUMBER_LOSSES:
            # Single columns first, then pairs: an early pair would take noise for one.
            return (1,) * (trees // 2) + (2,) * (trees - trees // 2)
        depth = (2 if self.greedy else 4) if self._depth is None else self._depth
        return (depth,) * trees


def _check_words(fine: Reader, word: dict[str, Any], loss: str) -> None:
    """Refuse leaves and encodings that this loss and these splits do not have."""
    if loss in ("softmax", "poisson", "quantile") and word["leaf"] != "newton":
        what = "more than two classes" if loss == "softmax" else "this loss"
        raise fine.bad("leaf", f"'newton' for {what}")
    if word["encoding"] == ("subset" if word["splits"] == "greedy" else "either"):
        raise fine.bad("encoding", "'native' or 'onehot' for these splits")


def _quantile_share(chosen: ChosenLoss, strength: float) -> Fraction:
    """Return the share of the target's quantile: more where few rows are beyond it."""
    part = chosen.quantile or Fraction(1, 2)
    beyond = float(min(part, 1 - part)) * strength
    share = min(max(30 / max(beyond, 1.0), 0.05), 0.3)
    return Fraction(share).limit_denominator(100)


def _table_share(strength: float, cost: Cost, space: Space) -> Fraction:
    """Return the share of class tables or class means, for more than two classes.

    It follows from how many standard deviations of noise a class has rows, if all of
    the cost went to the tables.
    """
    if _means_first(strength, cost, space):
        return Fraction(8, 10)
    clear = clear_classes(strength, cost, space)
    many = len(space.classes) >= MANY_CLASSES
    return Fraction(3, 10) if many and clear >= CLEAR else Fraction(0)


def _means_first(strength: float, cost: Cost, space: Space) -> bool:
    """Return True if class means stand out of noise where tables or trees do not."""
    clear = clear_classes(strength, cost, space)
    if len(space.classes) >= MANY_CLASSES:
        return clear < CLEAR
    rows = strength / len(space.classes)
    return clear >= _MEANS_CLEAR and rows < _TREES_CLEAR[bool(cost.rho)]


def _trees(cost: Cost, strength: float, greedy: bool, loss: str) -> int:
    if not greedy:
        return 50 if cost.epsilon else 300
    # More trees follow more signal slowly: each of them gets a smaller share.
    trees = (0.2 if cost.epsilon else 0.8) * strength**0.4
    if loss == "quantile":  # a choice in a leaf needs more rows than a sum
        trees /= 2
    return min(max(round(trees), 2), 200)


def _clip_share(strength: float) -> Fraction:
    """Return the share of the size of residuals: pure noise may give any size."""
    return Fraction(min(max(20 / max(strength, 1.0), 0.03), 0.1)).limit_denominator(100)


def _clip_turns(
    chosen: ChosenLoss, cost: Cost, strength: float, trees: int
) -> dict[int, Fraction]:
    """Residuals are clipped the more, the more there would be noise."""
    if chosen.clips is not None:
        return {3 * trees // 10: chosen.clips[1], 0: chosen.clips[0]}
    strong = strength > (10_000 if cost.epsilon else 2_000)
    first, later = (18, 17) if strong else (16, 16)
    return {3 * trees // 10: Fraction(later, 20), 0: Fraction(first, 20)}


def _rate(greedy: bool, gaussian: bool) -> float:
    if not greedy:
        return 0.2
    return 0.6 if gaussian else 0.7


def _bins(space: Space) -> int:
    return 64 if len(space.features) <= 32 else 32


def _bound(fine: Reader, loss: str, space: Space) -> float | None:
    if fine.given("residual_bound") is None:
        return None
    if loss not in NUMBER_LOSSES:
        raise fine.bad("residual_bound", "None for a Category target")
    if fine.is_auto("residual_bound", "range"):
        return space.domain.number(space.goal).half
    wanted = "None, 'range' or a number above 0"
    return fine.number("residual_bound", 1e-9, 1e12, wanted=wanted)


def _filtering(fine: Reader, loss: str) -> bool:
    if fine.truth("filtering") and loss != "squared":
        raise fine.bad("filtering", "False for this loss")
    return fine.truth("filtering")


def _monotone(fine: Reader, given: Any, loss: str, space: Space) -> tuple[int, ...]:
    """Return the direction of scores along each feature, or nothing."""
    if not given:
        return ()
    good = isinstance(given, dict) and loss != "softmax"
    good = good and all(name in space.numbers for name in given)
    if not good or not all(type(w) is int and w in (-1, 0, 1) for w in given.values()):
        raise fine.bad(
            "monotone", "{feature: 1 or -1} of Number features, for up to two classes"
        )
    return tuple(given.get(name, 0) for name in space.features)
