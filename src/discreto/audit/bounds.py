"""Lower bounds on epsilon from counts, and the choice of the event to count."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from discreto.audit.output_features import Matrix

_TRIED = 200  # thresholds of a score
_PLAIN = 12  # single outputs that are tried as scores themselves
_COLUMNS = 64  # outputs that differ most, for the classifiers


def lower_bound(hits: Any, runs: int, misses: Any, delta: float, alpha: float) -> Any:
    """A bound that is below epsilon with probability 1 - alpha (Clopper and Pearson).

    ``hits`` of ``runs`` on one table and ``misses`` of as many on the other were in the
    event: epsilon is at least ln((p - delta) / q).

    >>> round(float(lower_bound(5000, 10_000, 1839, 0.0, 0.001)), 2)
    0.9
    """
    hits, misses = np.asarray(hits, dtype=float), np.asarray(misses, dtype=float)
    with np.errstate(all="ignore"):
        low = beta.ppf(alpha / 2, hits, runs - hits + 1)
        high = beta.ppf(1 - alpha / 2, misses + 1, runs - misses)
    low = np.where(hits > 0, low, 0.0) - delta
    high = np.where(misses < runs, high, 1.0)
    with np.errstate(all="ignore"):
        return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)


def difference(hits: Any, runs: int, misses: Any, delta: float, alpha: float) -> Any:
    """Return the advantage of an event: how much likelier it is on one table."""
    return (np.asarray(hits) - np.asarray(misses)) / runs


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose score, times ``sign``, is at least ``edge``.

    ``likely`` is the table (0 or 1) under which it should happen more often.
    """

    scorer: Any
    sign: int
    edge: float
    likely: int
    words: str

    def count(self, outputs: Matrix) -> int:
        """Return the number of outputs in it."""
        return int((self.sign * self.scorer(outputs) >= self.edge).sum())


class _Plain:
    """One output as it is."""

    def __init__(self, column: int) -> None:
        self.column = column

    def __call__(self, outputs: Matrix) -> Any:
        return np.nan_to_num(outputs[:, self.column], nan=-1e300)


class _Boosted:
    """The score of a boosted classifier of some columns."""

    def __init__(self, first: Matrix, second: Matrix, columns: list[int]) -> None:
        self._columns = columns
        self._model = HistGradientBoostingClassifier(
            max_iter=60,
            max_leaf_nodes=15,
            min_samples_leaf=20,
            early_stopping=False,
            random_state=0,
        )
        rows, labels = _labelled(first, second)
        self._model.fit(rows[:, columns], labels)

    def __call__(self, outputs: Matrix) -> Any:
        return self._model.decision_function(outputs[:, self._columns])


class _Linear:
    """The score of a logistic regression: sees what sums and differences show."""

    def __init__(self, first: Matrix, second: Matrix, columns: list[int]) -> None:
        self._columns = columns
        rows, labels = _labelled(first, second)
        rows = rows[:, columns]
        rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
        self._middle = np.median(rows, axis=0)
        spread = np.quantile(np.abs(rows - self._middle), 0.9, axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        self._model = LogisticRegression(C=1e4, max_iter=200)
        with warnings.catch_warnings():  # the best slope of a perfect event is infinite
            warnings.simplefilter("ignore")
            self._model.fit(self._scaled(rows), labels)

    def _scaled(self, rows: Matrix) -> Matrix:
        rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
        return np.clip((rows - self._middle) / self._spread, -50, 50)

    def __call__(self, outputs: Matrix) -> Any:
        return self._model.decision_function(self._scaled(outputs[:, self._columns]))


def _labelled(first: Matrix, second: Matrix) -> tuple[Matrix, Any]:
    return np.vstack([first, second]), np.repeat([0, 1], [len(first), len(second)])


def find_events(
    learn: tuple[Matrix, Matrix],
    choose: tuple[Matrix, Matrix],
    names: list[str],
    delta: float,
    alpha: float,
    *,
    ratio: Any = None,
    advantage: bool = False,
) -> list[Event]:
    """Return the best event in each direction: learned on one part, chosen on another.

    The best shows the largest epsilon, or, for ``advantage``, the largest difference.
    ``ratio`` is a score that was known before.
    """
    gain = difference if advantage else lower_bound
    scorers = _scorers(*learn, names)
    if ratio is not None:
        scorers.append((ratio, "the likelihood ratio of the noise", False))
    out = []
    for likely in (0, 1):
        best, most = None, -np.inf
        mine, other = choose if likely == 0 else choose[::-1]
        for scorer, words, plain in scorers:
            for side in (-1, 1) if plain else (1 if likely else -1,):
                edge, bound = _best_edge(
                    side * scorer(mine), side * scorer(other), delta, alpha, gain
                )
                # An event that can be said in words is worth a hair.
                if bound > most + (0.0 if plain else 0.02 * max(most, 0.0)):
                    text = _words(words, side, edge) if plain else words
                    best, most = Event(scorer, side, edge, likely, text), bound
        if best is not None:
            out.append(best)
    return out


def _words(name: str, side: int, edge: float) -> str:
    return f"{name} {'≥' if side > 0 else '≤'} {side * edge:.6g}"


def _scorers(first: Matrix, second: Matrix, names: list[str]) -> list[Any]:
    rows = np.vstack([first, second])
    moving = [c for c in range(rows.shape[1]) if len(np.unique(rows[:, c])) > 1]
    if not moving:
        return [(_Plain(0), names[0], True)]

    def apart(column: int) -> float:
        parts = [np.sort(np.nan_to_num(p[:, column], nan=-1e300)) for p in learn]
        grid = np.quantile(np.concatenate(parts), np.linspace(0, 1, 51))
        shares = [np.searchsorted(part, grid) / len(part) for part in parts]
        return float(np.abs(shares[0] - shares[1]).max())

    learn = (first, second)
    best = sorted(moving, key=apart, reverse=True)[:_COLUMNS]
    out: list[Any] = [(_Plain(c), names[c], True) for c in best[:_PLAIN]]
    boosted = _Boosted(first, second, best)
    out.append((boosted, "a boosted classifier of the outputs", False))
    if len(best) > 1:
        linear = _Linear(first, second, best)
        out.append((linear, "a linear combination of the outputs", False))
    return out


def _best_edge(
    mine: Any, other: Any, delta: float, alpha: float, gain: Any
) -> tuple[float, float]:
    both = np.concatenate([mine, other])
    edges = np.unique(
        np.quantile(both, np.linspace(0, 0.999, _TRIED), method="nearest")
    )
    mine, other = np.sort(mine), np.sort(other)
    hits = len(mine) - np.searchsorted(mine, edges)
    misses = len(other) - np.searchsorted(other, edges)
    bounds = gain(hits, len(mine), misses, delta, alpha)
    best = int(np.argmax(bounds))
    return float(edges[best]), float(bounds[best])
