"""Private models in scikit-learn's manner."""

import importlib
import warnings
from typing import Any

from discreto.models import _predictor  # noqa: F401  (the core learns to read models)
from discreto.models.auto import AutoClassifier, AutoRegressor
from discreto.models.boosting import (
    BoostingSettings,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.cmeans import FuzzyCMeans
from discreto.models.evaluation import Evaluation, evaluate
from discreto.models.hashed_neighbors import CellNeighborsClassifier
from discreto.models.kmeans import KMeans
from discreto.models.linear import LinearRegression
from discreto.models.logistic import LogisticRegression
from discreto.models.naive_bayes import CategoricalNB, GaussianNB, NaiveBayes
from discreto.models.neighbors import (
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)
from discreto.models.persist import load, save
from discreto.models.selection import select

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "BoostingSettings",
    "CategoricalNB",
    "CellNeighborsClassifier",
    "Evaluation",
    "FuzzyCMeans",
    "GaussianNB",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "KMeans",
    "KNeighborsClassifier",
    "LinearRegression",
    "LogisticRegression",
    "NaiveBayes",
    "RadiusNeighborsClassifier",
    "evaluate",
    "load",
    "save",
    "select",
]

_PRESETS = ("DPBoost", "PrivCatBoost", "PrivRandBoost")


def __getattr__(name: str) -> Any:
    if name not in _PRESETS:
        raise AttributeError(f"module 'discreto.models' has no attribute {name!r}")
    lab = importlib.import_module("discreto.lab.boosting_presets")
    warnings.warn(
        f"discreto.models.{name} is discreto.lab.boosting_presets.{name} since 0.2.",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(lab, name)
