"""Our own statistics and models as work that can be audited."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from discreto.audit.neighbours import Data, hostile_values
from discreto.audit.recorder import Recorder
from discreto.audit.transcripts import Work
from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain, Number
from discreto.errors import ParameterError


def work_of(
    subject: Any,
    *,
    target: str | None = None,
    epsilon: Amount | None = None,
    delta: Amount = 0,
) -> Work:
    """Return the work of a model or a statistic.

    A model is fitted, then it predicts a few public points or draws a few rows.

    A statistic (``Mean("age")``) needs an ``epsilon``; a model has its own. A model
    without a ``random_state`` gets one: its random numbers are public, and the audit
    must be able to draw them again.

    Parameters
    ----------
    subject
        A model, a statistic (``Mean("age")``), or a function ``work(data, recorder)``.
    target
        The column that a model predicts; by default the domain's target.
    epsilon
        What a statistic is asked at; a model has its own.
    delta
        The same for Gaussian noise.

    Returns
    -------
    callable
        ``work(data, recorder)``.
    """
    if hasattr(subject, "learn"):
        if epsilon is None:
            raise ParameterError("a statistic is audited at an epsilon. Got none.")
        return lambda data, recorder: recorder.table(data).answer(
            subject, epsilon=epsilon, delta=delta
        )
    if hasattr(subject, "fit"):
        if is_sanitizer(subject):
            return lambda data, recorder: _sanitise(subject, data, recorder)
        return lambda data, recorder: _fit(subject, target, data, recorder)
    if callable(subject):
        return subject
    raise ParameterError(
        "only models, statistics and work(data, recorder) are audited."
    )


def is_sanitizer(subject: Any) -> bool:
    """Return True if it perturbs rows one by one, instead of learning from them."""
    return hasattr(subject, "transform") and not hasattr(subject, "predict")


def seeded(model: Any) -> Any:
    """Return a copy whose public random numbers can be drawn again."""
    copy = clone(model)
    if "random_state" in copy.get_params() and copy.random_state is None:
        copy.set_params(random_state=0)
    return copy


def _fit(model: Any, target: str | None, data: Data, recorder: Recorder) -> Any:
    table = recorder.table(data)
    fitted = seeded(model).fit(table, target or table.domain.target)
    return {"model": fitted, "shown": shown(fitted, table.domain)}


def shown(fitted: Any, domain: Domain) -> Any:
    """Return predictions of a fitted model at public points, or a few drawn rows."""
    if hasattr(fitted, "sample"):
        rows = fitted.sample(3, random_state=0, library="pyarrow").to_pydict()
        return [list(map(str, values)) for values in rows.values()]
    return fitted.predict(probes(domain, fitted))


def _sanitise(model: Any, data: Data, recorder: Recorder) -> Any:
    return clone(model).fit().transform(recorder.table(data))


def probes(domain: Domain, fitted: Any) -> Any:
    """Return a few public points to predict: ends and middles of the features."""
    space = getattr(fitted, "space_", None)
    names = list(space.features) if space is not None else domain.features()
    columns = []
    for name in names:
        column = domain[name]
        some = hostile_values(column)[: 3 if isinstance(column, Number) else 2]
        columns.append([some[i % len(some)] for i in range(3)])
    return np.array(list(zip(*columns, strict=True)), dtype=object)
