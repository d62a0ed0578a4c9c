"""Fits and evaluations in MLflow: parameters, what they cost, and the receipts.

MLflow's own ``autolog`` knows scikit-learn's classes only. This one knows
ours. What it writes down is public: parameters, costs, receipts, released scores.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreto.core.cost import Cost, epsilon_for
from discreto.errors import MissingExtraError
from discreto.models.base import estimator as _estimator
from discreto.models.scoring import evaluation
from discreto.models.scoring.evaluation import Evaluation
from discreto.text.install_commands import install_command

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator

_NOT_LOGGED = ("ledger", "domain")  # neither is a setting of the model


def autolog(*, log_models: bool = True, disable: bool = False) -> None:
    """Write every fit and every evaluation to the active MLflow run.

    A fit without an active run starts one, which stays active, as MLflow does it.

    Parameters
    ----------
    log_models
        Whether the fitted model is kept as an artifact (JSON, released numbers only).
    disable
        Stop it.

    Raises
    ------
    MissingExtraError
        MLflow is not installed.
    """
    _estimator.AFTER_FIT.pop("mlflow", None)
    evaluation.AFTER_EVALUATION.pop("mlflow", None)
    if disable:
        return
    _client()
    _estimator.AFTER_FIT["mlflow"] = lambda model: _log_fit(model, log_models)
    evaluation.AFTER_EVALUATION["mlflow"] = _log_evaluation


def _client() -> Any:
    try:
        import mlflow
    except ImportError:
        raise MissingExtraError(
            f"MLflow is missing: {install_command('mlflow')}"
        ) from None
    return mlflow


def _log_fit(model: PrivateEstimator, log_models: bool) -> None:
    mlflow, privacy = _client(), model.privacy_
    params = model.get_params(deep=False)
    shown = {name: str(v) for name, v in params.items() if name not in _NOT_LOGGED}
    mlflow.log_params({"model": type(model).__name__, **shown})
    mlflow.log_metrics(_amounts(privacy.cost))
    mlflow.set_tags(
        {
            "discreto.cost": str(privacy.cost),
            "discreto.neighbours": privacy.neighbours,
            "discreto.rows_per_person": privacy.rows_per_person,
            "discreto.receipt": privacy.receipt.hash,
            "discreto.entry": privacy.receipt.seq,
            "discreto.simulated": privacy.simulated,
        }
    )
    if log_models and privacy.cost:
        from discreto.models.interop.json import dumps

        mlflow.log_text(dumps(model), "model.json")


def _log_evaluation(judged: Evaluation) -> None:
    mlflow = _client()
    for name, release in judged.items():
        if release.keys:
            continue
        ends = {"": release.value, "_low": release.low, "_high": release.high}
        mlflow.log_metrics({f"{name}{end}": float(part) for end, part in ends.items()})
    first = judged.items()[0][1]
    spent = {f"evaluation_{n}": part for n, part in _amounts(first.cost).items()}
    mlflow.log_metrics(spent)
    if first.receipt is not None:
        mlflow.set_tag("discreto.evaluation_receipt", first.receipt.hash)


def _amounts(cost: Cost) -> dict[str, float]:
    """Return the parts of a cost, and the epsilon of rho at the usual delta of 1e-5."""
    named = zip(("epsilon", "rho", "block_epsilon", "delta"), cost.parts(), strict=True)
    out = {name: float(part) for name, part in named if part}
    if cost.rho:
        out["epsilon_at_delta_1e-5"] = epsilon_for(cost.rho, Fraction(1, 10**5))
    return out


__all__ = ["autolog"]
