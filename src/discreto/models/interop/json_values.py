"""Values of a model as JSON data, and back: a closed set of forms, no code."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.documents import check_amounts, read_fraction
from discreto.core.domain.domain import Domain, Opaque
from discreto.errors import ParameterError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.features import Space
from discreto.models.base.privacy import Privacy
from discreto.models.boosting.settings import SETTING_NAMES, BoostingSettings
from discreto.session.plan import Plan
from discreto.session.session import Question

T = TypeVar("T")


def pack(value: Any, form: Callable[[PrivateEstimator], dict[str, Any]]) -> Any:
    """Return the JSON form of a value; ``form`` writes a model that is part of it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"number": repr(value)}
    if isinstance(value, np.generic):
        return pack(value.item(), form)
    if isinstance(value, Fraction | Decimal):
        value = Fraction(value)
        return {"fraction": str(value)}
    if isinstance(value, np.ndarray):
        flat = [pack(part, form) for part in value.ravel().tolist()]
        return {"array": flat, "shape": list(value.shape), "kind": value.dtype.kind}
    if isinstance(value, list | tuple):
        return {
            "list" if isinstance(value, list) else "tuple": [
                pack(v, form) for v in value
            ]
        }
    if isinstance(value, dict):
        return {"dict": [[pack(k, form), pack(v, form)] for k, v in value.items()]}
    if isinstance(value, Domain):
        return {"domain": value.to_dict()}
    if isinstance(value, Space):
        space = [value.domain.to_dict(), list(value.features), value.target]
        return {"space": space}
    if isinstance(value, Privacy):
        return {"privacy": value.to_dict()}
    if isinstance(value, PrivateEstimator):  # a model that is made of another one
        return {"made of": form(value)}
    if isinstance(value, BoostingSettings):
        return {"settings": [[n, pack(getattr(value, n), form)] for n in SETTING_NAMES]}
    raise ParameterError(
        f"a model cannot be saved with a {type(value).__name__} in it."
    )


def unpack(value: Any, made: Callable[[Any], PrivateEstimator]) -> Any:
    """Return the value of a JSON form; ``made`` reads a model that is part of it."""
    if not isinstance(value, dict):
        return value
    try:
        return _unpack_dict(value, made)
    except ParameterError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        raise ParameterError("a part of the model file is malformed.") from None


def _unpack_dict(value: dict[str, Any], made: Callable[[Any], PrivateEstimator]) -> Any:
    if "array" in value:
        kinds = {"f": float, "i": np.int64, "u": np.uint64, "b": bool}
        flat = [unpack(part, made) for part in value["array"]]
        dtype = kinds.get(value["kind"], object if value["kind"] == "O" else None)
        if dtype is object:
            out = np.empty(len(flat), dtype=object)
            out[:] = flat
            return out.reshape(value["shape"])
        return np.array(flat, dtype=dtype).reshape(value["shape"])
    if "number" in value:
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[value["number"]]
    if "fraction" in value:
        return read_fraction(value["fraction"], 10**3)
    if "list" in value:
        return [unpack(part, made) for part in value["list"]]
    if "tuple" in value:
        return tuple(unpack(part, made) for part in value["tuple"])
    if "dict" in value:
        return {unpack(k, made): unpack(v, made) for k, v in value["dict"]}
    if "domain" in value:
        return Domain.from_dict(value["domain"])
    if "space" in value:
        domain, features, target = value["space"]
        return _space(Domain.from_dict(domain), features, target)
    if "privacy" in value:
        return _privacy(value["privacy"])
    if "made of" in value:
        return made(value["made of"])
    if "settings" in value:
        return BoostingSettings(**{n: unpack(v, made) for n, v in value["settings"]})
    raise KeyError


def _space(domain: Domain, features: Any, target: Any) -> Space:
    if not isinstance(features, list) or not features:
        raise TypeError
    names = tuple(features)
    if target in names:
        raise TypeError
    for name in (*names, *(() if target is None else (target,))):
        if isinstance(domain[name], Opaque):
            raise TypeError
    return Space(domain, names, target)


def _is(kind: type[T], value: Any) -> T:
    """Return a value of exactly this type; a bool is not a number."""
    if type(value) is not kind:
        raise TypeError
    return value


def _cost(data: Any) -> Cost:
    return Cost.from_dict(check_amounts(data))


def _privacy(data: dict[str, Any]) -> Privacy:
    receipt = data["receipt"]
    cost = _cost(data["cost"])
    _cost(data["plan"]["total"])  # for readers; a selection's plan is that of one fit
    questions = tuple(
        Question(
            _is(str, q["door"]),
            _is(str, q["label"]),
            _cost(q["cost"]),
            tuple(_is(int, one) for one in q["sensitivity"]),
            tuple(float(one) for one in q["noise"]),
            _is(bool, q.get("sums", True)),
        )
        for q in data["plan"]["questions"]
    )
    return Privacy(
        cost,
        _is(str, data["neighbours"]),
        _is(int, data["rows_per_person"]),
        Plan(questions, cost, _is(int, data["plan"]["rows"])),
        Receipt(
            _is(int, receipt["seq"]),
            _is(str, receipt["label"]),
            _cost(receipt["cost"]),
            _is(str, receipt["hash"]),
            _is(bool, receipt.get("simulated", False)),
        ),
        data.get("person"),
        _is(bool, data.get("checked", True)),
        _is(str, data.get("note", "")),
    )
