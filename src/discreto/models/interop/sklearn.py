"""Fitted models as scikit-learn knows them: released numbers and bounds only.

scikit-learn's objects want to be fitted. They are, to the corners of the domain, which
are public; then the released numbers take the place of what that gave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from discreto.errors import ParameterError

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator


def to_sklearn(model: PrivateEstimator) -> Any:
    """Return a pipeline that predicts the same, and needs scikit-learn alone."""
    make = _FORMS.get(type(model).__name__)
    if make is None or model.space_.categories:
        known = ", ".join(_FORMS)
        raise ParameterError(
            f"{type(model).__name__} of these columns has no form in scikit-learn. "
            f"There is one for {known}, with Number columns. models.save writes any "
            "model as JSON."
        )
    return make(model)


def _before(model: PrivateEstimator, *, low: float, missing: float) -> list[Any]:
    """Clip to the model's bounds, scale to [low, 1], and fill what is missing."""
    space = model._learned_from
    ends = [space.domain.number(name) for name in space.numbers]
    corners = np.array([[e.lower for e in ends], [e.upper for e in ends]])
    scaler = MinMaxScaler(feature_range=(low, 1), clip=True).fit(corners)
    filler = SimpleImputer(strategy="constant", fill_value=missing)
    return [scaler, filler.fit(scaler.transform(corners))]


def _fill(filler: SimpleImputer, model: PrivateEstimator) -> None:
    """Fill gaps where the model does; columns are on [0, 1]."""
    if hasattr(model, "fill_"):
        filler.statistics_ = (model.fill_ + 1) / 2


def _on_unit(model: PrivateEstimator) -> tuple[Any, Any]:
    """Return coefficients and intercepts for columns on [0, 1]."""
    space = model._learned_from
    low, width = space.centres() - space.halves(), 2 * space.halves()
    coef = np.atleast_2d(model.coef_)
    return coef * width, np.atleast_1d(model.intercept_) + coef @ low


def _linear(model: PrivateEstimator) -> TransformedTargetRegressor:
    coef, intercept = _on_unit(model)
    target = model.space_.domain.number(model.space_.goal)
    clip = FunctionTransformer(
        inverse_func=np.clip,
        inv_kw_args={"a_min": target.lower, "a_max": target.upper},
        check_inverse=False,
    )
    scaler, filler = _before(model, low=0, missing=0.5)
    inner = make_pipeline(scaler, filler, LinearRegression())
    wide = len(model.space_.features)
    corners = np.array([scaler.data_min_, scaler.data_max_]).reshape(2, wide)
    made = TransformedTargetRegressor(inner, transformer=clip)
    made.fit(corners, [target.lower, target.upper])
    _fill(made.regressor_[1], model)
    last = made.regressor_[-1]
    last.coef_, last.intercept_ = coef[0], float(intercept[0])
    return made


def _logistic(model: PrivateEstimator) -> Pipeline:
    coef, intercept = _on_unit(model)
    classes, wide = model.classes_, len(model.space_.features)
    plain = LogisticRegression()
    plain.fit(np.arange(len(classes) * wide).reshape(-1, wide), np.arange(len(classes)))
    plain.classes_, plain.coef_, plain.intercept_ = classes, coef, intercept
    scaler, filler = _before(model, low=0, missing=0.5)
    _fill(filler, model)
    return make_pipeline(scaler, filler, plain)


def _kmeans(model: PrivateEstimator) -> Pipeline:
    space = model.space_
    centres = (model.cluster_centers_ - space.centres()) / space.halves()
    plain = KMeans(len(centres), init=centres, n_init=1, max_iter=1)
    plain.fit(centres + 0 * centres)
    plain.cluster_centers_ = np.ascontiguousarray(centres)
    scaler, filler = _before(model, low=-1, missing=0)
    if any(space.domain.number(name).missing for name in space.numbers):
        # scikit-learn's own takes no gaps; the nearest centre over what is there does.
        near = KNeighborsClassifier(1, metric="nan_euclidean")
        return make_pipeline(scaler, near.fit(centres, np.arange(len(centres))))
    return make_pipeline(scaler, filler, plain)


_FORMS: dict[str, Callable[[Any], Any]] = {
    "LinearRegression": _linear,
    "LogisticRegression": _logistic,
    "KMeans": _kmeans,
}
