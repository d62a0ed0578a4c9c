"""Every model of the package, found by itself, with a small domain to learn from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import discreto as dp
from discreto import models
from discreto.errors import DiscretoError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.kinds import PrivateClusterer, PrivateRegressor
from discreto.synthesis import Synthesizer

NUMBERS = {"a": dp.Number(0, 10, missing=True), "b": dp.Number(-1, 1)}
CATEGORIES = {"s": dp.Category(["x", "y", "z"]), "t": dp.Category(["u", "v"])}
TARGETS = {"label": dp.Category(["no", "yes"]), "amount": dp.Number(0, 100)}
# Only what keeps a fit small; everything else is as people get it.
SMALL: dict[str, dict[str, Any]] = {
    "KMeans": {"n_clusters": 2},
    "FuzzyCMeans": {"n_clusters": 2},
    "KNeighborsClassifier": {"n_neighbors": 3},
    "GradientBoostingClassifier": {"n_estimators": 3, "max_depth": 2},
    "GradientBoostingRegressor": {"n_estimators": 3, "max_depth": 2},
}


@dataclass(frozen=True)
class Case:
    """A model, and the columns it takes."""

    name: str
    kind: Any
    params: dict[str, Any] = field(default_factory=dict)

    def make(self, **changes: Any) -> Any:
        return self.kind(**{"epsilon": 1, **self.params, **changes})

    @property
    def target(self) -> str | None:
        if issubclass(self.kind, PrivateClusterer):
            return None
        return "amount" if issubclass(self.kind, PrivateRegressor) else "label"

    def domain(self, **facts: Any) -> dp.Domain:
        """The richest columns that this model accepts."""
        goal = {} if self.target is None else {self.target: TARGETS[self.target]}
        person = {"id": dp.Opaque()} if "person" in facts else {}
        for columns in (NUMBERS | {"s": CATEGORIES["s"]}, NUMBERS, CATEGORIES):
            domain = dp.Domain(columns | goal | person, target=self.target, **facts)
            try:
                self.make().plan(domain)
            except DiscretoError:
                continue
            return domain
        raise AssertionError(f"{self.name} takes none of the columns known here")


def estimators() -> list[Case]:
    offered = {name: getattr(models, name) for name in models.__all__}
    found = [
        Case(name, kind, SMALL.get(name, {}))
        for name, kind in offered.items()
        if isinstance(kind, type) and issubclass(kind, PrivateEstimator)
    ]
    boosting, few = models.GradientBoostingRegressor, SMALL["GradientBoostingRegressor"]
    losses = {
        "poisson": {"loss": "poisson"},
        "huber": {"loss": "huber"},
        "quantile": {"loss": "quantile", "quantile": 0.8},
    }
    small = {"rounds": 1, "bins": {"a": 2, "b": 2}}
    labels = {"labels": "model", "target": "a"}
    return [
        *found,
        *[Case(f"boosting, {n}", boosting, few | loss) for n, loss in losses.items()],
        Case("Synthesizer", Synthesizer, small),
        Case("Synthesizer of sums", Synthesizer, small | {"selection": "counts"}),
        Case("Synthesizer with weights", Synthesizer, small | {"weights": {"a": 3}}),
        Case("Synthesizer of a tree", Synthesizer, small | {"structure": "tree"}),
        Case("Synthesizer with labels", Synthesizer, small | labels),
    ]


@pytest.fixture(params=estimators(), ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param
