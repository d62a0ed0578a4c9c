"""The proximal point of a silo: how far a row can move it, found by trying."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from silos import LINEAR, NAMES, YES_NO, parts

import discreto as dp
from discreto.core.maps import ClippedGradient, Scaled, proximal
from discreto.core.maps.gradients import TOP
from discreto.core.query import inside
from discreto.testing import simulate

ROWS = Scaled(NAMES, (0.0,) * 4, (1.0,) * 4, 0.3, 1.0, "l2")
BASIS = tuple(map(tuple, (np.eye(5) * 3 + 0.4).tolist()))


def gradient(domain, clip=0.4, weights=(0.3, -0.5, 0.2, 0.0, 0.9), basis=BASIS):
    loss = "squared" if domain is LINEAR else "logistic"
    return ClippedGradient(ROWS, domain.target, weights, clip, loss, basis)


def shift(part, domain, ask, mu, rows):
    table = dp.Table({name: part[name] for name in domain}, domain, simulate(0))
    asked = proximal.question(ask, mu, rows, int(rows))

    def fold(sums):
        return table._rows.fold(inside(sums, domain))

    return asked.function.compute(fold, asked.cells, domain)[0]


def with_row(part, row):
    return {name: np.append(part[name], [row[name]]) for name in part}


def without_row(part, place):
    return {name: np.delete(part[name], place) for name in part}


def worst_move(domain):
    """The farthest that a row added or taken away moved a point, in grid steps."""
    coins = np.random.default_rng(1)
    worst = 0.0
    for _ in range(25):
        rows = int(coins.integers(1, 25))
        part = parts(int(coins.integers(99)), [rows])[0]
        ask = gradient(domain, float(coins.choice([0.05, 0.4, 3.0])))
        mu = float(coins.choice([0.5, 1.0, 8.0]))
        extreme = {name: coins.choice([-1e9, -4.0, 0.0, 4.0]) for name in part}
        extreme["late"] = coins.choice(["no", "yes"])
        here = shift(part, domain, ask, mu, rows)
        for other in (with_row(part, extreme), without_row(part, 0)):
            there = shift(other, domain, ask, mu, rows)
            worst = max(worst, np.sqrt(((here - there).astype(float) ** 2).sum()))
    return worst


@pytest.mark.parametrize("domain", [LINEAR, YES_NO], ids=["linear", "logistic"])
def test_no_row_moves_it_beyond_the_bound(domain):
    assert worst_move(domain) <= TOP


@pytest.mark.parametrize("domain", [LINEAR, YES_NO], ids=["linear", "logistic"])
def test_a_bound_that_is_too_small_is_found_out(domain, monkeypatch):
    right = proximal.Shift.bound
    monkeypatch.setattr(proximal.Shift, "bound", lambda self: right(self) * 2 / 3)
    assert worst_move(domain) > TOP


def test_one_wild_row_in_an_empty_silo_reaches_the_bound():
    empty = {name: np.empty(0) for name in LINEAR}
    wild = dict.fromkeys(LINEAR, 4.0)
    ask = gradient(LINEAR, 0.01, (0.0,) * 5)
    moved = shift(with_row(empty, wild), LINEAR, ask, 1.0, 1) - shift(
        empty, LINEAR, ask, 1.0, 1
    )
    size = np.sqrt((moved.astype(float) ** 2).sum())
    assert 0.99 * TOP < size <= TOP


def test_it_is_the_minimiser():
    part, ask = parts(5, [200])[0], gradient(LINEAR, 50.0)
    table = dp.Table({n: part[n] for n in LINEAR}, LINEAR, simulate(0))
    steps = shift(part, LINEAR, ask, 0.7, 200)
    found = np.array(ask.weights) + steps * proximal.shift_unit(ask, 0.7, 200)
    (batch, _), *_ = table._rows._frame.batches(tuple(LINEAR), 200)
    (z, shares), y = ask.weighed(batch, LINEAR), ask.goals(batch, LINEAR)
    assert (shares < 1).any()
    left = (z * shares) @ z.T / 200 + 0.7 * np.eye(5)
    right = (z * shares) @ y / 200 + 0.7 * np.array(ask.weights)
    assert np.allclose(found, np.linalg.solve(left, right), atol=1e-4)


def test_lines_do_not_touch_each_other():
    """Many silos at once find what each finds alone, even if others are slow."""
    coins = np.random.default_rng(0)
    bends = np.stack([np.diag(coins.uniform(0.1, 9, 3)) for _ in range(6)])
    goals = coins.normal(size=(6, 3)) * 10

    def slope(points, lines=slice(None)):
        off = points - goals[lines]
        return np.tanh(off) + (bends[lines] @ off[:, :, None])[:, :, 0]

    limits, allowed = [proximal.Limits(1e3, 10.0, 10**4)] * 6, np.full(6, 1e-7)
    together = proximal.minimise(slope, np.zeros((6, 3)), allowed, limits)
    for k in range(6):
        one = slice(k, k + 1)
        alone = proximal.minimise(
            lambda points, one=one: slope(points, one),
            np.zeros((1, 3)),
            allowed[one],
            limits[one],
        )
        assert np.array_equal(alone[0], together[k])
        assert np.abs(slope(alone, one)).max() < 1e-7


def test_a_hard_problem_is_solved_by_short_steps(monkeypatch):
    monkeypatch.setattr(proximal, "_TRIES", 0)
    part, ask = parts(5, [50])[0], gradient(LINEAR, 0.3, basis=())
    slow = shift(part, LINEAR, ask, 1.0, 50)
    monkeypatch.undo()
    quick = shift(part, LINEAR, ask, 1.0, 50)
    gap = np.sqrt(((slow - quick).astype(float) ** 2).sum())
    assert gap <= 2 * proximal.LOOSE * TOP


def at_the_edge():
    """Scores in which floats lose nothing, at the largest weights there are."""
    tiny = tuple(map(tuple, (np.eye(5) * 1e-11).tolist()))
    return gradient(YES_NO, 1e-9, (-1e12, 1e11, 0.0, 0.0, 0.0), tiny)


@given(st.lists(st.floats(), min_size=5, max_size=5))
def test_no_weights_of_a_search_are_refused(weights):
    """They depend on rows: an error would tell of them."""
    there = at_the_edge().at(weights).weights
    for weight, wanted in zip(there, weights, strict=True):
        assert abs(weight) <= 1e12
        assert weight == wanted or not abs(wanted) <= 1e12


def test_what_cannot_be_solved_is_refused():
    for rows in (None, 10**7):
        with pytest.raises(dp.DiscretoError, match="declare at most"):
            proximal.check_rows(gradient(LINEAR), rows)
    proximal.check_rows(gradient(LINEAR), 10**5)
    far = gradient(LINEAR, weights=(1e12,) * 5)
    dead = ((1.0,) * 5, *[(0.0,) * 5] * 4)
    for ask, mu, rows in (
        (gradient(LINEAR), 1e-9, 10),  # too many turns
        (gradient(LINEAR), 1.0, 1e-6),
        (far, 1.0, 10),  # floats lose too much so far out
        (gradient(LINEAR, weights=(1e12, 0, 0, 0, 0), basis=dead), 1.0, 10),
        (gradient(LINEAR, clip=1e-9, weights=(1e6,) * 5), 1.0, 10),
        (at_the_edge(), 1e-12, 1.0),  # exact enough, but the search would leave
    ):
        with pytest.raises(dp.DiscretoError, match="mu"):
            proximal.question(ask, mu, rows, 10)


@pytest.mark.parametrize("domain", [LINEAR, YES_NO], ids=["linear", "logistic"])
def test_short_steps_alone_come_near_enough_in_the_turns_that_are_known(
    domain, monkeypatch
):
    """What leaves after all turns is private even if its slope was never small."""
    monkeypatch.setattr(proximal, "_TRIES", 0)
    right = proximal.minimise
    monkeypatch.setattr(
        proximal, "minimise", lambda s, w, allowed, m: right(s, w, 0 * allowed, m)
    )
    part, ask = parts(5, [50])[0], gradient(domain, 0.3)
    row = dict.fromkeys(part, 4.0) | {"late": "yes"}
    slow = shift(part, domain, ask, 8.0, 50)
    more = shift(with_row(part, row), domain, ask, 8.0, 50)
    monkeypatch.undo()
    quick = shift(part, domain, ask, 8.0, 50)
    moved, apart = (
        np.sqrt(((slow - other).astype(float) ** 2).sum()) for other in (more, quick)
    )
    assert moved <= TOP
    assert apart <= 2 * proximal.LOOSE * TOP
