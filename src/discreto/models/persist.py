"""Models as JSON files: released numbers, public facts and the proof of payment.

No code is stored and none is run when a file is read: a file names one of our own
models, and everything else is checked data.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import discreto.models as _models
from discreto.errors import ParameterError, UnsafeError
from discreto.kernel.charge import Receipt
from discreto.kernel.cost import Cost
from discreto.kernel.domain import Domain
from discreto.models._base import Privacy, PrivateEstimator
from discreto.models._space import Space
from discreto.planning import Plan, Question
from discreto.tables import Table

FORMAT = 1
_NEVER = ("ledger", "random_state")  # a budget and public coins are not part of a model


def dumps(model: PrivateEstimator) -> str:
    """A fitted model as JSON text."""
    if not hasattr(model, "space_"):
        raise ParameterError(f"{type(model).__name__} is not fitted: nothing to save.")
    if type(model).__name__ not in _models.__all__:
        raise ParameterError(f"{type(model).__name__} is not a model of discreto.")
    from discreto import __version__

    params = model.get_params(deep=False)
    return json.dumps(
        {
            "discreto_model": FORMAT,
            "version": __version__,
            "model": type(model).__name__,
            "simulated": model.privacy_.simulated,
            "params": {k: _pack(v) for k, v in params.items() if k not in _NEVER},
            "state": {k: _pack(v) for k, v in vars(model).items() if k not in params},
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def loads(text: str) -> Any:
    """The model of a JSON text, checked."""
    try:
        data = json.loads(text)
        name, format_ = data["model"], data["discreto_model"]
        params, state = dict(data["params"]), dict(data["state"])
    except (ValueError, KeyError, TypeError):
        raise ParameterError("this is not a model that discreto wrote.") from None
    if format_ != FORMAT:
        raise ParameterError(
            f"this model has format {format_!r}; this discreto reads {FORMAT}."
        )
    if name not in _models.__all__ or not isinstance(name, str):
        raise ParameterError("the file names a model that discreto does not have.")
    kind = getattr(_models, name)
    known = set(kind._get_param_names())
    if not set(params) <= known or not all(_attribute(key) for key in state):
        raise ParameterError(f"the file does not fit {name}: it was changed.")
    model = kind(**{key: _unpack(value) for key, value in params.items()})
    for key, value in state.items():
        setattr(model, key, _unpack(value))
    if not isinstance(getattr(model, "space_", None), Space):
        raise ParameterError(f"the file of {name} lacks its domain: it was changed.")
    return model


def save(model: PrivateEstimator, path: str | Path) -> None:
    """Write a fitted model to a JSON file."""
    Path(path).write_text(dumps(model), encoding="utf-8")


def load(path: str | Path) -> Any:
    """Read a model from a JSON file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{str(path)!r} cannot be read as a model.") from None
    return loads(text)


def _attribute(key: str) -> bool:
    return key.isidentifier() and not key.startswith("__")


def _pack(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"number": repr(value)}
    if isinstance(value, np.generic):
        return _pack(value.item())
    if isinstance(value, Fraction | Decimal):
        value = Fraction(value)
        return {"fraction": str(value)}
    if isinstance(value, np.ndarray):
        flat = [_pack(part) for part in value.ravel().tolist()]
        return {"array": flat, "shape": list(value.shape), "kind": value.dtype.kind}
    if isinstance(value, list | tuple):
        return {
            "list" if isinstance(value, list) else "tuple": [_pack(v) for v in value]
        }
    if isinstance(value, dict):
        return {"dict": [[_pack(k), _pack(v)] for k, v in value.items()]}
    if isinstance(value, Domain):
        return {"domain": value.to_dict()}
    if isinstance(value, Space):
        space = [value.domain.to_dict(), list(value.features), value.target]
        return {"space": space}
    if isinstance(value, Privacy):
        return {"privacy": value.to_dict()}
    if isinstance(value, Table):
        raise UnsafeError(
            "this model answers from private rows, so it cannot be saved. Use a model "
            "that is trained once, such as CellNeighborsClassifier."
        )
    raise ParameterError(
        f"a model cannot be saved with a {type(value).__name__} in it."
    )


def _unpack(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    try:
        return _unpack_dict(value)
    except (ValueError, KeyError, TypeError, IndexError):
        raise ParameterError("a part of the model file is malformed.") from None


def _unpack_dict(value: dict[str, Any]) -> Any:
    if "array" in value:
        kinds = {"f": float, "i": np.int64, "u": np.uint64, "b": bool}
        flat = [_unpack(part) for part in value["array"]]
        dtype = kinds.get(value["kind"], object if value["kind"] == "O" else None)
        if dtype is object:
            out = np.empty(len(flat), dtype=object)
            out[:] = flat
            return out.reshape(value["shape"])
        return np.array(flat, dtype=dtype).reshape(value["shape"])
    if "number" in value:
        return float(value["number"])
    if "fraction" in value:
        return Fraction(value["fraction"])
    if "list" in value:
        return [_unpack(part) for part in value["list"]]
    if "tuple" in value:
        return tuple(_unpack(part) for part in value["tuple"])
    if "dict" in value:
        return {_unpack(k): _unpack(v) for k, v in value["dict"]}
    if "domain" in value:
        return Domain.from_dict(value["domain"])
    if "space" in value:
        domain, features, target = value["space"]
        return Space(Domain.from_dict(domain), tuple(features), target)
    if "privacy" in value:
        return _privacy(value["privacy"])
    raise KeyError


def _privacy(data: dict[str, Any]) -> Privacy:
    receipt = data["receipt"]
    cost = Cost.from_dict(data["cost"])
    questions = tuple(
        Question(
            q["door"],
            q["label"],
            Cost.from_dict(q["cost"]),
            tuple(q["sensitivity"]),
            tuple(q["noise"]),
        )
        for q in data["plan"]["questions"]
    )
    return Privacy(
        cost,
        data["neighbours"],
        data["rows_per_person"],
        Plan(questions, cost, data["plan"]["rows"]),
        Receipt(
            receipt["seq"],
            receipt["label"],
            Cost.from_dict(receipt["cost"]),
            receipt["hash"],
            bool(receipt.get("simulated", False)),
        ),
    )
