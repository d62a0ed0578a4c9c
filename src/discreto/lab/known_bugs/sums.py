"""Planted bugs about sums, counts and bounds. The first of each pair is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.audit.neighbours import Data
from discreto.audit.recorder import Recorder
from discreto.lab.known_bugs._rows import (
    FAR,
    LABELS,
    PEOPLE,
    REPLACED,
    VISITS,
    codes,
    counts,
    numbers,
    raw,
)
from discreto.lab.known_bugs.planted_bug import PlantedBug


def _sum_without_clip(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    values = np.nan_to_num(raw(data), nan=0.5, posinf=0.0, neginf=0.0)
    return recorder.noise("sum", values.sum(), sensitivity=1, epsilon=1)


def _sum_with_clip(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    return recorder.noise("sum", numbers(data).sum(), sensitivity=1, epsilon=1)


def _range_as_reach(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    total = numbers(data, 100, 101).sum()
    return recorder.noise("sum", total, sensitivity=1, epsilon=1)


def _centred(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    total = (numbers(data, 100, 101) - 100.5).sum()
    return recorder.noise("sum", total, sensitivity=0.5, epsilon=1)


def _bounds_from_data(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    values = numbers(data)
    wide = float(np.ptp(values)) if len(values) else 0.0
    return recorder.noise("sum", values.sum(), sensitivity=wide + 1e-6, epsilon=1)


def _exact_count(data: Data, recorder: Recorder) -> Any:
    total = _sum_with_clip(data, recorder)
    return total / max(len(data["x"]), 1)


def _noisy_count(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    total = recorder.noise("sum", numbers(data).sum(), sensitivity=1, epsilon="1/2")
    rows = recorder.noise("count", len(data["x"]), sensitivity=1, epsilon="1/2")
    return total / max(rows, 1)


def _error_on_missing(data: Data, recorder: Recorder) -> Any:
    if np.isnan(raw(data)).any():
        raise ValueError("Input contains NaN.")
    return _sum_with_clip(data, recorder)


def _warning_about_rows(data: Data, recorder: Recorder) -> Any:
    """Arithmetic that warns when a value lies outside of its range."""
    np.arcsin(raw(data))
    return _sum_with_clip(data, recorder)


def _amounts(data: Data) -> Any:
    """Many small amounts and a few large ones, from 0 to 2048."""
    x = numbers(data)
    return np.where(x > 0.9, 2048.0, np.where(x > 0.1, 1.001, 0.0))


def _half_precision(data: Data, recorder: Recorder) -> Any:
    """A running total in 16 bits rounds at every row, as soon as it is large."""
    recorder.pay(1)
    total = np.float16(0)
    for amount in _amounts(data).astype(np.float16):
        total = np.float16(total + amount)
    return recorder.noise("sum", float(total), sensitivity=2048, epsilon=1)


def _whole_steps(data: Data, recorder: Recorder) -> Any:
    """Each row is rounded once, to a whole number of steps; then nothing is rounded."""
    recorder.pay(1)
    steps = np.rint(_amounts(data) * 1024).astype(np.int64)
    return recorder.noise("sum", int(steps.sum()) / 1024, sensitivity=2048, epsilon=1)


def _seen_classes(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    present = sorted({str(label) for label in data["label"]})
    tally = [sum(str(v) == label for v in data["label"]) for label in present]
    return recorder.noise("classes", tally, sensitivity=1, epsilon=1)


def _public_classes(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    tally = counts(codes(data), len(LABELS))
    return recorder.noise("classes", tally, sensitivity=1, epsilon=1)


def _codes_by_appearance(data: Data, recorder: Recorder) -> Any:
    """Codes that follow the order of rows, as ``factorize`` gives them."""
    seen: dict[str, int] = {}
    places = [seen.setdefault(str(v), len(seen)) for v in data["label"]]
    recorder.pay(1)
    tally = counts([p if p < 5 else -1 for p in places], 5)
    return recorder.noise("classes", tally, sensitivity=1, epsilon=1)


def _adding_for_replacing(data: Data, recorder: Recorder) -> Any:
    return _public_classes(data, recorder)


def _replacing(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    tally = counts(codes(data), len(LABELS))
    return recorder.noise("classes", tally, sensitivity=2, epsilon=1)


def _every_visit(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    return recorder.noise("visits", len(data["x"]), sensitivity=2, epsilon=1)


def _two_visits_each(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    people: dict[Any, int] = {}
    for person in data["id"]:
        people[person] = min(people.get(person, 0) + 1, 2)
    return recorder.noise("visits", sum(people.values()), sensitivity=2, epsilon=1)


def _free_diagonal(data: Data, recorder: Recorder) -> Any:
    """The square of the wrong end of the range: no noise where that end is 0."""
    recorder.pay(1)
    x = numbers(data)
    lower = 0.0
    squares = recorder.noise("squares", (x * x).sum(), sensitivity=lower**2, epsilon=1)
    return squares


def _paid_diagonal(data: Data, recorder: Recorder) -> Any:
    recorder.pay(1)
    x = numbers(data)
    return recorder.noise("squares", (x * x).sum(), sensitivity=1, epsilon=1)


PLANTED_BUGS = (
    PlantedBug("forgotten clip", "SmartNoise: clipped values computed, not used",
          "transcript", _sum_without_clip, _sum_with_clip, PEOPLE),
    PlantedBug("range as sensitivity",
          "diffprivlib: sums of [100, 101] get noise for 1",
          "transcript", _range_as_reach, _centred, FAR),
    PlantedBug("bounds from data", "lecture and thesis: the largest value in the table",
          "transcript", _bounds_from_data, _sum_with_clip, PEOPLE),
    PlantedBug("exact count", "SmartNoise: a mean over the exact number of rows",
          "transcript", _exact_count, _noisy_count, PEOPLE),
    PlantedBug("error on a missing value", "validation of private rows",
          "transcript", _error_on_missing, _sum_with_clip, PEOPLE),
    PlantedBug("warning about rows", "numpy warns about a value",
          "transcript", _warning_about_rows, _sum_with_clip, PEOPLE),
    PlantedBug("float sum", "Casacuberta and others 2022: rounding adds up",
          "transcript", _half_precision, _whole_steps, PEOPLE, size=40),
    PlantedBug("classes from data", "np.unique(y), labels of the neighbours",
          "transcript", _seen_classes, _public_classes, PEOPLE),
    PlantedBug("codes by first appearance", "pandas.factorize in the slides",
          "transcript", _codes_by_appearance, _public_classes, PEOPLE),
    PlantedBug("adding noise for replacing", "thesis and diffprivlib: histogram of 1/ε",
          "transcript", _adding_for_replacing, _replacing, REPLACED),
    PlantedBug("surplus rows of a person",
          "Privacy on Beam: duplicates were not bounded",
          "transcript", _every_visit, _two_visits_each, VISITS),
    PlantedBug("free diagonal", "diffprivlib: Σx² of [0, 100] without noise",
          "transcript", _free_diagonal, _paid_diagonal, PEOPLE),
)  # fmt: skip
