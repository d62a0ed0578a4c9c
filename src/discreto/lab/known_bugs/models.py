"""Planted bugs about models. The first of each pair is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.audit.neighbours import Data
from discreto.audit.recorder import Recorder
from discreto.lab.known_bugs._rows import LABELS, PEOPLE, codes, counts, numbers
from discreto.lab.known_bugs.planted_bug import PlantedBug

STEPS = 3


def _clusters(data: Data, recorder: Recorder, *, skip: bool = False) -> Any:
    """Two centres on a line; ``skip`` leaves clusters alone that have no rows."""
    recorder.pay(1)
    x, centres = numbers(data), np.array([0.2, 0.8])
    for step in range(STEPS):
        place = np.abs(x[:, None] - centres).argmin(axis=1)
        asked = [j for j in range(2) if not skip or (place == j).any()]
        sizes = recorder.noise(
            f"step {step + 1}: sizes",
            [(place == j).sum() for j in asked],
            sensitivity=1,
            epsilon="1/6",
        )
        moves = recorder.noise(
            f"step {step + 1}: sums",
            [(x[place == j] - 0.5).sum() for j in asked],
            sensitivity=0.5,
            epsilon="1/6",
        )
        centres[asked] = np.clip(0.5 + moves / np.maximum(sizes, 1), 0, 1)
    return centres


def _skips_empty(data: Data, recorder: Recorder) -> Any:
    return _clusters(data, recorder, skip=True)


def _exact_labels(data: Data, recorder: Recorder) -> Any:
    centres = _clusters(data, recorder)
    x = numbers(data)
    labels = np.abs(x[:, None] - centres).argmin(axis=1)
    return {"cluster_centers_": centres, "labels_": labels}


def _exact_inertia(data: Data, recorder: Recorder) -> Any:
    centres = _clusters(data, recorder)
    gaps = np.abs(numbers(data)[:, None] - centres).min(axis=1, initial=9)
    return {"cluster_centers_": centres, "inertia_": float((gaps**2).sum())}


def _stops_when_settled(data: Data, recorder: Recorder) -> Any:
    """Stops as soon as the exact centres do not move any more."""
    recorder.pay(1)
    x, centre, out = numbers(data), 0.5, 0.0
    for step in range(STEPS):
        out = recorder.noise(
            f"step {step + 1}", (x - 0.5).sum(), sensitivity=0.5, epsilon="1/3"
        )
        exact = float(x.mean()) if len(x) else 0.5
        if abs(exact - centre) < 0.01:
            break
        centre = exact
    return out


def _always_all_steps(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    x, out = numbers(data), 0.0
    for step in range(STEPS):
        out = recorder.noise(
            f"step {step + 1}", (x - 0.5).sum(), sensitivity=0.5, epsilon="1/3"
        )
    return out


def _shares(data: Data, recorder: Recorder, first: str, each: str) -> Any:
    recorder.pay(1)
    x = numbers(data)
    out = [recorder.noise("count", len(x), sensitivity=1, epsilon=first)]
    for step in range(STEPS):
        label, total = f"sum {step + 1}", (x - 0.5).sum()
        out.append(recorder.noise(label, total, sensitivity=0.5, epsilon=each))
    return out


def _swapped_shares(data: Data, recorder: Recorder) -> Any:
    """Seven tenths once and a tenth three times, unpacked the other way round."""
    first, each = "1/10", "7/10"
    return _shares(data, recorder, first, each)


def _right_shares(data: Data, recorder: Recorder) -> Any:
    return _shares(data, recorder, "7/10", "1/10")


def _splits(data: Data, recorder: Recorder, candidates: Any) -> Any:
    recorder.pay(1)
    x, y = numbers(data), codes(data)
    scores = [float(((x < c) & (y == 0)).sum()) for c in candidates] or [0.0]
    best = recorder.choose("split", scores, sensitivity=1, epsilon=1)
    return float(np.asarray(candidates)[best]) if len(candidates) else 0.0


def _thresholds_from_data(data: Data, recorder: Recorder) -> Any:
    return _splits(data, recorder, np.unique(numbers(data)))


def _public_thresholds(data: Data, recorder: Recorder) -> Any:
    return _splits(data, recorder, np.linspace(0, 1, 9))


def _forest(data: Data, recorder: Recorder, tree_of: Any) -> Any:
    """Each tree has its own rows, so one row is in one leaf of one tree."""
    recorder.pay(1)
    trees, y = tree_of(data), codes(data)
    leaves = [counts(y[trees == t], len(LABELS)) for t in range(3)]
    return recorder.noise("leaves", leaves, sensitivity=1, epsilon=1)


def _by_index(data: Data) -> Any:
    """Contiguous parts of equal size: a row more moves the ends of all of them."""
    rows = len(data["x"])
    return np.arange(rows) * 3 // max(rows, 1)


def _by_hash(data: Data) -> Any:
    """Each row's own tree, from its own values."""
    return (numbers(data) * 1e6).astype(np.int64) % 3


def _votes(data: Data, recorder: Recorder, *, monotone: bool) -> Any:
    """The five nearest rows vote; who comes in pushes another out."""
    recorder.pay(1)
    order = np.argsort(np.abs(numbers(data) - 0.3), kind="stable")[:5]
    votes = counts(codes(data)[order], len(LABELS))
    return recorder.choose("votes", votes, sensitivity=1, epsilon=1, monotone=monotone)


def _votes_as_monotone(data: Data, recorder: Recorder) -> Any:
    return _votes(data, recorder, monotone=True)


def _votes_as_they_are(data: Data, recorder: Recorder) -> Any:
    return _votes(data, recorder, monotone=False)


def _prior_without_epsilon(data: Data, recorder: Recorder) -> Any:
    """Noise of scale 1 whatever the epsilon: a tenth is paid, one is lost."""
    recorder.pay("1/10")
    tally = counts(codes(data), len(LABELS))
    return recorder.noise("prior", tally, sensitivity=1, epsilon=1)


def _prior(data: Data, recorder: Recorder) -> Any:
    recorder.pay("1/10")
    tally = counts(codes(data), len(LABELS))
    return recorder.noise("prior", tally, sensitivity=1, epsilon="1/10")


def _keeps_rows(data: Data, recorder: Recorder) -> Any:
    return {"votes": _votes_as_they_are(data, recorder), "_fit_X": numbers(data)}


def _noise_shrinks_with_rows(data: Data, recorder: Recorder) -> Any:
    """A mean with noise of 1 / (n ε): n is private, and so is what it scales."""
    recorder.pay(1)
    x = numbers(data)
    mean = float(x.mean()) if len(x) else 0.5
    return recorder.noise("mean", mean, sensitivity=1 / max(len(x), 1), epsilon=1)


def _mean_of_sums(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    x = numbers(data)
    rows = recorder.noise("count", len(x), sensitivity=1, epsilon="1/2")
    moved = recorder.noise("sum", (x - 0.5).sum(), sensitivity=0.5, epsilon="1/2")
    return 0.5 + moved / max(rows, 1)


def _hashed(data: Data, recorder: Recorder) -> Any:
    return _forest(data, recorder, _by_hash)


def _indexed(data: Data, recorder: Recorder) -> Any:
    return _forest(data, recorder, _by_index)


PLANTED_BUGS = (
    PlantedBug("skipped empty cluster",
          "diffprivlib KMeans: a centre that stays shows it",
          "transcript", _skips_empty, _clusters, PEOPLE),
    PlantedBug("exact labels", "labels_ of the training rows",
          "transcript", _exact_labels, _clusters, PEOPLE),
    PlantedBug("exact inertia", "diffprivlib KMeans: inertia_",
          "transcript", _exact_inertia, _clusters, PEOPLE),
    PlantedBug("stops when settled", "a stop rule on exact values",
          "transcript", _stops_when_settled, _always_all_steps, PEOPLE),
    PlantedBug("swapped shares",
          "diffprivlib KMeans: (ε_i, ε_0) unpacked as (ε_0, ε_i)",
          "transcript", _swapped_shares, _right_shares, PEOPLE),
    PlantedBug("thresholds from data", "boosting code: midpoints of observed values",
          "transcript", _thresholds_from_data, _public_thresholds, PEOPLE),
    PlantedBug("index-split forest", "diffprivlib RandomForest: parts by position",
          "transcript", _indexed, _hashed, PEOPLE),
    PlantedBug("votes taken as monotone", "kNN slides: noise of 1/ε",
          "transcript", _votes_as_monotone, _votes_as_they_are, PEOPLE),
    PlantedBug("noise without epsilon", "naive Bayes slides: prior noise Laplace(0, 1)",
          "transcript", _prior_without_epsilon, _prior, PEOPLE),
    PlantedBug("rows kept in the model", "kNN model files",
          "transcript", _keeps_rows, _votes_as_they_are, PEOPLE),
    PlantedBug("noise that shrinks with n", "mean with the exact n in its noise",
          "transcript", _noise_shrinks_with_rows, _mean_of_sums, PEOPLE),
)  # fmt: skip
