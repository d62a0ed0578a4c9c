"""Every model of the package, with a table it can learn from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import models, synthesis

CLASSES = ("no", "yes")


@dataclass(frozen=True)
class Case:
    """A model, how to make it, and the kind of columns it takes."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    target: str | None = "label"
    kinds: tuple[str, ...] = ("number",)
    varies: bool = False  # whether releases decide how many numbers a model has
    checked: bool = True  # whether scikit-learn's own checks are run

    def make(self, **changes: Any) -> Any:
        home = models if hasattr(models, self.name) else synthesis
        return getattr(home, self.name)(**{"epsilon": 1, **self.params, **changes})

    def domain(self, neighbours: str = "add-remove", rows: int | None = None):
        columns: dict[str, Any] = {}
        if "number" in self.kinds:
            columns |= {
                "a": dp.Number(0, 10, missing=True),
                "b": dp.Number(-1, 1),
                "c": dp.Number(5, 6),
            }
        if "category" in self.kinds:
            columns |= {
                "s": dp.Category(["x", "y", "z"]),
                "t": dp.Category(["u", "v"], missing=True),
            }
        if self.target == "label":
            columns["label"] = dp.Category(CLASSES)
        elif self.target == "amount":
            columns["amount"] = dp.Number(0, 100)
        return dp.Domain(columns, target=self.target, neighbours=neighbours, rows=rows)

    def data(self, rows: int, seed: int = 0) -> dict[str, Any]:
        """Rows in which the target depends on the features."""
        coins = np.random.default_rng(seed)
        yes = coins.random(rows) < 0.4
        data = {
            "a": np.where(yes, 7.0, 3.0) + coins.normal(0, 1.5, rows),
            "b": np.where(yes, 0.4, -0.3) + coins.normal(0, 0.3, rows),
            "c": 5.5 + coins.normal(0, 0.2, rows),
            "s": np.where(coins.random(rows) < 0.3 + 0.4 * yes, "x", "z"),
            "t": np.where(coins.random(rows) < 0.2 + 0.5 * yes, "u", "v"),
            "label": np.where(yes, "yes", "no"),
            "amount": 30 + 40 * yes + coins.normal(0, 5, rows),
        }
        return {name: data[name] for name in self.domain()}


CASES = [
    Case("KMeans", {"n_clusters": 2, "random_state": 0}, None),
    Case("FuzzyCMeans", {"n_clusters": 2, "random_state": 0}, None),
    Case("GaussianNB", varies=True),
    Case("CategoricalNB", kinds=("category",), varies=True),
    Case("NaiveBayes", kinds=("number", "category"), varies=True),
    Case("LinearRegression", target="amount"),
    Case("LogisticRegression"),
    Case("CellNeighborsClassifier", {"random_state": 0}, varies=True),
    Case("GradientBoostingClassifier", {"random_state": 0}, varies=True),
    Case(
        "AutoClassifier", {"random_state": 0}, kinds=("number", "category"), varies=True
    ),
    Case("AutoRegressor", {"random_state": 0}, "amount", varies=True),
    Case("GradientBoostingRegressor", {"random_state": 0}, "amount", varies=True),
    *[
        # scikit-learn's checks know means only: these are judged by their own tests.
        Case("GradientBoostingRegressor", loss, "amount", varies=True, checked=False)
        for loss in (
            {"loss": "poisson"},
            {"loss": "huber"},
            {"loss": "quantile", "quantile": 0.9},
        )
    ],
]
# These answer from the rows at every prediction, so they have no fitted state to check.
ASKING = {"KNeighborsClassifier", "RadiusNeighborsClassifier"}


@pytest.fixture(params=CASES, ids=lambda case: case.params.get("loss", case.name))
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def all_cases() -> list[Case]:
    return CASES


@pytest.fixture
def asking() -> set[str]:
    return ASKING


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of our own, for all tests."""
    pytest.importorskip("ibis", reason='Ibis is missing: pip install ".[sql]"')
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    pgserver = pytest.importorskip("pgserver", reason="pgserver is not installed")
    # Not among pytest's folders: the server runs as a user who may not enter them.
    from discreto.service.metrics_folder import scratch

    with scratch("discreto-pg-") as folder:
        folder.chmod(0o755)
        server = pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def postgresql(postgresql_server: str) -> Iterator[Callable[[Any], Any]]:
    """Puts an Arrow table into PostgreSQL and opens it by way of Ibis."""
    import ibis
    import psycopg
    from engine_tables import fill

    names = iter(f"people_{number}" for number in range(1000))
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        client = ibis.postgres.from_connection(connection)

        def put(table: Any) -> Any:
            name = next(names)
            fill(connection, name, table)
            return client.table(name)

        yield put
