"""The released numbers of a fitted model, as tables and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.plots import CentroidsDisplay
from discreto.report.markup import Html, Measured, figure, table, text
from discreto.text.language import mark, number, tr

# Attributes that people know, and where the variance of their noise is released too.
TITLES = {
    "cluster_centers_": mark("centres of the clusters"),
    "class_prior_": mark("share of each class"),
    "theta_": mark("mean of each column by class"),
    "var_": mark("variance of each column by class"),
    "coef_": mark("coefficients"),
    "intercept_": mark("intercept"),
}
VARIANCES = {"theta_": "theta_doubt_"}
MOST = 400  # numbers of a table that is printed


def learned(model: Any) -> list[Html]:
    """Return tables of released numbers, a picture of centres, names of the rest."""
    cost, blocks = number(model.privacy_.cost), []
    if hasattr(model, "cluster_centers_") and len(model.space_.numbers) >= 2:
        shown = CentroidsDisplay.from_model(model)
        blocks.append(figure(shown, caption=tr("Released centres, {cost}.", cost=cost)))
    if hasattr(model, "marginals_"):
        blocks.append(_marginals(model))
    arrays = {n: v for n, v in vars(model).items() if _is_released(n, v)}
    for name in TITLES:
        if name in arrays and 0 < arrays[name].size <= MOST:
            blocks.append(_table(model, name, arrays.pop(name)))
    if arrays:
        many = sum(array.size for array in arrays.values())
        names = ", ".join(sorted(arrays))
        blocks.append(
            text(
                tr(
                    "The model file has {many} more released numbers: {names}.",
                    many=many,
                    names=names,
                )
            )
        )
    if not model.privacy_.cost:
        return [text(tr("Nothing: it answers from the rows."))]
    if model.privacy_.simulated:
        about = tr("All of it follows from the answers of one fit, {cost}.", cost=cost)
    else:
        about = tr(
            "All of it follows from the answers of one fit, {cost}, and may be "
            "published.",
            cost=cost,
        )
    doubts = tr("± is one standard deviation of the noise, where the fit released it.")
    return [text(f"{about} {doubts}"), *blocks]


def _marginals(model: Any) -> Html:
    """Return a table of the counts of a synthesizer, and their noise."""
    spreads = dict(zip((1, 2), model.spreads_, strict=True))
    rows = [
        [" × ".join(names), counts.size, Measured(spreads[len(names)], None)]
        for names, counts in model.marginals_.items()
    ]
    caption = tr(
        "Released counts of about {rows} rows, {cost}; rows are drawn from a model of "
        "them.",
        rows=number(round(model.rows_)),
        cost=number(model.privacy_.cost),
    )
    heads = [tr("columns"), tr("counts"), tr("noise of each")]
    return table(heads, rows, caption=caption)


def _is_released(name: str, value: Any) -> bool:
    number = isinstance(value, np.ndarray) and value.dtype.kind in "fi"
    return number and name.endswith("_") and value.ndim > 0


def _table(model: Any, name: str, array: Any) -> Html:
    noise = getattr(model, VARIANCES.get(name, ""), None)
    spread = None if noise is None else np.sqrt(np.atleast_2d(noise))
    lines = np.atleast_2d(array)
    head, first = _first(model, name, len(lines))
    rows = []
    for i, line in enumerate(lines):
        doubts = [None] * len(line) if spread is None else spread[i].tolist()
        cells = zip(line.tolist(), doubts, strict=True)
        rows.append([first[i], *(Measured(value, doubt) for value, doubt in cells)])
    caption = f"{tr(TITLES[name])}, {number(model.privacy_.cost)}"
    return table([head, *_heads(model, array, lines.shape[1])], rows, caption=caption)


def _heads(model: Any, array: Any, wide: int) -> list[str]:
    numbers, features = list(model.space_.numbers), list(model.space_.features)
    classes = [str(kind) for kind in getattr(model, "classes_", [])]
    for names in (numbers, features, classes):
        if len(names) == wide and (array.ndim == 2 or names is not classes):
            return names
    return classes if len(classes) == wide else [str(i + 1) for i in range(wide)]


def _first(model: Any, name: str, many: int) -> tuple[str, list[str]]:
    classes = [str(kind) for kind in getattr(model, "classes_", [])]
    if many == 1:
        return "", [""]
    if len(classes) == many:
        return tr("class"), classes
    kind = tr("cluster") if name == "cluster_centers_" else tr("row")
    return kind, [str(i + 1) for i in range(many)]
