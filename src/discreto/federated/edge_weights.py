"""The weights of edges that mix fastest (Xiao and Boyd 2004).

Among all symmetric matrices of a graph whose rows add up to 1, the one whose second
largest eigenvalue in absolute value is least. The problem is convex; here the largest
absolute value is replaced by a norm that comes ever closer to it, which has gradients.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from discreto.core.query import Floats, Ints

_POWERS = (8, 32, 128, 512, 2048, 8192)


def fastest_matrix(edges: Floats, start: float) -> Floats:
    """Return the fastest mixing matrix of a 0/1 matrix of edges.

    Parameters
    ----------
    edges
        Who talks to whom.
    start
        A weight that would do for all edges.
    """
    ends = np.argwhere(np.triu(edges, 1))
    weights = np.full(len(ends), start)
    best = weights
    for power in _POWERS:
        found = minimize(
            lambda w, p=power: _norm(w, ends, len(edges), p),
            weights,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10},
        )
        weights = found.x
        best = min(best, weights, key=lambda w: _second(w, ends, len(edges)))
    return _matrix(best, ends, len(edges))


def _matrix(weights: Floats, ends: Ints, nodes: int) -> Floats:
    out = np.zeros((nodes, nodes))
    out[ends[:, 0], ends[:, 1]] = out[ends[:, 1], ends[:, 0]] = weights
    return out + np.diag(1 - out.sum(axis=1))


def _second(weights: Floats, ends: Ints, nodes: int) -> float:
    values = np.linalg.eigvalsh(_matrix(weights, ends, nodes) - 1 / nodes)
    return float(np.abs(values).max())


def _norm(weights: Floats, ends: Ints, nodes: int, power: int) -> tuple[float, Floats]:
    """The p-norm of the eigenvalues but the first, and how it changes with weights."""
    values, vectors = np.linalg.eigh(_matrix(weights, ends, nodes) - 1 / nodes)
    top = np.abs(values).max()
    if not top:
        return 0.0, np.zeros(len(weights))
    parts = (np.abs(values) / top) ** (power - 1)
    total = float(((np.abs(values) / top) ** power).sum())
    size = top * total ** (1 / power)
    slopes = parts * np.sign(values) * total ** (1 / power - 1)
    gaps = vectors[ends[:, 0]] - vectors[ends[:, 1]]
    return size, -(gaps**2) @ slopes
