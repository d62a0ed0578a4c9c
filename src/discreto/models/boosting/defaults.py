"""Settings that nobody gave, from public facts: epsilon, declared rows, the domain.

The rule was found by measurement on public tables (benchmarks/boosting), never on the
rows of a fit.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from discreto.core.cost import Cost
from discreto.models._features import Space
from discreto.models.boosting.resolved import ResolvedSettings
from discreto.models.boosting.settings import settings_of
from discreto.parameters import Reader

# Where the domain does not say. A fit must ask what its plan said, so what is guessed
# for one plan (``plan(rows=...)``) cannot count here.
ASSUMED_ROWS = 10_000
_CHOICES = {
    "splits": ("greedy", "random", "cyclic"),
    "split_score": ("l1", "gain"),
    "leaf": ("newton", "pair", "mean"),
    "encoding": ("native", "onehot", "either", "subset"),
    "rows": ("all", "disjoint"),
}


def settings_for(model: Any, cost: Cost, space: Space) -> ResolvedSettings:
    """The settings of a fit: what the model says, and our choice where it is silent."""
    read, fine = Reader(model), Reader(settings_of(model))
    word = {n: fine.choice(n, k, unset=k[0]) for n, k in _CHOICES.items()}
    loss, gaussian, greedy = _loss(space), bool(cost.rho), word["splits"] == "greedy"
    if loss == "softmax" and word["leaf"] != "newton":
        raise fine.bad("leaf", "'newton' for more than two classes")
    if word["encoding"] == ("subset" if greedy else "either"):
        raise fine.bad("encoding", "'native' or 'onehot' for these splits")
    ours = _trees(cost, space, greedy)
    trees = read.whole("n_estimators", most=10_000, unset=ours)
    group = fine.whole("trees_per_ensemble", most=10_000, unset=trees)
    part = fine.number("split_share", 0.01, 0.99, unset=0.5)
    clip = _bound(fine, loss, space)
    adaptive = loss == "squared" and clip is None
    return ResolvedSettings(
        loss=loss,
        gaussian=gaussian,
        depths=_depths(read, trees, greedy, loss),
        staged=fine.truth("staged", unset=loss == "squared") and greedy,
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
        ensemble=1 if word["rows"] == "all" else min(group, trees),
        geometric=fine.truth("leaf_clipping"),
        clip=clip,
        drop=_filtering(fine, loss),
        start_share=Fraction(1, 20) if fine.truth("start") else Fraction(0),
        clip_share=Fraction(3, 100),
        clip_turns=_clip_turns(cost, space, trees) if adaptive else {},
        split_part=Fraction(part).limit_denominator(1000) if greedy else Fraction(0),
    )


def _loss(space: Space) -> str:
    column = space.domain[space.goal]
    classes = getattr(column, "categories", None)
    if classes is None:
        return "squared"
    return "logistic" if len(classes) == 2 else "softmax"


def _trees(cost: Cost, space: Space, greedy: bool) -> int:
    if not greedy:
        return 50 if cost.epsilon else 300
    trees = (0.2 if cost.epsilon else 0.8) * _strength(cost, space) ** 0.4
    return min(max(round(trees), 2), 200)


def _strength(cost: Cost, space: Space) -> float:
    """How well a sum over all rows stands out of its noise."""
    rows = space.domain.rows or ASSUMED_ROWS
    return rows * (float(cost.epsilon) or math.sqrt(float(2 * cost.rho)))


def _clip_turns(cost: Cost, space: Space, trees: int) -> dict[int, Fraction]:
    """Residuals are clipped the more, the more there would be noise."""
    strong = _strength(cost, space) > (10_000 if cost.epsilon else 2_000)
    first, later = (18, 17) if strong else (16, 16)
    return {3 * trees // 10: Fraction(later, 20), 0: Fraction(first, 20)}


def _depths(read: Reader, trees: int, greedy: bool, loss: str) -> tuple[int, ...]:
    if read.given("max_depth") is None and greedy and loss != "squared":
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
    if loss != "squared":
        raise fine.bad("residual_bound", "None for a Category target")
    if fine.is_auto("residual_bound", "range"):
        return space.domain.number(space.goal).half
    wanted = "None, 'range' or a number above 0"
    return fine.number("residual_bound", 1e-9, 1e12, wanted=wanted)


def _filtering(fine: Reader, loss: str) -> bool:
    if fine.truth("filtering") and loss != "squared":
        raise fine.bad("filtering", "False for a Category target")
    return fine.truth("filtering")
