"""Questions as JSON: a closed list of kinds, decoded and checked field by field.

``{"ask": "mean(age) by sex", "epsilon": "0.1"}`` asks in words, ``"statistic"`` and
``"statistics"`` in data, ``"fit"`` for a model by its name, ``"evaluate"`` for how good
a model is, ``"compare"`` for all models on simulated rows. ``"view"`` asks about
derived columns and some rows only.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from discreto import models, stats
from discreto.core.cost import Cost, show
from discreto.core.documents import check_plain
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, view_domain, view_from_json, view_to_json
from discreto.core.expressions.view import KINDS as VIEW_KINDS
from discreto.core.history import Lag, NamedPast, PersonHistory, RollingMean
from discreto.core.query_json import decode, encode
from discreto.errors import ParameterError
from discreto.models import Evaluation, evaluate
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.interop import json as persist
from discreto.models.neighbors.pay_per_prediction import Voters
from discreto.service import comparisons
from discreto.session.parameters import whole
from discreto.session.plan import Plan, Statistic, cost_of, statistics
from discreto.stats import sentence
from discreto.synthesis import Synthesizer
from discreto.table.table import Table

MOST_TOGETHER = 32  # statistics of one question
MOST = 1000  # the largest whole number among the parameters of a model
_MOST_PARTS = 4000
_STATISTICS = {
    name: kind
    for name, kind in vars(stats).items()
    if isinstance(kind, type) and is_dataclass(kind) and hasattr(kind, "learn")
}
_KINDS = dict(VIEW_KINDS) | _STATISTICS
_PAST_KINDS = {
    kind.__name__: kind for kind in (PersonHistory, NamedPast, Lag, RollingMean)
}
_OURS = ("domain", "ledger", "bounds", "classes", "target_bounds", "epsilon", "delta")
Answer = dict[str, Any]


def model_kinds() -> dict[str, type[PrivateEstimator]]:
    """Return the models that can be asked for, by name."""
    found = {name: getattr(models, name) for name in models.__all__}
    found["Synthesizer"] = Synthesizer
    return {
        name: kind
        for name, kind in found.items()
        if isinstance(kind, type)
        and issubclass(kind, PrivateEstimator)
        and not issubclass(kind, Voters)  # they ask anew for each prediction
    }


@dataclass(frozen=True, slots=True)
class Work:
    """A question that was decoded: what it is called, costs and does.

    Parameters
    ----------
    kind
        ``"ask"``, ``"fit"``, ``"evaluate"`` or ``"compare"``.
    label, cost
        What it is, in a few words, and what it costs.
    view
        The steps from the table to what is asked about.
    history
        Columns from earlier rows of the same person, made before the view.
    asked
        The question in one fixed form: the same question has the same.
    plan
        What it would ask and spend, from the domain of the view alone.
    run
        Asks a table, which pays, and gives the answer as JSON data.
    simulate
        For what reads no row and costs nothing, instead of ``run``: the answer from the
        domain of the view. The other argument is called now and then, to stop it.
    """

    kind: str
    label: str
    cost: Cost
    view: tuple[Step, ...]
    asked: Mapping[str, Any]
    plan: Callable[[Domain, int | None], Plan]
    run: Callable[[Table], Answer]
    simulate: Callable[[Domain, Callable[[], None] | None], Answer] | None = None
    history: PersonHistory | None = None

    def id_for(self, table: str, domain: Domain) -> str:
        """Return a name for exactly this question about exactly this table."""
        facts = [table, domain.fingerprint, self.asked]
        text = json.dumps(facts, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def seen(self, table: Table) -> Table:
        """Return the view that is asked about."""
        if self.history is not None:
            table = table.remembering(self.history)
        for step in self.view:
            table = table.seen(step)
        return table

    def domain_of(self, domain: Domain) -> Domain:
        """Return the domain of the view."""
        if self.history is not None:
            domain = self.history.domain(domain)
        for step in self.view:
            domain = view_domain(step, domain)
        return domain


def read_work(body: Mapping[str, Any], model_of: Callable[[str], str]) -> Work:
    """Return the work that a body asks for.

    Parameters
    ----------
    body
        JSON data of any origin.
    model_of
        Finds the JSON of a model by the name of its answer.
    """
    check_plain(body, _MOST_PARTS, depth=24)
    kinds = [name for name in _READERS if body.get(name) is not None]
    if len(kinds) != 1:
        raise ParameterError(f"a question has one of: {', '.join(_READERS)}.")
    cost = Cost.of(body["epsilon"], body.get("delta") or 0)
    if cost.infinite or not cost:
        raise ParameterError("epsilon must be a number above 0.")
    again = whole(body.get("again") or 0, "again", least=0, most=10**6)
    view = view_from_json(list(body.get("view") or []))
    common: dict[str, Any] = {"view": view_to_json(view), "cost": cost.to_dict()}
    common |= {"again": again} if again else {}
    history = _read_history(body.get("history"))
    if history is not None:
        common["history"] = encode(history)
    work = _READERS[kinds[0]](body, cost, view, common, model_of)
    return replace(work, history=history)


def _read_history(data: Any) -> PersonHistory | None:
    """Return the columns from earlier rows of a person, made before the view."""
    if data is None:
        return None
    found = decode(data, _PAST_KINDS)
    if not isinstance(found, PersonHistory):
        raise ParameterError("history is a PersonHistory.")
    return found


def _read_ask(
    body: Mapping[str, Any],
    cost: Cost,
    view: tuple[Step, ...],
    common: dict[str, Any],
    model_of: Callable[[str], str],
) -> Work:
    several = _statistics(body)
    epsilon, delta = body["epsilon"], body.get("delta") or 0
    cost = cost_of(several, epsilon, delta)  # some cost a block, not rho
    common = common | {"cost": cost.to_dict()}
    label = ", ".join(one.label for one in several)

    def run(table: Table) -> Answer:
        if len(several) == 1:
            found = [table.answer(several[0], epsilon=epsilon, delta=delta)]
        else:
            found = table.answers(several, epsilon=epsilon, delta=delta)
        return {"releases": [release.to_dict() for release in found]}

    def plan(domain: Domain, rows: int | None) -> Plan:
        return statistics(domain, several, epsilon=epsilon, delta=delta, rows=rows)

    asked = {"statistics": [encode(one) for one in several]} | common
    return Work("ask", label, cost, view, asked, plan, run)


def _statistics(body: Mapping[str, Any]) -> list[Statistic]:
    if body.get("ask") is not None:
        words = body["ask"]
        lines = words if isinstance(words, list) else [words]
        if not all(isinstance(line, str) for line in lines):
            raise ParameterError("ask is a sentence: 'mean(age) by sex'.")
        several = [sentence(line) for line in lines]
    else:
        data = body.get("statistics") or [body["statistic"]]
        several = [statistic_from_json(one) for one in data]
    if not 1 <= len(several) <= MOST_TOGETHER:
        raise ParameterError(f"one question has 1 to {MOST_TOGETHER} statistics.")
    return several


def statistic_from_json(data: Any) -> Statistic:
    """Return a statistic from JSON data of any origin."""
    check_plain(data, _MOST_PARTS, depth=24)
    found = decode(data, _KINDS, deepest=24)
    if type(found).__name__ not in _STATISTICS:
        raise ParameterError(
            f"this is not a statistic. There are {', '.join(sorted(_STATISTICS))}."
        )
    return found


def statistic_to_json(statistic: Statistic) -> Any:
    """Return the JSON form of a statistic; what is None is left out."""
    return _without_none(encode(statistic))


def _without_none(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _without_none(v) for k, v in data.items() if v is not None}
    return [_without_none(one) for one in data] if isinstance(data, list) else data


def _read_fit(
    body: Mapping[str, Any],
    cost: Cost,
    view: tuple[Step, ...],
    common: dict[str, Any],
    model_of: Callable[[str], str],
) -> Work:
    wanted = body["fit"]
    name, params = str(wanted.get("model"))[:60], wanted.get("params") or {}
    target = body.get("target")
    if not isinstance(params, dict) or not isinstance(target, str | None):
        raise ParameterError("fit needs a model's name, its parameters and a target.")
    costs = {"epsilon": body["epsilon"], "delta": body.get("delta") or 0}
    make = lambda: make_model(name, params | costs)  # noqa: E731 - fresh for each use
    make()

    def run(table: Table) -> Answer:
        fitted = make().fit(table, target)
        return {"model": persist.to_data(fitted)}

    asked = {"fit": name, "params": params, "target": target} | common

    def plan(domain: Domain, rows: int | None) -> Plan:
        return make().plan(domain, target, rows=rows)

    return Work("fit", f"fit {name}", cost, view, asked, plan, run)


def make_model(name: str, params: Mapping[str, Any]) -> PrivateEstimator:
    """Return a model by its name and parameters, both from closed lists."""
    kind = model_kinds().get(name)
    if kind is None:
        raise ParameterError(
            f"there is no model {name!r}. There are {', '.join(model_kinds())}."
        )
    known = [n for n in kind._get_param_names() if n not in _OURS] + ["settings"]
    for key, value in params.items():
        if key not in (*known, "epsilon", "delta"):
            raise ParameterError(f"{name} takes {', '.join(known)}.")
        _check_param(key, value)
    out = dict(params)
    if "settings" in out:
        if not isinstance(out["settings"], dict):
            raise ParameterError("settings are names and values.")
        try:
            out["settings"] = models.BoostingSettings(**out["settings"])
        except TypeError:
            raise ParameterError("these are not settings of boosting.") from None
    try:
        return kind(**out)
    except TypeError:
        raise ParameterError(f"{name} does not take these parameters.") from None


def _check_param(key: str, value: Any) -> None:
    """Refuse what would make the work endless; the model checks the rest."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _check_param(key, one)
    elif type(value) is int and abs(value) > MOST and key != "random_state":
        raise ParameterError(f"{key} may be up to {MOST} in a service.")
    elif value is not None and not isinstance(value, str | int | float | bool):
        raise ParameterError(f"{key} must be a plain value.")


def _read_evaluate(
    body: Mapping[str, Any],
    cost: Cost,
    view: tuple[Step, ...],
    common: dict[str, Any],
    model_of: Callable[[str], str],
) -> Work:
    name = body["evaluate"]
    if not isinstance(name, str) or len(name) > 100:
        raise ParameterError("evaluate takes the name of a model's answer.")
    model = persist.loads(model_of(name))
    epsilon, delta = body["epsilon"], body.get("delta") or 0

    def run(table: Table) -> Answer:
        found = evaluate(model, table, epsilon=epsilon, delta=delta)
        here = found.on_these_rows
        alone = {} if here is None else {"on_these_rows": evaluation_to_json(here)}
        return {"evaluation": evaluation_to_json(found)} | alone

    def plan(domain: Domain, rows: int | None) -> Plan:
        raise ParameterError("evaluations have no plan of their own yet.")

    label = f"evaluate {type(model).__name__}"
    return Work("evaluate", label, cost, view, {"evaluate": name} | common, plan, run)


def _read_compare(
    body: Mapping[str, Any],
    cost: Cost,
    view: tuple[Step, ...],
    common: dict[str, Any],
    model_of: Callable[[str], str],
) -> Work:
    wanted = comparisons.read_comparison(
        body["compare"], body["epsilon"], body.get("delta") or 0
    )
    label = comparisons.comparison_label(wanted)

    def run(table: Table) -> Answer:
        raise ParameterError("a comparison reads no table.")

    return Work(
        "compare",
        label,
        comparisons.FREE,
        view,
        {"compare": wanted} | common | {"cost": {}},
        comparisons.no_plan,
        run,
        lambda domain, report: comparisons.compare_simulated(wanted, domain, report),
    )


def evaluation_to_json(found: Evaluation) -> Answer:
    """Return the measures of a model, each a release."""
    return {name: release.to_dict() for name, release in found.items()}


_READERS: dict[str, Callable[..., Work]] = {
    "ask": _read_ask,
    "statistic": _read_ask,
    "statistics": _read_ask,
    "fit": _read_fit,
    "evaluate": _read_evaluate,
    "compare": _read_compare,
}


def strict(data: Any) -> Any:
    """Return JSON without its extensions: numbers that are not finite become texts."""
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    if isinstance(data, dict):
        return {key: strict(value) for key, value in data.items()}
    return [strict(one) for one in data] if isinstance(data, list | tuple) else data


def cost_text(cost: Cost) -> str:
    """Return a cost as people read it."""
    return str(cost) if cost.rho else f"ε {show(cost.epsilon)}"
