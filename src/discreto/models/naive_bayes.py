"""Private naive Bayes: one noisy table of each class, and what follows from it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.errors import DomainError, ParameterError
from discreto.kernel.domain import Category, Domain
from discreto.kernel.query import Block, Sum
from discreto.models import _bayes as bayes
from discreto.models._base import PrivateClassifier
from discreto.models._space import Space, columns_of
from discreto.planning import Ask
from discreto.queries import Categories, Partition, SoftVotes
from discreto.queries.features import SUM_BITS
from discreto.queries.partitions import MAX_WEIGHT, fill_parts, parts_of, soft_votes

Array = NDArray[Any]
_STEP = float(1 << SUM_BITS)
_SECOND = Fraction(3, 10)  # of the cost for the second question, if there is one
_TRUST = 0.01  # relative noise in the scores at which the second question has half a say
_LEAST = 1e-300


class _Bayes(PrivateClassifier):
    """What the three models share; each names its own parameters."""

    alpha: Any = 1.0
    var_smoothing: Any = 1e-9
    ddof: Any = 0
    shrink: Any = True

    # Learning

    def _learn(self, ask: Ask, space: Space) -> None:
        self._check(space)
        second = self._second(space)
        self._read_tables(ask, space, 1 - second)
        self._caller: bayes.Caller | None = None
        if second:
            self._read_votes(ask, space, second)
        self.classes_ = np.array(space.classes)
        self.class_count_ = self._counts.size
        self.class_prior_ = self._counts.prior

    def _check(self, space: Space) -> None:
        """Refuse bad parameters before anything is spent."""
        for name, least in (("alpha", 0.0), ("var_smoothing", 0.0)):
            value = getattr(self, name)
            good = isinstance(value, int | float | np.number)
            if not good or isinstance(value, bool) or not least <= value < math.inf:
                raise ParameterError(
                    f"{type(self).__name__}: {name} must be a number from 0 up. "
                    f"Got {value!r}."
                )
        if self.ddof not in (0, 1) or isinstance(self.ddof, bool):
            raise ParameterError(
                f"{type(self).__name__}: ddof must be 0 or 1. Got {self.ddof!r}."
            )
        if not isinstance(self.shrink, bool | np.bool_):
            raise ParameterError(
                f"{type(self).__name__}: shrink must be True or False. "
                f"Got {self.shrink!r}."
            )
        if not space.features:
            raise DomainError(f"{type(self).__name__} needs at least one feature.")

    def _second(self, space: Space) -> Fraction:
        """The share of the second question: it must be coarser than the first."""
        many = len(space.classes)
        useful = self.shrink and many > 1 and (many - 1) ** 2 < len(space.features)
        return _SECOND if useful else Fraction(0)

    def _read_tables(self, ask: Ask, space: Space, share: Fraction) -> None:
        """The first question: the parts of every column, summed by class."""
        domain, names = space.domain, space.features
        query = Sum(Categories((space.goal,)), (Block(Partition(names)),))
        answer = ask.measure(query, "class tables", share)
        # A target that may be missing has one cell more, which is nobody's class.
        table = answer.tables[0][: len(space.classes)] / _STEP
        noise = answer.noises[0].variance / _STEP**2
        spread = noise * table.shape[1] / len(names) ** 2
        raw = table.sum(axis=1) / len(names)
        shrink = bool(self.shrink)
        self._counts = bayes.class_counts(raw, spread, domain.rows, shrink)
        ends = np.cumsum([0, *(parts_of(name, domain) for name in names)])
        self._place = dict(zip(names, ends[:-1].tolist(), strict=True))
        self._read_numbers(table, space, noise, shrink)
        self._tables: dict[str, tuple[Array, Array, Array]] = {}
        for name in space.categories:
            many = len(domain.category(name).categories)
            mine = table[:, self._place[name] : self._place[name] + many]
            found = bayes.histograms(mine, self._counts, noise, shrink)
            smooth = found[0] + float(self.alpha)
            chance = smooth / np.maximum(smooth.sum(axis=1, keepdims=True), _LEAST)
            # A class of which nothing is known says nothing.
            chance = np.where(smooth.sum(axis=1, keepdims=True) > 0, chance, found[1])
            self._tables[name] = (chance, found[1], found[2])
        self.feature_log_prob_ = [
            np.log(np.maximum(chance, _LEAST)) for chance, _, _ in self._tables.values()
        ]

    def _read_numbers(
        self, table: Array, space: Space, noise: float, shrink: bool
    ) -> None:
        names, domain = space.numbers, space.domain
        starts = np.array([self._place[name] for name in names], dtype=int)
        parts = table[:, starts[:, None] + np.arange(3)]
        there = np.repeat(self._counts.size[:, None], len(names), axis=1)
        for i, name in enumerate(names):
            if domain.number(name).missing:
                there[:, i] -= table[:, starts[i] + 3]
        there = np.maximum(there, 0.5)
        laws = bayes.normals(parts, there, self._counts, noise, shrink)
        halves = space.halves()
        var = laws.var * there / np.maximum(there - self.ddof, 0.5)
        total = laws.common * halves**2
        self.epsilon_ = float(self.var_smoothing) * float(np.max(total, initial=0.0))
        var = np.maximum(var * halves**2 + self.epsilon_, bayes.TINY * halves**2)
        self._laws = laws
        self.theta_ = space.unscale(laws.mean)
        self.var_ = var

    def _weights(self, space: Space) -> tuple[Array, float]:
        """Linear scores of the parts for each class, and their relative noise."""
        prior, laws, domain = self._counts.prior, self._laws, space.domain
        width = sum(parts_of(name, domain) for name in space.features)
        weights = np.zeros((len(prior), width))
        slope = (laws.mean - laws.middle) / (laws.common + laws.doubt + bayes.TINY)
        slope -= prior @ slope
        between = (slope @ (laws.mean - laws.middle).T) ** 2
        size = (slope**2 * laws.common).sum(axis=1).mean() + between.mean()
        noise = (slope**2 * laws.noise).sum(axis=1).mean()
        for i, name in enumerate(space.numbers):
            levels = np.array([-1.0, 0.0, 1.0]) - laws.middle[i]
            start = self._place[name]
            weights[:, start : start + 3] = slope[:, i, None] * levels
        for name, (chance, common, doubt) in self._tables.items():
            ratio = np.log(np.maximum(chance, _LEAST) / common)
            ratio -= prior @ ratio
            start = self._place[name]
            weights[:, start : start + len(common)] = ratio
            size += (ratio**2 @ common).mean()
            noise += (doubt @ common).mean()
        if not size > 0:
            return weights, 1.0
        weights = np.clip(weights / math.sqrt(size), -MAX_WEIGHT, MAX_WEIGHT)
        return weights, float(noise / size)

    def _read_votes(self, ask: Ask, space: Space, share: Fraction) -> None:
        """The second question: how the scores of the first one fall, by class."""
        weights, noise = self._weights(space)
        votes = SoftVotes(space.features, tuple(map(tuple, weights.tolist())))
        query = Sum(Categories((space.goal,)), (Block(votes),))
        answer = ask.measure(query, "class scores", share)
        table = answer.tables[0][: len(space.classes)] / _STEP
        spread = answer.noises[0].variance / _STEP**2
        slopes, starts, self._counts = bayes.call(
            table, spread, self._counts, space.domain.rows
        )
        say = noise / (noise + _TRUST)
        self._caller = bayes.Caller(weights, slopes, starts, say)

    # Predicting

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P[class] + sum of log P[column | class]; missing columns drop out."""
        X = self._rows(X)
        batch, rows = self.space_.batch(X)
        return self._joint(batch, rows)

    def _joint(self, batch: dict[str, Array], rows: int) -> Array:
        domain = self.space_.domain
        out = np.tile(np.log(self.class_prior_), (rows, 1))
        # Half of the columns' noise is still in their means: it widens the law.
        var = self.var_ + self._laws.doubt * self.space_.halves() ** 2
        for i, name in enumerate(self.space_.numbers):
            column = domain.number(name)
            x = np.clip(batch[name], column.lower, column.upper)
            far = (x[:, None] - self.theta_[:, i]) ** 2 / var[:, i]
            part = -(far + np.log(2 * np.pi * var[:, i])) / 2
            out += np.where(np.isnan(x)[:, None], 0.0, part)
        for name, logs in zip(self._tables, self.feature_log_prob_, strict=True):
            codes = batch[name]
            known = (codes >= 0) & (codes < logs.shape[1])
            out += np.where(known[:, None], logs.T[np.where(known, codes, 0)], 0.0)
        return out

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of the probability of each class."""
        X = self._rows(X)
        batch, rows = self.space_.batch(X)
        out = _normal(self._joint(batch, rows))
        caller = self._caller
        if caller is None:
            return out
        parts = np.empty((caller.weights.shape[1], rows))
        fill_parts(parts, self.space_.features, batch, self.space_.domain, 1.0)
        votes = soft_votes(caller.weights, parts)
        called = _normal((caller.slopes @ votes).T + caller.starts)
        return _normal(caller.share * called + (1 - caller.share) * out)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class."""
        return np.exp(self.predict_log_proba(X))


def _normal(logs: Array) -> Array:
    """Log probabilities from log weights."""
    logs = logs - logs.max(axis=1, keepdims=True)
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


class NaiveBayes(_Bayes):
    """Naive Bayes on Number and Category columns together."""

    def __init__(
        self,
        *,
        epsilon: Any,
        delta: Any = 0,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        ddof: int = 0,
        shrink: bool = True,
        domain: Any = None,
        bounds: Any = None,
        classes: Any = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.ddof = ddof
        self.shrink = shrink
        self.domain = domain
        self.bounds = bounds
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state
