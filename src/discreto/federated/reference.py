"""The model of all rows pooled, and how far another is from it. Public data only."""

from __future__ import annotations

import numpy as np

from discreto.core.maps.unit_columns import unit_rows
from discreto.core.query import Batch, Floats
from discreto.federated.rounds import Setting


def pooled(setting: Setting, batches: list[tuple[Batch, int]]) -> Floats:
    """Least squares, or the most likely logistic model; intercept first."""
    rows, targets = _rows(setting, batches)
    if setting.loss == "squared":
        return np.linalg.lstsq(rows, targets, rcond=None)[0].astype(np.float64)
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        probability = 1 / (1 + np.exp(-np.clip(rows @ weights, -500, 500)))
        curvature = (rows * (probability * (1 - probability))[:, None]).T @ rows
        # A hair of ridge: separable classes have no most likely model.
        curvature += 1e-8 * np.trace(curvature) * np.eye(
            len(curvature)
        ) + 1e-12 * np.eye(len(curvature))
        weights = weights - np.linalg.solve(curvature, rows.T @ (probability - targets))
    return weights


def excess(
    setting: Setting, batches: list[tuple[Batch, int]], path: Floats, best: Floats
) -> Floats:
    """The loss of the worst node over that of ``best``, less 1: (seeds, rounds)."""
    rows, targets = _rows(setting, batches)
    floor = max(_losses(setting, rows, targets, best[None, :])[0], 1e-12)
    if setting.loss == "squared":
        # Around its minimum the loss is this square, for any number of rounds at once.
        off = path - best
        curvature = rows.T @ rows / (len(rows) * floor)
        worst: Floats = np.einsum("...i,ij,...j->...", off, curvature, off).max(axis=-1)
        return worst
    out = np.empty(path.shape[:2])
    for seed, one in enumerate(path):
        for number, nodes in enumerate(one):
            out[seed, number] = _losses(setting, rows, targets, nodes).max() / floor - 1
    return out


def _losses(setting: Setting, rows: Floats, targets: Floats, nodes: Floats) -> Floats:
    scores = rows @ nodes.T
    if setting.loss == "squared":
        out: Floats = ((scores - targets[:, None]) ** 2).mean(axis=0)
        return out
    signs = (1 - 2 * targets)[:, None]
    out = np.logaddexp(0, signs * scores).mean(axis=0)
    return out


def _rows(setting: Setting, batches: list[tuple[Batch, int]]) -> tuple[Floats, Floats]:
    """All rows with a target and all numbers that may be missing, clipped to bounds."""
    columns, names = setting.columns, setting.columns.names
    found = [unit_rows(names, batch, setting.domain) for batch, _ in batches]
    values = columns.unscale(np.concatenate(found, axis=1).T)
    targets = np.concatenate([batch[setting.target] for batch, _ in batches])
    known = ~np.isnan(targets)
    if setting.loss == "squared":
        column = setting.domain.number(setting.target)
        targets = np.clip(targets, column.lower, column.upper)
    else:
        known, targets = targets >= 0, (targets == 1).astype(float)
    for name in names:
        if isinstance(name, str) and setting.domain.number(name).missing:
            known &= ~np.isnan(np.concatenate([batch[name] for batch, _ in batches]))
    rows = np.column_stack([np.ones(len(targets)), values])
    return rows[known], targets[known]
