"""Differentially private statistics and machine learning for tables."""

import importlib
from typing import TYPE_CHECKING, Any

from discreto import _old_names

if TYPE_CHECKING:  # what __getattr__ loads when it is first asked for
    from discreto import (
        audit,
        errors,
        federated,
        local,
        models,
        plots,
        report,
        stats,
        synthesis,
        testing,
    )
    from discreto.client import connect
    from discreto.core.cost import Cost
    from discreto.core.domain.dates import Date, DateTime
    from discreto.core.domain.dialect import Dialect
    from discreto.core.domain.domain import Boolean, Category, Domain, Number, Opaque
    from discreto.core.ledger import Ledger
    from discreto.core.unknown_keys import OpenText
    from discreto.data import datasets, engines
    from discreto.data.frames.owner_check import record_check
    from discreto.errors import DiscretoError
    from discreto.models import preprocessing
    from discreto.models.interop import mlflow
    from discreto.release.release import Release
    from discreto.session import plan
    from discreto.table.expressions import col, if_else, lit
    from discreto.table.table import Table
    from discreto.table.views import lag, rolling_mean
    from discreto.text import meaning

__version__ = "0.3.0"

# Where each public name is. It is loaded when it is first asked for: importing the
# package alone must not cost more than importing numpy does.
_MODULES = {
    "audit": "discreto.audit",
    "datasets": "discreto.data.datasets",
    "engines": "discreto.data.engines",
    "errors": "discreto.errors",
    "federated": "discreto.federated",
    "local": "discreto.local",
    "meaning": "discreto.text.meaning",
    "mlflow": "discreto.models.interop.mlflow",
    "models": "discreto.models",
    "plan": "discreto.session.plan",
    "plots": "discreto.plots",
    "preprocessing": "discreto.models.preprocessing",
    "report": "discreto.report",
    "stats": "discreto.stats",
    "synthesis": "discreto.synthesis",
    "testing": "discreto.testing",
}
_NAMES = {
    "Boolean": "discreto.core.domain.domain",
    "Category": "discreto.core.domain.domain",
    "Cost": "discreto.core.cost",
    "Date": "discreto.core.domain.dates",
    "DateTime": "discreto.core.domain.dates",
    "Dialect": "discreto.core.domain.dialect",
    "DiscretoError": "discreto.errors",
    "Domain": "discreto.core.domain.domain",
    "Ledger": "discreto.core.ledger",
    "Number": "discreto.core.domain.domain",
    "Opaque": "discreto.core.domain.domain",
    "OpenText": "discreto.core.unknown_keys",
    "Release": "discreto.release.release",
    "Table": "discreto.table.table",
    "col": "discreto.table.expressions",
    "connect": "discreto.client",
    "if_else": "discreto.table.expressions",
    "lag": "discreto.table.views",
    "lit": "discreto.table.expressions",
    "record_check": "discreto.data.frames.owner_check",
    "rolling_mean": "discreto.table.views",
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
    "record_check",
    "report",
    "rolling_mean",
    "stats",
    "synthesis",
    "testing",
]

_old_names.install()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _NAMES:
        found = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = found
        return found
    from discreto.text.wrong_calls import refuse_name

    refuse_name("discreto", name, __all__, _inside)


def _inside(name: str) -> str:
    """Where a name is that is not at the top."""
    for part in ("stats",) if name.islower() else ("models",):
        if name in importlib.import_module(f"discreto.{part}").__all__:
            return f"Did you mean discreto.{part}.{name}?"
    return ""


def __dir__() -> list[str]:
    return sorted(__all__)
