"""What a model predicts for a row must not depend on the rows beside it.

Questions about models (``Right``, ``Predicted``, ``RowLoss``, ``Contest``) rest on
this: their bounds are those of one row's prediction. The predictors are not in the
core, so it is a belief, and this is its evidence: every model, as it is fitted and with
its numbers replaced by extremes, predicts the same bits for a row alone and in company.
"""

from __future__ import annotations

import copy
import random
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.core.maps.predictions import (
    Contest,
    Predicted,
    Right,
    RowLoss,
    check_model,
    predictor_of,
)
from discreto.data.frames import open_frame
from discreto.errors import DiscretoError
from discreto.models.base.features import Ready
from discreto.models.interop import json as persist
from discreto.testing import simulate

NUMBERS = {
    "a": dp.Number(-3, 9),
    "b": dp.Number(0, 1e6),
    "c": dp.Category(["x", "y", "z"]),
    "d": dp.Number(-1, 1, missing=False),
}
TARGETS = {True: dp.Category([0, 1, 2]), False: dp.Number(-5, 5)}
# Two models take columns of one kind only.
COLUMNS = {"CategoricalNB": ("c",), "GaussianNB": ("a", "b", "d")}
_TWISTED = 10
ROWS, SIZES = 1100, (1, 2, 7, 65, 1031)
EXTREMES = [
    *(0.0, -0.0, 5e-324, 1e-300, 1e300, -1e300, 1e308, -1e308),
    *(1e16, -1e16, 1.0, -1.0, 10 / 3, 2.0**53 + 2, -1e8),
]
CLASSIFIERS = (
    *("AutoClassifier", "CategoricalNB", "CellNeighborsClassifier", "GaussianNB"),
    *("GradientBoostingClassifier", "LogisticRegression", "NaiveBayes"),
)
REGRESSORS = ("AutoRegressor", "GradientBoostingRegressor", "LinearRegression")
KINDS = CLASSIFIERS + REGRESSORS
# These have no predictions of a target, or ask rows whenever they predict.
OTHERS = {"FuzzyCMeans", "KMeans", "KNeighborsClassifier", "RadiusNeighborsClassifier"}
METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function"),
    *("predict_joint_log_proba", "staged_predict", "staged_predict_proba"),
)


def test_every_model_is_here() -> None:
    kinds = [name for name in models.__all__ if isinstance(getattr(models, name), type)]
    fits = {name for name in kinds if hasattr(getattr(models, name), "fit")}
    assert fits == {*KINDS, *OTHERS}


def domain_of(name: str) -> dp.Domain:
    """The domain of a model: its columns and its target."""
    columns = {n: NUMBERS[n] for n in COLUMNS.get(name, tuple(NUMBERS))}
    return dp.Domain(columns | {"y": TARGETS[name in CLASSIFIERS]}, target="y")


def people(rows: int, seed: int, name: str) -> dict[str, Any]:
    """Rows with gaps, infinities, undeclared labels and values out of range."""
    coins = np.random.default_rng(seed)
    a, b = coins.normal(2, 4, rows), coins.lognormal(8, 4, rows)
    a[coins.random(rows) < 0.1] = np.nan
    b[coins.random(rows) < 0.02] = np.inf
    y = coins.integers(0, 3, rows) if name in CLASSIFIERS else np.nan_to_num(a) / 2
    c = coins.choice(["x", "y", "z", "q"], rows)
    out = {"a": a, "b": b, "c": c, "d": coins.uniform(-1.5, 1.5, rows), "y": y}
    return {column: out[column] for column in domain_of(name)}


@lru_cache
def fitted(name: str, delta: str) -> Any:
    table = dp.Table(people(3000, 7, name), domain_of(name), simulate(3))
    return getattr(models, name)(epsilon=3, delta=delta).fit(table)


@lru_cache
def batch(name: str) -> dict[str, np.ndarray]:
    domain = domain_of(name)
    frame = open_frame(people(ROWS, 11, name), domain)
    return {column: np.array(frame.column(column)) for column in domain}


def twisted(model: Any, coins: random.Random, part: float) -> Any:
    """The model with a part of its released numbers replaced by extremes."""
    out = copy.copy(model)
    own = model.get_params(deep=False)
    for name, value in vars(model).items():
        if name == "model_":
            setattr(out, name, twisted(value, coins, part))
        elif isinstance(value, float) and name not in own:
            setattr(out, name, _twist(value, coins, part))
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            flat = [_twist(float(one), coins, part) for one in value.ravel()]
            setattr(out, name, np.array(flat).reshape(value.shape))
    return out


def _twist(value: float, coins: random.Random, part: float) -> float:
    if coins.random() >= part:
        return value
    scaled = value * 10.0 ** coins.randint(-20, 20)
    return coins.choice(EXTREMES) if coins.random() < 0.6 else scaled


def texts(name: str, delta: str) -> list[str]:
    """The model as it is fitted, and twisted in many ways that its check accepts."""
    model, coins = fitted(name, delta), random.Random(name + delta)
    out = [persist.dumps(model)]
    for trial in range(200):
        if len(out) > _TWISTED:
            break
        other = twisted(model, coins, (0.005, 0.02, 0.2, 0.9)[trial % 4])
        try:
            text = persist.dumps(other)
            check_model(text, model.space_.domain)
        except (DiscretoError, ValueError):
            continue
        out.append(text)
    return out


def parts_of(whole: dict[str, np.ndarray], size: int) -> list[tuple[Any, Any]]:
    """Some rows of a batch, beside each other or not, and their places."""
    coins = np.random.default_rng(size)
    places = [np.arange(size), np.sort(coins.choice(ROWS, size, replace=False))]
    return [({n: c[place] for n, c in whole.items()}, place) for place in places]


def same_bits(first: Any, second: Any) -> bool:
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    return first.shape == second.shape and first.tobytes() == second.tobytes()


def answers(text: str, rows: dict[str, np.ndarray], domain: dp.Domain) -> list[Any]:
    """What the core makes of the predictions of a model, each with rows first."""
    predictor = predictor_of(text)
    with np.errstate(all="ignore"):
        loss = RowLoss(text).rows(rows, domain)[0]
        if not predictor.classes:
            return [predictor.values(rows), loss]
        return [
            predictor.class_codes(rows),
            predictor.probabilities(rows),
            Predicted(text).codes(rows, domain),
            Predicted(text, confidence=True).codes(rows, domain),
            Right(text).codes(rows, domain),
            loss,
        ]


@pytest.mark.parametrize("delta", ["0", "1e-5"])
@pytest.mark.parametrize("name", KINDS)
def test_predictions_in_questions_are_row_local(name: str, delta: str) -> None:
    domain, rows, several = domain_of(name), batch(name), texts(name, delta)
    assert len(several) > _TWISTED  # so many were accepted
    for text in several:
        whole = answers(text, rows, domain)
        for size in SIZES:
            for part, place in parts_of(rows, size):
                found = answers(text, part, domain)
                for one, other in zip(whole, found, strict=True):
                    assert same_bits(one[place], other)


@pytest.mark.parametrize("name", KINDS)
def test_points_of_a_contest_add_up(name: str) -> None:
    domain, rows = domain_of(name), batch(name)
    contest = Contest(tuple(texts(name, "0")[:3]))
    with np.errstate(all="ignore"):
        whole = contest.fold(rows, ROWS, domain)
        for size in (7, 65):
            total = contest.empty(domain)
            for start in range(0, ROWS, size):
                part = {n: c[start : start + size] for n, c in rows.items()}
                length = len(part["y"])
                total = contest.merge(total, contest.fold(part, length, domain))
            np.testing.assert_array_equal(total, whole)


@pytest.mark.parametrize("name", KINDS)
def test_every_method_that_predicts_is_row_local(name: str) -> None:
    rows = batch(name)
    for text in texts(name, "0")[:4]:
        model = persist.loads(text, values=False)  # as questions read it

        def found(method: str, part: Any, model: Any = model) -> list[Any]:
            columns = {n: part[n] for n in model.space_.features}
            ready = Ready(columns, len(part["y"]))
            with np.errstate(all="ignore"):
                out = getattr(model, method)(ready)
                return list(out) if method.startswith("staged") else [out]

        for method in METHODS:
            if not hasattr(model, method):
                continue
            whole = found(method, rows)
            for size in SIZES:
                for part, place in parts_of(rows, size):
                    pairs = zip(whole, found(method, part), strict=True)
                    assert all(same_bits(one[place], two) for one, two in pairs)


def test_the_check_can_fail() -> None:
    """A predictor that centres its rows is seen at once."""
    rows = batch("LinearRegression")
    whole = rows["d"] - rows["d"].mean()
    part, place = parts_of(rows, 65)[0]
    assert not same_bits(whole[place], part["d"] - part["d"].mean())
