"""Private logistic regression."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Charger
from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain
from discreto.core.maps import present_in
from discreto.errors import ParameterError
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import TakesWeights, keep_all
from discreto.models.base.features import Space
from discreto.models.base.kinds import PrivateClassifier
from discreto.models.base.signal_to_noise import (
    COUNT,
    PER_TERM,
    ask_shares,
    hear_strength,
    only_shares,
    unit_strength,
)
from discreto.models.base.views import Seen, WindowSearch, ask_windows, window_share
from discreto.models.linear.coordinates import WIDE, frame, spreads
from discreto.models.linear.encoding import Encoding, affordable, spread_out
from discreto.models.linear.expanded_loss import (
    Start,
    Task,
    by_means,
    by_taylor,
    by_wide_means,
)
from discreto.models.linear.newton_steps import by_gradients
from discreto.session.parameters import Reader
from discreto.session.rng import Seed
from discreto.session.session import Ask

_METHODS = ("auto", "gradient", "means", "functional")
_MOST_STEPS = 15
_SEARCH = WindowSearch(12, inside=0.95, surely=0.5, caution=3.0, margin=1.0, narrow=0.4)
# Rows over the noise on usual ones, with Laplace and with Gaussian noise, from which on
# steps do more than add noise; a third more for more than two classes.
_STEPS_FROM = (110, 45)
_CLOSE = 1e-9  # scores that are further apart have different probabilities
_ASSUMED = 5000  # rows for which steps are planned, where the domain declares none


class LogisticRegression(TakesWeights, PrivateClassifier):
    """Logistic regression for two or more declared classes.

    Parameters
    ----------
    method
        ``"auto"`` (default): class shares alone where rows are so few that nothing else
        can be known, ``"means"`` where steps would only add noise, else ``"gradient"``.
        Where the domain does not declare its rows, a twentieth of the cost counts them;
        of many Categories those of short lists take part first. Where rows allow it, up
        to an eighth of the cost looks for the part of the bounds where numbers are.
        ``"gradient"``: class sums, products of the columns, then steps down the true
        loss that cannot overshoot.
        ``"means"``: class sums alone, a linear discriminant. ``"functional"``: the
        functional mechanism on the loss's second-order expansion, for comparison.
    max_iter
        The number of gradient steps; ``"auto"``: 2 to 15, more the larger the declared
        or counted number of rows is against the noise (5,000 rows if ``method`` is
        given and none are declared).
    C
        scikit-learn's inverse ridge on features scaled to [-1, 1]. ``"auto"`` is 1, a
        lighter ridge for columns that fill a small part of their bounds, and shrinks
        every release by its known noise as well.
    clipping
        Whether rows of a large norm get a smaller weight and misclassified rows a
        bounded pull; both fade where noise is small. Without, steps lead to
        scikit-learn's solution, for more noise.
    class_weight
        How much rows of each class count, ``{class: number}`` or a list in the order of
        the classes; public numbers, of which only the proportions matter.
    random_state
        Not used.

    Attributes
    ----------
    coef_, intercept_
        In the units of the columns; one row for two classes, else one for each class.
    coef_names_
        What each coefficient belongs to: ``column``, or ``column=category``.
    fill_
        Where a missing number of a row to predict is put, on [-1, 1]: the released
        mean. Rows with gaps are not learned from.
    view_
        The columns as the model sees them: Numbers in narrower bounds, to which rows
        are clipped.
    classes_
        The declared classes.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         rows (1/20) unless the domain declares them; where the numbers are;
                 then class counts alone, or class sums, spreads, products and a
                 gradient for each step.
    Bound        a row is in one cell of each column. Else its numbers are scaled to a
                 norm of 2^30 grid steps at most (l1, or l2 with Gaussian noise; 2^15
                 for products); twice that for replaced rows. A category is one
                 indicator of its column, the others are 0.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         centring, scaling, shrinking, step lengths, predictions.
    Not covered  choosing ``method``, ``C`` or ``max_iter`` by looking at the data.

    >>> from discreto import Category, Domain, Number
    >>> columns = {"a": Number(0, 1), "b": Number(0, 9), "c": Category(["x", "y"])}
    >>> domain = Domain(columns, rows=10_000)
    >>> plan = LogisticRegression(epsilon=1).plan(domain, "c")
    >>> cells, *sums = [question.sensitivity for question in plan]
    >>> cells == (2,) and sums == [(1 << 30,)] * (len(plan) - 1)
    True
    >>> sum(question.cost.epsilon for question in plan) == plan.total.epsilon == 1
    True

    Examples
    --------
    >>> import numpy as np
    >>> from discreto.testing import simulate
    >>> x = np.linspace(0, 1, 1000)[:, None]
    >>> model = LogisticRegression(
    ...     epsilon=1, bounds=(0, 1), classes=[0, 1], ledger=simulate(1)
    ... )
    >>> model.fit(x, (x[:, 0] > 0.4).astype(int)).predict([[0.1], [0.9]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        method: str = "auto",
        max_iter: Any = "auto",
        C: Any = "auto",
        clipping: bool = True,
        class_weight: Any = None,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _learn(self, ask: Ask, space: Space) -> None:
        read = Reader(self)
        method = read.choice("method", _METHODS)
        if not Encoding(space).names:
            raise ParameterError("LogisticRegression needs at least one feature.")
        strength, room = math.inf, math.inf
        if method == "auto":
            known = present_in((space.goal, *space.numbers), space.domain)
            ask, strength = hear_strength(ask, space.domain.rows, known, COUNT)
            room = strength if ask.cost.rho else strength / math.sqrt(2)
        if method != "functional" and read.truth("clipping"):
            ask, space = self._look_around(ask, space, room)
        self.view_, whole = space, Encoding(space)
        terms = Encoding(affordable(space, room, PER_TERM))
        task = self._task(read, terms, bool(ask.cost.rho))
        clear = self._clear(ask, task, strength)
        steps = _steps_for(clear)
        if not read.is_auto("max_iter"):
            steps = read.whole("max_iter", most=1000)
        if method == "auto":
            few = only_shares(strength, ask.cost, space)
            least = _STEPS_FROM[task.gaussian] * (4 / 3 if task.classes > 2 else 1)
            method = "gradient" if clear >= least else "means"
            method = "shares" if few else method
            if not read.is_auto("max_iter"):  # steps were asked for
                method = "gradient"
        middle = np.zeros(task.width)
        if method == "shares":
            weights = np.zeros((task.classes, 1 + task.width))
            weights[:, 0] = np.log(ask_shares(ask, space) * task.weights)
        elif method == "functional":
            weights, middle = by_taylor(ask, task)
        else:
            if method == "means":
                start = by_wide_means(ask, task, room)
                weights = start.weights
            else:
                start, weights = self._steps(ask, task, steps)
            middle = start.mean
        self.n_iter_ = steps if method == "gradient" else 0
        slopes = spread_out(weights[:, 1:], terms, whole)
        weights = np.column_stack([weights[:, 0], slopes])
        self._keep(weights, spread_out(middle, terms, whole), whole)

    def _look_around(self, ask: Ask, space: Space, room: float) -> tuple[Ask, Space]:
        """Return a session about the bounds where rows are, and its space."""
        if room == math.inf:
            rows = ask.domain.rows or _ASSUMED
            room = rows * unit_strength(ask.cost)
        share = window_share(len(space.numbers), ask.cost, room)
        if not share:
            return ask, space
        seen = Seen(ask_windows(ask, space, share, _SEARCH))
        return seen.ask(ask.sharing(1 - share), space), seen.space(space)

    def _task(self, read: Reader, terms: Encoding, gaussian: bool) -> Task:
        """Return the public facts of a fit on these terms."""
        space = terms.space
        return Task(
            terms.names,
            terms.numbers,
            terms.columns,
            gaussian,
            read.truth("clipping"),
            present_in((space.goal, *space.numbers), space.domain),
            present_in(space.numbers, space.domain),
            space.goal,
            len(space.classes),
            self._ridge(read),
            self._importance(space),
        )

    def _clear(self, ask: Ask, task: Task, strength: float) -> float:
        """Return the row count over the noise on a sum of usual rows."""
        rows = float(ask.domain.rows or _ASSUMED)
        if strength < math.inf:
            rows = max(strength, 1.0) / unit_strength(ask.cost)
        usual = task.usual(task.width + 1.0, task.width + 1.0)
        return rows / (task.noise(ask, Fraction(1)) * usual)

    def _importance(self, space: Space) -> tuple[float, ...]:
        """Return the weight of a row of each class; the largest is 1."""
        if self.class_weight is None:
            return ()
        given = self.class_weight
        if isinstance(given, dict) and set(given) == set(space.classes):
            given = [given[c] for c in space.classes]
        numbers = list(given) if isinstance(given, list | tuple) else []
        good = len(numbers) == len(space.classes)
        for number in numbers:
            plain = isinstance(number, int | float) and not isinstance(number, bool)
            good = good and plain and 1e-9 <= number <= 1e9
        if not good:
            raise ParameterError(
                "LogisticRegression: class_weight must be None or a public number "
                "above 0 for every class, {class: number} or a list. 'balanced' "
                f"would read the class sizes from the rows. Got {self.class_weight!r}."
            )
        return tuple(float(n) / max(numbers) for n in numbers)

    def _ridge(self, read: Reader) -> float | None:
        if read.is_auto("C"):
            return None
        return 1 / read.number("C", 1e-9, 1e12, wanted="'auto' or a number above 0")

    def _steps(self, ask: Ask, task: Task, count: int) -> tuple[Start, Any]:
        """Ask for class sums, spreads, products and gradients; return coefficients."""
        # Shares by measurement (docs/models/logistic.md): class sums are half of it.
        first, second, third = Fraction(1, 2), Fraction(1, 20), Fraction(3, 20)
        if task.width > WIDE:
            first, third = first + third, Fraction(0)
        start = by_means(ask, task, first)
        scales = spreads(ask, task, start.mean, second)
        if task.width > WIDE:
            scales = np.where(task.numbers, scales, 1.0)
        shares = [(1 - first - second - third) / count] * count
        seen = frame(ask, task, start.mean, scales, start.total, third)
        return start, by_gradients(ask, task, start, seen, shares)

    def _keep(self, weights: Any, middle: Any, terms: Encoding) -> None:
        self.classes_ = np.array(terms.space.classes)
        if len(weights) == 2:
            weights = weights[1:] - weights[:1]
        self.coef_ = weights[:, 1:] / terms.halves
        self.intercept_ = weights[:, 0] - self.coef_ @ terms.centres
        self.coef_names_ = terms.labels
        # A missing number counts as the mean of the rows that were learned from.
        self.fill_ = np.where(terms.numbers, middle, 0.0)

    def _unknown_to_old_files(self) -> dict[str, Any]:
        return {"view_": self.space_}

    def decision_function(self, X: Any) -> NDArray[Any]:
        X = self._rows(X)
        fill = getattr(self, "fill_", None)
        scores = Encoding(self.view_).scores(X, self.coef_, self.intercept_, fill)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        if scores.ndim == 1:
            best, lead = (scores > 0).astype(np.int64), np.abs(scores)
        else:
            best = np.argmax(scores, axis=1)
            lead = -np.diff(np.sort(scores, axis=1)[:, -1:-3:-1], axis=1)[:, 0]
        # Nearly equal scores may have equal probabilities: then the first class wins.
        close = np.flatnonzero(~(lead > _CLOSE))
        if close.size:
            best[close] = np.argmax(_chances(scores[close]), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return _chances(self.decision_function(X))

    def reference(self) -> Any:
        from sklearn.linear_model import LogisticRegression as Plain

        ridge = self._ridge(Reader(self))
        return Plain(C=1.0 if ridge is None else 1 / ridge, max_iter=1000)


def _chances(scores: NDArray[Any]) -> NDArray[Any]:
    """Return class probabilities from scores, or from that of the second class."""
    if scores.ndim == 1:
        scores = np.column_stack([-scores / 2, scores / 2])
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def _steps_for(clear: float) -> int:
    """Return the number of steps: more of them where there is less noise."""
    more = 2.7 * math.log10(max(clear / 150, 1.0))
    return min(2 + round(more), _MOST_STEPS)
