"""Models as JSON files: released numbers, public facts and the proof of payment.

No code is stored and none is run when a file is read: a file names one of our own
models, and everything else is checked data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

import discreto.models as _models
from discreto.core.cost import Cost
from discreto.core.documents import (
    CHECKSUM,
    check_plain,
    check_seal,
    read_json,
    sealed,
    warn_of_no_checksum,
)
from discreto.core.domain.domain import Category
from discreto.core.ledger import Ledger
from discreto.core.maps.predictions import install_reader
from discreto.core.query import Batch, Floats, Ints
from discreto.errors import LedgerError, ParameterError, UnsafeError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.features import Ready, Space
from discreto.models.base.privacy import Privacy
from discreto.models.boosting.base import Boosting
from discreto.models.boosting.settings import take_settings
from discreto.models.interop.json_values import pack, unpack
from discreto.models.interop.state import STATE, misfit, table_of

Model = TypeVar("Model", bound=PrivateEstimator)
FORMAT = 2
WITHOUT_CHECKSUM = 1  # the format of versions 0.1 and 0.2
_MOST_PARTS = 1 << 25
_DEEPEST = 32
_LETTERS = 10**4
_LARGEST = 1 << 255  # squares of sensitivities have more than 64 bits
OTHERS: dict[str, type[PrivateEstimator]] = {}  # models of rooms above this one
_NEVER = ("ledger", "random_state")  # a budget and a seed are not part of a model


def dumps(model: PrivateEstimator) -> str:
    """Return a fitted model as JSON text."""
    return json.dumps(to_data(model), ensure_ascii=False, allow_nan=False)


def to_data(model: PrivateEstimator) -> dict[str, Any]:
    """Return a fitted model as JSON data with a checksum."""
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
    return sealed(facts | _form(model))


def _form(model: PrivateEstimator) -> dict[str, Any]:
    """Return the name, the parameters and the declared state of a model."""
    if type(model).__name__ not in STATE:
        raise UnsafeError(
            "this model answers from private rows, so it cannot be saved. Use a model "
            "that is trained once, such as CellNeighborsClassifier."
        )
    params, state = model.get_params(deep=False), vars(model)
    known = [key for key in ("space_", *table_of(model)) if key in state]
    return {
        "model": type(model).__name__,
        "params": {k: pack(v, _form) for k, v in params.items() if k not in _NEVER},
        "state": {key: pack(state[key], _form) for key in known},
    }


def loads(text: str, *, values: bool = True) -> PrivateEstimator:
    """Return the model of a JSON text, checked.

    ``values=False`` leaves the numbers of its arrays unchecked, not their shapes: for
    models that were fitted here, where no refusal may depend on the numbers.
    """
    return _read(text, values)[0]


def _read(text: str, values: bool) -> tuple[PrivateEstimator, bool]:
    """Return the model of a JSON text, and whether the text has a checksum."""
    try:
        data = read_json(text)
        check_plain(data, _MOST_PARTS, _DEEPEST, _LETTERS, _LARGEST)
        format_ = data["discreto_model"]
        if not isinstance(data["params"], dict) or not isinstance(data["state"], dict):
            raise TypeError
        _ = data["model"], data["version"]
    except (ValueError, KeyError, TypeError):
        raise ParameterError("this is not a model that discreto wrote.") from None
    if type(format_) is not int or format_ not in (FORMAT, WITHOUT_CHECKSUM):
        raise ParameterError(
            f"this model has format {format_!r}; this discreto reads {FORMAT}."
        )
    if format_ == FORMAT or CHECKSUM in data:
        check_seal(data)
    if format_ == WITHOUT_CHECKSUM and CHECKSUM in data:
        raise ParameterError("a model of format 1 has no checksum: it was changed.")
    model = _model(data, _Reading(format_ == FORMAT, _is_of_0_1(data), values))
    if data.get("simulated") is not model.privacy_.simulated:
        raise ParameterError("the file says otherwise whether it was simulated.")
    return model, format_ == FORMAT


def _is_of_0_1(data: dict[str, Any]) -> bool:
    version = str(data["version"])
    return data["discreto_model"] == WITHOUT_CHECKSUM and version.startswith("0.1.")


@dataclass(frozen=True)
class _Reading:
    """Public facts of the text that is read, and how much of it is checked."""

    sealed: bool
    old: bool  # of version 0.1
    values: bool


def _model(
    data: dict[str, Any], how: _Reading, *, inner: bool = False
) -> PrivateEstimator:
    """Return the model of its plain form."""
    name, params, state = data["model"], data["params"], data["state"]
    kind = _kind(name)

    def made(part: Any) -> PrivateEstimator:
        return _model(part, how, inner=True)

    params = {key: unpack(value, made) for key, value in params.items()}
    if issubclass(kind, Boosting):
        params = take_settings(params)  # a file of 0.1 has them one by one
    if not set(params) <= set(kind._get_param_names()):
        raise ParameterError(f"the file does not fit {name}: it was changed.")
    try:
        model = kind(**params)
    except TypeError:
        raise ParameterError(f"the file lacks parameters of {name}.") from None
    space = unpack(state.get("space_"), made)
    if not isinstance(space, Space):
        raise ParameterError(f"the file of {name} lacks its domain: it was changed.")
    model.space_ = space
    known = {"space_", *table_of(model)}
    for key, value in state.items():
        if key in known:
            setattr(model, key, unpack(value, made))
        elif how.sealed:  # earlier versions also wrote notes of a fit to itself
            raise ParameterError(f"{name} has no {key[:80]!r}: the file was changed.")
    if how.old:
        _bring_up(model)
    _check_whole(model, how, inner)
    return model


def _bring_up(model: PrivateEstimator) -> None:
    """Add what files of 0.1 do not say."""
    for key, value in model._unknown_to_old_files().items():
        if not hasattr(model, key):
            setattr(model, key, value)
    promise = getattr(model, "privacy_", None)
    if isinstance(promise, Privacy):
        model.privacy_ = replace(promise, person=model.space_.domain.person)


def _check_whole(model: PrivateEstimator, how: _Reading, inner: bool) -> None:
    """Refuse a model whose state is not that of its kind on its domain."""
    name, space = type(model).__name__, model.space_
    if space.target is not None and hasattr(model, "_check_target"):
        model._check_target(space.domain, space.target)
    wrong = misfit(model, inner=inner, values=how.values, old=how.old)
    if wrong is not None:
        raise ParameterError(
            f"{wrong} of {name} is not what its domain asks for: the file is damaged "
            "or was changed."
        )


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


@overload
def load(path: str | Path, kind: type[Model], *, ledger: Ledger | None = None) -> Model:
    """Read a model of a known kind."""


@overload
def load(
    path: str | Path, kind: None = None, *, ledger: Ledger | None = None
) -> PrivateEstimator:
    """Read a model of any kind."""


def load(
    path: str | Path,
    kind: type[PrivateEstimator] | None = None,
    *,
    ledger: Ledger | None = None,
) -> PrivateEstimator:
    """Read a model from a JSON file, and check it whole.

    Parameters
    ----------
    path
        A file that ``save`` wrote.
    kind
        The kind of model that you expect, such as ``GaussianNB``; another one is
        refused. With it, type checkers know what the model can do.
    ledger
        The ledger that paid for the fit. Its chain is verified, and a model whose
        receipt or cost is not in it is refused.

    Returns
    -------
    model
        It predicts as the saved one does; it has no ledger and no seed.

    Raises
    ------
    ParameterError
        There is no such file, it cannot be read as a model, it was changed, or it is
        of another kind.
    LedgerError
        The ledger was changed, or has not paid for this model.

    Notes
    -----
    A checksum tells of accidents. Files of 0.1 and 0.2 have none: they are read with a
    warning. A ledger tells of a forged cost. The numbers of a model are in no ledger:
    whether its author changed those, neither can tell.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParameterError(f"there is no file {str(path)!r}.") from None
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{str(path)!r} cannot be read as a model.") from None
    model, has_checksum = _read(text, values=True)
    if not has_checksum:
        warn_of_no_checksum(path)
    if kind is not None and not isinstance(model, kind):
        raise ParameterError(
            f"{str(path)!r} holds a {type(model).__name__}, not a {kind.__name__}."
        )
    if ledger is not None:
        check_paid(model, ledger)
    return model


def check_paid(model: PrivateEstimator, ledger: Ledger) -> None:
    """Refuse a model that a ledger has not paid for, at the cost that it claims.

    Raises
    ------
    LedgerError
        The ledger was changed, or its entry is not that of the model's receipt.
    """
    privacy, receipt = model.privacy_, model.privacy_.receipt
    ledger.verify()
    entries = {entry["seq"]: entry for entry in ledger.entries()}
    entry = entries.get(receipt.seq)
    if entry is None or entry["hash"] != receipt.hash:
        raise LedgerError(
            f"the ledger has no entry {receipt.seq} with the hash of this model's "
            "receipt: it did not pay for this model."
        )
    paid = Cost.from_dict(entry["cost"])
    if not paid == receipt.cost == privacy.cost:
        raise LedgerError(
            f"entry {receipt.seq} of the ledger paid {paid} for {entry['label']!r}, "
            f"but the model says {privacy.cost}: it was changed, or it is one of "
            "several that the entry paid for."
        )


def _kind(name: Any) -> type[PrivateEstimator]:
    """Return the model with this name."""
    if isinstance(name, str) and name in OTHERS:
        return OTHERS[name]
    if isinstance(name, str) and name in _models.__all__:
        kind = getattr(_models, name)
        if isinstance(kind, type) and issubclass(kind, PrivateEstimator):
            return kind
    raise ParameterError("the file names a model that discreto does not have.")


class ModelPredictor:
    """The columns of a model and its predictions for rows of a table."""

    def __init__(self, model: PrivateEstimator) -> None:
        self._model, space = model, model.space_
        self.domain, self.features, self.goal = space.domain, space.features, space.goal
        column = space.domain[space.goal]
        known = column.categories if isinstance(column, Category) else ()
        classes = np.asarray(getattr(model, "classes_", known))
        self.classes = tuple(classes.tolist())
        self._codes = {value: code for code, value in enumerate(known)}

    @classmethod
    def read(cls, text: str) -> ModelPredictor:
        """Return the predictor of a model's JSON text."""
        return cls(loads(text, values=False))

    def class_codes(self, batch: Batch) -> Ints:
        """Return the code of each row's predicted class."""
        found = self._model.predict(self._ready(batch))
        out = np.full(len(found), -1, dtype=np.int64)
        for value, code in self._codes.items():
            out[found == value] = code
        return out

    def probabilities(self, batch: Batch) -> Floats:
        """Return the probability of each class, row by row."""
        out: Floats = self._model.predict_proba(self._ready(batch))
        return out

    def values(self, batch: Batch) -> Floats:
        """Return the predicted numbers."""
        out: Floats = self._model.predict(self._ready(batch))
        return out

    def _ready(self, batch: Batch) -> Ready:
        columns = {name: batch[name] for name in self.features}
        return Ready(columns, len(next(iter(columns.values()))))


install_reader(ModelPredictor.read)
