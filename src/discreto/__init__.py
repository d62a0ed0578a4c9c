"""Differentially private statistics and machine learning for tables."""

from discreto import engines, errors, stats
from discreto import planning as plan
from discreto.errors import DiscretoError
from discreto.kernel.cost import Cost
from discreto.kernel.domain import Boolean, Category, Domain, Number, Opaque
from discreto.ledger import Ledger
from discreto.release import Release
from discreto.tables import Table

__version__ = "0.1.0"

__all__ = [
    "Boolean",
    "Category",
    "Cost",
    "DiscretoError",
    "Domain",
    "Ledger",
    "Number",
    "Opaque",
    "Release",
    "Table",
    "engines",
    "errors",
    "plan",
    "stats",
]
