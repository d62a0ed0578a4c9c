"""The session of a fit: a start, then one tree after another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from discreto.core.maps.choice_scores import Ranks
from discreto.core.maps.row_partition import HashParts, Parts
from discreto.core.maps.tree_gradients import NUMBER_LOSSES, Gradients, Residuals
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Block, Choice, Ones, Sum
from discreto.models.base.features import Space
from discreto.models.bayes.class_means import ask_means
from discreto.models.bayes.queries import read_tables
from discreto.models.bayes.start_scores import ask_temper, class_scores, tempered
from discreto.models.boosting.growing import Grower
from discreto.models.boosting.leaves import (
    ask_quantile,
    measure,
    measure_means,
    measure_quantiles,
    values_of,
)
from discreto.models.boosting.monotone import gaps_of, in_order
from discreto.models.boosting.settings import ResolvedSettings
from discreto.models.boosting.start import FirstLook, look, middle_of
from discreto.session.rng import Generator
from discreto.session.session import Ask


@dataclass(frozen=True)
class Ensemble:
    """The result of a fit: scores start at ``start``, and each tree adds to them."""

    grid: Grid
    start: tuple[float, ...]
    trees: tuple[Tree, ...]
    shares: tuple[float, ...] = ()  # scores of released class shares


# Scores to start from, as trees on a grid: a function of releases and public facts.
Base = Callable[[Grid], tuple[tuple[float, ...], tuple[Tree, ...]]]


def learn(
    ask: Ask,
    space: Space,
    settings: ResolvedSettings,
    coins: Generator,
    first: FirstLook | None = None,
    base: Base | None = None,
) -> Ensemble:
    """Ask all questions of a fit, or those that are left after a first estimate."""
    # All ways of a rehearsal grow their trees on one grid.
    key = (settings.common, space.domain.fingerprint, space.features)
    grower = ask.once(key, partial(Grower, space, settings, coins))
    grid = grower.grid
    if first is None and settings.start_share:
        first = look(ask, space, settings, settings.start_share)
    if not settings.trees and settings.quantile_share:
        share = settings.trees_share + settings.quantile_share
        middle = ask_quantile(ask, space, settings, "quantile of the target", share)
        return Ensemble(grid, (middle,), ())
    if not settings.trees and first is not None and not settings.table_share:
        # Too few rows for trees: the rest is for a second estimate.
        again = look(ask, space, settings, settings.trees_share, "start again")
        start = first.with_(again).start
        return Ensemble(grid, start, (), start)
    gradients = _start(ask, space, settings, grid, first)
    if base is not None:
        start, trees = base(grid)
        gradients = replace(gradients, start=start, trees=trees)
    turns, last = _turns(ask, space, settings, coins), settings.trees - 1
    for number, (answering, whole) in enumerate(turns):
        if number in settings.clip_turns:
            label = f"size of residuals before tree {number + 1}"
            quantile = settings.clip_turns[number]
            share = settings.clip_share
            clip = ask.repeat(
                ("size of residuals", settings.common, quantile),
                label,
                share,
                partial(_ask_clip, ask, space, gradients, quantile, label, share),
                partial(gradients.check, space.domain),
            )
            gradients = replace(gradients, clip=clip)
        # In a dry run every tree of a form but the first is priced, not asked.
        grown = answering.repeat(
            settings.tree_form(number, answering.cost, whole),
            f"tree {number + 1}",
            whole,
            partial(_grow, answering, whole, grower, gradients, settings, number),
            # Ensembles only grow: one that fits before its last tree fits before all.
            partial(gradients.check, space.domain) if number == last else _fits,
        )
        gradients = replace(gradients, trees=(*gradients.trees, *grown))
    shares = () if first is None else first.start
    return Ensemble(grid, gradients.start, gradients.trees, shares)


def _fits() -> None:
    """Refuse nothing."""


def _grow(
    ask: Ask,
    whole: Fraction,
    grower: Grower,
    gradients: Gradients,
    settings: ResolvedSettings,
    number: int,
) -> tuple[Tree, ...]:
    """Return what one more tree adds: itself, or with staged leaves one for each level.

    ``whole`` is its share of the cost of ``ask``.
    """
    before = len(gradients.trees)
    label, depth = f"tree {number + 1}", settings.depths[number]
    shares = settings.leaf_shares(whole, depth)
    # A level of choices each, and leaves after the last of them or after each.
    tree = Tree() if settings.splits == "greedy" else grower.by_chance(number, depth)
    for level in range(depth):
        if settings.splits == "greedy":
            words = f"{label}, level {level + 1}"
            share = settings.level_share(whole, depth)
            tree = grower.by_choice(ask, gradients, tree, words, share)
        if len(shares) < depth and level < depth - 1:
            continue  # leaves are asked for after the last level only
        words = (
            f"{label}, leaves" if len(shares) == 1 else f"{label}, nodes {level + 1}"
        )
        share = shares[min(level, len(shares) - 1)]
        most = settings.most(number)
        if settings.loss == "quantile":
            values = measure_quantiles(ask, gradients, tree, settings, words, share)
        elif settings.leaf == "mean":
            values = measure_means(ask, gradients, tree, settings, most, words, share)
        else:
            sums = measure(ask, gradients, tree, settings, words, share)
            values = values_of(sums, settings)
        # Scores of poisson are logarithms, all others are in units of the clip.
        unit = 1.0 if settings.loss == "poisson" else gradients.clip
        values = np.clip(values, -most, most) * (settings.rate * unit)
        if settings.monotone:
            gaps = gaps_of(gradients.grid, grower.domain)
            values = in_order(tree, values, settings.monotone, gaps)
        grown = replace(tree, values=tuple(map(tuple, values.tolist())))
        gradients = replace(gradients, trees=(*gradients.trees, grown))
    return gradients.trees[before:]


def _turns(
    ask: Ask, space: Space, settings: ResolvedSettings, coins: Generator
) -> Iterator[tuple[Ask, Fraction]]:
    """Yield the session of each tree, and its share of that session's cost.

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
        # Later trees have smaller residuals left, and need fewer rows.
        decay = [(1 - settings.rate) ** i for i in range(size)]
        weights = tuple(max(1, round(w * (1 << 20))) for w in decay)
        salt = int(coins.integers(1 << 62))
        parts = HashParts((*space.features, space.goal), weights, salt)
        label = f"rows of ensemble {number + 1}"
        # Parts are disjoint, so each tree may spend what its ensemble may.
        for branch in ask.split(Parts(parts), label, share / many):
            yield branch, Fraction(1)


def _start(
    ask: Ask,
    space: Space,
    settings: ResolvedSettings,
    grid: Grid,
    first: FirstLook | None,
) -> Gradients:
    """Gradients at a first guess: class shares, class tables, or the target's mean."""
    clip = 1.0
    if settings.loss in NUMBER_LOSSES:
        half = space.domain.number(space.goal).half
        clip = half if settings.clip is None else settings.clip
    start = middle_of(space, settings) if first is None else first.start
    if settings.quantile_share:
        label, share = "quantile of the target", settings.quantile_share
        start = (ask_quantile(ask, space, settings, label, share),)
    gradients = Gradients(
        grid,
        space.goal,
        settings.loss,
        start,
        clip=clip,
        drop=settings.drop,
        norm=settings.norm,
        quantile=float(settings.quantile),
    )
    if not settings.table_share:
        return gradients
    share = settings.table_share
    if settings.means_strength is not None:
        laws = ask_means(ask.sharing(share), space, settings.means_strength)
        scores = class_scores(laws.tables(space), space, grid)
        return replace(gradients, start=scores.start, trees=scores.trees)
    tables = read_tables(ask, space, share, 1.0, shrink=True)
    scores = class_scores(tables, space, grid)
    scores = tempered(scores, ask_temper(ask, scores, settings.temper_share))
    return replace(gradients, start=scores.start, trees=scores.trees)


def _ask_clip(
    ask: Ask,
    space: Space,
    gradients: Gradients,
    quantile: Fraction,
    label: str,
    share: Fraction,
) -> float:
    """Return about a quantile of the sizes of residuals, to bound gradients by."""
    cells = Residuals(gradients)
    ranks = Ranks((quantile.numerator,), quantile.denominator)
    query = Choice(Sum(cells, (Block(Ones()),)), ranks)
    picked = ask.select(query, label, share)
    edge = cells.edge(int(picked.indices[0]), space.domain)
    return max(edge, 1e-12)  # the least that gradients take
