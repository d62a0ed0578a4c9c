"""A run on public data: all silos, rounds and seeds at once, and how good it gets.

The sums are the very integers that silos would fold, and the protocol is the very same,
so without noise a simulation and silos give the same model bit for bit. Noise comes
from simulation ledgers; nothing here protects anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.maps.unit_columns import unit_rows
from discreto.core.query import Batch, Floats
from discreto.data.frames import open_frame
from discreto.errors import ParameterError
from discreto.federated.batch_simulation import BatchEngine
from discreto.federated.federation import drive
from discreto.federated.graph import Mixing
from discreto.federated.graph_learning import GraphLearning
from discreto.federated.guarantee import Guarantee, client_level
from discreto.federated.learners import Learner
from discreto.federated.model import FederatedModel, fills, to_columns
from discreto.federated.rounds import Setting
from discreto.testing import SimulationLedger
from discreto.testing import simulate as simulation_ledger
from discreto.text.language import mark


@dataclass(frozen=True)
class Result:
    """The result of a simulation.

    Parameters
    ----------
    models
        One model for each seed.
    curves
        The excess error of the worst node over the model of all rows pooled, as a
        fraction of the latter's: (seeds, rounds).
    ledgers
        One simulation ledger for each silo, charged as in a real run.
    mixing
        The :class:`~discreto.federated.Mixing` of a graph (``mixing.graph()`` is its
        networkx graph), if there is one.
    learner
        What was played.
    pooled
        The coefficients of the model of all rows pooled, without noise.
    """

    learner: Learner
    models: tuple[FederatedModel, ...]
    curves: Floats
    pooled: Floats
    ledgers: dict[str, SimulationLedger]
    mixing: Mixing | None = None

    @property
    def curve(self) -> Floats:
        """The median curve over seeds."""
        out: Floats = np.median(self.curves, axis=0)
        return out

    @property
    def error(self) -> float:
        """The median excess error after the last round."""
        return float(self.curve[-1])

    def __str__(self) -> str:
        name = type(self.learner).__name__
        return (
            f"SIMULATED {name}: excess error {self.error:.3g} over pooled rows after "
            f"{self.curves.shape[1]} rounds; {self.models[0].guarantee}"
        )


def simulate(
    learner: Learner,
    parts: Mapping[str, Any] | Sequence[Any],
    domain: Domain,
    target: str | None = None,
    *,
    seeds: Sequence[int] = (0,),
    noise: bool = True,
    drop: Mapping[str, int] | None = None,
) -> Result:
    """Play a run of ``learner`` on public data.

    Parameters
    ----------
    parts
        Each silo's data: frames, dicts of columns or arrays, by name or in order.
    seeds
        One run for each, on the same data, with its own noise.
    noise
        ``False``: everything as it would be, but no noise is added.
    drop
        Silos that stop answering, and the round (from 0) from which they do.
    learner
        ``FederatedAveraging``, ``ProximalPoint`` or ``GraphLearning``.
    domain
        The columns that all silos share.
    target
        The column to predict; by default the domain's target.

    Returns
    -------
    Result
        The models, their errors, and what each silo was charged.
    """
    named = dict(parts) if isinstance(parts, Mapping) else _number(parts)
    target = target or domain.target
    if target is None or not named or not list(seeds):
        raise ParameterError("simulate needs silos, seeds and a target.")
    batches = [_batch(data, domain) for data in named.values()]
    rows = [length for _, length in batches]
    setting = learner.setting(domain, target, rows, len(seeds))
    engine = BatchEngine(setting, batches, list(seeds), noise, _drops(named, drop))
    outcome = drive(learner.protocol(setting), engine)
    path = to_columns(setting, outcome.path)
    cost = Cost.leak()
    if setting.terms is not None:
        cost = Cost(block_epsilon=setting.terms.epsilon, delta=setting.terms.delta)
    promise = _promise(setting, dict.fromkeys(named, cost))
    lost = {name: f"round {number + 1}" for name, number in (drop or {}).items()}
    best = pooled(setting, batches)
    mixing = None
    if isinstance(learner, GraphLearning):
        mixing = learner.mixing_for(len(named))
    return Result(
        learner,
        tuple(
            FederatedModel(domain, target, setting.features, one, promise, lost, fill)
            for one, fill in zip(path, fills(setting, outcome.middle), strict=True)
        ),
        excess(setting, batches, path[:, :, outcome.alive_nodes()], best),
        best,
        {name: _charged(cost, learner) for name in named},
        mixing,
    )


def _promise(setting: Setting, silos: dict[str, Cost]) -> Guarantee:
    trusted = mark("the aggregation") if setting.shared else "nobody"
    warning, terms = "", setting.terms
    if setting.protect == "silo" and terms is not None:
        steps = terms.rounds * terms.steps
        level = client_level(terms.epsilon, terms.delta, steps, setting.silos)
        warning = level.warning
    return Guarantee(silos, True, trusted, warning, setting.protect)


def _batch(data: Any, domain: Domain) -> tuple[Batch, int]:
    frame = open_frame(data, domain)
    length = frame.length()
    names = tuple(name for name in domain)
    for batch, rows in frame.batches(names, max(length, 1)):
        return dict(batch), rows
    return {name: np.empty(0) for name in names}, 0


def _number(parts: Sequence[Any]) -> dict[str, Any]:
    return {f"silo {place + 1}": data for place, data in enumerate(parts)}


def _drops(named: Mapping[str, Any], drop: Mapping[str, int] | None) -> dict[int, int]:
    places = {name: place for place, name in enumerate(named)}
    unknown = [name for name in drop or {} if name not in places]
    if unknown:
        raise ParameterError(f"there is no silo {unknown[0]!r} to drop out.")
    return {places[name]: number for name, number in (drop or {}).items()}


def _charged(cost: Cost, learner: Learner) -> SimulationLedger:
    ledger = simulation_ledger()
    ledger.charge(cost, f"train {type(learner).__name__}")
    return ledger


# The model of all rows pooled


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
