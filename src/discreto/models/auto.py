"""One entry that is good everywhere: which model to take, from public facts alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Charger
from discreto.core.cost import Amount, Cost, read_delta
from discreto.core.domain.domain import Domain
from discreto.core.maps import Present
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import PrivateEstimator, keep_all
from discreto.models.base.features import Ready, Space
from discreto.models.base.kinds import PrivateClassifier, PrivateRegressor
from discreto.models.base.signal_to_noise import (
    CLEAR,
    CLOSE_STRENGTHS,
    COUNT,
    STRENGTHS,
    clear_classes,
    hear_strength,
    too_few,
    unit_strength,
)
from discreto.models.base.views import wide_categories
from discreto.models.boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.boosting.base import Boosting
from discreto.models.boosting.settings import MANY_CLASSES
from discreto.models.boosting.start import line_scores
from discreto.models.linear.linear import LinearRegression
from discreto.models.linear.logistic import LogisticRegression
from discreto.models.neighbors.hashed import CellNeighborsClassifier
from discreto.session.parameters import read_epsilon
from discreto.session.rng import Seed
from discreto.session.session import Ask

_LINE = Fraction(2, 5)  # of the cost, for a line to start trees from
# Trees on top of a line are worth their noise from here on, with Laplace and Gaussian.
_TREES_AFTER = (1700, 300)
# Two classes are told apart in cells until sums stand out so far, then by trees; with
# Gaussian noise a line is better for few rows that stand out further.
_TREES_OF_TWO, _LINE_OF_TWO, _FEW_OF_TWO = (200, 50), 300, 1000
# More than two. So few rows are told apart by a line at best, unless there is hardly
# any noise; rows of a class over the noise on sums of all columns are what decides.
_FEW_ROWS, _FEW_TREES_FROM = 300, 40.0
# Cells come from columns / 7 on, but not before 5, then trees.
_CELLS_COLUMNS, _CELLS_FROM, _TREES_FROM = 7, 5.0, 60.0
# Below the first of these a line finds only noise; cells do not, if a class has so many
# rows over noise (with Laplace and Gaussian; with Gaussian and many classes).
_HIDDEN, _CELLS_HEAR = (1.2, 3.0), (20.0, 12.0)
_HIDDEN_OF_MANY, _CELLS_HEAR_MANY = 0.6, 2.5


class _Auto(PrivateEstimator):
    """A model that is another one, which public facts choose."""

    _strengths = STRENGTHS  # among which a count chooses, where rows are not declared
    _boosted: type[Boosting]

    def _learn(self, ask: Ask, space: Space) -> None:
        ask, space = self._size_up(ask, space)
        strength = (space.domain.rows or 0) * unit_strength(ask.cost)
        model = self._chosen(ask, space, strength)
        model.space_ = space
        model.n_features_in_ = len(space.features)
        self.model_ = model

    def _chosen(self, ask: Ask, space: Space, strength: float) -> PrivateEstimator:
        """Return the model for a table of such a strength, fitted."""
        raise NotImplementedError

    def _size_up(self, ask: Ask, space: Space) -> tuple[Ask, Space]:
        """Return a space with about the row count, after asking for it if need be."""
        domain = space.domain
        if domain.rows is not None or domain.neighbours == "replace":
            return ask, space
        known = Present((space.goal,))
        left, strength = hear_strength(ask, None, known, COUNT, self._strengths)
        # With so many, sums for the rest of the cost stand out as far as the count did.
        about = max(math.ceil(strength / unit_strength(left.cost)), 1)
        return left, replace(space, domain=domain.with_(rows=about))

    def _facts(self) -> dict[str, Any]:
        """Return the cost as parameters of a model, in one spelling of each number."""
        return {
            "epsilon": str(read_epsilon(self.epsilon)),
            "delta": str(read_delta(self.delta)),
        }

    def _ready(self, X: Any) -> Ready:
        """Return rows to predict, checked and in the terms of the domain, once."""
        X = self._rows(X)
        return Ready(*self.space_.batch(X))

    def reference(self) -> Any:
        return self._boosted(epsilon=self.epsilon).reference()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class AutoClassifier(_Auto, PrivateClassifier):
    """A classifier for any table: public facts choose the model and all its settings.

    Boosted trees, logistic regression or cells, by the number of classes and how many
    rows there are for each against the noise. What decides are the number
    of classes and columns, epsilon, delta, and the rows that the domain declares. Where
    it declares none, a noisy count chooses among plans that cost the same. Nothing is
    tried on the rows, so the choice costs nothing else.

    Attributes
    ----------
    model_
        The model that was chosen, fitted.
    classes_
        The declared classes.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         the number of rows (1/20) unless the domain declares it; then what the
                 chosen model asks.
    Bound        1 for the number of rows; then as for the chosen model.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``, whichever
                 model is chosen.
    Free         the choice itself, predictions.
    Not covered  bounds and classes that were read from the rows.

    >>> from discreto import Category, Domain, Number
    >>> columns = {"x": Number(0, 1), "y": Category(["a", "b"])}
    >>> domain = Domain(columns, target="y", rows=10_000)
    >>> plan = AutoClassifier(epsilon=1).plan(domain)
    >>> plan.total, sum(question.cost.epsilon for question in plan)
    (Cost(ε 1), Fraction(1, 1))

    Examples
    --------
    >>> import numpy as np
    >>> from discreto.testing import simulate
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> model = AutoClassifier(
    ...     epsilon=1, bounds=(0, 1), classes=[0, 1], ledger=simulate(1)
    ... ).fit(X, X[:, 0] > 0.5)
    >>> model.predict([[0.1], [0.9]]).tolist(), type(model.model_).__name__
    ([0, 1], 'GradientBoostingClassifier')
    """

    _boosted = GradientBoostingClassifier

    def __init__(
        self,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _chosen(self, ask: Ask, space: Space, strength: float) -> PrivateEstimator:
        self.classes_ = np.array(space.classes)
        kind = _classifier(ask.cost, space, strength)
        facts = self._facts()
        if kind in (GradientBoostingClassifier, CellNeighborsClassifier):
            facts["random_state"] = self.random_state
        model = kind(**facts)
        model._learn(ask, space)
        return model

    def predict_proba(self, X: Any) -> NDArray[Any]:
        rows = self._ready(X)  # or it is not fitted
        return self.model_.predict_proba(rows)


class AutoRegressor(_Auto, PrivateRegressor):
    """A regressor for any table: public facts choose the model and all its settings.

    A line, and boosted trees that start from it where rows and epsilon allow that; the
    mean alone, or few trees, with few rows. As :class:`AutoClassifier`, with a noisy
    count where the domain does not declare its rows.

    Attributes
    ----------
    model_
        The model that was chosen, fitted.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         the number of rows (1/20) unless the domain declares it; then what the
                 chosen model asks.
    Bound        1 for the number of rows; then as for the chosen model.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         the choice itself, predictions.
    Not covered  bounds that were read from the rows.

    >>> from discreto import Domain, Number
    >>> domain = Domain({"a": Number(0, 1), "b": Number(0, 9)}, target="b", rows=5000)
    >>> plan = AutoRegressor(epsilon=1).plan(domain)
    >>> plan.total.epsilon == sum(question.cost.epsilon for question in plan) == 1
    True

    Examples
    --------
    >>> import numpy as np
    >>> from discreto.testing import simulate
    >>> x = np.linspace(0, 1, 4000)[:, None]
    >>> model = AutoRegressor(
    ...     epsilon=4, bounds=(0, 1), target_bounds=(0, 10), ledger=simulate(1)
    ... )
    >>> found = model.fit(x, 4 + 4 * (x[:, 0] > 0.5)).predict([[0.2], [0.8]])
    >>> bool(np.abs(found - [4, 8]).max() < 0.5)
    True
    """

    _strengths = CLOSE_STRENGTHS
    _boosted = GradientBoostingRegressor

    def __init__(
        self,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        target_bounds: tuple[float, float] | None = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _chosen(self, ask: Ask, space: Space, strength: float) -> PrivateEstimator:
        facts = self._facts()
        boosted = GradientBoostingRegressor(**facts, random_state=self.random_state)
        short = replace(space, features=_short(space))
        few = too_few(strength, ask.cost, space) or not short.features
        if few or strength < _line_from(ask.cost, space):
            boosted._learn(ask, space)
            return boosted
        line = LinearRegression(**facts)
        both = strength >= _TREES_AFTER[bool(ask.cost.rho)]
        line._learn(ask.sharing(_LINE) if both else ask, short if both else space)
        if not both:
            return line
        line.space_ = short
        base = partial(line_scores, line, short)
        boosted._learn_from(ask.sharing(1 - _LINE), space, base)
        return boosted

    def predict(self, X: Any) -> NDArray[Any]:
        rows = self._ready(X)  # or it is not fitted
        return self.model_.predict(rows)


def _classifier(cost: Cost, space: Space, strength: float) -> Any:
    """Return the classifier for these classes, columns, epsilon and row count.

    The rule was found on public tables (docs/models/utility.md): linear models find
    class means first, cells of several columns come next, trees reach furthest.
    """
    many, clear = len(space.classes), clear_classes(strength, cost, space)
    rows = space.domain.rows or 0
    if space.categories:
        linear = many >= MANY_CLASSES and clear < CLEAR
        return LogisticRegression if linear else GradientBoostingClassifier
    if many <= 2:
        return _of_two(cost, rows, strength)
    gaussian, small = bool(cost.rho), rows < _FEW_ROWS
    if gaussian and many >= MANY_CLASSES:
        hidden, heard = clear < _HIDDEN_OF_MANY, strength >= _CELLS_HEAR_MANY * many
    else:
        hidden = clear < _HIDDEN[gaussian] and not small
        heard = strength >= _CELLS_HEAR[gaussian] * many
    if hidden and heard:
        return CellNeighborsClassifier
    if small or gaussian:
        trees = _FEW_TREES_FROM if small else CLEAR
        return LogisticRegression if clear < trees else GradientBoostingClassifier
    if clear < max(len(space.features) / _CELLS_COLUMNS, _CELLS_FROM):
        return LogisticRegression
    return (
        CellNeighborsClassifier if clear < _TREES_FROM else GradientBoostingClassifier
    )


def _of_two(cost: Cost, rows: int, strength: float) -> Any:
    """Return the classifier for two classes of Numbers."""
    if strength < _TREES_OF_TWO[bool(cost.rho)]:
        return CellNeighborsClassifier
    line = bool(cost.rho) and rows < _FEW_OF_TWO and strength >= _LINE_OF_TWO
    return LogisticRegression if line else GradientBoostingClassifier


def _line_from(cost: Cost, space: Space) -> float:
    """Return the strength from which on questions about residuals find a line."""
    return len(space.features) * (5 if cost.rho else 150)


def _short(space: Space) -> tuple[str, ...]:
    """Return the features without wide Categories, which trees see in groups."""
    wide = set(wide_categories(space))
    return tuple(name for name in space.features if name not in wide)


__all__ = ["AutoClassifier", "AutoRegressor"]
