"""Private gradient boosting, one noun a file.

``binning`` public cut points, ``growing`` splits, ``leaves`` sums and values,
``leaf_means`` the papers' leaves, ``trainer`` the session, ``forest`` the shipped
arrays, ``settings`` what users may set, ``defaults`` what nobody set, ``resolved`` both
together, ``inspection`` trees to look at.
"""

from discreto.models.boosting.estimators import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.boosting.settings import BoostingSettings

__all__ = [
    "BoostingSettings",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
]
