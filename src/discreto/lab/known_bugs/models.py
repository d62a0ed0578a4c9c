"""Pieces about models. The first of each pair is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.audit.neighbours import Data
from discreto.audit.recorder import Witness
from discreto.lab.known_bugs._rows import LABELS, PEOPLE, codes, counts, numbers
from discreto.lab.known_bugs.piece import Piece

STEPS = 3


def _clusters(data: Data, witness: Witness, *, skip: bool = False) -> Any:
    """Two centres on a line; ``skip`` leaves clusters alone that have no rows."""
    witness.pay(1)
    x, centres = numbers(data), np.array([0.2, 0.8])
    for step in range(STEPS):
        place = np.abs(x[:, None] - centres).argmin(axis=1)
        asked = [j for j in range(2) if not skip or (place == j).any()]
        sizes = witness.noise(
            f"step {step + 1}: sizes",
            [(place == j).sum() for j in asked],
            sensitivity=1,
            epsilon="1/6",
        )
        moves = witness.noise(
            f"step {step + 1}: sums",
            [(x[place == j] - 0.5).sum() for j in asked],
            sensitivity=0.5,
            epsilon="1/6",
        )
        centres[asked] = np.clip(0.5 + moves / np.maximum(sizes, 1), 0, 1)
    return centres


def _skips_empty(data: Data, witness: Witness) -> Any:
    return _clusters(data, witness, skip=True)


def _exact_labels(data: Data, witness: Witness) -> Any:
    centres = _clusters(data, witness)
    x = numbers(data)
    labels = np.abs(x[:, None] - centres).argmin(axis=1)
    return {"cluster_centers_": centres, "labels_": labels}


def _exact_inertia(data: Data, witness: Witness) -> Any:
    centres = _clusters(data, witness)
    gaps = np.abs(numbers(data)[:, None] - centres).min(axis=1, initial=9)
    return {"cluster_centers_": centres, "inertia_": float((gaps**2).sum())}


def _stops_when_settled(data: Data, witness: Witness) -> Any:
    """Stops as soon as the exact centres do not move any more."""
    witness.pay(1)
    x, centre, out = numbers(data), 0.5, 0.0
    for step in range(STEPS):
        out = witness.noise(
            f"step {step + 1}", (x - 0.5).sum(), sensitivity=0.5, epsilon="1/3"
        )
        exact = float(x.mean()) if len(x) else 0.5
        if abs(exact - centre) < 0.01:
            break
        centre = exact
    return out


def _always_all_steps(data: Data, witness: Witness) -> Any:
    witness.pay(1)
    x, out = numbers(data), 0.0
    for step in range(STEPS):
        out = witness.noise(
            f"step {step + 1}", (x - 0.5).sum(), sensitivity=0.5, epsilon="1/3"
        )
    return out


def _shares(data: Data, witness: Witness, first: str, each: str) -> Any:
    witness.pay(1)
    x = numbers(data)
    out = [witness.noise("count", len(x), sensitivity=1, epsilon=first)]
    for step in range(STEPS):
        label, total = f"sum {step + 1}", (x - 0.5).sum()
        out.append(witness.noise(label, total, sensitivity=0.5, epsilon=each))
    return out


def _swapped_shares(data: Data, witness: Witness) -> Any:
    """Seven tenths once and a tenth three times, unpacked the other way round."""
    first, each = "1/10", "7/10"
    return _shares(data, witness, first, each)


def _right_shares(data: Data, witness: Witness) -> Any:
    return _shares(data, witness, "7/10", "1/10")


def _splits(data: Data, witness: Witness, candidates: Any) -> Any:
    witness.pay(1)
    x, y = numbers(data), codes(data)
    scores = [float(((x < c) & (y == 0)).sum()) for c in candidates] or [0.0]
    best = witness.choose("split", scores, sensitivity=1, epsilon=1)
    return float(np.asarray(candidates)[best]) if len(candidates) else 0.0


def _thresholds_from_data(data: Data, witness: Witness) -> Any:
    return _splits(data, witness, np.unique(numbers(data)))


def _public_thresholds(data: Data, witness: Witness) -> Any:
    return _splits(data, witness, np.linspace(0, 1, 9))


def _forest(data: Data, witness: Witness, tree_of: Any) -> Any:
    """Each tree has its own rows, so one row is in one leaf of one tree."""
    witness.pay(1)
    trees, y = tree_of(data), codes(data)
    leaves = [counts(y[trees == t], len(LABELS)) for t in range(3)]
    return witness.noise("leaves", leaves, sensitivity=1, epsilon=1)


def _by_index(data: Data) -> Any:
    """Contiguous parts of equal size: a row more moves the ends of all of them."""
    rows = len(data["x"])
    return np.arange(rows) * 3 // max(rows, 1)


def _by_hash(data: Data) -> Any:
    """Each row's own tree, from its own values."""
    return (numbers(data) * 1e6).astype(np.int64) % 3


def _votes(data: Data, witness: Witness, *, monotone: bool) -> Any:
    """The five nearest rows vote; who comes in pushes another out."""
    witness.pay(1)
    order = np.argsort(np.abs(numbers(data) - 0.3), kind="stable")[:5]
    votes = counts(codes(data)[order], len(LABELS))
    return witness.choose("votes", votes, sensitivity=1, epsilon=1, monotone=monotone)


def _votes_as_monotone(data: Data, witness: Witness) -> Any:
    return _votes(data, witness, monotone=True)


def _votes_as_they_are(data: Data, witness: Witness) -> Any:
    return _votes(data, witness, monotone=False)


def _prior_without_epsilon(data: Data, witness: Witness) -> Any:
    """Noise of scale 1 whatever the epsilon: a tenth is paid, one is lost."""
    witness.pay("1/10")
    tally = counts(codes(data), len(LABELS))
    return witness.noise("prior", tally, sensitivity=1, epsilon=1)


def _prior(data: Data, witness: Witness) -> Any:
    witness.pay("1/10")
    tally = counts(codes(data), len(LABELS))
    return witness.noise("prior", tally, sensitivity=1, epsilon="1/10")


def _keeps_rows(data: Data, witness: Witness) -> Any:
    return {"votes": _votes_as_they_are(data, witness), "_fit_X": numbers(data)}


def _noise_shrinks_with_rows(data: Data, witness: Witness) -> Any:
    """A mean with noise of 1 / (n ε): n is private, and so is what it scales."""
    witness.pay(1)
    x = numbers(data)
    mean = float(x.mean()) if len(x) else 0.5
    return witness.noise("mean", mean, sensitivity=1 / max(len(x), 1), epsilon=1)


def _mean_of_sums(data: Data, witness: Witness) -> Any:
    witness.pay(1)
    x = numbers(data)
    rows = witness.noise("count", len(x), sensitivity=1, epsilon="1/2")
    moved = witness.noise("sum", (x - 0.5).sum(), sensitivity=0.5, epsilon="1/2")
    return 0.5 + moved / max(rows, 1)


def _hashed(data: Data, witness: Witness) -> Any:
    return _forest(data, witness, _by_hash)


def _indexed(data: Data, witness: Witness) -> Any:
    return _forest(data, witness, _by_index)


PIECES = (
    Piece("skipped empty cluster", "diffprivlib KMeans: a centre that stays shows it",
          "transcript", _skips_empty, _clusters, PEOPLE),
    Piece("exact labels", "labels_ of the training rows",
          "transcript", _exact_labels, _clusters, PEOPLE),
    Piece("exact inertia", "diffprivlib KMeans: inertia_",
          "transcript", _exact_inertia, _clusters, PEOPLE),
    Piece("stops when settled", "a stop rule on exact values",
          "transcript", _stops_when_settled, _always_all_steps, PEOPLE),
    Piece("swapped shares", "diffprivlib KMeans: (ε_i, ε_0) unpacked as (ε_0, ε_i)",
          "transcript", _swapped_shares, _right_shares, PEOPLE),
    Piece("thresholds from data", "boosting code: midpoints of observed values",
          "transcript", _thresholds_from_data, _public_thresholds, PEOPLE),
    Piece("index-split forest", "diffprivlib RandomForest: parts by position",
          "transcript", _indexed, _hashed, PEOPLE),
    Piece("votes taken as monotone", "kNN slides: noise of 1/ε",
          "transcript", _votes_as_monotone, _votes_as_they_are, PEOPLE),
    Piece("noise without epsilon", "naive Bayes slides: prior noise Laplace(0, 1)",
          "transcript", _prior_without_epsilon, _prior, PEOPLE),
    Piece("rows kept in the model", "kNN model files",
          "transcript", _keeps_rows, _votes_as_they_are, PEOPLE),
    Piece("noise that shrinks with n", "mean with the exact n in its noise",
          "transcript", _noise_shrinks_with_rows, _mean_of_sums, PEOPLE),
)  # fmt: skip
