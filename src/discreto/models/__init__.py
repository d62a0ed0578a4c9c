"""Private models in scikit-learn's manner."""

from discreto.models.evaluation import Evaluation, evaluate
from discreto.models.kmeans import KMeans
from discreto.models.persist import load, save
from discreto.models.selection import select

__all__ = [
    "Evaluation",
    "KMeans",
    "evaluate",
    "load",
    "save",
    "select",
]
