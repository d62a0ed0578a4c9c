"""A row's numbers must not depend on the rows beside it, not even in the last bit.

The sum of neighbours could otherwise move by more than one row's bound. BLAS products
and pairwise sums round differently for other shapes, so both are ruled out here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreto as dp
from discreto.core import aggregate, compiled, row_program
from discreto.core.maps import (
    KINDS,
    Bernstein,
    Bins,
    Categories,
    ClippedGradient,
    CodeCounts,
    Completeness,
    Cross,
    Deviations,
    Edges,
    FuzzyPresence,
    FuzzyPulls,
    FuzzyWeights,
    Gradients,
    Grid,
    HashParts,
    Indicator,
    LeafShifts,
    Leaves,
    LogisticGradient,
    Magnitudes,
    MarginalCounts,
    Margins,
    Memberships,
    Nearest,
    NearestRows,
    Partition,
    Presence,
    Present,
    Residuals,
    Rings,
    RowsInReach,
    Scaled,
    Sides,
    SoftVotes,
    SplitHistogram,
    SquaredGradient,
    Tree,
    Unfit,
    Values,
    Weighted,
    WholeGroups,
    Within,
    _distances,
)
from discreto.core.query import Block, Everyone, Shape, Sum, inside

WIDTH, ROWS = 12, 61
NAMES = tuple(f"x{i}" for i in range(WIDTH))
DOMAIN = dp.Domain(
    {name: dp.Number(-3, 5, missing=True) for name in NAMES}
    | {"y": dp.Category(["a", "b", "c"]), "z": dp.Category([0, 1])}
    | {"w": dp.Number(-2, 2, missing=True), "n": dp.Number(0, 4, integer=True)}
)
COINS = np.random.default_rng(5)
BATCH = {name: COINS.normal(1, 2, ROWS) for name in NAMES}
BATCH["x3"][::7] = np.nan
BATCH |= {"y": COINS.integers(-1, 3, ROWS), "z": COINS.integers(0, 2, ROWS)}
BATCH["n"] = np.array([0.0, 1.0, 4.0, 7.0, -3.0, np.nan])[np.arange(ROWS) % 6]
BATCH["w"] = np.where(COINS.random(ROWS) < 0.1, np.nan, COINS.normal(0, 1, ROWS))


def points(count):
    return tuple(map(tuple, COINS.uniform(-1, 1, (count, WIDTH)).tolist()))


def weights(count, size):
    return tuple(map(tuple, COINS.normal(0, 1, (count, size)).tolist()))


def scaled(norm, rotate, constant=1.0):
    return Scaled(
        NAMES,
        tuple(COINS.uniform(-0.3, 0.3, WIDTH).tolist()),
        tuple(COINS.uniform(0.3, 2, WIDTH).tolist()),
        reach=1.7,
        norm=norm,
        rotate=rotate,
        constant=constant,
    )


def sides():
    marks = tuple((row,) for row in map(tuple, COINS.uniform(-1, 1, (4, 3)).tolist()))
    flat = COINS.uniform(-1, 1, (4, WIDTH)).tolist()
    offsets = tuple(COINS.uniform(-1, 1, 4).tolist())
    return Sides(NAMES, ("y",), tuple(map(tuple, flat)), marks, offsets)


GRID = Grid(("x0", "x3", "y"), ((0.0, 1.5), (-1.0, 0.1, 2.0), ()))
NUMBERS = Grid(("x0", "x3"), ((0.0, 1.5), (-1.0, 0.1, 2.0)))
SPLIT = Tree((1, 2, 0), ((0, 0, 1, 1, 0), (0, 1, 2, 0), (1, 0, 0, 1)))
FULL = replace(SPLIT, values=weights(SPLIT.leaves, 1))
SOFT = Tree((0,), ((0, 0, 1, 1),), weights(2, 3))
PARTS = HashParts(("x2", "x3", "y"), (3, 2, 1), 5)
SQUARES = Gradients(GRID, "x1", "squared", (0.7,), (FULL, FULL), clip=1.3)
RATES = replace(SQUARES, loss="poisson")
CHANCES = Gradients(GRID, "z", "logistic", (0.1,), (FULL,), bits=12)

MARKS = tuple(Indicator("y", code, 0.5) for code in range(3))
MARKED = replace(scaled("l1", True), names=(*NAMES[:-3], *MARKS))
TURNED = replace(MARKED, rotate=False, basis=weights(5, WIDTH + 1))

MAPS = [
    Leaves(GRID, SPLIT, "z"),
    SQUARES,
    replace(SQUARES, drop=True, weight=0.3, norm="l2"),
    replace(CHANCES, weight=1.0),
    Gradients(NUMBERS, "y", "softmax", (0.0, 0.1, -0.2), (SOFT, SOFT), weight=0.2),
    replace(RATES, weight=0.3),
    replace(SQUARES, loss="quantile", quantile=0.1),
    Residuals(SQUARES),
    Residuals(RATES),
    LeafShifts(SQUARES, SPLIT),
    Margins(Gradients(NUMBERS, "y", "softmax", (0.0, 0.1, -0.2), (SOFT, SOFT))),
    CodeCounts(GRID),
    SplitHistogram(CHANCES, SPLIT),
    SplitHistogram(CHANCES, Tree(), counts=False),
    PARTS,
    Within(PARTS, 1, Categories(("y",))),
    sides(),
    Memberships((sides(), sides())),
    Values(NAMES),
    Values(NAMES, bits=15, constant=True),
    Bernstein(NAMES[:3], 2),
    Partition((*NAMES, "y")),
    Unfit((*NAMES, "y")),
    SoftVotes((*NAMES, "y"), weights(3, 2 * WIDTH + 3)),
    Weighted(SoftVotes((*NAMES, "y"), weights(3, 2 * WIDTH + 3)), "n"),
    Weighted(scaled("l1", False), "n", "pair"),
    Weighted(scaled("l2", True), "n", "gram"),
    Nearest(NAMES, points(5)),
    Rings(NAMES, points(5), 16, 1),
    Rings(NAMES, points(5), 16, 2),
    Deviations(NAMES, points(5), 0.7, 1),
    Deviations(NAMES, points(5), 0.7, 2),
    FuzzyWeights(NAMES, points(4), 2.0),
    FuzzyWeights(NAMES, points(4), 1.7),
    FuzzyPresence(NAMES, points(4), 1.7, NAMES[2:5]),
    FuzzyPulls(NAMES, points(4), 1.7, 0.7, 1),
    FuzzyPulls(NAMES, points(4), 1.7, 0.7, 2),
    *[scaled(norm, rotate) for norm in ("l1", "l2") for rotate in (True, False)],
    LogisticGradient(scaled("l2", True), "y", weights(3, WIDTH + 1)),
    LogisticGradient(scaled("l1", True), "z", weights(1, WIDTH + 1)),
    LogisticGradient(TURNED, "z", weights(1, 5), importance=(0.3, 1.0)),
    SquaredGradient(TURNED, "w", 0.2, 0.7, weights(1, 5)[0], 0.4),
    TURNED,
    MARKED,
    Values((*NAMES, *MARKS)),
    Nearest((*NAMES[:-3], *MARKS), points(5)),
    Rings((*NAMES[:-3], *MARKS), points(5), 16, 2),
    FuzzyPulls((*NAMES[:-3], *MARKS), points(4), 1.7, 0.7, 1),
    NearestRows((*NAMES[:-3], *MARKS), "z", points(4), 5),
    ClippedGradient(scaled("l2", True), "w", weights(1, WIDTH + 1)[0], 0.9),
    ClippedGradient(
        scaled("l2", False),
        "z",
        weights(1, WIDTH + 1)[0],
        2.0,
        "logistic",
        weights(WIDTH + 1, WIDTH + 1),
    ),
    NearestRows(NAMES, "y", points(4), 5),
    RowsInReach(NAMES, "y", points(4), 0.8),
    Present(NAMES),
    Completeness(NAMES),
    Presence(NAMES),
    Categories(("y", "z")),
    Categories(("y", "z"), declared=True),
    Bins("x1", 7),
    WholeGroups("n"),
    Edges("x1", (0.0, 1.0)),
    Edges("x1", (0.0, 1.0), gaps=True),
    Magnitudes("x1"),
    MarginalCounts(("y", "z"), ((0,), (0, 1))),
    Cross(Bins("x1", 7), Categories(("y",))),
]
# Plain data: questions, blocks and scores.
OTHERS = {
    *("Block", "Sum", "Choice", "Randomise", "Everyone", "Ones"),
    *("Largest", "Ranks", "Extreme", "NearestVotes", "ReachVotes", "MarginalErrors"),
    *("Grid", "Tree", "SplitScore", "CentredRanks"),
}


def test_every_map_is_here():
    assert {type(one).__name__ for one in MAPS} | OTHERS == set(KINDS) - {"Indicator"}


def values_of(one, batch, rows):
    with np.errstate(all="ignore"):
        if hasattr(one, "rows"):
            # Before the clamp rounds: a difference in the last bit counts.
            return one.rows(batch, DOMAIN)
        if hasattr(one, "codes"):
            return one.codes(batch, DOMAIN)[None, :]
        return one.fold(batch, rows, DOMAIN)


def odd_rows():
    """Values that a row may hold, and codes that only a broken frame could give."""
    numbers = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 1.5, 2])
    codes = np.array([-(1 << 40), -2, -1, 0, 1, 2, 3, 99, 1 << 40])
    return {
        name: COINS.choice(numbers if column.dtype.kind == "f" else codes, ROWS)
        for name, column in BATCH.items()
    }


BATCHES = {"plain": BATCH, "odd": odd_rows()}


@pytest.mark.parametrize("one", MAPS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 33])
@pytest.mark.parametrize("rows", BATCHES)
def test_maps_are_row_local(one, size, rows):
    merged, batch = hasattr(one, "merge"), BATCHES[rows]
    whole = values_of(one, batch, ROWS)
    parts = []
    for start in range(0, ROWS, size):
        part = {n: c[start : start + size] for n, c in batch.items()}
        parts.append(values_of(one, part, len(part["y"])))
    if merged:
        total = parts[0]
        for part in parts[1:]:
            total = one.merge(total, part)
        np.testing.assert_array_equal(np.sort(total, axis=1), np.sort(whole, axis=1))
    else:
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(WIDTH, 1 << 30, total=1 << 30),
        Shape(WIDTH, 1 << 30, square=1 << 60),
        Shape(WIDTH, 1 << 30, total=5 << 29, square=1 << 60, signed=False),
    ],
)
def test_the_clamp_is_row_local(shape):
    rows = COINS.normal(0, 2.0**30, (WIDTH, ROWS))
    whole = aggregate.clamp(rows.copy(), shape)
    for size in (1, 2, 7):
        parts = [
            aggregate.clamp(np.ascontiguousarray(rows[:, i : i + size]), shape)
            for i in range(0, ROWS, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


def test_the_check_can_fail():
    """A product of real numbers is not row-local; the checks above would see it."""
    matrix = COINS.normal(0, 1, (WIDTH, 400))
    rows = COINS.normal(0, 1, (400, ROWS))
    whole = matrix @ rows
    single = np.concatenate([matrix @ rows[:, i : i + 1] for i in range(ROWS)], axis=1)
    assert (whole != single).any()


@pytest.mark.parametrize("fast", [False, True])
def test_rows_are_put_on_the_grid_before_they_are_compared(fast, monkeypatch):
    """Products of whole numbers are exact, so that no row beside it can tip a tie."""
    loops = compiled.load(row_program.LOOPS) if fast else None
    if fast and loops is None:
        pytest.skip("numba is not installed")
    monkeypatch.setattr(compiled, "loops", lambda *args: loops)
    places = np.array([[-0.5], [0.5]])
    step = 1 / _distances.whole_points(places)[1]
    rows = np.array([[0.4, -0.6, 0.6]]) * step  # the first is as far from both
    assert _distances.nearest(rows, places).tolist() == [0, 0, 1]


def test_sums_do_not_depend_on_who_is_there():
    query = Sum(Everyone(), (Block(Deviations(NAMES, points(5), 0.7, 2)),))
    asked = inside(query, DOMAIN)
    whole = aggregate.fold(asked, BATCH, ROWS)[0]
    singles = sum(
        aggregate.fold(asked, {n: c[i : i + 1] for n, c in BATCH.items()}, 1)[0]
        for i in range(ROWS)
    )
    np.testing.assert_array_equal(whole, singles)
