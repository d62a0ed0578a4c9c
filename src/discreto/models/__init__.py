"""Private models in scikit-learn's manner."""

from discreto.models.boosting import (
    DPBoost,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    PrivCatBoost,
    PrivRandBoost,
)
from discreto.models.cells import CellNeighborsClassifier
from discreto.models.cmeans import FuzzyCMeans
from discreto.models.evaluation import Evaluation, evaluate
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
    "CategoricalNB",
    "CellNeighborsClassifier",
    "DPBoost",
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
    "PrivCatBoost",
    "PrivRandBoost",
    "RadiusNeighborsClassifier",
    "evaluate",
    "load",
    "save",
    "select",
]
