"""Settings that nobody gave, from public facts: epsilon, declared rows, the domain.

The rule was found by measurement on public tables (benchmarks/boosting), never on the
rows of a fit.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from discreto.errors import ParameterError
from discreto.kernel.cost import Cost
from discreto.models._space import Space
from discreto.models._votes import check_whole
from discreto.models.boosting.settings import Settings

TYPICAL_ROWS = 10_000  # where the domain does not say
_CHOICES = {
    "splits": ("greedy", "random", "cyclic"),
    "split_score": ("l1", "gain"),
    "leaf": ("newton", "pair", "mean"),
    "encoding": ("native", "onehot", "either", "subset"),
    "rows": ("all", "disjoint"),
}


def settings_for(model: Any, cost: Cost, space: Space) -> Settings:
    """The settings of a fit: what the model says, and our choice where it is silent."""
    for name, known in _CHOICES.items():
        given = getattr(model, name)
        if given is not None and given not in known:
            raise _bad(model, name, f"one of {', '.join(known)}", given)
    loss, gaussian = _loss(space), bool(cost.rho)
    greedy = model.splits in (None, "greedy")
    leaf = model.leaf or "newton"
    if loss == "softmax" and leaf != "newton":
        raise _bad(model, "leaf", "'newton' for more than two classes", leaf)
    encoding = model.encoding or "native"
    if encoding == ("subset" if greedy else "either"):
        raise _bad(model, "encoding", "'native' or 'onehot' for these splits", encoding)
    trees = _whole(model, "n_estimators", _trees(cost, space, greedy), 10_000)
    adaptive = loss == "squared" and model.residual_bound is None
    return Settings(
        loss=loss,
        gaussian=gaussian,
        depths=_depths(model, trees, greedy, loss),
        staged=greedy and _or(model.staged, loss == "squared"),
        rate=_number(model, "learning_rate", _rate(greedy, gaussian), 1e-6, 10),
        ridge=_number(model, "reg_lambda", 1.0, 0, 1e6),
        splits=model.splits or "greedy",
        score=model.split_score or "l1",
        leaf=leaf,
        encoding=encoding,
        bins=_whole(model, "max_bins", _bins(space), 1 << 14),
        group=_whole(model, "group_size", 1, 1 << 16),
        max_leaves=_whole(model, "max_leaves", 1024, 1 << 16),
        several=bool(model.multiway),
        shrink=bool(model.shrink),
        ensemble=_ensemble(model, trees),
        geometric=bool(model.leaf_clipping),
        clip=_bound(model, loss, space),
        drop=bool(getattr(model, "filtering", False)),
        start_share=Fraction(1, 20) if model.start else Fraction(0),
        clip_share=Fraction(3, 100),
        clip_turns=_clip_turns(cost, space, trees) if adaptive else {},
        split_part=_split_part(model) if greedy else Fraction(0),
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
    rows = space.domain.rows or TYPICAL_ROWS
    return rows * (float(cost.epsilon) or math.sqrt(float(2 * cost.rho)))


def _clip_turns(cost: Cost, space: Space, trees: int) -> dict[int, Fraction]:
    """Residuals are clipped the more, the more there would be noise."""
    strong = _strength(cost, space) > (10_000 if cost.epsilon else 2_000)
    first, later = (18, 17) if strong else (16, 16)
    return {3 * trees // 10: Fraction(later, 20), 0: Fraction(first, 20)}


def _depths(model: Any, trees: int, greedy: bool, loss: str) -> tuple[int, ...]:
    if model.max_depth is None and greedy and loss != "squared":
        # What single columns do comes first, then pairs.
        return (1,) * (trees // 2) + (2,) * (trees - trees // 2)
    return (_whole(model, "max_depth", 2 if greedy else 4, 20),) * trees


def _rate(greedy: bool, gaussian: bool) -> float:
    if not greedy:
        return 0.2
    return 0.6 if gaussian else 0.7


def _or(given: bool | None, ours: bool) -> bool:
    return ours if given is None else bool(given)


def _bins(space: Space) -> int:
    return 64 if len(space.features) <= 32 else 32


def _ensemble(model: Any, trees: int) -> int:
    if model.rows == "all":
        return 1
    return min(_whole(model, "trees_per_ensemble", trees, 10_000), trees)


def _bound(model: Any, loss: str, space: Space) -> float | None:
    if loss != "squared" or model.residual_bound is None:
        return None
    half = space.domain.number(space.goal).half
    if isinstance(model.residual_bound, str) and model.residual_bound == "range":
        return half
    return _number(model, "residual_bound", half, 1e-9, 1e12)


def _split_part(model: Any) -> Fraction:
    part = _number(model, "split_share", 0.5, 0.01, 0.99)
    return Fraction(part).limit_denominator(1000)


def _whole(model: Any, name: str, ours: int, most: int) -> int:
    value = getattr(model, name)
    if value is None:
        return ours
    check_whole(model, name, value, most)
    return int(value)


def _number(model: Any, name: str, ours: float, low: float, high: float) -> float:
    value = getattr(model, name)
    if value is None:
        return ours
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not low <= value <= high:
        raise _bad(model, name, f"a number from {low:g} to {high:g}", value)
    return float(value)


def _bad(model: Any, name: str, wanted: str, given: Any) -> ParameterError:
    return ParameterError(
        f"{type(model).__name__}: {name} must be {wanted}. Got {given!r}."
    )
