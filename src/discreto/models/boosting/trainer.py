"""The conversation: a start, then one tree after another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.maps.row_partition import HashParts, Parts
from discreto.core.maps.scores import Ranks
from discreto.core.maps.tree_gradients import Gradients, Residuals
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Block, Choice, Ones, Sum
from discreto.models._features import Space
from discreto.models.boosting.binning import grid_of
from discreto.models.boosting.growing import Grower
from discreto.models.boosting.leaf_means import measure_means
from discreto.models.boosting.leaves import measure, values_of
from discreto.models.boosting.resolved import ResolvedSettings
from discreto.rng import Generator
from discreto.session import Ask, Session


@dataclass(frozen=True)
class Ensemble:
    """What a fit learned: scores start somewhere, and each tree adds to them."""

    grid: Grid
    start: tuple[float, ...]
    trees: tuple[Tree, ...]


def learn(
    ask: Session, space: Space, settings: ResolvedSettings, coins: Generator
) -> Ensemble:
    """Hold the whole conversation."""
    grid = grid_of(space.features, space.domain, settings.bins)
    grower = Grower(grid, space.domain, settings, coins)
    gradients = _start(ask, space, settings, grid)
    turns = _turns(ask, space, settings, coins)
    for number, (answering, whole) in enumerate(turns):
        if number in settings.clip_turns:
            label = f"size of residuals before tree {number + 1}"
            quantile = settings.clip_turns[number]
            share = settings.clip_share
            gradients = _clipped(ask, space, gradients, quantile, label, share)
        gradients = _turn(answering, whole, grower, gradients, number)
    return Ensemble(grid, gradients.start, gradients.trees)


def _turn(
    ask: Session,
    whole: Fraction,
    grower: Grower,
    gradients: Gradients,
    number: int,
) -> Gradients:
    """Gradients after one more tree, which may be asked for whole or level by level."""
    settings, label = grower.settings, f"tree {number + 1}"
    depth = settings.depths[number]
    shares = settings.leaf_shares(whole, depth)
    # A level of choices each, and leaves after the last of them or after each.
    tree = Tree() if settings.splits == "greedy" else grower.by_chance(number)
    for level in range(depth):
        if settings.splits == "greedy":
            words = f"{label}, level {level + 1}"
            share = settings.level_share(whole, depth)
            tree = grower.by_choice(ask, gradients, tree, words, share)
        if len(shares) < depth and level < depth - 1:
            continue
        words = (
            f"{label}, leaves" if len(shares) == 1 else f"{label}, nodes {level + 1}"
        )
        share = shares[min(level, len(shares) - 1)]
        most = settings.most(number)
        if settings.leaf == "mean":
            values = measure_means(ask, gradients, tree, settings, most, words, share)
        else:
            sums = measure(ask, gradients, tree, settings, words, share)
            values = values_of(sums, settings)
        values = np.clip(values, -most, most) * (settings.rate * gradients.clip)
        grown = replace(tree, values=tuple(map(tuple, values.tolist())))
        gradients = replace(gradients, trees=(*gradients.trees, grown))
    return gradients


def _turns(
    ask: Session, space: Space, settings: ResolvedSettings, coins: Generator
) -> Iterator[tuple[Session, Fraction]]:
    """Whom each tree asks, and what it may spend of that conversation's cost.

    The trees of an ensemble share the rows among them: each row has a tree of its own,
    more of them the first trees, so that all of them may spend the same.
    """
    share = settings.trees_share
    if settings.ensemble == 1:
        for _ in range(settings.trees):
            yield ask, share / settings.trees
        return
    many = math.ceil(settings.trees / settings.ensemble)
    left = settings.trees
    for number in range(many):
        size = min(settings.ensemble, left)
        left -= size
        decay = [(1 - settings.rate) ** i for i in range(size)]
        weights = tuple(max(1, round(w * (1 << 20))) for w in decay)
        salt = int(coins.integers(1 << 62))
        parts = HashParts((*space.features, space.goal), weights, salt)
        label = f"rows of ensemble {number + 1}"
        for branch in ask.split(Parts(parts), label, share / many):
            yield branch, Fraction(1)


def _start(ask: Ask, space: Space, settings: ResolvedSettings, grid: Grid) -> Gradients:
    """Gradients at a first guess: class shares, or the mean of the target."""
    middle: tuple[float, ...] = (0.0,)
    clip = 1.0
    if settings.loss == "softmax":
        middle = (0.0,) * len(space.classes)
    elif settings.loss == "squared":
        column = space.domain.number(space.goal)
        middle, clip = (column.centre,), column.half
    gradients = Gradients(
        grid, space.goal, settings.loss, middle, clip=clip, norm=settings.norm
    )
    start = middle
    if settings.start_share:
        share = settings.start_share
        root = measure(ask, gradients, Tree(), settings, "start", share)
        start = _guess(root, settings, gradients)
    clip = clip if settings.clip is None else settings.clip
    return replace(gradients, start=start, clip=clip, drop=settings.drop)


def _guess(
    root: Any, settings: ResolvedSettings, gradients: Gradients
) -> tuple[float, ...]:
    S, W = root.gradients[0], max(float(root.weights[0]), 0.0)
    doubt = math.sqrt(root.gradient_noise)
    if settings.loss == "squared":
        mean = -float(S[0]) / max(W + doubt, 1e-9)
        return (gradients.start[0] + gradients.clip * min(max(mean, -1), 1),)
    classes = max(len(S), 2)
    flat = 0.25 if settings.loss == "logistic" else 1 - 1 / classes
    rows = W / flat
    counts = rows / classes - (S if len(S) > 1 else np.array([-S[0], S[0]]))
    counts = np.maximum(counts, 0.0) + doubt + 1.0
    logs = np.log(counts / counts.sum())
    if len(S) == 1:
        return (float(logs[1] - logs[0]),)
    return tuple((logs - logs.mean()).tolist())


def _clipped(
    ask: Ask,
    space: Space,
    gradients: Gradients,
    quantile: Fraction,
    label: str,
    share: Fraction,
) -> Gradients:
    """Gradients that are bounded by about a quantile of the residuals."""
    cells = Residuals(gradients)
    ranks = Ranks((quantile.numerator,), quantile.denominator)
    query = Choice(Sum(cells, (Block(Ones()),)), ranks)
    picked = ask.select(query, label, share)
    clip = cells.edge(int(picked.indices[0]), space.domain)
    return replace(gradients, clip=clip)
