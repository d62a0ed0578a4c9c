"""What is made of whole rows for one fit: held for just these rows, then given back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.core import aggregate, compiled
from discreto.core.maps import (
    Deviations,
    FuzzyPulls,
    LogisticGradient,
    Nearest,
    Scaled,
    SquaredGradient,
)
from discreto.core.maps import _fit_rows as fit_rows
from discreto.core.query import Block, Everyone, Sum, inside
from discreto.data.engines import LocalEngine
from discreto.data.frames import open_frame
from discreto.testing import simulate

ROWS = 3000
NAMES = ("a", "b", "c")
DOMAIN = dp.Domain(
    {name: dp.Number(-2, 2) for name in NAMES}
    | {"t": dp.Number(-1, 1), "y": dp.Category(["no", "yes"])}
)
WIDER = dp.Domain(DOMAIN.columns | {"a": dp.Number(-8, 4)})
TURN = ((1.0, 0.5, 0.0, 0.1), (0.0, 1.0, 0.3, 0.0), (0.2, 0.0, 1.0, 0.0))
PLAIN = Scaled(NAMES, (0.1, 0.0, 0.2), (0.5, 1.0, 2.0), 0.5, 1.5)
TURNED = replace(PLAIN, basis=TURN)
POINTS = ((0.1, -0.3, 0.0), (0.9, 0.2, 0.4), (-0.5, -0.5, 0.2))


def rows() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    data = {name: rng.normal(size=ROWS) for name in NAMES}
    data["a"][::97] = np.nan
    return data | {"t": data["b"] / 3, "y": np.where(data["c"] > 0, "yes", "no")}


def questions() -> list[Sum]:
    return [
        Sum(Everyone(), (Block(LogisticGradient(PLAIN, "y", ((0.1, 0.2, 0, 1.0),))),)),
        Sum(Everyone(), (Block(LogisticGradient(TURNED, "y", ((0.1, 0.2, 1.0),))),)),
        Sum(Everyone(), (Block(LogisticGradient(TURNED, "y", ((-2.0, 0, 0.5),))),)),
        Sum(Everyone(), (Block(SquaredGradient(TURNED, "t", 0, 1, (0, 1, 0.5), 1)),)),
        Sum(Nearest(NAMES, POINTS), (Block(Deviations(NAMES, POINTS, 0.7)),)),
        Sum(Nearest(NAMES[1:], ((0.1, 0.2), (0.3, -0.3))), (Block(PLAIN),)),
        Sum(Everyone(), (Block(FuzzyPulls(NAMES, POINTS, 1.7, 0.7)),)),
    ]


def folded(frame: Any, query: Sum, domain: Any, size: int = 700) -> list[Any]:
    asked = inside(query, domain)
    total = aggregate.empty(asked)
    for batch, count in frame.batches(asked.columns, size):
        total = aggregate.merge(asked, total, aggregate.fold(asked, batch, count))
    return total


def alone(query: Sum, domain: Any) -> list[Any]:
    """The sums, where nothing is held."""
    frame = open_frame(rows(), domain)
    asked = inside(query, domain)
    batch, count = next(iter(frame.batches(asked.columns, ROWS)))
    return aggregate.fold(asked, dict(batch), count)


@pytest.fixture(autouse=True)
def loops(monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.setattr(compiled, "WORTH", 0)


@pytest.mark.parametrize("room", [0, 2000, 10**9])
@pytest.mark.parametrize("fast", [True, False])
def test_answers_do_not_depend_on_what_is_held(room, fast, monkeypatch):
    """Whatever was asked before, of these rows or of others, in other bounds too."""
    if not fast:
        monkeypatch.setattr(compiled, "loops", lambda *_: None)
    frame = open_frame(rows(), DOMAIN)
    frame.fit_rows = fit_rows.FitRows(room)
    several = [(query, domain) for query in questions() for domain in (DOMAIN, WIDER)]
    wanted = {i: alone(*one) for i, one in enumerate(several)}
    rng = np.random.default_rng(1)
    for i in [*range(len(several)), *rng.integers(0, len(several), 60).tolist()]:
        for size in (700, 1100):
            found = folded(frame, *several[i], size)
            for one, two in zip(found, wanted[i], strict=True):
                np.testing.assert_array_equal(one, two)


def test_the_same_rows_are_made_once(monkeypatch):
    made: list[int] = []
    make = Scaled.weighed
    monkeypatch.setattr(Scaled, "weighed", lambda *args: made.append(1) or make(*args))
    frame, query = open_frame(rows(), DOMAIN), questions()[1]
    for _ in range(3):
        folded(frame, query, DOMAIN)
    # Batches of 700 rows, once each; a few rows of each question are compared.
    assert len(made) == 5 + 3 * 2


def test_nobody_can_write_to_them():
    frame = open_frame(rows(), DOMAIN)
    folded(frame, questions()[1], DOMAIN)
    arrays = [array for _, kept in frame.fit_rows._kept.values() for array in kept]
    assert arrays
    assert not any(array.flags.writeable for array in arrays)


def test_no_more_is_held_than_there_is_room():
    place = fit_rows.FitRows(100)
    assert place.room(("k",), [(3, 20), (20,)]) is not None
    assert place.room(("k",), [(3, 20), (20,)]) is None
    assert place.room(("other",), [(5, 20)]) is not None  # what was there is let go


def test_too_little_memory_costs_time_alone(monkeypatch):
    frame, query = open_frame(rows(), DOMAIN), questions()[1]
    wanted = alone(query, DOMAIN)

    class Full:
        def empty(self, size: int) -> Any:
            raise MemoryError

    place = fit_rows.FitRows(100)
    with monkeypatch.context() as patch:
        patch.setattr(fit_rows, "np", Full())
        assert place.room(("k",), [(3, 20)]) is None
    frame.fit_rows = place
    np.testing.assert_array_equal(folded(frame, query, DOMAIN)[0], wanted[0])


@pytest.mark.parametrize(
    "model",
    [
        models.LogisticRegression(epsilon=8, method="gradient"),
        models.KMeans(3, epsilon=8),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_gives_everything_back(model, monkeypatch):
    held: list[int] = []
    keep = fit_rows.FitRows.keep
    monkeypatch.setattr(
        fit_rows.FitRows, "keep", lambda *args: held.append(1) or keep(*args)
    )
    domain = dp.Domain({name: DOMAIN[name] for name in (*NAMES, "y")}, target="y")
    if isinstance(model, models.KMeans):
        domain = dp.Domain({name: DOMAIN[name] for name in NAMES})
    data = {name: np.tile(values, 28) for name, values in rows().items()}
    table = dp.Table(data, domain, simulate(0), engine=LocalEngine(1))
    model.fit(table)
    assert held
    assert not table._rows._frame.fit_rows._kept
    assert table._rows._frame.fit_rows._slab is None
