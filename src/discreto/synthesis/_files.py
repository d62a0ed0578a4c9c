"""Checks of a synthesizer's file: its parts must be enough to draw rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.models.interop.state import FormPart, NumberPart, Part, Sizes
from discreto.synthesis import _target_model as _labels
from discreto.synthesis._columns import Coding
from discreto.synthesis._constraints import Rules

MOST_ROWS = 10**8


def _are_arrays(kinds: str) -> FormPart:
    """Return the part that is a list of finite arrays, one for each column."""

    def good(value: Any, sizes: Sizes, values: bool) -> bool:
        arrays = isinstance(value, list) and all(
            isinstance(one, np.ndarray) and one.dtype.kind in kinds for one in value
        )
        return arrays and sizes.fit("features", len(value))

    return FormPart(good)


def _are_factors(value: Any, sizes: Sizes, values: bool) -> bool:
    return isinstance(value, list) and all(_is_table(*one) for one in value)


def _are_marginals(value: Any, sizes: Sizes, values: bool) -> bool:
    names = set(sizes.space.features)
    return isinstance(value, dict) and all(
        set(places) <= names and _is_table(places, table)
        for places, table in value.items()
    )


def _is_table(places: Any, table: Any) -> bool:
    """Return True for a finite table with one axis for each of its columns."""
    right = isinstance(places, tuple) and isinstance(table, np.ndarray)
    right = right and table.dtype.kind == "f" and table.ndim == len(places)
    return right and bool(np.isfinite(table).all())


def _are_spreads(value: Any, sizes: Sizes, values: bool) -> bool:
    two = isinstance(value, tuple) and len(value) == 2
    return two and all(NumberPart(0.0).fits(one, sizes, True) for one in value)


def _may_be_set(value: Any, sizes: Sizes, values: bool) -> bool:
    return True  # its form depends on the target: see _labels_fit


# A synthesizer makes no predictions, so all of its numbers are always checked.
DRAWN_STATE: dict[str, Part] = {
    "rows_": NumberPart(1.0, float(MOST_ROWS)),
    "counts_": _are_arrays("f"),
    "groups_": _are_arrays("i"),
    "present_": _are_arrays("i"),
    "spreads_": FormPart(_are_spreads),
    "factors_": FormPart(_are_factors),
    "marginals_": FormPart(_are_marginals),
    "labeller_": FormPart(_may_be_set),
    "target_counts_": FormPart(_may_be_set),
    "target_spread_": FormPart(_may_be_set),
}


def has_whole_state(model: Any) -> bool:
    """Return True if rows can be drawn from the attributes of a synthesizer."""
    Rules.read(model, model.space_.domain)
    return _columns_fit(model) and _factors_fit(model) and _labels_fit(model)


def _columns_fit(model: Any) -> bool:
    known = model._codings(model.space_)
    lists = (model.groups_, model.present_, model.counts_)
    good = all(len(part) == len(known) for part in lists)
    for coding, groups, present, counts in zip(known, *lists, strict=True):
        many = int(groups.max()) + 1
        good = good and groups.shape == (coding.cells,) and present.ndim == 1
        good = good and set(groups.tolist()) == set(range(many))
        good = good and present.tolist() == list(range(len(present)))
        good = good and many <= len(present) <= many + coding.column.missing
        good = good and _are_counts(counts, coding)
    return good


def _are_counts(counts: Any, coding: Coding) -> bool:
    cells = coding.cells + coding.column.missing
    right = counts.dtype.kind == "f" and counts.shape == (cells,)
    return right and bool(np.isfinite(counts).all())


def _factors_fit(model: Any) -> bool:
    sizes, good = [len(part) for part in model.present_], True
    for places, factor in model.factors_:
        good = good and list(places) == sorted(set(places))
        good = good and factor.shape == tuple(sizes[i] for i in places)
        good = good and bool(np.isfinite(factor).all()) and min(places) >= 0
    covered = {place for places, _ in model.factors_ for place in places}
    return good and covered == set(range(len(sizes)))


def _labels_fit(model: Any) -> bool:
    space = model.space_
    if (model.labeller_ is None) != (space.target is None):
        return False
    if space.target is None or not _labels.target_share(space):
        return model.target_counts_ is None and model.target_spread_ is None
    coding = _labels.target_coding(space, model.bins)
    return (
        _are_counts(model.target_counts_, coding)
        and isinstance(model.labeller_, _labels.AutoRegressor)
        and type(model.target_spread_) is float
        and 0 <= model.target_spread_ < np.inf
    )
