"""Private models in scikit-learn's manner."""

import importlib
import warnings
from typing import Any

from discreto.models.auto import AutoClassifier, AutoRegressor
from discreto.models.bayes.naive_bayes import CategoricalNB, GaussianNB, NaiveBayes
from discreto.models.boosting import (
    BoostingSettings,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.clusters.cmeans import FuzzyCMeans
from discreto.models.clusters.kmeans import KMeans
from discreto.models.interop import json as _predictor  # noqa: F401  (the core learns to read models)
from discreto.models.interop.json import load, save
from discreto.models.linear.linear import LinearRegression
from discreto.models.linear.logistic import LogisticRegression
from discreto.models.neighbors.exact import (
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)
from discreto.models.neighbors.hashed import CellNeighborsClassifier
from discreto.models.scoring.evaluation import Evaluation, evaluate
from discreto.models.scoring.selection import select
from discreto.text.wrong_calls import refuse_name

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

# Kinds of models that we do not have, and what comes closest.
_INSTEAD = {
    "RandomForest": "GradientBoosting",
    "ExtraTrees": "GradientBoosting",
    "DecisionTree": "GradientBoosting",
    "HistGradientBoosting": "GradientBoosting",
    "AdaBoost": "GradientBoosting",
    "XGB": "GradientBoosting",
    "LGBM": "GradientBoosting",
    "CatBoost": "GradientBoosting",
    "MLP": "Auto",
    "SVC": "LogisticRegression",
    "LinearSVC": "LogisticRegression",
    "SVR": "LinearRegression",
    "Ridge": "LinearRegression",
    "Lasso": "LinearRegression",
    "ElasticNet": "LinearRegression",
    "SGDClassifier": "LogisticRegression",
    "BernoulliNB": "NaiveBayes",
    "MultinomialNB": "NaiveBayes",
    "MiniBatchKMeans": "KMeans",
    "DBSCAN": "KMeans",
}


def _instead(name: str) -> str:
    """Return what to use for a model of scikit-learn that is not here."""
    for word, other in _INSTEAD.items():
        if name.startswith(word):
            kind = "Regressor" if name.endswith("Regressor") else "Classifier"
            found = other + kind if other in ("Auto", "GradientBoosting") else other
            return f"There is no private form of it yet; the closest is {found!r}."
    return ""


_PRESETS = ("DPBoost", "PrivCatBoost", "PrivRandBoost")


def __getattr__(name: str) -> Any:
    if name not in _PRESETS:
        refuse_name("discreto.models", name, __all__, _instead)
    lab = importlib.import_module("discreto.lab.boosting_presets")
    warnings.warn(
        f"discreto.models.{name} is discreto.lab.boosting_presets.{name} since 0.2.",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(lab, name)
