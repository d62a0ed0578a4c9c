"""Private models in scikit-learn's manner."""

from discreto.models.kmeans import KMeans

__all__ = ["KMeans"]
