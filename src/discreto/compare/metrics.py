"""Metrics of candidates on public rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.domain.domain import Category, Column, Number
from discreto.errors import ParameterError
from discreto.text.language import mark

Array = NDArray[Any]
CLASS_METRICS = ("accuracy", "auc", "f1", "log_loss")
NUMBER_METRICS = ("rmse",)
HIGHER = ("accuracy", "auc", "f1")  # of these, more is better
WORDS = {
    "accuracy": mark("accuracy"),
    "auc": mark("area under the curve"),
    "f1": mark("macro F1"),
    "log_loss": mark("log loss"),
    "rmse": mark("root mean squared error"),
}


def read_metric(metric: str | None, column: Column) -> str:
    """Return the metric that is asked for, or the usual one of such a target."""
    known = CLASS_METRICS if isinstance(column, Category) else NUMBER_METRICS
    if metric is None:
        return known[0]
    if metric not in known:
        raise ParameterError(
            f"metric is one of {', '.join(known)} for this target. Got {metric!r}."
        )
    return metric


def judge(metric: str, model: Any, rows: Any, truth: Array, column: Column) -> float:
    """Return the score of a fitted model on rows whose truth is known."""
    if not isinstance(column, Category):
        known = ~np.isnan(truth)
        ends = (column.lower, column.upper) if isinstance(column, Number) else (0, 0)
        gap = np.clip(truth[known], *ends)
        gap = gap - np.asarray(model.predict(rows), dtype=float)[known]
        return float(np.sqrt(np.mean(gap**2)))
    known = np.array([value is not None for value in truth])
    if metric in ("accuracy", "f1"):
        said = np.asarray(model.predict(rows))[known]
        return _of_classes(metric, said, truth[known])
    chances = np.asarray(model.predict_proba(rows))[known]
    return _of_chances(metric, chances, list(model.classes_), truth[known])


def _of_classes(metric: str, said: Array, truth: Array) -> float:
    if metric == "accuracy":
        return float((said == truth).mean())
    from sklearn.metrics import f1_score

    texts = [np.array([str(v) for v in part]) for part in (truth, said)]
    return float(f1_score(*texts, average="macro", zero_division=0))


def _of_chances(
    metric: str, chances: Array, classes: Sequence[Any], truth: Array
) -> float:
    """Log loss, or the mean area over classes of which there are rows and others."""
    right = np.array([[value == c for c in classes] for value in truth], dtype=bool)
    if metric == "log_loss":
        chance = np.where(right, chances, 0.0).sum(axis=1)
        return float(np.mean(-np.log(np.maximum(chance, 1e-15))))
    from sklearn.metrics import roc_auc_score

    places = [k for k in range(len(classes)) if 0 < right[:, k].sum() < len(right)]
    if len(classes) == 2:
        places = places[-1:]
    if not places:
        return 0.5
    return float(np.mean([roc_auc_score(right[:, k], chances[:, k]) for k in places]))
