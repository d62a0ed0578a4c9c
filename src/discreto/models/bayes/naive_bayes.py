"""Private naive Bayes: one noisy table of each class, and what follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.core.charge import Charger
from discreto.core.cost import Amount
from discreto.core.domain.domain import Category, Domain
from discreto.errors import DomainError, ParameterError
from discreto.models.base.arrays import Bounds
from discreto.models.base.estimator import keep_all
from discreto.models.base.features import Space, columns_of
from discreto.models.bayes.base import Bayes
from discreto.session.parameters import refuse
from discreto.session.rng import Seed


class NaiveBayes(Bayes):
    """Naive Bayes on Number and Category columns together.

    Each class has a normal distribution for every Number column and a histogram for
    every Category column. A missing value drops its column out, in ``fit`` and
    ``predict``.

    Parameters
    ----------
    alpha
        Added to every count of a category (Laplace's rule).
    var_smoothing
        This part of the largest variance is added to all variances.
    ddof
        0 divides a variance by the size of the class, 1 by one less.
    shrink
        Find out where the numbers are and which values of wide Categories (more than
        64) are frequent, pull every estimate toward a safer one as far as the known
        noise says, let a further question correct the scores, and one more make
        the probabilities less sure where columns repeat each other. With few rows it
        learns class means alone, for two classes with rows times epsilon below 40
        their shares alone. ``False`` is the textbook: with noise off it equals
        scikit-learn at any ``epsilon``.
    priors
        The probabilities of the classes, in their order, where these are public; by
        default what the noisy counts say.
    random_state
        Not used.

    Attributes
    ----------
    classes_, class_count_, class_prior_
        The classes, how many rows each has, and their probabilities.
    theta_, var_, theta_doubt_
        Means and variances of the Number columns, (classes, columns), and the
        variance of the noise that is left in the means.
    feature_log_prob_
        For each Category column, log P[value | class], (classes, values).
    vote_share_
        The part of the final word that class scores have.
    temper_
        What log-likelihoods are multiplied by.
    view_, groups_
        The columns as the model sees them: Numbers in narrower bounds, and for wide
        Categories the group of each value.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         class tables; without ``shrink`` nothing else. With it: the number of
                 rows (1/20) unless the domain declares it; then of the rest counts of
                 public cells of all Numbers (1/10), the values of wide Categories
                 (1/20), class scores (1/4, unless (classes - 1)² >= columns) and how
                 sure to be (1/20). With few rows class counts, or class sums and widths
                 (1/10), alone.
    Bound        d ones per row for d columns: each splits a one into its parts, or has
                 one cell; a single one for counts, for how sure to be, and for the
                 scores, whose products of votes add up to one.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         everything else: it follows from answers.
    Not covered  choosing parameters by looking; a class or category list that was
                 read from the rows.

    >>> from discreto import Category, Domain, Number
    >>> from discreto.models import NaiveBayes
    >>> columns = {"age": Number(0, 120), "sex": Category(["f", "m"])}
    >>> domain = Domain(columns | {"ill": Category(["n", "y"])}, target="ill")
    >>> plan = NaiveBayes(epsilon=1).plan(domain)
    >>> for ask in plan:
    ...     print(ask.label, ask.sensitivity[0])
    rows 1
    where the numbers are 1
    class tables 2147483648
    class scores 1073741824
    how sure to be 1
    >>> plan.total
    Cost(ε 1)

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> X = pd.DataFrame({"age": np.arange(3000) % 100, "sex": ["f", "m", "m"] * 1000})
    >>> ill = np.where(X["age"] > 60, "y", "n")
    >>> model = NaiveBayes(epsilon=1, domain=domain).fit(X, ill)
    >>> new = pd.DataFrame({"age": [20, 90], "sex": ["m", None]})
    >>> model.predict(new).tolist()
    ['n', 'y']
    """

    def __init__(
        self,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        ddof: int = 0,
        shrink: bool = True,
        priors: Any = None,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def reference(self) -> Any:
        """Return the scikit-learn model that this one is without noise and shrinking.

        scikit-learn has none for mixed columns: then this is a ``ParameterError``.
        """
        from sklearn import naive_bayes as plain

        space = getattr(self, "space_", None)
        if space is not None and space.categories:
            if space.numbers:
                raise ParameterError(
                    "scikit-learn has no naive Bayes for Number and Category columns "
                    "together: compare GaussianNB and CategoricalNB on their own."
                )
            return plain.CategoricalNB(alpha=self.alpha)
        return plain.GaussianNB(priors=self.priors, var_smoothing=self.var_smoothing)


class GaussianNB(Bayes):
    """Naive Bayes on Number columns: a normal distribution for each class and column.

    Like :class:`NaiveBayes` (parameters, attributes, proof) without categories.

    Parameters
    ----------
    var_smoothing
        This part of the largest variance is added to all variances.
    ddof
        0 divides a variance by the size of the class, 1 by one less.
    shrink
        As in :class:`NaiveBayes`. ``False`` is the textbook.
    priors
        The public probabilities of the classes, in their order, if any.
    random_state
        Not used.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         as :class:`NaiveBayes`.
    Bound        d ones per row for d columns, and a single one for the scores.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         everything else.
    Not covered  bounds and classes that were read from the rows.

    >>> from discreto import Category, Domain, Number
    >>> columns = {f"x{i}": Number(0, 1) for i in range(8)}
    >>> domain = Domain(columns | {"y": Category([0, 1])}, target="y")
    >>> plan = GaussianNB(epsilon=1, shrink=False).plan(domain)
    >>> [ask.sensitivity[0] >> 30 for ask in plan], plan.total
    ([8], Cost(ε 1))

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> model = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1])
    >>> model.fit(X, X[:, 0] > 0.5).predict([[0.1], [0.9]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        var_smoothing: float = 1e-9,
        ddof: int = 0,
        shrink: bool = True,
        priors: Any = None,
        domain: Domain | None = None,
        bounds: Bounds | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _check(self, space: Space) -> None:
        super()._check(space.only_numbers("GaussianNB"))

    def reference(self) -> Any:
        """Return the scikit-learn model that this is without noise and shrinking."""
        from sklearn import naive_bayes as plain

        return plain.GaussianNB(priors=self.priors, var_smoothing=self.var_smoothing)


class CategoricalNB(Bayes):
    """Naive Bayes on Category columns: a histogram for each class and column.

    Like :class:`NaiveBayes` (attributes, proof) without numbers.

    Parameters
    ----------
    alpha
        Added to every count of a category (Laplace's rule).
    n_categories
        For arrays of codes 0, 1, ...: how many, one number or one for each column.
    shrink
        As in :class:`NaiveBayes`. ``False`` is the textbook.
    random_state
        Not used.

    Notes
    -----
    Privacy

    Neighbours   as declared in the domain (default: one row added or removed).
    Asks         as :class:`NaiveBayes`.
    Bound        d ones per row for d columns, and a single one for the scores.
    Composition  shares add up to one, so a fit costs exactly ``epsilon``.
    Free         everything else.
    Not covered  categories and classes that were read from the rows.

    >>> from discreto import Category, Domain
    >>> columns = {f"x{i}": Category(["a", "b", "c"]) for i in range(5)}
    >>> domain = Domain(columns | {"y": Category([0, 1])}, target="y")
    >>> plan = CategoricalNB(epsilon=1, shrink=False).plan(domain)
    >>> [ask.sensitivity[0] >> 30 for ask in plan], plan.total
    ([5], Cost(ε 1))

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(4000).reshape(-1, 1) % 4
    >>> model = CategoricalNB(epsilon=1, n_categories=4, classes=[0, 1])
    >>> model.fit(X, X[:, 0] > 1).predict([[0], [3]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        alpha: float = 1.0,
        n_categories: Any = None,
        shrink: bool = True,
        domain: Domain | None = None,
        classes: Any = None,
        ledger: Charger | None = None,
        random_state: Seed = None,
    ) -> None:
        keep_all(self, locals())

    def _check(self, space: Space) -> None:
        if space.numbers:
            raise DomainError(
                f"CategoricalNB takes Category columns. {space.numbers[0]!r} is a "
                "Number: use NaiveBayes, or describe it as categories."
            )
        super()._check(space)

    def _guess_domain(self, X: Any, y: Any, names: list[str], target: str) -> Domain:
        sizes = self.n_categories
        if sizes is None:
            self._leak("categories", "n_categories=4 or domain=Domain(...)")
            sizes = [_codes_in(values) for values in columns_of(X, names).values()]
        try:
            sizes = np.broadcast_to(np.asarray(sizes), len(names)).tolist()
        except ValueError:
            sizes = [None]
        if not all(isinstance(size, int) and 1 <= size <= 1 << 20 for size in sizes):
            many = f"a whole number from 1 up, or one for each of {len(names)} features"
            raise refuse(self.n_categories, "n_categories", many, "CategoricalNB")
        columns: dict[str, Any] = {
            name: Category(tuple(range(size)))
            for name, size in zip(names, sizes, strict=True)
        }
        columns[target] = self._target_column(y)
        return Domain(columns, target=target)

    def reference(self) -> Any:
        """Return the scikit-learn model that this is without noise and shrinking."""
        from sklearn import naive_bayes as plain

        return plain.CategoricalNB(alpha=self.alpha, min_categories=self.n_categories)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.classifier_tags.poor_score = True
        return tags


def _codes_in(values: Any) -> int:
    """Return one more than the largest code. Only for simulations."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    return int(np.clip(numbers.max(initial=0), 0, 10**6)) + 1
