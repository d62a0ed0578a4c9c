"""Saved models of every kind, and ways in which their files are broken."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import discreto as dp
from discreto import models
from discreto.core.documents import CHECKSUM, sealed
from discreto.errors import DiscretoError
from discreto.models.interop import json as persist
from discreto.synthesis import Synthesizer

ROWS = 400
_DRAW = np.random.default_rng(0)
DATA: dict[str, Any] = {
    "a": _DRAW.normal(5, 2, ROWS),
    "b": _DRAW.normal(0, 1, ROWS),
    "c": _DRAW.choice(["p", "q", "r"], ROWS),
}
DATA["label"] = np.where(DATA["a"] > 5, "x", "y")
COLUMNS = {
    "a": dp.Number(0, 10),
    "b": dp.Number(-3, 3),
    "c": dp.Category(["p", "q", "r"]),
    "label": dp.Category(["x", "y"]),
}


class Case(NamedTuple):
    """How a model is made, and the columns and the target of its table."""

    make: Callable[[], Any]
    columns: str = "a b c label"
    target: str | None = "label"


CASES = {
    "AutoClassifier": Case(lambda: models.AutoClassifier(epsilon=5)),
    "AutoRegressor": Case(lambda: models.AutoRegressor(epsilon=5), target="b"),
    "CategoricalNB": Case(lambda: models.CategoricalNB(epsilon=5), "c label"),
    "CellNeighborsClassifier": Case(lambda: models.CellNeighborsClassifier(epsilon=5)),
    "FuzzyCMeans": Case(lambda: models.FuzzyCMeans(3, epsilon=5), "a b c", None),
    "GaussianNB": Case(lambda: models.GaussianNB(epsilon=5), "a b label"),
    "GradientBoostingClassifier": Case(
        lambda: models.GradientBoostingClassifier(epsilon=5)
    ),
    "GradientBoostingRegressor": Case(
        lambda: models.GradientBoostingRegressor(epsilon=5), target="b"
    ),
    "KMeans": Case(lambda: models.KMeans(3, epsilon=5), "a b c", None),
    "LinearRegression": Case(lambda: models.LinearRegression(epsilon=5), target="b"),
    "LogisticRegression": Case(lambda: models.LogisticRegression(epsilon=5)),
    "NaiveBayes": Case(lambda: models.NaiveBayes(epsilon=5)),
    "Synthesizer": Case(lambda: Synthesizer(epsilon=5), "a c label"),
    "labelling Synthesizer": Case(
        lambda: Synthesizer(epsilon=5, labels="model"), "a b c", "b"
    ),
}


def table_of(case: Case, ledger: Any = None) -> dp.Table:
    """Return the table that a case is fitted on."""
    names = case.columns.split()
    domain = dp.Domain({n: COLUMNS[n] for n in names}, target=case.target)
    paid = dp.testing.simulate(7) if ledger is None else ledger
    return dp.Table({n: DATA[n] for n in names}, domain, paid, name="t")


@cache
def saved(name: str) -> str:
    """Return the text of a fitted model."""
    return persist.dumps(CASES[name].make().fit(table_of(CASES[name])))


def says(model: Any) -> list[Any]:
    """Return all that a model says of the rows, and of itself."""
    if isinstance(model, Synthesizer):
        drawn = model.sample(50, random_state=1)
        return [str(drawn.to_dict("list")), str(model.privacy_)]
    rows = {n: DATA[n] for n in model.space_.features}
    said = [np.asarray(model.predict(rows)).tolist()]
    for way in ("predict_proba", "transform", "memberships"):
        if hasattr(model, way):
            said.append(np.asarray(getattr(model, way)(rows)).tolist())
    return [*said, str(model.privacy_), model.privacy_.receipt]


@cache
def truth(name: str) -> list[Any]:
    """Return what the model of a case says."""
    return says(persist.loads(saved(name)))


def verdict(name: str, text: str) -> str:
    """Return what comes of a broken text: refused, same, OTHER, or a FOREIGN error."""
    try:
        model = persist.loads(text)
    except DiscretoError:
        return "refused"
    except Exception as error:
        return f"FOREIGN at load: {type(error).__name__}: {error}"[:200]
    try:
        return "same" if says(model) == truth(name) else "OTHER"
    except DiscretoError as error:
        return f"LATE at predict: {error}"[:200]
    except Exception as error:
        return f"FOREIGN at predict: {type(error).__name__}: {error}"[:200]


def flips(text: str, count: int, seed: int) -> Iterator[str]:
    """Yield the text with one digit changed, ``count`` times."""
    draw = random.Random(seed)
    digits = [found.start() for found in re.finditer(r"\d", text)]
    for _ in range(count):
        place = draw.choice(digits)
        other = draw.choice([d for d in "0123456789" if d != text[place]])
        yield text[:place] + other + text[place + 1 :]


def damages(text: str, count: int, seed: int) -> Iterator[bytes]:
    """Yield the bytes of a text after bit flips, cuts, zeros, insertions and swaps."""
    draw, whole = random.Random(seed), text.encode()
    for _ in range(count):
        raw = bytearray(whole)
        i, j = draw.randrange(len(raw)), draw.randrange(len(raw))
        how = draw.randrange(6)
        if how == 0:
            raw[i] ^= 1 << draw.randrange(8)
        elif how == 1:
            raw[i] = draw.randrange(256)
        elif how == 2:
            del raw[i:]
        elif how == 3:
            raw[i : i + 64] = bytes(len(raw[i : i + 64]))
        elif how == 4:
            raw[i:i] = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 9)))
        else:
            raw[i], raw[j] = raw[j], raw[i]
        if raw != whole:
            yield bytes(raw)


ODD: list[Any] = [
    None,
    "abc",
    True,
    -1,
    10**18,
    {"number": "nan"},
    {"list": []},
    {"tuple": []},
    {"dict": []},
    {"fraction": "1/3"},
    {"array": [], "shape": [0], "kind": "f"},
    {"array": [{"number": "inf"}], "shape": [1], "kind": "f"},
    {"array": ["x", "y"], "shape": [2], "kind": "U"},
]


def _arrays(value: Any) -> Iterator[list[Any]]:
    """Yield changed copies of each array of a part: NaN, cut, turned, of texts."""
    paths = list(_paths(value))
    for path in paths[:4]:
        for how in ("nan", "inf", "cut", "turned", "texts", "codes"):
            changed = copy.deepcopy(value)
            part = changed
            for key in path:
                part = part[key]
            flat = part["array"]
            if not flat and how not in ("turned", "texts"):
                continue
            if how in ("nan", "inf"):
                part["array"] = [{"number": how}] * len(flat)
            elif how == "cut":
                part["array"], part["shape"] = flat[:-1], [len(flat) - 1]
            elif how == "turned":
                part["shape"] = [*reversed(part["shape"]), 1]
            elif how == "texts":
                part["array"], part["kind"] = [str(one) for one in flat], "U"
            else:
                part["array"], part["kind"] = [10**6] * len(flat), "i"
            yield changed


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict) and "array" in value:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("made of", "privacy", "space"):
                yield from _paths(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _paths(inner, (*path, i))


def structures(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each broken structure of a file with the name of what is broken.

    Every part of the state and every parameter is dropped, replaced by values of other
    kinds, and its arrays are cut, turned and filled with odd numbers.
    """
    data = json.loads(text)
    del data[CHECKSUM]
    for where in ("state", "params"):
        for key, value in data[where].items():
            yield f"{where} {key} dropped", _with(data, where, key, ...)
            for odd in ODD:
                yield f"{where} {key} {odd}", _with(data, where, key, odd)
            for changed in _arrays(value):
                yield f"{where} {key} array", _with(data, where, key, changed)
    yield "state unknown", _with(data, "state", "more_", 1)
    yield "params unknown", _with(data, "params", "more", 1)
    for place in _leaves(data["state"]["privacy_"]):
        if place[-1] in ("label", "hash"):  # any text will do, but for a ledger
            continue
        for odd in (None, "abc", -1, [], True, 1.5):
            changed = copy.deepcopy(data)
            part = changed["state"]["privacy_"]
            for key in place[:-1]:
                part = part[key]
            if part[place[-1]] != odd:
                part[place[-1]] = odd
                yield f"privacy {place} {odd}", changed


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(inner)[:12]:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from _leaves(part, (*path, key))


def _with(data: dict[str, Any], where: str, key: str, value: Any) -> dict[str, Any]:
    changed = {**data, where: dict(data[where])}
    if value is ...:
        del changed[where][key]
    else:
        changed[where][key] = value
    return changed


def resealed(data: dict[str, Any]) -> str:
    """Return the text of changed data with a checksum that fits it."""
    return json.dumps(sealed(data))
