"""Whether what a file says of a synthesizer is enough to draw rows from."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.synthesis import _labels
from discreto.synthesis._columns import Coding
from discreto.synthesis._rules import Rules

MOST_ROWS = 10**8


def has_whole_state(model: Any) -> bool:
    """Whether rows can be drawn from the attributes of a synthesizer."""
    try:
        Rules.read(model, model.space_.domain)
        good = _columns_fit(model) and _factors_fit(model) and _labels_fit(model)
        return good and 1 <= model.rows_ <= MOST_ROWS
    except (ValueError, TypeError, AttributeError, LookupError):
        return False


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
    return counts.shape == (cells,) and bool(np.isfinite(counts).all())


def _factors_fit(model: Any) -> bool:
    sizes, good = [len(part) for part in model.present_], True
    for places, factor in model.factors_:
        good = good and list(places) == sorted(set(places))
        good = good and factor.shape == tuple(sizes[i] for i in places)
        good = good and bool(np.isfinite(factor).all()) and min(places) >= 0
    return good


def _labels_fit(model: Any) -> bool:
    space = model.space_
    if (model.labeller_ is None) != (space.target is None):
        return False
    if space.target is None or not _labels.target_share(space):
        return True
    coding = _labels.target_coding(space, model.bins)
    return (
        _are_counts(model.target_counts_, coding)
        and isinstance(model.labeller_, _labels.AutoRegressor)
        and 0 <= model.target_spread_ < np.inf
    )
