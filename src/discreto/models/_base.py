"""What every model shares: a domain, a plan, a paid-for conversation.

A model writes ``_learn(ask, space)`` and nothing else about privacy. It gets answers
from ``ask``, never a row, and sets attributes that end in an underscore: those are made
of releases and public facts, so they are safe to publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClusterMixin,
    RegressorMixin,
    clone,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.domain import Category, Domain, Number
from discreto.core.ledger import Ledger
from discreto.data.frames.native import frame_of
from discreto.dry_run import dry_run_gate
from discreto.errors import DomainError, ParameterError, UnsafeError
from discreto.models._features import Ready, Space, as_matrix, columns_of
from discreto.parameters import Reader
from discreto.plan import Plan
from discreto.session import Ask, Session
from discreto.tables import Table

# What a plan takes from the space, or from the cost.
_ELSEWHERE = (
    *("ledger", "domain", "bounds", "classes", "target_bounds"),
    *("epsilon", "delta"),
)
_SIMPLE = (bool, int, float, str, Fraction)
_PLANS: dict[tuple[Any, ...], Plan] = {}  # a cache; see PrivateEstimator._plan_for


@dataclass(frozen=True)
class Privacy:
    """What a fitted model cost, and what that protects."""

    cost: Cost
    neighbours: str
    rows_per_person: int
    plan: Plan
    receipt: Receipt

    @property
    def simulated(self) -> bool:
        """Whether the model comes from a simulation, and protects nobody."""
        return self.receipt.simulated

    def to_dict(self) -> dict[str, Any]:
        """A JSON form."""
        return {
            "cost": self.cost.to_dict(),
            "neighbours": self.neighbours,
            "rows_per_person": self.rows_per_person,
            "plan": self.plan.to_dict(),
            "receipt": self.receipt.to_dict(),
            "simulated": self.simulated,
        }

    def __str__(self) -> str:
        stamp = "SIMULATED " if self.simulated else ""
        who = "one row" if self.rows_per_person == 1 else "one person"
        return f"{stamp}{self.cost} in {len(self.plan)} question(s), protects {who}"


class PrivateEstimator(BaseEstimator):
    """Base of all models.

    Parameters that every model has
    -------------------------------
    epsilon, delta
        What a fit costs. ``delta`` above 0 takes Gaussian noise instead of Laplace.
    domain
        The public description of the columns, when ``fit`` gets arrays or frames.
    bounds
        Instead of a domain: ``(low, high)``, numbers or one pair for each feature.
    ledger
        Who pays when ``fit`` gets arrays or frames. Without one, the fit is paid by
        a ledger of its own, so several fits are not added up.
    random_state
        Seeds public coins (starting points, random splits). It never touches noise.
    """

    _needs_target: ClassVar[bool] = True

    def _learn(self, ask: Ask, space: Space) -> None:
        """Hold the conversation and set the attributes that predict needs."""
        raise NotImplementedError

    # Planning and fitting

    def plan(
        self, domain: Domain, target: str | None = None, *, rows: int | None = None
    ) -> Plan:
        """What a fit would ask and spend; nothing is spent.

        Parameters
        ----------
        domain
            The public description; no rows are needed.
        target
            The column to predict; by default the domain's target.
        rows
            A guess of how many rows there are.

        Returns
        -------
        Plan
            The questions and their cost, which ``fit`` will keep to.
        """
        cost = Reader(self).cost()
        space = self._space(domain, target)
        number = domain.rows or 1000 if rows is None else rows
        return clone(self)._rehearse(space, cost, number)

    def _rehearse(self, space: Space, cost: Cost, rows: int) -> Plan:
        if hasattr(self, "random_state"):
            Reader(self).seed()  # also where no coin is tossed
        ask = Session(dry_run_gate(space.domain, rows), cost)
        self._learn(ask, space)
        return Plan(tuple(ask.asked), cost, rows)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a Table and the name of its target, or from arrays or frames.

        Parameters
        ----------
        X
            A :class:`~discreto.Table`, a data frame, or a 2-d array.
        y
            The target column's name for a Table (default: the domain's target), else
            the target values.

        Returns
        -------
        self
            The fitted model, with ``privacy_``: its plan, its cost and its receipt.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The whole cost is charged before a row is read, to the Table's ledger or the
        model's.
        """
        cost = Reader(self).cost()
        table, target = self._table(X, y)
        return self._fit_table(table, target, cost)

    def _fit_table(self, table: Table, target: str | None, cost: Cost) -> Self:
        space = self._space(table.domain, target)
        plan = self._plan_for(space, cost)
        facts = {"questions": [question.to_dict() for question in plan]}
        reservation = table.reserve(cost, f"fit {type(self).__name__}", facts)
        gate = table.gate(reservation)
        self._learn(Session(gate, cost, plan.questions), space)
        self.space_ = space
        self.n_features_in_ = len(space.features)
        self.privacy_ = Privacy(
            cost,
            table.domain.neighbours,
            table.domain.rows_per_person,
            plan,
            reservation.receipt,
        )
        return self

    def _plan_for(self, space: Space, cost: Cost) -> Plan:
        """The plan of a fit, kept for when the same fit is made again.

        A plan depends on public facts alone: the parameters, the space and the cost.
        """
        params = {
            k: v for k, v in self.get_params(False).items() if k not in _ELSEWHERE
        }
        if not all(v is None or isinstance(v, _SIMPLE) for v in params.values()):
            return clone(self)._rehearse(space, cost, 0)
        facts = (space.domain.fingerprint, space.features, space.target, cost)
        key = (type(self), *params.items(), *map(type, params.values()), *facts)
        if key not in _PLANS:
            if len(_PLANS) >= 256:
                _PLANS.clear()
            _PLANS[key] = clone(self)._rehearse(space, cost, 0)
        return _PLANS[key]

    def _space(self, domain: Domain, target: str | None) -> Space:
        if not isinstance(domain, Domain):
            raise DomainError(f"{type(self).__name__}.plan needs a Domain.")
        target = target or domain.target
        if not self._needs_target:
            features = [n for n in domain.features() if n != target]
            return Space(domain, tuple(features))
        if target is None:
            raise ParameterError(
                f"{type(self).__name__} needs a target: fit(table, 'COLUMN')."
            )
        self._check_target(domain, target)
        features = [n for n in domain.with_(target=target).features() if n != target]
        return Space(domain, tuple(features), target)

    def _check_target(self, domain: Domain, target: str) -> None:
        """Refuse a target of the wrong kind."""

    # From arrays and frames to a table

    def _table(self, X: Any, y: Any) -> tuple[Table, str | None]:
        if isinstance(X, Table):
            if y is not None and not isinstance(y, str):
                raise ParameterError(
                    "with a Table, y is the name of the target column."
                )
            return X, y
        if self._needs_target and y is None:
            raise ParameterError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        validate_data(self, X, skip_check_array=True)
        domain, columns, target = self._describe(X, y)
        ledger = self._payer()
        return Table(columns, domain, ledger), target

    def _payer(self) -> Any:
        if self.ledger is not None:
            return self.ledger
        return Ledger(epsilon=self.epsilon, delta=self.delta)

    def _describe(self, X: Any, y: Any) -> tuple[Domain, dict[str, Any], str | None]:
        """The domain of arrays or frames, their columns, and the target's name."""
        if self.domain is not None:
            target = self.domain.target
            names = [n for n in self.domain.features() if n != target]
            domain = self.domain.select([*names, *([target] if target else [])])
        else:
            names, target = self._names(X), "y"
            while target in names:
                target += "_"
            domain = self._guess_domain(X, y, names, target)
        columns = columns_of(X, names)
        if not self._needs_target:
            return domain.select(names), columns, None
        if target is None:
            raise DomainError("the domain needs target='COLUMN' for this model.")
        columns[target] = self._target_values(y, len(next(iter(columns.values()))))
        return domain, columns, target

    def _names(self, X: Any) -> list[str]:
        frame = frame_of(X)
        if frame is not None:
            return [str(name) for name in frame.columns]
        return [f"x{i}" for i in range(as_matrix(X).shape[1])]

    def _target_values(self, y: Any, rows: int) -> Any:
        values = column_or_1d(y, warn=True)
        if len(values) != rows:
            raise ParameterError(
                "y should be a 1d array with one value for each row of X."
            )
        return values

    def _guess_domain(self, X: Any, y: Any, names: list[str], target: str) -> Domain:
        low, high = self._read_bounds(X, names)
        columns: dict[str, Any] = {
            name: Number(float(a), float(b))
            for name, a, b in zip(names, low, high, strict=True)
        }
        if self._needs_target:
            columns[target] = self._target_column(y)
        return Domain(columns, target=target if self._needs_target else None)

    def _read_bounds(self, X: Any, names: list[str]) -> tuple[Any, Any]:
        if self.bounds is None:
            self._leak("bounds", 'bounds=(0, 100) or domain=Domain({"age": ...})')
            values = [np.asarray(c, dtype=float) for c in columns_of(X, names).values()]
            return spans(values)
        try:
            low, high = self.bounds
            low, high = (
                np.broadcast_to(np.asarray(e, float), len(names)) for e in (low, high)
            )
        except (TypeError, ValueError):
            raise ParameterError(
                "bounds must be (low, high): two numbers, or two lists with one number "
                f"for each of the {len(names)} features."
            ) from None
        return low, high

    def _target_column(self, y: Any) -> Number | Category:
        raise NotImplementedError

    def _leak(self, what: str, remedy: str) -> None:
        """Record that something is read from private data, or refuse to read it."""
        label = f"{what} read from the data"
        ledger = self._payer()
        try:
            ledger.charge(Cost.leak(), label)
        except UnsafeError:
            raise DomainError(
                f"{type(self).__name__} needs public {what}. Reading them from the "
                f"data would leak it: give {remedy}."
            ) from None

    # Predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """What the model says of each row.

        Parameters
        ----------
        X
            Rows of your own: a data frame or a 2-d array with the features of the fit.
        """
        raise NotImplementedError

    def _rows(self, X: Any) -> Any:
        """Rows to predict, checked against the features of the fit."""
        check_is_fitted(self, "space_")
        if isinstance(X, Ready):
            return X
        if not hasattr(X, "columns") and not isinstance(X, Table):
            as_matrix(X)
        if hasattr(X, "columns") and not hasattr(self, "feature_names_in_"):
            return X  # fitted from a Table: the space finds the columns by name
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self._needs_target
        tags.non_deterministic = True
        return tags


def spans(columns: list[Any]) -> tuple[Any, Any]:
    """Smallest and largest finite values; never equal. Only for simulations."""
    ends = []
    for values in columns:
        finite = values[np.isfinite(values)]
        low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
        ends.append((low, high) if low < high else (low - 0.5, high + 0.5))
    lows, highs = np.array(ends, dtype=float).T
    return lows, highs


class PrivateClusterer(ClusterMixin, PrivateEstimator):
    """A model without a target. Training rows get no labels: those would be exact."""

    _needs_target = False

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> NDArray[Any]:
        """Fit, then predict the same rows (as anybody could who has them).

        Parameters
        ----------
        X
            A data frame or a 2-d array.
        y
            Not used; for pipelines.
        options
            Not used.

        Returns
        -------
        array
            The number of a cluster for each row.
        """
        if isinstance(X, Table):
            raise ParameterError(
                "labels of a Table's rows are private. Use fit(table), then predict "
                "rows of your own."
            )
        return self.fit(X).predict(X)


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """A model of a Category target with declared classes."""

    def _check_target(self, domain: Domain, target: str) -> None:
        if not isinstance(domain[target], Category):
            raise DomainError(
                f"{type(self).__name__} needs a Category target; {target!r} is a "
                f"Number. Declare its classes: Category([...])."
            )

    def _target_column(self, y: Any) -> Category:
        classes = self.classes
        if classes is None:
            self._leak("classes", "classes=[0, 1]")
            # From here on this is a simulation, in which errors may look at rows.
            assert_all_finite(np.asarray(y), input_name="y")
            check_classification_targets(y)
            classes = np.unique(np.asarray(y)).tolist()
        return Category(tuple(_plain(value) for value in classes))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row. Free: it uses released numbers only.

        Parameters
        ----------
        X
            Rows of your own: a data frame or a 2-d array with the features of the fit.

        Returns
        -------
        array
            One class for each row.
        """
        chances = self.predict_proba(X)
        return self.classes_[np.argmax(chances, axis=1)]

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probability of each class.

        Parameters
        ----------
        X
            Rows of your own: a data frame or a 2-d array with the features of the fit.

        Returns
        -------
        array
            One line for each row, one column for each class.
        """
        raise NotImplementedError


class PrivateRegressor(RegressorMixin, PrivateEstimator):
    """A model of a Number target with declared bounds."""

    def _check_target(self, domain: Domain, target: str) -> None:
        if not isinstance(domain[target], Number):
            raise DomainError(
                f"{type(self).__name__} needs a Number target; {target!r} is a "
                "Category."
            )

    def _target_column(self, y: Any) -> Number:
        if self.target_bounds is None:
            self._leak("target_bounds", "target_bounds=(0, 100)")
            assert_all_finite(np.asarray(y, dtype=float), input_name="y")
            low, high = spans([np.asarray(y, dtype=float)])
            return Number(float(low[0]), float(high[0]))
        low, high = self.target_bounds
        return Number(float(low), float(high))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
