"""Private gradient boosting, one noun a file.

``binning`` public cut points, ``growing`` splits, ``leaves`` sums and values,
``leaf_means`` the papers' leaves, ``trainer`` the session, ``forest`` the shipped
arrays, ``defaults`` what nobody set, ``inspection`` trees to look at.
"""

from discreto.models.boosting.estimators import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]
