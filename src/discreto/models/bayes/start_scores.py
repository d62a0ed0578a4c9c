"""Naive Bayes' class tables as scores: one split for each column, and how far to go.

Columns that say the same thing twice make naive Bayes too sure of itself. Its scores
are multiplied by a number below 1, which a small question finds: how often the best
class is right, by how far it is ahead of the next.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreto.core.maps.margins import Margins
from discreto.core.maps.tree_gradients import Gradients
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Block, Ones, Sum
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import usual_temper
from discreto.models.bayes.queries import LEAST, Tables
from discreto.session.session import Ask

Floats = NDArray[np.float64]
_FAR = 1e3  # the most that one column may say
_TEMPERS = np.concatenate([[0.0], np.geomspace(0.02, 2, 47)])
_CAUTION = 2.5  # standard deviations of noise that a better number must gain


def class_scores(tables: Tables, space: Space, grid: Grid) -> Gradients:
    """Return scores that start at log class shares, with one split per column."""
    logs = np.log(tables.counts.prior)
    trees = []
    for j in range(len(grid.names)):
        values = _column_logs(tables, space, grid, j)
        values = np.clip(values - values.mean(axis=1, keepdims=True), -_FAR, _FAR)
        route = tuple(range(len(values)))
        trees.append(Tree((j,), (route,), tuple(map(tuple, values.tolist()))))
    start = tuple((logs - logs.mean()).tolist())
    return Gradients(grid, space.goal, "softmax", start, tuple(trees))


def _column_logs(tables: Tables, space: Space, grid: Grid, j: int) -> Floats:
    """log P[code | class] of a column, (codes, classes), but for a constant."""
    name, domain = grid.names[j], space.domain
    out = np.zeros((grid.sizes(domain)[j], len(space.classes)))
    if name in tables.histograms:
        law = tables.histograms[name]
        out[: law.chance.shape[1]] = np.log(np.maximum(law.chance, LEAST)).T
        return out
    column, i = domain.number(name), space.numbers.index(name)
    edges = np.array([column.lower, *grid.cuts[j], column.upper])
    middle = ((edges[1:] + edges[:-1]) / 2 - column.centre) / column.half
    laws = tables.laws
    var = laws.var[:, i] + laws.doubt[:, i] + 1e-12
    away = (middle[:, None] - laws.mean[:, i]) ** 2
    out[: len(middle)] = -(away / var + np.log(var)) / 2
    return out


def ask_temper(ask: Ask, scores: Gradients, share: Fraction) -> float:
    """By how much to multiply what the trees say, from a paid-for question."""
    first = usual_temper(len(scores.trees))
    cells = Margins(tempered(scores, first))
    answer = ask.measure(Sum(cells, (Block(Ones()),)), "how sure to be", share)
    right, wrong = answer.tables[0][:, 0].astype(float).reshape(2, -1)
    return first * _fitted(right, wrong, cells.middles(), answer.noises[0].variance)


def tempered(scores: Gradients, by: float) -> Gradients:
    """Return the same scores, of which trees say less."""
    trees = []
    for tree in scores.trees:
        values = (tree.table.T * by).tolist()
        trees.append(replace(tree, values=tuple(map(tuple, values))))
    return replace(scores, trees=tuple(trees))


def _fitted(right: Floats, wrong: Floats, leads: Floats, noise: float) -> float:
    """Return the number that makes the leads likeliest, if that is more than noise."""
    # The gain in log-likelihood over a temper of 1, for right and wrong rows.
    by = _TEMPERS[:, None] * leads
    good = -np.logaddexp(0, -by) + np.logaddexp(0, -leads)
    bad = -np.logaddexp(0, by) + np.logaddexp(0, leads)
    gain = good @ right + bad @ wrong
    doubt = np.sqrt(noise * (good**2 + bad**2).sum(axis=1))
    best = int(np.argmax(gain - _CAUTION * doubt))
    sure = float((gain - _CAUTION * doubt)[best])
    return float(_TEMPERS[best]) if sure > 0 else 1.0


__all__ = ["ask_temper", "class_scores", "tempered"]
