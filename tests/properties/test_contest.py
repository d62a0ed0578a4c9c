"""Choosing among models: no row moves their points further than the choice pays for.

The choice is taken out of ``select`` itself, so that what is judged is what is paid.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute import INF, NAN

import discreto as dp
from discreto.core import aggregate
from discreto.core.gate import Gate
from discreto.core.maps.predictions import ERROR_STEPS, MostPoints
from discreto.core.query import Choice, bind, inside
from discreto.errors import ParameterError
from discreto.models import GaussianNB, LinearRegression, select
from discreto.testing import simulate

NUMBERS = {"a": dp.Number(0, 10)}
CLASSES = dp.Domain({**NUMBERS, "t": dp.Category(["no", "yes"])}, target="t")
AMOUNTS = dp.Domain({**NUMBERS, "t": dp.Number(0, 100)}, target="t")
A = (0.0, 10.0, -1e200, INF, NAN)
KINDS = {
    "classifiers": (GaussianNB, {}, {"var_smoothing": 1e6}, CLASSES, (0, 1, -1)),
    "regressors": (
        LinearRegression,
        {},
        {"fit_intercept": False},
        AMOUNTS,
        (0.0, 100.0, 1e9, -INF, NAN),
    ),
}


def choice_of(kind, monkeypatch):
    """The choice that ``select`` asks for."""
    model, one, two, domain, _ = KINDS[kind]
    coins = np.random.default_rng(0)
    a = coins.random(60) * 10
    truth = np.where(a > 5, "yes", "no") if domain is CLASSES else 100 - a * 10
    asked, real = [], Gate.select

    def spy(self, query, *rest):
        asked.append(getattr(query, "query", query))
        return real(self, query, *rest)

    monkeypatch.setattr(Gate, "select", spy)
    table = dp.Table({"a": a, "t": truth}, domain, simulate(0))
    select([model(epsilon=1, **one), model(epsilon=1, **two)], table, epsilon=50)
    return asked[-1]


def points(choice, rows, domain):
    kind = np.int64 if domain is CLASSES else np.float64
    batch = {
        "a": np.array([row[0] for row in rows], dtype=float),
        "t": np.array([row[1] for row in rows], dtype=kind),
    }
    (sums,) = aggregate.fold(inside(choice.tally, domain), batch, len(rows))
    return choice.score.scores(sums, domain)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_moves_points_as_far_as_is_paid_and_all_of_them_one_way(
    kind, monkeypatch
):
    choice, domain = choice_of(kind, monkeypatch), KINDS[kind][3]
    universe = list(itertools.product(A, KINDS[kind][4]))
    empty = choice.score.scores(choice.tally.empty(domain), domain)[0]
    told, most = choice.score.sensitivity("add-remove"), 0
    for first in universe:
        alone = points(choice, [first], domain)
        moves = [alone - empty]
        moves += [points(choice, [first, row], domain) - alone for row in universe]
        for move in moves:
            assert np.abs(move).max() <= told
            assert not choice.score.monotone or (move >= 0).all() or (move <= 0).all()
            most = max(most, int(np.abs(move).max()))
    assert most == told  # half of it would not do
    # One row is in all points at once: they are one group of candidates.
    assert choice.score.groups() == 1
    assert choice.width(domain) >= told


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_else_says_how_far_a_row_moves_points(kind, monkeypatch):
    choice, domain = choice_of(kind, monkeypatch), KINDS[kind][3]
    bind(choice, domain)
    for steps in (1, 2, ERROR_STEPS // 2, ERROR_STEPS):
        if steps != choice.score.steps:
            with pytest.raises(ParameterError):
                bind(Choice(choice.tally, MostPoints(steps)), domain)
