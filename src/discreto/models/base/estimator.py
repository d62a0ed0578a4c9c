"""Base class of every model: a domain, a plan, a paid-for session.

A model writes ``_learn(ask, space)`` and nothing else about privacy. It gets answers
from ``ask``, never a row, and sets attributes that end in an underscore: those are made
of releases and public facts, so they are safe to publish.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.gate import Gate
from discreto.errors import DomainError, ParameterError
from discreto.models.base.arrays import TakesArrays
from discreto.models.base.docstrings import complete
from discreto.models.base.features import Ready, Space, as_matrix, is_dict
from discreto.models.base.ledgers import travelling
from discreto.models.base.privacy import Privacy
from discreto.models.base.process_facts import forget
from discreto.models.base.warnings import warn_of_gaps, warn_of_undeclared
from discreto.models.base.weights import weighed, weighted_space
from discreto.models.interop.onnx import to_onnx
from discreto.session.parameters import Reader, refuse
from discreto.session.perform import choosy_gate, has_forks, longest_form, perform
from discreto.session.plan import TYPICAL_ROWS, Plan, rehearse
from discreto.session.session import Ask
from discreto.table.table import Table
from discreto.text.wrong_calls import checked

# What a plan takes from the space, or from the cost.
_ELSEWHERE = (
    *("ledger", "domain", "bounds", "classes", "target_bounds"),
    *("epsilon", "delta"),
)
# What others want to do with a model that was just fitted, by who they are.
AFTER_FIT: dict[str, Callable[[Any], None]] = {}
_SIMPLE = (bool, int, float, str, Fraction)
_PLANS: dict[tuple[Any, ...], Plan] = {}  # a cache; see PrivateEstimator._plan_for


@runtime_checkable
class FitsElsewhere(Protocol):
    """A table whose rows are in a service, which fits models and charges for them."""

    def fit_model(self, model: Any, target: str | None) -> str:
        """Return the fitted model as JSON text."""


class PrivateEstimator(TakesArrays, BaseEstimator):
    """Base of all models."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Complete docstrings, and let wrong calls say what to write."""
        super().__init_subclass__(**options)
        complete(cls)
        for name in ("__init__", "fit"):
            if name in vars(cls):
                setattr(cls, name, checked(vars(cls)[name]))

    def _learn(self, ask: Ask, space: Space) -> None:
        """Ask the questions, and set the attributes that ``predict`` needs."""
        raise NotImplementedError

    # Planning and fitting

    def plan(
        self, domain: Domain, target: str | None = None, *, rows: int | None = None
    ) -> Plan:
        """Return what a fit would ask and spend. Nothing is spent."""
        space = self._space(domain, target)
        cost = Reader(self).cost()
        number = domain.rows or TYPICAL_ROWS if rows is None else rows
        return clone(self)._rehearse(space, cost, number)

    def _rehearse(
        self, space: Space, cost: Cost, rows: int, gate: Gate | None = None
    ) -> Plan:
        if hasattr(self, "random_state"):
            Reader(self).seed()  # checked also where it is not used
        plan, _ = rehearse(
            space.domain,
            lambda ask: self._learn(weighed(ask, space), space),
            cost,
            rows,
            gate,
        )
        return plan

    @checked
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a Table and the name of its target, or from arrays or frames.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The whole cost is charged before a row is read, to the Table's ledger or the
        model's.
        """
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, weights: Any = None, most: Any = None) -> Self:
        """Fit, to rows that all count alike or to weighted ones."""
        cost = Reader(self).cost()
        forget(self)
        table, target, weight = self._weighted_table(X, y, weights, most)
        if weight is None:
            self._fit_table(table, target, cost)
        else:
            space = weighted_space(self._space(table.domain, target), weight)
            self._fit_space(table, space, cost)
        if isinstance(X, Table):
            self.feature_names_in_ = np.array(self.space_.features, dtype=object)
            self._from_table = True
        else:
            self._from_table = False
        for after in AFTER_FIT.values():
            after(self)
        warn_of_gaps(self.privacy_.note)
        return self

    def _fit_table(self, table: Table, target: str | None, cost: Cost) -> Self:
        return self._fit_space(table, self._space(table.domain, target), cost)

    def _forks(self, space: Space, cost: Cost) -> bool:
        """Return True if a release decides how a fit goes on."""
        model = clone(self)
        return has_forks(space.domain, lambda ask: model._learn(ask, space), cost)

    def _longest_form(
        self, space: Space, cost: Cost, gate: Gate | None = None
    ) -> tuple[Plan, tuple[int, ...]]:
        """Return the plan of a fit that asks the most questions, and its ways."""
        model = clone(self)
        return longest_form(
            space.domain, lambda ask: model._learn(ask, space), cost, gate
        )

    def _fit_space(
        self,
        table: Table,
        space: Space,
        cost: Cost,
        form: tuple[Plan, tuple[int, ...]] | None = None,
    ) -> Self:
        """Fit; with a ``form``, keep to it, independently of releases."""
        plan, ways = form or (self._plan_for(space, cost), ())
        if isinstance(table, FitsElsewhere):
            if space.weight is not None:
                raise ParameterError("a service fits models without sample_weight.")
            return self._take(table.fit_model(self, space.target))
        gate = choosy_gate(table)
        if gate is not None and form is None:  # its engine may refuse what is planned
            clone(self)._rehearse(space, cost, 0, gate)
        label = f"fit {type(self).__name__}"
        done = perform(
            table,
            lambda ask: self._learn(weighed(ask, space), space),
            cost,
            label,
            plan=plan,
            ways=ways,
        )
        self.space_ = space
        self.n_features_in_ = len(space.features)
        self.privacy_ = Privacy(
            cost,
            table.domain.neighbours,
            table.domain.rows_per_person,
            done.plan,
            done.receipt,
            table.domain.person,
            table.checked,
            "; ".join(done.remarks),
        )
        return self

    def _take(self, text: str) -> Self:
        """Take the attributes that were learned elsewhere from a model's JSON text."""
        from discreto.models.interop.json import loads

        fitted = loads(text)
        if type(fitted) is not type(self):
            raise ParameterError("this is another model than the one that was asked.")
        own = self.get_params(deep=False)
        learned = {k: v for k, v in vars(fitted).items() if k not in own}
        for name, value in learned.items():
            setattr(self, name, value)
        return self

    def _plan_for(self, space: Space, cost: Cost) -> Plan:
        """Return the plan of a fit, kept for when the same fit is made again.

        A plan depends on public facts alone: the parameters, the space and the cost.
        """
        params = {
            k: v for k, v in self.get_params(False).items() if k not in _ELSEWHERE
        }
        if not all(v is None or isinstance(v, _SIMPLE) for v in params.values()):
            return clone(self)._rehearse(space, cost, 0)
        facts = (space.domain.fingerprint, *space.names(), cost)
        key = (type(self), *params.items(), *map(type, params.values()), *facts)
        if key not in _PLANS:
            if len(_PLANS) >= 256:
                _PLANS.clear()
            _PLANS[key] = clone(self)._rehearse(space, cost, 0)
        return _PLANS[key]

    def _space(self, domain: Domain, target: str | None) -> Space:
        if not isinstance(domain, Domain):
            raise DomainError(f"{type(self).__name__}.plan needs a Domain.")
        if target is not None and not isinstance(target, str):
            raise refuse(target, "target", "the name of a column")
        target = target or domain.target
        if not self._needs_target:
            features = [n for n in domain.features() if n != target]
            return Space(domain, tuple(features))
        if target is None:
            raise ParameterError(
                f"{type(self).__name__} needs a target: fit(table, 'COLUMN'), "
                "plan(domain, 'COLUMN'), or Domain(..., target='COLUMN') (\"target\" "
                "in a domain file)."
            )
        self._check_target(domain, target)
        features = [n for n in domain.with_(target=target).features() if n != target]
        return Space(domain, tuple(features), target)

    def _check_target(self, domain: Domain, target: str) -> None:
        """Refuse a target of the wrong kind."""

    # Predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the prediction for each row. Free: it uses released numbers only."""
        raise NotImplementedError

    def _rows(self, X: Any) -> Any:
        """Return rows to predict, checked against the features of the fit."""
        check_is_fitted(self, "space_")
        if isinstance(X, Ready):
            return X
        dictionary = is_dict(X)
        if not (dictionary or hasattr(X, "columns") or isinstance(X, Table)):
            as_matrix(X)
        # A file of 0.1 says neither.
        named = not hasattr(self, "feature_names_in_")
        by_name = dictionary or getattr(self, "_from_table", named)
        if not by_name:  # the space finds columns, or counts those of an array
            validate_data(self, X, reset=False, skip_check_array=True)
        if isinstance(X, Table) or not self.space_.categories:
            return X
        ready = Ready(*self.space_.batch(X))
        warn_of_undeclared(self.space_, X, ready.batch)
        return ready

    def to_sklearn(self) -> Any:
        """Return the fitted model as plain scikit-learn, which does not need discreto.

        Returns
        -------
        estimator
            A pipeline that clips to the public bounds and predicts the same. It holds
            released numbers and public facts only.

        Raises
        ------
        ParameterError
            scikit-learn has no model of this form.
        """
        check_is_fitted(self, "space_")
        from discreto.models.interop.sklearn import to_sklearn

        return to_sklearn(self)

    def to_onnx(self) -> Any:
        """Return the fitted model as an ONNX graph, in double precision.

        Returns
        -------
        onnx.ModelProto
            One input ``X`` of doubles, the features in order; it predicts the same
            (boosted trees: with onnxruntime 1.24 or later).

        Raises
        ------
        MissingExtraError
            onnx is not installed.
        ParameterError
            There is no form for this model.
        """
        check_is_fitted(self, "space_")
        return to_onnx(self)

    @property
    def _learned_from(self) -> Space:
        """The space that the model learned from: its view, if it has one."""
        found: Space = vars(self).get("view_", self.space_)
        return found

    def _unknown_to_old_files(self) -> dict[str, Any]:
        """Attributes that files of 0.1 lack, and what they would have held."""
        return {}

    # Copies in this process share the ledger; a pickled model may not take it along.

    def __copy__(self) -> Self:
        out = self.__class__.__new__(self.__class__)
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        out = self.__class__.__new__(self.__class__)
        memo[id(self)] = out
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return out

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "ledger" not in state:
            return state
        return state | {"ledger": travelling(state["ledger"])}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self._needs_target
        tags.non_deterministic = True
        return tags


complete(PrivateEstimator)


class TakesWeights(PrivateEstimator):
    """Base of models whose rows may have weights."""

    def plan(
        self,
        domain: Domain,
        target: str | None = None,
        *,
        rows: int | None = None,
        sample_weight: str | None = None,
    ) -> Plan:
        """Return what a fit would ask and spend. Nothing is spent."""
        if sample_weight is None:
            return super().plan(domain, target, rows=rows)
        cost = Reader(self).cost()
        space = weighted_space(self._space(domain, target), sample_weight)
        number = domain.rows or TYPICAL_ROWS if rows is None else rows
        return clone(self)._rehearse(space, cost, number)

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, max_weight: Any = None
    ) -> Self:
        """Learn from a Table and the name of its target, or from arrays or frames.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The whole cost is charged before a row is read, to the Table's ledger or the
        model's. No row counts for more than one without weights would, so weights cost
        nothing; but sums of small weights are small against the same noise.
        """
        return self._fit(X, y, sample_weight, max_weight)


def keep_all(model: PrivateEstimator, given: dict[str, Any]) -> None:
    """Keep the parameters of a constructor, as scikit-learn wants them kept.

    ``given`` is ``locals()`` at the first line of the constructor.
    """
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(model, name, value)
