"""S3, figures 4.2 to 4.5 and 4.12 to 4.15: error against round, for many ε.

Candidates: "non-private"; "as printed", every line of the algorithm taken literally;
"as meant", with its slips repaired but its noise left alone; and "ours", calibrated so
that a creditor's rows cost ε (at δ = 1e-5) over all rounds together. Least squares on
the pooled rows, scikit-learn's and everybody's, is what all of them aim at.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreto.compare.seeds import ledger_for, seed_for
from discreto.core.noise.gaussian import epsilon_of
from discreto.lab.published import federated as printed
from discreto.lab.study.debt_data import COLUMNS, SIZES, TARGET, debt, domain
from discreto.lab.study.experiment import Experiment
from discreto.lab.study.federated_views import (
    AVERAGING,
    CANDIDATES,
    CONSTANT,
    DEGREES,
    DELTA,
    EPSILONS,
    PROXIMAL,
    QUIET,
    ROUNDS,
    findings,
    pictures,
    tables,
)
from discreto.lab.study.s3_choices import BATCH, clients_of
from discreto.text.language import mark

RATES = {AVERAGING: 0.05, DEGREES: 0.02, CONSTANT: 0.02}
CLIP, MU = 3.0, 10.0  # of a gradient; the penalty of table 4.2


def _cells(quick: bool) -> list[dict[str, Any]]:
    epsilons, seeds = ((1.0,), 2) if quick else (EPSILONS, 20)
    out = []
    for approach in ROUNDS:
        for candidate in (*CANDIDATES, QUIET):
            if (approach, candidate) == (DEGREES, "as meant"):
                continue  # nothing to repair
            free = candidate in ("non-private", QUIET)
            for epsilon in (None,) if free else epsilons:
                cell: dict[str, Any] = {"approach": approach, "candidate": candidate}
                cell |= {"epsilon": epsilon}
                out += [cell | {"seed": seed} for seed in range(seeds)]
    return out


def _measure(
    *, approach: str, candidate: str, epsilon: float | None, seed: int
) -> dict[str, Any]:
    table = debt(seed)
    facts = ("s3-federated", approach, candidate, epsilon, seed)
    if candidate in ("ours", QUIET):
        path = _ours(approach, epsilon, table, facts)
    else:
        path = _as_printed(approach, candidate, epsilon, table, ledger_for(*facts))
    best = table.error(table.best)
    if path.ndim == 2:
        path = path[:, None, :]  # a server is a single node
    means = np.array([table.error(nodes.mean(axis=0)) for nodes in path])
    worst = [max(table.error(w) for w in nodes) for nodes in path[-1:]]
    return {
        "error": np.minimum(means, 1e6),
        "final error": min(means[-1], 1e6),
        "excess": min(means[-1], 1e6) / best - 1,
        "worst node": min(worst[0], 1e6),
        "true ε": _true_epsilon(approach, candidate, epsilon),
    }


def _as_printed(
    approach: str, candidate: str, epsilon: float | None, table: Any, ledger: Any
) -> Any:
    clients, start = clients_of(table), np.zeros(table.X[0].shape[1])
    literal, number = candidate == "as printed", ROUNDS[approach]
    if approach in (DEGREES, CONSTANT):
        weights = printed.degree_weights(printed.SEVEN_NODES)
        if approach == CONSTANT:
            weights = printed.constant_weights(printed.SEVEN_NODES, 1 / 3)
            weights = printed.PRINTED_THIRD if literal else weights
        return printed.gossip(
            clients,
            weights,
            epsilon=epsilon,
            ledger=ledger,
            rounds=number,
            start=start,
            learning_rate=RATES[approach],
            batch_size=BATCH,
            clip=CLIP,
        )

    def update(w: Any, client: Any) -> Any:
        if approach == PROXIMAL:
            return printed.proximal_update(
                w,
                client,
                epsilon=epsilon,
                ledger=ledger,
                mu=MU,
                clip=CLIP,
                rows_per_client=sum(SIZES) / len(SIZES),
                from_minimiser=not literal,
            )
        return printed.sgd_update(
            w,
            client,
            epsilon=epsilon,
            ledger=ledger,
            learning_rate=RATES[approach],
            batch_size=BATCH,
            clip=CLIP,
            advance=not literal,
        )

    return printed.federate(clients, update, rounds=number, start=start)


def _ours(approach: str, epsilon: float | None, table: Any, facts: Any) -> Any:
    """Creditors as silos with ledgers of their own, played all at once."""
    from discreto import federated

    options: dict[str, Any] = {"epsilon": epsilon, "delta": str(DELTA)}
    options["rounds"] = ROUNDS[approach]
    learner: Any
    if approach == AVERAGING:
        learner = federated.FederatedAveraging(**options)
    elif approach == PROXIMAL:
        learner = federated.ProximalPoint(**options)
    else:
        mixing = "metropolis" if approach == DEGREES else "constant"
        alpha = None if approach == DEGREES else 1 / 3
        learner = federated.GraphLearning(
            **options, graph="seven", mixing=mixing, alpha=alpha
        )
    parts = [
        dict(zip(COLUMNS, (y, *X[:, 1:].T), strict=True))
        for X, y in zip(table.X, table.y, strict=True)
    ]
    found = federated.simulate(
        learner, parts, domain(), TARGET, seeds=(seed_for(*facts),)
    )
    path = found.models[0].path_
    return np.concatenate([np.zeros((1, *path.shape[1:])), path])


def last_error(approach: str, epsilon: float, table: Any, facts: Any) -> float:
    """The error of ours after the last round, nodes of a graph taken together."""
    last = _ours(approach, epsilon, table, facts)[-1]
    return float(table.error(last if last.ndim == 1 else last.mean(axis=0)))


def _true_epsilon(approach: str, candidate: str, epsilon: float | None) -> Any:
    """The ε at δ = 1e-5 of all rounds, for the rows of the smallest creditor.

    Batches are counted as if every row were in each: their size is fixed, so no theorem
    about random samples applies when a row is added.
    """
    if epsilon is None:
        return math.inf
    if candidate == "ours":
        return epsilon
    steps = ROUNDS[approach]
    if approach == PROXIMAL:
        if candidate == "as printed":
            return 0.0  # the noise is added to what everybody knows
        # Clipping to C bounds a move by 2C, where 2C/m is printed.
        mu = epsilon * sum(SIZES) / len(SIZES) * math.sqrt(steps)
        return epsilon_of(mu, DELTA)
    if approach == AVERAGING and candidate == "as meant":
        steps *= min(SIZES) // BATCH
    return epsilon_of(epsilon * math.sqrt(steps), DELTA)


EXPERIMENTS = (
    Experiment(
        name="s3-federated",
        title=mark("Federated learning: error against round and ε"),
        source="S3, figures 4.2 to 4.5 and 4.12 to 4.15",
        shows=mark(
            "Three ways to learn across creditors reach about the same error with "
            "noise as without; small ε disturb; the proximal point stands smaller ε."
        ),
        cells=_cells,
        measure=_measure,
        weight=lambda cell: 0.4 if cell["approach"] == AVERAGING else 0.1,
        tables=tables,
        pictures=pictures,
        findings=findings,
    ),
)
