"""S3 and S4: the functional mechanism, noise on the coefficients of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from discreto.core.cost import Amount
from discreto.lab.published._noise import FloatNoise, Floats, amount
from discreto.lab.published._printed import printed
from discreto.lab.published.statistics import BOTH


@dataclass(frozen=True, slots=True)
class Polynomial:
    """constant + linear·ω + Σ_{j<=l} quadratic[j, l] ω_j ω_l: one number a monomial."""

    constant: float
    linear: Floats
    quadratic: Floats

    def noisy(self, noise: FloatNoise, scale: float, *, constant: bool) -> Polynomial:
        """Laplace noise of this scale on each coefficient."""
        upper = np.triu_indices(self.linear.size)
        quadratic = np.zeros_like(self.quadratic)
        quadratic[upper] = self.quadratic[upper] + noise.laplace(scale, upper[0].size)
        linear = self.linear + noise.laplace(scale, self.linear.size)
        shift = noise.laplace(scale) if constant else 0.0
        return Polynomial(float(self.constant + shift), linear, quadratic)

    def hessian(self) -> Floats:
        """The matrix of second derivatives."""
        return self.quadratic + self.quadratic.T

    def stationary(self) -> Floats:
        """Where the gradient is zero: the minimum, if there is one."""
        try:
            return np.linalg.solve(self.hessian(), -self.linear)
        except np.linalg.LinAlgError:
            return np.linalg.lstsq(self.hessian(), -self.linear, rcond=None)[0]

    def bounded(self) -> bool:
        """Whether there is a minimum at all."""
        return bool(np.linalg.eigvalsh(self.hessian())[0] > 0)


def _sum_of_products(rows: Floats) -> Floats:
    """Σ x_j x_l as coefficients of monomials: doubled off the diagonal."""
    gram = rows.T @ rows
    return np.triu(gram) + np.triu(gram, 1)


def squares(X: ArrayLike, y: ArrayLike, *, intercept: bool = False) -> Polynomial:
    """The sum of (y - x·ω)² as a polynomial in ω; the intercept's ω comes first."""
    rows, target = _design(X, intercept), np.asarray(y, dtype=np.float64)
    linear = -2 * rows.T @ target
    return Polynomial(float(target @ target), linear, _sum_of_products(rows))


def logistic_taylor(
    X: ArrayLike, y: ArrayLike, *, intercept: bool = False
) -> Polynomial:
    """log 2 + (1/2 - y) x·ω + (x·ω)²/8, summed: the logistic loss to second order."""
    rows, target = _design(X, intercept), np.asarray(y, dtype=np.float64)
    linear = rows.T @ (0.5 - target)
    return Polynomial(len(rows) * np.log(2), linear, _sum_of_products(rows) / 8)


def _design(X: ArrayLike, intercept: bool) -> Floats:
    rows = np.asarray(X, dtype=np.float64)
    return np.column_stack([np.ones(len(rows)), rows]) if intercept else rows


@dataclass(frozen=True, slots=True)
class _Ends:
    """Columns stretched to [low, high] by their smallest and largest value."""

    bottom: Floats
    width: Floats
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats, low: float, high: float) -> _Ends:
        bottom, top = values.min(axis=0), values.max(axis=0)
        return cls(bottom, np.where(top > bottom, top - bottom, 1.0), low, high)

    def to(self, values: Floats) -> Floats:
        return self.low + (self.high - self.low) * (values - self.bottom) / self.width

    def back(self, values: Floats) -> Floats:
        part = (values - self.low) / (self.high - self.low)
        return self.bottom + self.width * part


class _Functional(BaseEstimator):
    def __init__(
        self,
        *,
        epsilon: Amount | None = 1,
        fit_intercept: bool = False,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.ledger = ledger

    def _minimise(self, loss: Polynomial, delta: float, *, constant: bool) -> None:
        noise = FloatNoise(self.ledger, type(self).__name__)
        if self.epsilon is not None:
            scale = delta / amount(self.epsilon)
            loss = loss.noisy(noise, scale, constant=constant)
        omega = loss.stationary()
        self.loss_, self.bounded_ = loss, loss.bounded()
        self.intercept_ = float(omega[0]) if self.fit_intercept else 0.0
        self.coef_ = omega[1:] if self.fit_intercept else omega

    def decision_function(self, X: ArrayLike) -> Floats:
        """x·ω, plus the intercept if there is one."""
        return np.asarray(X, dtype=np.float64) @ self.coef_ + self.intercept_


@printed(
    "S3",
    "algorithm 3, example 3.3",
    "11, 11d",
    claim="ε, with Δ = 2(d + 1)²",
    add_remove="ε/2 for public scaling to [0, 1], no intercept: the true Δ is (d + 1)²"
    "; ∞ for scaling by the data, or Δ as a maximum over the data (line 1)",
    replace="as add/remove",
    holds=BOTH,
    ours="discreto.models.LinearRegression",
)
class FunctionalLinear(RegressorMixin, _Functional):
    """Least squares with Laplace(Δ/ε) on every coefficient of the objective.

    Rows and targets are taken to be in [0, 1]. Nothing is done about an objective that
    noise has made unbounded: the stationary point is returned, ``bounded_`` tells.

    Parameters
    ----------
    epsilon
        None: no noise (least squares).
    fit_intercept
        Off, as in the thesis. Where it is on, Δ stays as printed.
    ledger
        A simulation ledger.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> FunctionalLinear:
        """Minimise the noisy objective."""
        loss = squares(X, y, intercept=self.fit_intercept)
        attributes = np.shape(X)[1]
        self._minimise(loss, 2.0 * (attributes + 1) ** 2, constant=True)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """The fitted values."""
        return self.decision_function(X)


@printed(
    "S4",
    "linear regression and its worked example",
    "11b, 11c",
    claim="ε, with Δ = 2(1 + d)²",
    add_remove="ε for d = 1, less above; ∞ for the whole polynomial, whose Σy² is "
    "printed without noise",
    replace="9ε/8 for d = 1 (11.25 where 10 is printed), at most ε above; ∞ as above",
    ours="discreto.models.LinearRegression",
)
class FunctionalIntercept(RegressorMixin, _Functional):
    """Least squares with an intercept; every coefficient but Σy² gets Laplace(Δ/ε).

    The slides scale attributes until rows have norm 1 at most, targets to [-1, 1].

    Parameters
    ----------
    epsilon
        None: no noise (least squares).
    scaling
        "none": rows and targets are in range already. "data": attributes are stretched
        to [0, 1/√d] and targets to [-1, 1] by their smallest and largest value, which
        costs ∞ by itself.
    ledger
        A simulation ledger.
    """

    fit_intercept = True

    def __init__(
        self, *, epsilon: Amount | None = 1, scaling: str = "none", ledger: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.scaling = scaling
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike) -> FunctionalIntercept:
        """Minimise the noisy objective."""
        rows: Floats = np.asarray(X, dtype=np.float64)
        target: Floats = np.asarray(y, dtype=np.float64)
        attributes = rows.shape[1]
        self._ends = None
        if self.scaling == "data":
            top = 1 / np.sqrt(attributes)
            self._ends = _Ends.of(rows, 0.0, top), _Ends.of(target, -1.0, 1.0)
            rows, target = self._ends[0].to(rows), self._ends[1].to(target)
        loss = squares(rows, target, intercept=True)
        self._minimise(loss, 2.0 * (1 + attributes) ** 2, constant=False)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """The fitted values, in the units of the target."""
        rows: Floats = np.asarray(X, dtype=np.float64)
        if self._ends is None:
            return self.decision_function(rows)
        return self._ends[1].back(self.decision_function(self._ends[0].to(rows)))


@printed(
    "S3",
    "algorithm 4, example 3.5",
    "12, 11d",
    claim="ε, with Δ = d²/4 + 3d",
    add_remove="ε·(d²/8 + d/2) / (d²/4 + 3d): 0.19ε for d = 1, 0.32ε for d = 10; ∞ for "
    "scaling by the data",
    replace="ε·(d²/8 + d/2 + 1/2) / (d²/4 + 3d), for d = 1 ε/3.25; ∞ as above",
    holds=BOTH,
    ours="discreto.models.LogisticRegression",
)
class FunctionalLogistic(ClassifierMixin, _Functional):
    """Logistic loss to second order, Laplace(Δ/ε) on every coefficient.

    Rows are taken to be in [0, 1], labels are 0 and 1.

    Parameters
    ----------
    epsilon
        None: no noise. The loss is still cut after its second-order term.
    fit_intercept
        Off, as in the examples of the thesis. Where it is on, Δ stays as printed.
    ledger
        A simulation ledger.
    """

    classes_ = np.array([0, 1])

    def fit(self, X: ArrayLike, y: ArrayLike) -> FunctionalLogistic:
        """Minimise the noisy objective."""
        loss = logistic_taylor(X, y, intercept=self.fit_intercept)
        attributes = np.shape(X)[1]
        self._minimise(loss, attributes**2 / 4 + 3 * attributes, constant=True)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The likelier class."""
        return (self.decision_function(X) > 0).astype(np.int64)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probabilities of both classes."""
        one = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -500, 500)))
        return np.column_stack([1 - one, one])
