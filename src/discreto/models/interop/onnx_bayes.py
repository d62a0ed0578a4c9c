"""Naive Bayes as an ONNX graph, with Number and Category columns.

Categories are inputs of their own, named as their columns: texts or whole numbers. What
is not among the declared values counts as missing, as everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreto.errors import ParameterError

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator
    from discreto.models.interop.onnx import _Graph


def bayes(model: PrivateEstimator, graph: _Graph) -> None:
    """Add nodes for the most probable class and all probabilities."""
    view, prior = model.view_, np.log(model.class_prior_)
    missing = graph.node("IsNaN", "X") if view.numbers else ""
    codes = {name: _codes(model, name, graph) for name in view.categories}
    joint = graph.constant(np.zeros((1, len(prior))))
    if view.numbers:
        joint = graph.node("Add", joint, _normal_laws(model, missing, graph))
    for name, table in zip(view.categories, model.feature_log_prob_, strict=True):
        joint = graph.node("Add", joint, _looked_up(table.T, codes[name], graph))
    tempered = graph.node("Mul", joint, graph.constant(np.float64(model.temper_)))
    logs = graph.node("Add", tempered, graph.constant(prior[None, :]))
    logs = graph.node("LogSoftmax", logs, axis=1)
    if model.vote_share_:
        called = graph.node("LogSoftmax", _votes(model, missing, codes, graph), axis=1)
        share = float(model.vote_share_)
        parts = [
            graph.node("Mul", part, graph.constant(np.float64(weight)))
            for part, weight in ((called, share), (logs, 1 - share))
        ]
        logs = graph.node("Add", *parts)
    graph.classes(model, logs)


def _codes(model: PrivateEstimator, name: str, graph: _Graph) -> str:
    """Return the code of each row's value in the view; the last is for unknown."""
    column = model.space_.domain.category(name)
    keys, group = list(column.categories), model.groups_.get(name)
    if column.aliases or column.strip or not column.case:
        raise ParameterError(
            f"{name!r} has aliases or spellings that ONNX does not know. Write its "
            "values as they are declared, or use models.save."
        )
    size = len(model.view_.domain.category(name).categories)
    values = list(range(len(keys))) if group is None else [int(g) for g in group]
    if all(isinstance(key, str) for key in keys):
        source, said = graph.input(name, "string"), {"keys_strings": keys}
    elif all(isinstance(key, int) for key in keys):
        source = graph.input(name, "whole")
        said = {"keys_int64s": [int(key) for key in keys]}
    else:
        raise ParameterError(f"{name!r} mixes texts and numbers: it has no ONNX form.")
    return graph.node(
        "LabelEncoder",
        source,
        domain="ai.onnx.ml",
        values_int64s=values,
        default_int64=size,
        **said,
    )


def _looked_up(table: Any, codes: str, graph: _Graph) -> str:
    """Return a line of a table for each code; zeros for what is unknown."""
    full = np.vstack([table, np.zeros((1, table.shape[1]))])
    return graph.node("Gather", graph.constant(full), codes, axis=0)


def _normal_laws(model: PrivateEstimator, missing: str, graph: _Graph) -> str:
    """Return logarithms of normal densities, summed over known columns."""
    var = model.var_ + model.theta_doubt_
    ends = _ends(model)
    there = graph.node("Where", missing, graph.constant(ends[0]), "X")
    there = graph.node("Max", there, graph.constant(ends[0]))
    there = graph.node("Min", there, graph.constant(ends[1]))
    apart = graph.node("Unsqueeze", there, graph.constant([1]))
    gap = graph.node("Sub", apart, graph.constant(model.theta_[None, :, :]))
    square = graph.node("Mul", gap, gap)
    scaled = graph.node("Div", square, graph.constant(var[None, :, :]))
    logs = np.log(2 * np.pi * var)[None, :, :]
    whole = graph.node("Add", scaled, graph.constant(logs))
    half = graph.node("Mul", whole, graph.constant(np.float64(-0.5)))
    absent = graph.node("Unsqueeze", missing, graph.constant([1]))
    kept = graph.node("Where", absent, graph.constant(np.float64(0)), half)
    return str(graph.node("ReduceSum", kept, graph.constant([2]), keepdims=0))


def _ends(model: PrivateEstimator) -> tuple[Any, Any]:
    columns = [model.view_.domain.number(name) for name in model.view_.numbers]
    lower = np.array([float(column.lower) for column in columns])
    return lower, np.array([float(column.upper) for column in columns])


def _votes(
    model: PrivateEstimator, missing: str, codes: dict[str, str], graph: _Graph
) -> str:
    """Return the scores that soft votes give to the classes."""
    view = model.view_
    weights = model.vote_weights_ - model.vote_weights_[:1]
    scores, place = graph.constant(np.zeros((1, len(weights)))), 0
    slopes, begins = [], []
    for name in view.features:
        if name in codes:
            width = len(view.domain.category(name).categories)
            table = weights[:, place : place + width].T
            scores = graph.node("Add", scores, _looked_up(table, codes[name], graph))
        else:
            width = 2
            begins.append(weights[:, place])
            slopes.append(weights[:, place + 1] - weights[:, place])
        place += width
    if view.numbers:
        lower = _ends(model)[0]
        halves = np.array([view.domain.number(name).half for name in view.numbers])
        filled = graph.node("Where", missing, graph.constant(lower), "X")
        away = graph.node("Sub", filled, graph.constant(lower))
        level = graph.node("Div", away, graph.constant(2 * halves))
        ends = [graph.constant(np.float64(end)) for end in (0, 1)]
        level = graph.node("Clip", level, *ends)
        there = graph.node("Cast", graph.node("Not", missing), to=graph.double())
        for part, weight in ((level, slopes), (there, begins)):
            made = graph.node("MatMul", part, graph.constant(np.array(weight)))
            scores = graph.node("Add", scores, made)
    votes = graph.node("Softmax", scores, axis=1)
    called = graph.node("MatMul", votes, graph.constant(model.vote_slopes_.T.copy()))
    return str(graph.node("Add", called, graph.constant(model.vote_begins_[None, :])))
