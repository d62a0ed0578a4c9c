"""Base of the naive Bayes models: learning, keeping, predicting."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from discreto.core import compiled
from discreto.core.cost import Cost
from discreto.core.maps.simplex_features import soft_votes
from discreto.errors import DomainError, ParameterError
from discreto.models.base.binning import grid_of
from discreto.models.base.estimator import TakesWeights
from discreto.models.base.features import Space, check_same
from discreto.models.base.kinds import PrivateClassifier
from discreto.models.base.signal_to_noise import (
    CLEAR,
    SizeUp,
    means_temper,
    size_up,
    usual_temper,
)
from discreto.models.base.views import (
    Seen,
    ask_groups,
    ask_windows,
    regrouped,
    wide_categories,
)
from discreto.models.bayes.class_means import ask_means
from discreto.models.bayes.queries import (
    LEAST,
    ClassSums,
    Tables,
    class_sums,
    read_votes,
    second_share,
    tables_of,
)
from discreto.models.bayes.shrinkage import TINY
from discreto.models.bayes.start_scores import ask_temper, class_scores
from discreto.session.parameters import Reader
from discreto.session.plan import Plan
from discreto.session.session import Ask
from discreto.table.table import Table

Array = NDArray[Any]
WINDOWS = Fraction(1, 10)  # of the cost, to learn where the numbers are
GROUPS = Fraction(1, 20)  # and which values of a wide Category are frequent
TEMPER = Fraction(1, 20)  # of the cost, to learn how sure to be
_BINS = 64
_SHORT = 8  # numpy adds up so many at once
_PIECE = 1 << 13  # rows to predict at a time: they stay in the cache


class _BayesParameters(NamedTuple):
    """The parameters as they were read."""

    alpha: float
    smoothing: float
    ddof: int
    shrink: bool


class Bayes(TakesWeights, PrivateClassifier):
    """Base of the three models; each has its own choice of these parameters."""

    alpha: Any = 1.0
    var_smoothing: Any = 1e-9
    ddof: Any = 0
    shrink: Any = True
    priors: Any = None
    groups_: dict[str, Any]
    _batch_of: ClassSums | bool = False  # while a batch is added: those before, if any

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from one more batch of rows: class tables add up, and so does noise.

        A batch is asked for its class tables alone; ``shrink`` pulls what follows from
        all of them as far as their noise says. After a ``fit`` with ``shrink``, which
        asks more than that, batches start anew.

        Parameters
        ----------
        X, y
            As in ``fit``: a table with the columns of those before it, or arrays.
        classes
            Not used: the domain, or the parameter of this name, declares the classes.

        Returns
        -------
        self
            The model of all batches; ``privacy_`` is what the last one cost.

        Privacy
        -------
        Each call is a fit that is charged fully, to the ledger of its own table. Rows
        of people who are in one batch only are in one such fit.
        """
        self._batch_of = True
        if hasattr(self, "class_sums_"):
            if not isinstance(X, Table):
                validate_data(self, X, reset=False, skip_check_array=True)
            table, target = self._table(X, y)
            check_same(self.space_, self._space(table.domain, target))
            self._batch_of = ClassSums.kept_in(self)
        try:
            return self.fit(X, y)
        finally:
            self._batch_of = False

    def _plan_for(self, space: Space, cost: Cost) -> Plan:
        if not self._batch_of:
            return super()._plan_for(space, cost)
        twin = clone(self)  # which drops attributes that are not parameters
        twin._batch_of = True
        return twin._rehearse(space, cost, 0)

    def _learn(self, ask: Ask, space: Space) -> None:
        read = self._read()
        self._check(space)
        known = self._known_priors(len(space.classes))
        self._learn_laws(ask, space, read)
        if known is not None:  # the votes were called with the counts' own shares
            self.class_prior_, self.vote_share_ = known, 0.0

    def _known_priors(self, classes: int) -> Array | None:
        """Return the public probabilities of the classes, if they were given."""
        if self.priors is None:
            return None
        try:
            given = np.asarray(self.priors, dtype=float)
        except (TypeError, ValueError):
            given = np.empty(0)
        good = given.shape == (classes,) and bool(np.all(given > 0))
        if not good or abs(float(given.sum()) - 1) > 1e-6:
            raise ParameterError(
                f"{type(self).__name__}: priors must be None or a probability above 0 "
                f"for each of the {classes} classes, 1 in all. Got {self.priors!r}."
            )
        return np.asarray(given / given.sum())

    def _learn_laws(self, ask: Ask, space: Space, read: _BayesParameters) -> None:
        self.classes_ = np.array(space.classes)
        size = SizeUp(1, math.inf)
        # Sums of earlier batches do not belong to a new fit.
        for name in ("class_sums_", "class_sums_noise_", "class_sums_rows_"):
            self.__dict__.pop(name, None)
        if self._batch_of:
            self._add_batch(ask, space, read)
            return
        if read.shrink:
            ask, size = size_up(ask, space, CLEAR)
        if size.way == 0:
            self._learn_means(ask, space, size.strength)
            return
        ask, inner, spent = self._look_around(ask, space, size, read.shrink)
        second = second_share(inner, read.shrink)
        third = TEMPER if size.way == 2 and len(space.classes) > 1 else Fraction(0)
        left = 1 - spent - second - third
        sums = class_sums(ask, inner, left)
        if not read.shrink:
            sums.keep_in(self)
        tables = tables_of(sums, inner, read.alpha, read.shrink)
        counts = tables.counts
        self.vote_share_ = 0.0
        if second:
            votes, counts = read_votes(ask, inner, second, tables)
            self.vote_share_ = votes.share
            self.vote_weights_ = votes.weights
            self.vote_slopes_, self.vote_begins_ = votes.slopes, votes.begins
        self.temper_ = usual_temper(len(space.features)) if read.shrink else 1.0
        if third:
            grid = grid_of(inner.features, inner.domain, _BINS)
            self.temper_ = ask_temper(ask, class_scores(tables, inner, grid), third)
        self.class_count_, self.class_prior_ = counts.size, counts.prior
        self._keep_laws(inner, tables, read)

    def _add_batch(self, ask: Ask, space: Space, read: _BayesParameters) -> None:
        """Ask for class tables for all of the cost; add those of earlier batches."""
        sums = class_sums(ask, space, Fraction(1))
        if isinstance(self._batch_of, ClassSums):
            sums = self._batch_of.with_(sums)
        sums.keep_in(self)
        tables = tables_of(sums, space, read.alpha, read.shrink)
        self.view_, self.groups_, self.vote_share_ = space, {}, 0.0
        self.temper_ = usual_temper(len(space.features)) if read.shrink else 1.0
        self.class_count_, self.class_prior_ = tables.counts.size, tables.counts.prior
        self._keep_laws(space, tables, read)

    def _learn_means(self, ask: Ask, space: Space, strength: float) -> None:
        """Learn class means alone, where tables of all columns would be noise."""
        laws = ask_means(ask, space, strength)
        self.view_ = space
        self.groups_ = {}
        self.temper_ = means_temper(len(space.features), len(space.classes))
        self.vote_share_, self.epsilon_ = 0.0, 0.0
        self.class_count_ = laws.sizes
        self.class_prior_ = laws.sizes / laws.sizes.sum()
        self.theta_ = space.unscale(laws.means)
        self.var_ = laws.variances * space.halves() ** 2
        self.theta_doubt_ = np.zeros_like(self.var_)
        self.feature_log_prob_ = laws.logs

    def _look_around(
        self, ask: Ask, space: Space, size: SizeUp, shrink: bool
    ) -> tuple[Ask, Space, Fraction]:
        """Return the view that the model learns from, and what was spent to find it."""
        seen, spent = Seen(), Fraction(0)
        if size.way == 2 and space.numbers:
            windows = ask_windows(ask, space, WINDOWS)
            seen, spent = Seen(windows), spent + WINDOWS
        if shrink and wide_categories(space):
            groups = ask_groups(ask, space, GROUPS)
            seen, spent = Seen(seen.windows, groups), spent + GROUPS
        self.view_ = seen.space(space)
        self.groups_ = seen.groups
        return seen.ask(ask, space), self.view_, spent

    def _keep_laws(self, space: Space, tables: Tables, read: _BayesParameters) -> None:
        laws, there, squared = tables.laws, tables.there, space.halves() ** 2
        whole = there.sum(axis=0)
        middle = (there * laws.mean).sum(axis=0) / whole
        total = (there * (laws.var + laws.mean**2)).sum(axis=0) / whole - middle**2
        if read.shrink:  # each column by its own range: one wide column drowns none
            self.epsilon_ = read.smoothing * total.max(initial=0.0) * squared
        else:
            self.epsilon_ = read.smoothing * float(np.max(total * squared, initial=0.0))
        var = laws.var * there / np.maximum(there - read.ddof, 0.5)
        self.theta_ = space.unscale(laws.mean)
        self.var_ = np.maximum(var * squared + self.epsilon_, TINY * squared)
        self.theta_doubt_ = laws.doubt * squared
        self.feature_log_prob_ = [
            np.log(np.maximum(law.chance, LEAST)) for law in tables.histograms.values()
        ]

    def _check(self, space: Space) -> None:
        """Refuse columns that a model does not take."""
        if not space.features:
            raise DomainError(
                f"{type(self).__name__} needs at least one feature in the domain."
            )

    def _read(self) -> _BayesParameters:
        read, up = Reader(self), "a number from 0 up"
        alpha, smoothing = (
            read.number(name, 0, math.inf, wanted=up)
            for name in ("alpha", "var_smoothing")
        )
        ddof = read.whole("ddof", least=0, most=1)
        return _BayesParameters(alpha, smoothing, ddof, read.truth("shrink"))

    # Predicting

    def _unknown_to_old_files(self) -> dict[str, Any]:
        return {"view_": self.space_, "groups_": {}, "temper_": 1.0}

    def predict_joint_log_proba(self, X: Any) -> NDArray[Any]:
        """log P[class] + the sum of log P[column | class], by naive Bayes alone.

        A missing or unknown value drops its column out of the sum.

        Returns
        -------
        array
            One line for each row, one column for each class.
        """
        return self._joint(*self._batch(X))

    def _batch(self, X: Any) -> tuple[dict[str, Array], int]:
        """Return rows to predict, in the terms of the view that was learned from."""
        X = self._rows(X)
        batch, rows = self.space_.batch(X)
        return regrouped(batch, self.groups_), rows

    def _joint(self, batch: dict[str, Array], rows: int) -> Array:
        out = np.tile(np.log(self.class_prior_), (rows, 1))
        # The noise that is left in a mean widens the distribution around it.
        var = self.var_ + self.theta_doubt_
        logs = np.log(2 * np.pi * var)
        laws = self.theta_, var, logs
        fast = compiled.point_loops(rows * var.size)
        lines = np.ascontiguousarray(out.T)
        for i, name in enumerate(self.view_.numbers):
            column = self.view_.domain.number(name)
            if fast is not None:
                own = [np.ascontiguousarray(law[:, i]) for law in laws]
                ends = float(column.lower), float(column.upper)
                values = compiled.plain(batch[name], rows)
                fast.add_normals(values, *ends, *own, lines)
                continue
            x = np.clip(batch[name], column.lower, column.upper)[:, None]
            part = -((x - self.theta_[:, i]) ** 2 / var[:, i] + logs[:, i]) / 2
            out += np.where(np.isnan(x), 0.0, part)
        if fast is not None:
            out = np.ascontiguousarray(lines.T)
        names = self.view_.categories
        for name, table in zip(names, self.feature_log_prob_, strict=True):
            codes = batch[name]
            known = (codes >= 0) & (codes < table.shape[1])
            out += np.where(known[:, None], table.T[np.where(known, codes, 0)], 0.0)
        return out

    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Return the logarithm of the probability of each class.

        Returns
        -------
        array
            One line for each row, one column for each class.
        """
        batch, rows = self._batch(X)
        out = np.empty((rows, len(self.class_prior_)))
        for start in range(0, rows, _PIECE):  # pieces that stay in the cache
            part = {
                name: values[start : start + _PIECE] for name, values in batch.items()
            }
            size = min(_PIECE, rows - start)
            out[start : start + size] = self._log_chances(part, size)
        return out

    def _log_chances(self, batch: dict[str, Array], rows: int) -> Array:
        prior = np.log(self.class_prior_)
        out = _normal(prior + self.temper_ * (self._joint(batch, rows) - prior))
        if not self.vote_share_:
            return out
        names, domain = self.view_.features, self.view_.domain
        votes = soft_votes(names, self.vote_weights_, batch, domain)
        called = np.tile(self.vote_begins_, (rows, 1))
        for vote, slopes in zip(votes, self.vote_slopes_.T, strict=True):
            called += vote[:, None] * slopes  # in this order next to any rows
        called = _normal(called)
        return _normal(self.vote_share_ * called + (1 - self.vote_share_) * out)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return np.exp(self.predict_log_proba(X))


def _normal(logs: Array) -> Array:
    """Return log probabilities from log weights."""
    if logs.shape[1] >= _SHORT:
        logs = logs - logs.max(axis=1, keepdims=True)
        return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    # The same class by class, which is quicker where they are few.
    top = logs[:, 0].copy()
    for line in logs.T[1:]:
        np.maximum(top, line, out=top)
    logs = logs - top[:, None]
    each = np.exp(logs)
    total = each[:, 0].copy()
    for line in each.T[1:]:
        total += line
    logs -= np.log(total)[:, None]
    return logs
