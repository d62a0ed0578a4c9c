"""Settings that nobody gave, from public facts: epsilon, declared rows, the domain.

The rule was found by measurement on public tables (benchmarks/boosting), never on the
rows of a fit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreto.core.cost import Cost
from discreto.core.domain.domain import Category
from discreto.core.maps.tree_gradients import NUMBER_LOSSES
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import (
    CLEAR,
    clear_classes,
    too_few,
    unit_strength,
)
from discreto.models.boosting.losses import ChosenLoss, loss_of
from discreto.models.boosting.resolved import ResolvedSettings
from discreto.models.boosting.settings import settings_of
from discreto.session.parameters import Reader

# Where the domain does not say, and no count is asked for.
ASSUMED_ROWS = 10_000
MANY_CLASSES = 7  # from which on trees alone are behind naive Bayes
_START = 40.0  # rows over the noise, for the mean of a target
_MEANS_CLEAR = 2.0  # noises that a class needs, for its means to be heard
_TREES_CLEAR = (120, 30)  # rows of a class over the noise, for trees alone
_CHOICES = {
    "splits": ("greedy", "random", "cyclic"),
    "split_score": ("l1", "gain"),
    "leaf": ("newton", "pair", "mean"),
    "encoding": ("native", "onehot", "either", "subset"),
    "rows": ("all", "disjoint"),
}


def settings_for(
    model: Any, cost: Cost, space: Space, strength: float | None = None
) -> ResolvedSettings:
    """The settings of a fit: what the model says, and our choice where it is silent.

    ``strength`` is how well a sum over all rows stands out of its noise; by default
    that of the rows that the domain declares.
    """
    if strength is None:
        rows = space.domain.rows or ASSUMED_ROWS
        strength = rows * unit_strength(cost)
    read, fine = Reader(model), Reader(settings_of(model))
    word = {n: fine.choice(n, k, unset=k[0]) for n, k in _CHOICES.items()}
    chosen, gaussian = loss_of(model, space), bool(cost.rho)
    loss, greedy = chosen.name, word["splits"] == "greedy"
    _check_words(fine, word, loss)
    start = fine.truth("start")
    ours = _trees(cost, strength, greedy, loss)
    trees = read.whole("n_estimators", most=10_000, unset=ours)
    if start and too_few(strength, cost, space) and read.given("n_estimators") is None:
        trees = 0
    group = fine.whole("trees_per_ensemble", most=10_000, unset=max(trees, 1))
    several = start and loss == "softmax" and len(space.classes) > 2
    means = strength if several and _means_first(strength, cost, space) else None
    tables = _table_share(strength, cost, space) if several else Fraction(0)
    if not trees:  # class means are all that can be known, if they can
        tables = Fraction(0) if means is None else Fraction(1)
        tables -= _start_share(model, space, tables, False, strength) if tables else 0
    part = fine.number("split_share", 0.01, 0.99, unset=0.5)
    clip = _bound(fine, loss, space)
    adaptive = loss in NUMBER_LOSSES and clip is None and trees
    median = start and chosen.quantile is not None
    return ResolvedSettings(
        loss=loss,
        gaussian=gaussian,
        depths=_depths(read, trees, greedy, loss),
        staged=fine.truth("staged", unset=loss in NUMBER_LOSSES) and greedy,
        rate=read.number("learning_rate", 1e-6, 10, unset=_rate(greedy, gaussian)),
        ridge=fine.number("reg_lambda", 0, 1e6, unset=1.0),
        splits=word["splits"],
        score=word["split_score"],
        leaf=word["leaf"],
        encoding=word["encoding"],
        bins=read.whole("max_bins", most=1 << 14, unset=_bins(space)),
        group=fine.whole("group_size", unset=1),
        max_leaves=fine.whole("max_leaves", unset=1024),
        several=fine.truth("multiway"),
        shrink=fine.truth("shrink"),
        ensemble=1 if word["rows"] == "all" else min(group, max(trees, 1)),
        geometric=fine.truth("leaf_clipping"),
        clip=clip,
        drop=_filtering(fine, loss),
        start_share=_start_share(model, space, tables, median, trees and strength),
        quantile=chosen.quantile or Fraction(1, 2),
        quantile_share=_quantile_share(chosen, strength) if median else Fraction(0),
        table_share=tables,
        means_strength=means,
        temper_share=Fraction(1, 20) if means is None else Fraction(0),
        clip_share=_clip_share(strength),
        clip_turns=_clip_turns(chosen, cost, strength, trees) if adaptive else {},
        monotone=_monotone(fine, settings_of(model).monotone, loss, space),
        split_part=Fraction(part).limit_denominator(1000) if greedy else Fraction(0),
    )


def _check_words(fine: Reader, word: dict[str, Any], loss: str) -> None:
    """Refuse leaves and encodings that this loss and these splits do not have."""
    if loss in ("softmax", "poisson", "quantile") and word["leaf"] != "newton":
        what = "more than two classes" if loss == "softmax" else "this loss"
        raise fine.bad("leaf", f"'newton' for {what}")
    if word["encoding"] == ("subset" if word["splits"] == "greedy" else "either"):
        raise fine.bad("encoding", "'native' or 'onehot' for these splits")


def counts_first(model: Any, space: Space) -> bool:
    """Whether a noisy count of rows decides how many trees there are."""
    fine = Reader(settings_of(model))
    asked = fine.truth("start") and fine.given("splits") in (None, "greedy")
    return asked and model.n_estimators is None and not space.domain.rows


def _start_share(
    model: Any, space: Space, tables: Fraction, median: bool, strength: float
) -> Fraction:
    """What class counts or the target's mean get, where nothing else tells them.

    A mean needs so many rows over its noise to be closer than trees would bring it.
    """
    if not settings_of(model).start:
        return Fraction(0)
    if not space.domain.rows and (not median or counts_first(model, space)):
        return Fraction(1, 10)
    if tables or median:
        return Fraction(0)
    number = not isinstance(space.domain[space.goal], Category)
    least = _START / strength if number and strength else 0.0  # all is for a mean
    return Fraction(min(max(least, 0.05), 0.3)).limit_denominator(100)


def _quantile_share(chosen: ChosenLoss, strength: float) -> Fraction:
    """What the quantile of the target gets: more where few rows are beyond it."""
    part = chosen.quantile or Fraction(1, 2)
    beyond = float(min(part, 1 - part)) * strength
    share = min(max(30 / max(beyond, 1.0), 0.05), 0.3)
    return Fraction(share).limit_denominator(100)


def _table_share(strength: float, cost: Cost, space: Space) -> Fraction:
    """What class tables, or class means, get to start from, with more than two classes.

    It follows from how many standard deviations of noise a class has rows, if all of
    the cost went to the tables.
    """
    if _means_first(strength, cost, space):
        return Fraction(8, 10)
    clear = clear_classes(strength, cost, space)
    many = len(space.classes) >= MANY_CLASSES
    return Fraction(3, 10) if many and clear >= CLEAR else Fraction(0)


def _means_first(strength: float, cost: Cost, space: Space) -> bool:
    """Whether class means stand out of noise where tables, or trees, do not yet."""
    clear = clear_classes(strength, cost, space)
    if len(space.classes) >= MANY_CLASSES:
        return clear < CLEAR
    rows = strength / len(space.classes)
    return clear >= _MEANS_CLEAR and rows < _TREES_CLEAR[bool(cost.rho)]


def _trees(cost: Cost, strength: float, greedy: bool, loss: str) -> int:
    if not greedy:
        return 50 if cost.epsilon else 300
    trees = (0.2 if cost.epsilon else 0.8) * strength**0.4
    if loss == "quantile":  # a choice in a leaf needs more rows than a sum
        trees /= 2
    return min(max(round(trees), 2), 200)


def _clip_share(strength: float) -> Fraction:
    """What the size of residuals gets: a size by chance may be that of all bounds."""
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


def _depths(read: Reader, trees: int, greedy: bool, loss: str) -> tuple[int, ...]:
    if read.given("max_depth") is None and greedy and loss not in NUMBER_LOSSES:
        # What single columns do comes first, then pairs.
        return (1,) * (trees // 2) + (2,) * (trees - trees // 2)
    return (read.whole("max_depth", most=20, unset=2 if greedy else 4),) * trees


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
    """Which way scores go along each feature, or nothing."""
    if not given:
        return ()
    good = isinstance(given, dict) and loss != "softmax"
    good = good and all(name in space.numbers for name in given)
    if not good or not all(type(w) is int and w in (-1, 0, 1) for w in given.values()):
        raise fine.bad(
            "monotone", "{feature: 1 or -1} of Number features, for up to two classes"
        )
    return tuple(given.get(name, 0) for name in space.features)
