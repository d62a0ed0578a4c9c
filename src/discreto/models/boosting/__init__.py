"""Private gradient boosting, one noun a file.

``settings`` what users may set and what a fit does, ``start`` scores to start from,
``growing`` splits, ``leaves`` sums and values, ``trainer`` the session, ``forest`` the
shipped arrays, ``monotone`` leaf values in order, ``inspection`` trees as text and
pictures.
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
