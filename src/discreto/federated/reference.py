"""The model of all rows pooled, and how far another is from it. Public data only."""

from __future__ import annotations

import numpy as np

from discreto.core.query import Batch, Floats
from discreto.federated.rounds import Setting


def pooled(setting: Setting, batches: list[tuple[Batch, int]]) -> Floats:
    """Least squares, or the most likely logistic model; intercept first."""
    rows, goals = _rows(setting, batches)
    if setting.loss == "squared":
        return np.linalg.lstsq(rows, goals, rcond=None)[0].astype(np.float64)
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -500, 500)))
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows
        # A hair of ridge: separable classes have no most likely model.
        bend += 1e-8 * np.trace(bend) * np.eye(len(bend)) + 1e-12 * np.eye(len(bend))
        weights = weights - np.linalg.solve(bend, rows.T @ (chance - goals))
    return weights


def excess(
    setting: Setting, batches: list[tuple[Batch, int]], path: Floats, best: Floats
) -> Floats:
    """The loss of the worst node over that of ``best``, less 1: (seeds, rounds)."""
    rows, goals = _rows(setting, batches)
    floor = max(_losses(setting, rows, goals, best[None, :])[0], 1e-12)
    if setting.loss == "squared":
        # Around its minimum the loss is this square, for any number of rounds at once.
        off = path - best
        bend = rows.T @ rows / (len(rows) * floor)
        worst: Floats = np.einsum("...i,ij,...j->...", off, bend, off).max(axis=-1)
        return worst
    out = np.empty(path.shape[:2])
    for seed, one in enumerate(path):
        for number, nodes in enumerate(one):
            out[seed, number] = _losses(setting, rows, goals, nodes).max() / floor - 1
    return out


def _losses(setting: Setting, rows: Floats, goals: Floats, nodes: Floats) -> Floats:
    scores = rows @ nodes.T
    if setting.loss == "squared":
        out: Floats = ((scores - goals[:, None]) ** 2).mean(axis=0)
        return out
    signs = (1 - 2 * goals)[:, None]
    out = np.logaddexp(0, signs * scores).mean(axis=0)
    return out


def _rows(setting: Setting, batches: list[tuple[Batch, int]]) -> tuple[Floats, Floats]:
    """All rows with a target, missing features in the middle, clipped to bounds."""
    columns = []
    for name in setting.features:
        number = setting.domain.number(name)
        values = np.concatenate([batch[name] for batch, _ in batches])
        values = np.clip(values, number.lower, number.upper)
        columns.append(np.where(np.isnan(values), number.centre, values))
    goals = np.concatenate([batch[setting.target] for batch, _ in batches])
    known = ~np.isnan(goals)
    if setting.loss == "squared":
        goal = setting.domain.number(setting.target)
        goals = np.clip(goals, goal.lower, goal.upper)
    else:
        known, goals = goals >= 0, (goals == 1).astype(float)
    rows = np.column_stack([np.ones(len(goals)), *columns])
    return rows[known], goals[known]
