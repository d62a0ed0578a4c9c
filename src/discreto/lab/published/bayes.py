"""S3 and S4: naive Bayes with noise on its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from discreto.core.cost import Amount
from discreto.errors import ParameterError
from discreto.lab.published._noise import FloatNoise, Floats, amount
from discreto.lab.published._printed import printed

_SMALLEST = 1e-9  # a standard deviation of 0 has no density


class _NormalBayes(ClassifierMixin, BaseEstimator):
    """Classes with normal attributes; deviations below zero count by their size."""

    classes_: NDArray[Any]

    def _use(self, weights: Floats, means: Floats, deviations: Floats) -> None:
        self.class_weight_, self.theta_, self.sigma_ = weights, means, deviations

    def _log_joint(self, rows: Floats) -> Floats:
        spread = np.maximum(np.abs(self.sigma_), _SMALLEST)
        away = (rows[:, None, :] - self.theta_) / spread
        density = -0.5 * away**2 - np.log(spread) - 0.5 * np.log(2 * np.pi)
        prior = np.maximum(self.class_weight_, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(prior) + density.sum(axis=2)

    def joint(self, X: ArrayLike) -> Floats:
        """Weight of the class times density of the attributes, for each class."""
        return np.exp(self._log_joint(np.asarray(X, dtype=np.float64)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with the largest posterior."""
        scores = self._log_joint(np.asarray(X, dtype=np.float64))
        return self.classes_[np.argmax(scores, axis=1)]


def _by_class(
    rows: Floats, codes: NDArray[np.int64], number: int, ddof: int
) -> tuple[Floats, Floats, Floats]:
    """Size, means and standard deviations of each class; 0 for what is not there."""
    sizes = np.bincount(codes, minlength=number).astype(np.float64)
    member = (codes == np.arange(number)[:, None]).astype(np.float64)
    means = member @ rows / np.maximum(sizes, 1)[:, None]
    squares = member @ rows**2 - sizes[:, None] * means**2
    variance = np.maximum(squares, 0.0) / np.maximum(sizes - ddof, 1)[:, None]
    return sizes, means, np.sqrt(variance)


def _bounds(bounds: Any, width: int) -> Floats:
    low, high = (np.broadcast_to(np.asarray(b, dtype=float), (width,)) for b in bounds)
    if not np.all(low < high):
        raise ParameterError("bounds must be (low, high) with low below high.")
    return high - low


@printed(
    "S3",
    "section 3.4, (3.19)",
    "14",
    claim="ε, with Δ = (u - l)/(n + 1) for a mean, √n(u - l)/(n + 1) for a deviation",
    add_remove="∞: class shares are printed without noise, and n is that of the whole "
    "set while a class has fewer rows; 2dε with both mended",
    replace="∞; 4dε with both mended, for a label touches two classes",
    ours="discreto.models.GaussianNB",
)
class ThesisBayes(_NormalBayes):
    """Gaussian naive Bayes: every mean and deviation gets Laplace(Δ/ε).

    Parameters
    ----------
    epsilon
        Spent anew on each of the 2d parameters of each class. None: no noise.
    bounds
        (l, u), the smallest and largest value, numbers or one for each attribute.
    ledger
        A simulation ledger.
    """

    def __init__(
        self, *, epsilon: Amount | None = 1, bounds: Any = (0, 1), ledger: Any = None
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike) -> ThesisBayes:
        """Noisy means and sample deviations, exact shares."""
        noise = FloatNoise(self.ledger, "ThesisBayes")
        rows = np.asarray(X, dtype=np.float64)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        number, n = len(self.classes_), len(rows)
        sizes, means, deviations = _by_class(rows, codes, number, ddof=1)
        if self.epsilon is not None:
            scale = _bounds(self.bounds, rows.shape[1]) / (n + 1) / amount(self.epsilon)
            means = means + noise.laplace(scale, means.shape)
            deviations = deviations + noise.laplace(np.sqrt(n) * scale, means.shape)
        self._use(sizes / n, means, deviations)
        return self


@printed(
    "S4",
    "algorithm 1 (Vaidya and others 2013) with ε/(d + 1) for each attribute",
    "15, 15b",
    claim="ε",
    add_remove="1 + 2dε/(d + 1) for d numbers: 1.18 where 0.1 is printed for d = 8; ∞ "
    "formally, for scales depend on the size of a class, and classes on the labels",
    replace="twice that: 2.36 where 0.1 is printed; ∞ formally",
    ours="discreto.models.NaiveBayes",
)
class VaidyaBayes(_NormalBayes):
    """Naive Bayes: ε/(d + 1) for each attribute, Laplace(0, 1) on class counts.

    The scale of the class counts has no ε in it. A numeric attribute pays its share
    twice, for the mean and for the deviation.

    Parameters
    ----------
    epsilon
        None: no noise.
    bounds
        (L, U), numbers or one for each numeric attribute.
    categories
        Which columns are categories: ``{column: number of codes}``.
    spread
        "deviation": noise on σ for √n(U - L)/(n + 1), as in the algorithm. "variance":
        noise on σ² for n(U - L)/(n + 1), as on the slide before it.
    classes
        None: the classes found in the labels. A list: public classes.
    ledger
        A simulation ledger.
    """

    def __init__(
        self,
        *,
        epsilon: Amount | None = 1,
        bounds: Any = (0, 1),
        categories: dict[int, int] | None = None,
        spread: str = "deviation",
        classes: ArrayLike | None = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.categories = categories
        self.spread = spread
        self.classes = classes
        self.ledger = ledger

    def fit(self, X: ArrayLike, y: ArrayLike) -> VaidyaBayes:
        """Noisy parameters, attribute by attribute, then the class counts."""
        noise = FloatNoise(self.ledger, "VaidyaBayes")
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        self.classes_ = np.unique(labels if self.classes is None else self.classes)
        codes = np.searchsorted(self.classes_, labels)
        self._tables = dict(self.categories or {})
        self._numbers = [j for j in range(rows.shape[1]) if j not in self._tables]
        share = (
            None if self.epsilon is None else amount(self.epsilon) / (rows.shape[1] + 1)
        )
        sizes = self._fit_numbers(rows[:, self._numbers], codes, share, noise)
        self.counts_ = {
            column: self._fit_category(rows[:, column], codes, number, share, noise)
            for column, number in self._tables.items()
        }
        if share is not None:
            self.class_weight_ = sizes + noise.laplace(1.0, sizes.size)
        return self

    def _fit_numbers(
        self, rows: Floats, codes: Any, share: float | None, noise: FloatNoise
    ) -> Floats:
        sizes, means, spread = _by_class(rows, codes, len(self.classes_), ddof=0)
        if share is not None and rows.shape[1]:
            n = sizes[:, None]
            scale = _bounds(self.bounds, rows.shape[1]) / (n + 1) / share
            means = means + noise.laplace(scale)
            if self.spread == "variance":
                noisy = spread**2 + noise.laplace(n * scale)
                spread = np.sqrt(np.maximum(noisy, 0.0))
            else:
                spread = spread + noise.laplace(np.sqrt(n) * scale)
        self._use(sizes, means, spread)
        return sizes

    def _fit_category(
        self,
        column: Floats,
        codes: Any,
        number: int,
        share: float | None,
        noise: FloatNoise,
    ) -> Floats:
        cells = codes * number + column.astype(np.int64)
        counts = np.bincount(cells, minlength=len(self.classes_) * number)
        table = counts.reshape(len(self.classes_), number).astype(np.float64)
        return table if share is None else table + noise.laplace(1 / share, table.shape)

    def _log_joint(self, rows: Floats) -> Floats:
        scores = super()._log_joint(rows[:, self._numbers])
        for column, table in self.counts_.items():
            part = np.maximum(table, 0.0)
            share = part / np.maximum(part.sum(axis=1, keepdims=True), _SMALLEST)
            with np.errstate(divide="ignore"):
                scores = scores + np.log(share[:, rows[:, column].astype(np.int64)].T)
        return scores
