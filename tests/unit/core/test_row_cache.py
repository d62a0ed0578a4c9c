"""What is kept about rows between questions: same answers, less work, given back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.core import aggregate, compiled
from discreto.core.fold import fold_all
from discreto.core.maps import (
    Deviations,
    FuzzyPulls,
    LogisticGradient,
    Nearest,
    Scaled,
    SquaredGradient,
)
from discreto.core.query import Block, Everyone, Sum, inside
from discreto.core.row_cache import RowCache, remember
from discreto.core.row_program import Program, kept_name
from discreto.data.engines import LocalEngine
from discreto.data.frames import open_frame
from discreto.data.frames.spill import Spill
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
    frame.cache = RowCache(Spill(room), Spill(room, file=False))
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
    fill = Program.fill

    def counting(self, *args):
        if kept_name(0) not in self.names:  # it reads columns, not what is held
            made.append(1)
        fill(self, *args)

    monkeypatch.setattr(Program, "fill", counting)
    frame, query = open_frame(rows(), DOMAIN), questions()[1]
    for _ in range(3):
        folded(frame, query, DOMAIN)
    held = len(made)
    folded(frame, query, DOMAIN)
    assert made
    assert len(made) == held


def test_kept_rows_cannot_be_written_to(monkeypatch):
    given: list[Any] = []
    held = aggregate.held_rows
    frame = open_frame(rows(), DOMAIN)
    folded(frame, questions()[1], DOMAIN)
    monkeypatch.setattr(
        aggregate, "held_rows", lambda *args: given.extend(held(*args)) or held(*args)
    )
    folded(frame, questions()[1], DOMAIN)
    assert given
    assert not any(array.flags.writeable for array in given)


def test_older_questions_give_their_memory_to_newer_ones():
    cache = RowCache(Spill(0, file=False), Spill(1600, file=False))
    for start in (0, 100):
        place = (start, start + 100)
        cache.keep(place, "rows", ("old",), [np.zeros(100)], most=1, whole=True)
    cache.keep((0, 50), "rows", ("old",), [np.zeros(50)], most=1, whole=True)
    assert cache.find((0, 50), "rows", ("old",)) is None  # nothing is older than it
    cache.keep((0, 150), "rows", ("new",), [np.zeros(150)], most=1, whole=True)
    assert cache.find((0, 150), "rows", ("new",)) is not None
    assert cache.find((0, 100), "rows", ("old",)) is None


def test_too_little_memory_costs_time_alone():
    frame, query = open_frame(rows(), DOMAIN), questions()[1]
    frame.cache = RowCache(Spill(0, file=False), Spill(0, file=False))
    for _ in range(2):
        found = folded(frame, query, DOMAIN)[0]
        np.testing.assert_array_equal(found, alone(query, DOMAIN)[0])


@pytest.mark.parametrize(
    "model",
    [
        models.LogisticRegression(epsilon=8, method="gradient"),
        models.KMeans(3, epsilon=8),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_gives_everything_back(model, monkeypatch):
    kept: list[Any] = []
    keep = RowCache.keep
    monkeypatch.setattr(
        RowCache, "keep", lambda *args: kept.append(args[:4]) or keep(*args)
    )
    domain = dp.Domain({name: DOMAIN[name] for name in (*NAMES, "y")}, target="y")
    if isinstance(model, models.KMeans):
        domain = dp.Domain({name: DOMAIN[name] for name in NAMES})
    data = {name: np.tile(values, 28) for name, values in rows().items()}
    table = dp.Table(data, domain, simulate(0), engine=LocalEngine(1))
    model.fit(table)
    assert kept
    assert all(cache.find(*entry) is None for cache, *entry in kept)


def test_every_key_holds_the_domain_of_its_question():
    """A map that forgets the domain in its key is not answered in other bounds."""
    frame, seen = open_frame(rows(), DOMAIN), []

    class Forgetful(Deviations):
        def rows(self, batch: Any, domain: Any) -> Any:
            make = partial(super().rows, batch, domain)
            seen.append(remember(batch, "forgetful", (), make))
            return seen[-1].copy()

        add_to = None

    query = Sum(Everyone(), (Block(Forgetful(NAMES, POINTS, 0.7)),))
    for domain in (DOMAIN, WIDER, DOMAIN):
        found = fold_all(inside(query, domain), frame)
        np.testing.assert_array_equal(found[0], alone(query, domain)[0])
