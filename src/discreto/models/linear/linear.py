"""Private linear regression: noisy products of the columns, solved with their noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from discreto.core.charge import Charger
from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain
from discreto.core.maps import Bernstein, Scaled, Values, present_in
from discreto.core.maps.features import PRODUCT_BITS, grid
from discreto.core.maps.unit_columns import Indicator, Term
from discreto.core.query import Block, Sum
from discreto.errors import ParameterError
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import TakesWeights, keep_all
from discreto.models.base.features import Space, check_same
from discreto.models.base.kinds import PrivateRegressor
from discreto.models.base.signal_to_noise import COUNT, STRENGTHS, hear_strength
from discreto.models.linear.coordinates import Design
from discreto.models.linear.encoding import Encoding, affordable, spread_out
from discreto.models.linear.moments import (
    Products,
    centred,
    column_weights,
    least_squares,
    weighted_rows,
)
from discreto.models.linear.residuals import (
    PLENTY,
    Line,
    by_looks,
    by_products,
    constant,
)
from discreto.session.parameters import Reader
from discreto.session.rng import Seed
from discreto.session.session import Ask

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator

_METHODS = ("auto", "residuals", "weighted", "functional")
_LEAST, _LARGEST = 1e-300, 1e300
# Rows over the noise on their number, with Laplace and with Gaussian noise: below,
# only a constant stands out; below this times the number of columns, one release of
# products is better than questions about residuals.
_CONSTANT, _PRODUCTS = (75, 35), (30, 5)
_MEAN = Fraction(1, 10)  # of the cost, for the mean of the target


class _LinearParameters(NamedTuple):
    """The parameters as they were read; ``alpha`` None: by the size of the noise."""

    method: str
    row_norm: float | None
    alpha: float | None
    intercept: bool

    @property
    def looks(self) -> bool:
        """True if the line comes from questions about residuals."""
        return self.method in ("auto", "residuals") and self.looks_fit

    @property
    def looks_fit(self) -> bool:
        """True if all parameters fit questions about residuals."""
        return self.row_norm is None and self.alpha is None and self.intercept

    @property
    def origin(self) -> Any:
        return "centre" if self.intercept else "zero"


def _adds_up(model: PrivateEstimator) -> bool:
    """Return True if batches add up: sums of a release do, residuals do not."""
    return not model._read().looks


class LinearRegression(TakesWeights, PrivateRegressor):
    """Ordinary least squares from noisy sums of products.

    Parameters
    ----------
    method
        ``"auto"`` (default): ``"residuals"``, unless ``row_norm``, ``alpha`` or
        ``fit_intercept`` ask for ``"weighted"``. ``"residuals"``: the target is taken
        from its noisy median in units of its noisy spread; a first line comes from
        products, and four questions about clipped residuals improve it. With few rows
        (declared, or counted for a twentieth of the cost) it is one release of
        products, or a constant; with millions, products of whole rows. Of many
        Categories those of short lists take part first.
        ``"weighted"``: one release, in which a row whose norm is above ``row_norm``
        gets a smaller weight.
        ``"functional"``: the functional mechanism, all rows count the same.
    row_norm
        The norm of a row (1, features, target) on [-1, 1] up to which it has its full
        weight. ``None``: about a third of the largest one.
    alpha
        The ridge, on features and target scaled to [-1, 1]. ``"auto"`` takes it, and
        shrinks the coefficients, from the size of the noise; ``0`` solves as it is.
    fit_intercept
        Whether the line need not pass through 0.
    random_state
        Not used.

    Attributes
    ----------
    coef_, intercept_
        In the units of the columns.
    coef_names_
        What each coefficient belongs to: ``column``, or ``column=category``.
    fill_
        Where a missing number of a row to predict is put, on [-1, 1]: the released
        mean, or the middle with ``fit_intercept=False``. Rows with gaps are not learned
        from.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         rows, median and spread of the target, how many rows are far from
                 there; then means, spreads, products, products with the target, four
                 sums of residuals, or one sum of products.
                 ``"weighted"`` and ``"functional"``: one sum of products.
    Bound        sums: rows scaled to 2^30 grid steps (l1, or l2 with ``delta``),
                 products to 2^15 each; functional: 1 for each product at once
                 (cube noise).
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         the ridge, the repair of the matrix, the shrinkage, predictions.
    Not covered  choosing ``row_norm`` or ``alpha`` by looking at the data.

    >>> from discreto import Domain
    >>> domain = Domain.cube(6)
    >>> plan = LinearRegression(epsilon=1, method="functional").plan(domain, "x5")
    >>> [question.sensitivity for question in plan] == [(1 << 30,)]
    True
    >>> plan = LinearRegression(epsilon=1).plan(domain, "x5")
    >>> len(plan), plan.total.epsilon == sum(q.cost.epsilon for q in plan) == 1
    (12, True)

    Examples
    --------
    >>> import numpy as np
    >>> from discreto.testing import simulate
    >>> x = np.linspace(-1, 1, 2000)
    >>> model = LinearRegression(
    ...     epsilon=1, bounds=(-1, 1), target_bounds=(-3, 3), ledger=simulate(1)
    ... )
    >>> model.fit(x[:, None], 2 * x + 0.5).coef_.round().tolist()
    [2.0]
    """

    _earlier: Products | None = None  # of the batches before, while one is added

    def __init__(
        self,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        method: str = "auto",
        row_norm: float | None = None,
        alpha: Any = "auto",
        fit_intercept: bool = True,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        target_bounds: tuple[float, float] | None = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    @available_if(_adds_up)
    def partial_fit(self, X: Any, y: Any = None) -> LinearRegression:
        """Learn from one more batch of rows: products add up, and so does their noise.

        For ``method="weighted"`` and ``"functional"``.

        Parameters
        ----------
        X, y
            As in ``fit``: a table with the columns of those before it, or arrays.

        Returns
        -------
        self
            The model of all batches; ``privacy_`` is what the last one cost.

        Privacy
        -------
        Each call is a fit that is charged fully, to the ledger of its own table. Rows
        of people who are in one batch only are in one such fit.
        """
        if hasattr(self, "moments_noise_"):
            table, target = self._table(X, y)
            check_same(self.space_, self._space(table.domain, target))
            ones = len(self.moments_) - len(self.coef_) - 1
            if ones != self._read().intercept:
                raise Reader(self).bad("fit_intercept", "that of earlier batches")
            self._earlier = Products.kept_in(self)
        try:
            return self.fit(X, y)
        finally:
            self._earlier = None

    def _learn(self, ask: Ask, space: Space) -> None:
        read, terms = self._read(), Encoding(space)
        if not terms.names:
            raise ParameterError("LinearRegression needs at least one feature.")
        if read.looks:
            self._look(ask, terms)
            return
        names = (*terms.names, space.goal)
        query, weights, step = self._question(read, names, space, bool(ask.cost.rho))
        answer = ask.measure(query, "products of the columns")
        products = Products.of(answer, weights, step)
        if self._earlier is not None:
            products = self._earlier.with_(products)
        products.keep_in(self)
        unit, middle = self._solve(read, products)
        self._keep(read, unit, terms)
        self._name(terms, middle)

    def _look(self, ask: Ask, whole: Encoding) -> None:
        space = whole.space
        target_known = present_in((space.goal,), space.domain)
        known = present_in((space.goal, *space.numbers), space.domain)
        ask, strength = hear_strength(
            ask, space.domain.rows, known, COUNT, (*STRENGTHS, PLENTY)
        )
        room = strength if ask.cost.rho else strength / math.sqrt(2)
        terms = Encoding(affordable(space, room, 100 if ask.cost.rho else 1000))
        gaussian, complete = bool(ask.cost.rho), present_in(space.numbers, space.domain)
        design = Design(
            terms.names, terms.numbers, terms.columns, gaussian, True, known, complete
        )
        if room < _CONSTANT[gaussian]:
            zeros = np.zeros(design.width)
            line = Line(constant(ask, target_known, space.goal), zeros, zeros)
        elif room < _PRODUCTS[gaussian] * design.columns:
            line = by_products(ask, design, space.goal)
        else:
            line = by_looks(ask, design, space.goal, strength)
        target = space.domain.number(space.goal)
        slopes = spread_out(line.slopes, terms, whole)
        self.coef_ = slopes * target.half / whole.halves
        start = target.centre + target.half * line.start
        self.intercept_ = float(start - self.coef_ @ whole.centres)
        # A missing number counts as the mean of the rows that were learned from.
        self._name(whole, spread_out(line.middle, terms, whole))

    def _name(self, terms: Encoding, middle: Any) -> None:
        self.coef_names_ = terms.labels
        self.fill_ = np.where(terms.numbers, middle, 0.0)

    def _read(self) -> _LinearParameters:
        read = Reader(self)
        alpha, row_norm = None, None
        if not read.is_auto("alpha"):
            wanted = "'auto' or a number from 0 up"
            alpha = read.number("alpha", 0, _LARGEST, wanted=wanted)
        if self.row_norm is not None:
            wanted = "None or a number above 0"
            row_norm = read.number("row_norm", _LEAST, _LARGEST, wanted=wanted)
        method, intercept = (
            read.choice("method", _METHODS),
            read.truth("fit_intercept"),
        )
        found = _LinearParameters(method, row_norm, alpha, intercept)
        if method == "residuals" and not found.looks_fit:
            raise ParameterError(
                "LinearRegression: method='residuals' takes no row_norm, no alpha but "
                "'auto', and fits an intercept. Take method='weighted' for these."
            )
        return found

    def _question(
        self,
        read: _LinearParameters,
        names: tuple[Term, ...],
        space: Space,
        gaussian: bool,
    ) -> tuple[Sum, Any, float]:
        """Return the question, the factors of the columns, and grid steps per unit."""
        width = len(names) + read.intercept
        numbers = tuple(name for name in names if isinstance(name, str))
        cells = present_in(numbers, space.domain)
        if read.method == "functional":
            values = Values(names, PRODUCT_BITS, read.origin, read.intercept)
            query = Sum(cells, (Block(values, "gram", noise="cube"),))
            return query, np.ones(width), float(1 << (2 * PRODUCT_BITS))
        rows = weighted_rows(names, space, gaussian, read.row_norm, read.intercept)
        weights = column_weights(len(names), read.intercept)
        query = Sum(cells, self._blocks(read, rows, space.goal))
        return query, weights, rows.steps() ** 2

    def _blocks(
        self, read: _LinearParameters, rows: Scaled, target: str
    ) -> tuple[Block, ...]:
        if not read.intercept or read.alpha is not None:
            return (Block(rows, "gram"),)
        # The noise on products grows with their number, and so would the mean's.
        mean = Block(Bernstein((target,), 1), share=_MEAN)
        return (Block(rows, "gram", share=1 - _MEAN), mean)

    def _solve(self, read: _LinearParameters, products: Products) -> tuple[Any, Any]:
        """Return coefficients on the scale of the question, intercept first; means."""
        moments = products.moments
        ridge, shrink = read.alpha or 0.0, read.alpha is None
        if not read.intercept:
            slopes = least_squares(moments, ridge=ridge, shrink=shrink)
            return np.append(0.0, slopes), np.zeros(len(slopes))
        means, around = centred(moments, shrink=shrink, last=products.mean())
        slopes = least_squares(around, ridge=ridge, shrink=shrink)
        line = np.append(means[-1] - means[:-1] @ slopes, slopes)
        return line, np.clip(means[:-1], -1, 1)

    def _keep(self, read: _LinearParameters, unit: Any, terms: Encoding) -> None:
        domain = terms.domain
        grids = [
            (0.0, 1.0)
            if isinstance(t, Indicator)
            else grid(domain.number(t), read.origin)
            for t in (*terms.names, terms.space.goal)
        ]
        middles, halves = np.array(grids).T
        self.coef_ = unit[1:] * halves[-1] / halves[:-1]
        self.intercept_ = 0.0
        if read.intercept:
            start = middles[-1] + halves[-1] * unit[0]
            self.intercept_ = float(start - self.coef_ @ middles[:-1])

    def predict(self, X: Any) -> NDArray[Any]:
        X = self._rows(X)
        space = self.space_
        target = space.domain.number(space.goal)
        line, fill = self.coef_[None, :], getattr(self, "fill_", None)
        scores = Encoding(space).scores(X, line, self.intercept_, fill)[:, 0]
        return np.clip(scores, target.lower, target.upper)

    def row_weights(self, X: Any, y: Any) -> NDArray[Any]:
        """Return the weight that each row of your own would have in a fit.

        With them as ``sample_weight``, ``reference()`` is this model without noise.

        Parameters
        ----------
        X
            Your own rows: a data frame, dict of columns or 2-d array of the features.
        y
            Their targets.

        Returns
        -------
        array
            From 0 to 1, one for each row.
        """
        X = self._rows(X)
        space, read = self.space_, self._read()
        if read.looks or read.method == "functional":
            return np.ones(len(y))
        names = (*Encoding(space).names, space.goal)
        batch, _ = space.batch(X)
        gaussian = bool(self.privacy_.cost.rho)
        rows = weighted_rows(names, space, gaussian, read.row_norm, read.intercept)
        batch[space.goal] = np.asarray(y, dtype=float)
        whole = rows.affine(batch, space.domain)
        size = np.abs(whole).sum(0) if rows.norm == "l1" else np.hypot.reduce(whole)
        return np.minimum(1.0, rows.reach / size) ** 2

    def reference(self) -> Any:
        from sklearn.linear_model import LinearRegression as Plain
        from sklearn.linear_model import Ridge

        read = self._read()
        if not read.alpha:
            return Plain(fit_intercept=read.intercept)
        return Ridge(alpha=read.alpha, fit_intercept=read.intercept)
