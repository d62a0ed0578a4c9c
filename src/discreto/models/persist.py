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
from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.domain import Domain, Opaque
from discreto.core.field_types import check_amounts, check_plain, read_fraction
from discreto.core.maps.trees import MAX_DEPTH, Grid
from discreto.errors import ParameterError, UnsafeError
from discreto.models._estimator import PrivateEstimator
from discreto.models._features import Space
from discreto.models._privacy import Privacy
from discreto.models.boosting._base import Boosting
from discreto.models.boosting.forest import Shipped
from discreto.models.boosting.settings import (
    SETTING_NAMES,
    BoostingSettings,
    take_settings,
)
from discreto.plan import Plan
from discreto.session import Question
from discreto.tables import Table

FORMAT = 1
_MOST_PARTS = 1 << 25
_DEEPEST = 32
_LETTERS = 10**4
OTHERS: dict[str, type[PrivateEstimator]] = {}  # models of rooms above this one
_NEVER = ("ledger", "random_state")  # a budget and public coins are not part of a model


def dumps(model: PrivateEstimator) -> str:
    """A fitted model as JSON text."""
    if not hasattr(model, "space_"):
        raise ParameterError(f"{type(model).__name__} is not fitted: nothing to save.")
    name = type(model).__name__
    if name not in _models.__all__ and OTHERS.get(name) is not type(model):
        raise ParameterError(f"{type(model).__name__} is not a model of discreto.")
    from discreto import __version__

    facts = {
        "discreto_model": FORMAT,
        "version": __version__,
        "simulated": model.privacy_.simulated,
    }
    return json.dumps(facts | _form(model), ensure_ascii=False, allow_nan=False)


def _form(model: PrivateEstimator) -> dict[str, Any]:
    """The name, the parameters and the state of a model."""
    params = model.get_params(deep=False)
    return {
        "model": type(model).__name__,
        "params": {k: _pack(v) for k, v in params.items() if k not in _NEVER},
        "state": {k: _pack(v) for k, v in vars(model).items() if k not in params},
    }


def loads(text: str) -> PrivateEstimator:
    """The model of a JSON text, checked."""
    try:
        data = json.loads(text)
        check_plain(data, _MOST_PARTS, depth=_DEEPEST, letters=_LETTERS)
        format_ = data["discreto_model"]
        if not isinstance(data["params"], dict) or not isinstance(data["state"], dict):
            raise TypeError
        _ = data["model"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ParameterError("this is not a model that discreto wrote.") from None
    if format_ != FORMAT:
        raise ParameterError(
            f"this model has format {format_!r}; this discreto reads {FORMAT}."
        )
    return _model(data)


def _model(data: dict[str, Any]) -> PrivateEstimator:
    """The model of its checked form."""
    name, params, state = data["model"], data["params"], data["state"]
    kind = _kind(name)
    params = {key: _unpack(value) for key, value in params.items()}
    if issubclass(kind, Boosting):
        params = take_settings(params)  # a file of 0.1 has them one by one
    known = set(kind._get_param_names())
    if not set(params) <= known or not all(_attribute(kind, key) for key in state):
        raise ParameterError(f"the file does not fit {name}: it was changed.")
    model = kind(**params)
    for key, value in state.items():
        setattr(model, key, _unpack(value))
    if not isinstance(getattr(model, "space_", None), Space):
        raise ParameterError(f"the file of {name} lacks its domain: it was changed.")
    classes = getattr(model, "classes_", np.empty(0))
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise ParameterError(f"the classes of {name} are no list: it was changed.")
    for key, value in model._unknown_to_old_files().items():
        if not hasattr(model, key):
            setattr(model, key, value)
    if model.space_.target is not None and hasattr(model, "_check_target"):
        model._check_target(model.space_.domain, model.space_.target)
    if name in OTHERS and not model._has_whole_state():
        raise ParameterError(f"the parts of {name} do not fit: the file was changed.")
    if isinstance(model, Boosting) and not _has_whole_trees(model):
        raise ParameterError(f"the trees of {name} do not fit: the file was changed.")
    return model


def save(model: PrivateEstimator, path: str | Path) -> None:
    """Write a fitted model to a JSON file.

    Parameters
    ----------
    model
        A fitted model of this package.
    path
        The file to write.

    Raises
    ------
    ParameterError
        The model is not fitted, or not one of this package.
    """
    Path(path).write_text(dumps(model), encoding="utf-8")


def load(path: str | Path) -> PrivateEstimator:
    """Read a model from a JSON file.

    Parameters
    ----------
    path
        A file that ``save`` wrote.

    Returns
    -------
    model
        It predicts as the saved one does; it has no ledger and no seed.

    Raises
    ------
    ParameterError
        There is no such file, it cannot be read as a model, or was changed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParameterError(f"there is no file {str(path)!r}.") from None
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{str(path)!r} cannot be read as a model.") from None
    return loads(text)


def _kind(name: Any) -> type[PrivateEstimator]:
    """The model with this name."""
    if isinstance(name, str) and name in OTHERS:
        return OTHERS[name]
    if isinstance(name, str) and name in _models.__all__:
        kind = getattr(_models, name)
        if isinstance(kind, type) and issubclass(kind, PrivateEstimator):
            return kind
    raise ParameterError("the file names a model that discreto does not have.")


def _attribute(kind: type, key: str) -> bool:
    """Whether a file may set this: a name of state, never that of a method."""
    plain = key.isidentifier() and not key.startswith("__")
    return plain and not callable(getattr(kind, key, None))


def _has_whole_trees(model: Any) -> bool:
    """Whether every row of the domain finds its way through the trees of a file.

    They are walked by compiled loops, which do not look where they step.
    """
    try:
        routes, depths, start = model.routes_, model.depths_, model.start_
        sizes = Grid(
            model.space_.features, tuple(tuple(c.tolist()) for c in model.cuts_)
        ).sizes(model.space_.domain)
        forms = [(routes, "i", 2), (depths, "i", 1), (model.features_, "i", 1)]
        forms += [(model.values_, "f", 2), (start, "f", 1)]
        if any(a.dtype.kind != kind or a.ndim != ndim for a, kind, ndim in forms):
            return False
        good = routes.shape[1:] == (max(sizes),) and len(routes) == len(model.features_)
        good = good and ((depths >= 0) & (depths <= MAX_DEPTH)).all()
        if not good or not ((routes >= 0) & (routes < max(sizes))).all():
            return False
        for feature, line in zip(model.features_.tolist(), routes, strict=True):
            if not 0 <= feature < len(sizes) or line[sizes[feature] :].any():
                return False
        return _fill_their_arrays(model)
    except (ValueError, TypeError, AttributeError, LookupError):
        return False


def _fill_their_arrays(model: Any) -> bool:
    shipped = Shipped(model)
    inner = leaves = 0
    for number, levels in enumerate(shipped.levels):
        shipped.tree(number).check_on(shipped.grid, shipped.domain)
        inner, leaves = inner + sum(levels[:-1]), leaves + levels[-1]
    whole = inner == len(model.routes_) and leaves == len(model.values_)
    return whole and model.values_.shape[1] == len(model.start_)


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
    if isinstance(value, PrivateEstimator):  # a model that is made of another one
        return {"made of": _form(value)}
    if isinstance(value, BoostingSettings):
        return {"settings": [[n, _pack(getattr(value, n))] for n in SETTING_NAMES]}
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
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
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
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[value["number"]]
    if "fraction" in value:
        return read_fraction(value["fraction"], 10**3)
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
        return _space(Domain.from_dict(domain), features, target)
    if "privacy" in value:
        return _privacy(value["privacy"])
    if "made of" in value:
        return _model(value["made of"])
    if "settings" in value:
        return BoostingSettings(**{n: _unpack(v) for n, v in value["settings"]})
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


def _cost(data: Any) -> Cost:
    return Cost.from_dict(check_amounts(data))


def _privacy(data: dict[str, Any]) -> Privacy:
    receipt = data["receipt"]
    cost = _cost(data["cost"])
    questions = tuple(
        Question(
            q["door"],
            q["label"],
            _cost(q["cost"]),
            tuple(q["sensitivity"]),
            tuple(q["noise"]),
            q.get("sums", True) is not False,
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
            _cost(receipt["cost"]),
            receipt["hash"],
            bool(receipt.get("simulated", False)),
        ),
        data.get("person"),
        data.get("checked", True) is not False,
    )
