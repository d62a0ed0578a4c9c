"""Differentially private statistics and machine learning for tables."""

import importlib
from typing import TYPE_CHECKING, Any

from discreto import _old_names, errors, stats
from discreto.core.cost import Cost
from discreto.core.dates import Date, DateTime
from discreto.core.dialect import Dialect
from discreto.core.domain import Boolean, Category, Domain, Number, Opaque
from discreto.core.ledger import Ledger
from discreto.core.unknown_keys import OpenText
from discreto.errors import DiscretoError
from discreto.expressions import col, if_else, lag, lit, rolling_mean
from discreto.release import Release
from discreto.tables import Table

if TYPE_CHECKING:  # what __getattr__ loads when it is first asked for
    from discreto import (
        audit,
        federated,
        local,
        meaning,
        mlflow,
        models,
        plan,
        plots,
        preprocessing,
        report,
        testing,
    )
    from discreto.client import connect
    from discreto.data import datasets, engines

__version__ = "0.2.0.dev0"

# Modules that are part of the public surface; loaded when they are first asked for.
_MODULES = {
    "audit": "discreto.audit",
    "datasets": "discreto.data.datasets",
    "engines": "discreto.data.engines",
    "federated": "discreto.federated",
    "local": "discreto.local",
    "meaning": "discreto.meaning",
    "mlflow": "discreto.mlflow",
    "models": "discreto.models",
    "plan": "discreto.plan",
    "plots": "discreto.plots",
    "preprocessing": "discreto.preprocessing",
    "report": "discreto.report",
    "testing": "discreto.testing",
}

__all__ = [
    "Boolean",
    "Category",
    "Cost",
    "Date",
    "DateTime",
    "Dialect",
    "DiscretoError",
    "Domain",
    "Ledger",
    "Number",
    "Opaque",
    "OpenText",
    "Release",
    "Table",
    "audit",
    "col",
    "connect",
    "datasets",
    "engines",
    "errors",
    "federated",
    "if_else",
    "lag",
    "lit",
    "local",
    "meaning",
    "mlflow",
    "models",
    "plan",
    "plots",
    "preprocessing",
    "report",
    "rolling_mean",
    "stats",
    "testing",
]

_old_names.install()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name == "connect":
        return importlib.import_module("discreto.client").connect
    raise AttributeError(f"module 'discreto' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
