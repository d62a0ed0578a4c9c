"""Private gradient boosting, one noun a file.

``grids`` public cut points, ``growing`` splits, ``leaves`` sums and values, ``means``
the papers' leaves, ``learning`` the conversation, ``forest`` the shipped arrays,
``defaults`` what nobody set, ``papers`` the algorithms of the literature, ``show``
trees to look at.
"""

from discreto.models.boosting.estimators import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from discreto.models.boosting.papers import (
    DPBoost,
    Liu2018,
    PrivCatBoost,
    PrivRandBoost,
    Zhao2018,
)

__all__ = [
    "DPBoost",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "Liu2018",
    "PrivCatBoost",
    "PrivRandBoost",
    "Zhao2018",
]
