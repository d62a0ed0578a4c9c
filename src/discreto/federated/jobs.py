"""A coordinator's job as JSON data: its check, its run and its result file."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreto.errors import DiscretoError, ParameterError
from discreto.federated.federation import Channel, Federation
from discreto.federated.graph_learning import GraphLearning
from discreto.federated.learners import FederatedAveraging
from discreto.federated.proximal_point import ProximalPoint
from discreto.federated.table import FederatedTable

LEARNERS = {
    "averaging": FederatedAveraging,
    "proximal": ProximalPoint,
    "graph": GraphLearning,
}


def check_job(job: Mapping[str, Any]) -> Any:
    """Return the learner or model of a job; whatever can be refused is refused here."""
    from discreto import models
    from discreto.models.base.estimator import PrivateEstimator
    from discreto.models.boosting.settings import take_settings

    name, params = str(job.get("learner")), job.get("params", {})
    kind: Any = LEARNERS.get(name)
    if kind is None and name in models.__all__:
        kind = getattr(models, name)
        if not isinstance(kind, type) or not issubclass(kind, PrivateEstimator):
            kind = None
    if kind is None or not isinstance(params, dict):
        raise ParameterError(
            f"unknown learner {name[:40]!r}. There are {', '.join(LEARNERS)}, and the "
            "models made of sums, such as NaiveBayes."
        )
    if "settings" in inspect.signature(kind).parameters:
        params = take_settings(params)  # in JSON they are among the parameters
    try:
        return kind(**params)
    except TypeError:
        raise ParameterError(
            f"{name} does not take these parameters: {', '.join(map(str, params))}."
        ) from None


def learn(channel: Channel, job: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out a job on the silos of a channel; the model as JSON data."""
    from discreto.models.interop.json import to_data

    wanted = check_job(job)
    federation = Federation(channel)
    if job["learner"] not in LEARNERS:
        fitted = wanted.fit(FederatedTable(federation), job.get("target"))
        return to_data(fitted)
    options = {"run": job.get("run"), "count_epsilon": job.get("count_epsilon")}
    return federation.fit(wanted, job.get("target"), **options).to_dict()


def write_result(path: Path, work: Callable[[], dict[str, Any]]) -> None:
    """Do the work and write its result, or why there is none, as one whole file."""
    try:
        result = work()
    except DiscretoError as error:
        result = {"error": type(error).__name__, "reason": str(error)}
    except Exception:
        result = {"error": "DiscretoError", "reason": "the run failed; see its log."}
        _write(path, result)
        raise
    _write(path, result)


def _write(path: Path, result: dict[str, Any]) -> None:
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(result, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(draft, path)
