"""Neighbours never move a sum further than it declares: all small tables, by force."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from brute import ADD, GAPS, GAPS_REPLACE, REPLACE, TWICE, Raw, check_sum, movement

from discreto.core import aggregate
from discreto.core.maps import (
    KINDS,
    Bernstein,
    Bins,
    Categories,
    Completeness,
    Cross,
    Edges,
    Magnitudes,
    Memberships,
    Nearest,
    Partition,
    Presence,
    Present,
    Sides,
    SoftVotes,
    Unfit,
    Values,
    WholeGroups,
)
from discreto.core.maps.clusters import (
    Deviations,
    FuzzyPresence,
    FuzzyPulls,
    FuzzyWeights,
    Rings,
)
from discreto.core.maps.code_counts import CodeCounts
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.margins import Margins
from discreto.core.maps.regression import LogisticGradient, Scaled, SquaredGradient
from discreto.core.maps.row_partition import HashParts, Within
from discreto.core.maps.tree_gradients import Gradients, LeafShifts, Residuals
from discreto.core.maps.trees import Grid, Leaves, Tree
from discreto.core.maps.unit_columns import Indicator
from discreto.core.maps.weighted import Weighted
from discreto.core.query import Block, Everyone, Ones, Shape, Sum, inside

DOMAINS = (ADD, REPLACE, TWICE)
SIDES = Sides(("y",), ("c",), ((0.5,),), (((-1.0, 1.0),),), (0.25,))
CENTRES = ((-1.0, -1.0), (0.5, 1.0))
SCALED = Scaled(("x", "y"), (0.5, 0.0), (1.0, 0.1), 1.0, 3.0)
# Both categories of a column that may be missing, and the missing ones.
MARKS = (Indicator("d", 0, 0.5), Indicator("d", 1, 0.5), Indicator("d", 2, 0.5))
MARKED = Scaled(("x", *MARKS[1:]), (0.5, 0.1, 0.3), (1.0, 0.2, 0.5), 1.0, 3.0)
TURNED = replace(MARKED, basis=((0.3, -1.0, 2.0, 0.0), (1.0, 0.5, 0.1, -3.0)))
LINE = replace(SCALED, names=("x",), origins=(0.5,), scales=(0.3,))
GRID = Grid(("d",), ((),))
TREE = Tree((0,), ((0, 1, 2),))
GROWN = replace(TREE, values=((0.5,), (-1.0,), (9.0,)))
LOGISTIC = Gradients(GRID, "c", "logistic", (0.3,), (GROWN,), bits=8)
SQUARED = Gradients(GRID, "y", "squared", (0.4,), (GROWN,), clip=0.5, bits=8)
RATES = replace(SQUARED, loss="poisson", start=(-0.4,), clip=0.3)
SIDE = replace(SQUARED, loss="quantile", quantile=0.9)
SOFT = Tree((0,), ((0, 1, 1),), ((0.5, -0.5), (-3.0, 3.0)))
SURE = Gradients(GRID, "c", "softmax", (0.3, 0.0), (SOFT,))
CELLS = {
    "everyone": Everyone(),
    "present": Present(("x", "c")),
    "completeness": Completeness(("x", "c")),
    "categories": Categories(("c",)),
    "missing category": Categories(("c", "d")),
    "declared category": Categories(("c", "d"), declared=True),
    "bins": Bins("x", 3),
    "whole groups": WholeGroups("n"),
    "edges": Edges("x", (0.0, 2.0)),
    "edges with gaps": Edges("x", (0.0, 2.0), gaps=True),
    "magnitudes": Magnitudes("x", -1, 3),
    "nearest": Nearest(("x", "y"), ((-1.0, -1.0), (1.0, 1.0), (1.0, 1.0))),
    "nearest category": Nearest(("x", *MARKS), ((0.0, 0.5, 0.0, 0.0), (0.0,) * 4)),
    "sides": SIDES,
    "rings": Rings(("x", "y"), CENTRES, 4),
    "leaves": Leaves(GRID, TREE, "c"),
    "residuals": Residuals(SQUARED, 5),
    "residuals of means": Residuals(RATES, 5),
    "leaf shifts": LeafShifts(SIDE, TREE, 2),
    "margins": Margins(SURE, 4),
    "hash parts": HashParts(("x", "c"), (2, 1), 3),
    "within": Within(HashParts(("x", "c"), (1, 1)), 0, Categories(("c",))),
    "cross": Cross(Categories(("c",)), Bins("y", 2)),
}
FEATURES = {
    "ones": Ones(),
    "tree gradients": LOGISTIC,
    "tree newton": replace(LOGISTIC, weight=1.0),
    "tree newton l2": replace(LOGISTIC, weight=3.33, norm="l2"),
    "tree softmax": Gradients(
        Grid(("y",), ((0.5,),)), "d", "softmax", (0.0, 1.0), weight=0.3, bits=8
    ),
    "tree squared": replace(SQUARED, weight=0.2),
    "tree squared l2": replace(SQUARED, weight=0.4, norm="l2", drop=True),
    "tree poisson": replace(RATES, weight=0.3),
    "tree poisson l2": replace(RATES, weight=0.4, norm="l2", clip=0.01),
    "tree quantile": SIDE,
    "tree quantile newton": replace(SIDE, weight=0.2, quantile=0.25),
    "value": Values(("x",), bits=4),
    "value from zero": Values(("z",), bits=10, origin="zero"),
    "values": Values(("x", "y"), bits=3),
    "constant": Values(("y",), bits=5, constant=True),
    "line": Bernstein(("x",), 1),
    "parabola": Bernstein(("y",), 2),
    "plane": Bernstein(("x", "y"), 1),
    "partition": Partition(("y", "d")),
    "unfit": Unfit(("x", "c")),
    "soft votes": SoftVotes(("y",), ((1.0, -2.0), (0.0, 3.0))),
    "code counts": CodeCounts(Grid(("y", "d"), ((0.5,), ()))),
    "memberships": Memberships((SIDES, SIDES)),
    "scaled": SCALED,
    "scaled l2": Scaled(("x", "y"), (0.5, 0), (1, 0.1), 0.0, 3.0, "l2", True, 2),
    "scaled short": replace(SCALED, bits=15),
    "scaled small": replace(SCALED, bits=15, largest=0.5),
    "gradient": LogisticGradient(SCALED, "c", ((1.0, -3.0, 2.0),)),
    "gradient by class": LogisticGradient(
        SCALED, "c", ((1.0, -3.0, 2.0),), importance=(0.25, 1.0)
    ),
    "gradient turned": LogisticGradient(TURNED, "c", ((1.0, -3.0),), 0.5),
    "indicators": Values(("y", *MARKS), bits=4),
    "indicators constant": Values(MARKS, bits=4, constant=True),
    "scaled indicators": replace(MARKED, bits=15),
    "scaled indicators l2": replace(MARKED, norm="l2"),
    "scaled turned": replace(TURNED, bits=15),
    "squared gradient": SquaredGradient(LINE, "y", 0.3, 0.1, (1.0, -3.0), 0.5),
    "squared gradient l2": SquaredGradient(
        replace(TURNED, norm="l2"), "y", 0.0, 1.0, (0.0, 2.0), 0.1
    ),
    "deviations of indicators": Deviations(MARKS, ((0.1, 0.2, 0.0),), 0.2),
    "squared loss": ClippedGradient(
        replace(SCALED, names=("x",), origins=(0.5,), scales=(0.3,)),
        "y",
        (1.0, -3.0),
        0.5,
        basis=((1.0, 0.5), (-2.0, 3.0)),
    ),
    "logistic loss": ClippedGradient(SCALED, "c", (1.0, -3.0, 2.0), 0.5, "logistic"),
    "deviations": Deviations(("x", "y"), CENTRES, 0.5),
    "deviations l2": Deviations(("x", "y"), CENTRES, 0.5, 2),
    "fuzzy weights": FuzzyWeights(("x", "y"), CENTRES, 2.0),
    "fuzzy presence": FuzzyPresence(("x", "y"), CENTRES, 2.0, ("x", "y")),
    "presence": Presence(("x", "y")),
    "fuzzy pulls": FuzzyPulls(("x", "y"), CENTRES, 2.0, 0.5),
    "weighted count": Weighted(Ones(), "y"),
    "weighted": Weighted(Bernstein(("x", "y"), 1), "y"),
    "weighted rows": Weighted(replace(SCALED, bits=15), "y", "gram"),
    "weighted raw": Weighted(Raw(("x", "y"), 5, total=6), "y"),
    "weighted pairs": Weighted(Raw(("x", "y"), 5), "y", "pair"),
    "raw": Raw(("x", "y"), 5),
    "raw not signed": Raw(("x", "y"), 5, signed=False),
    "raw total": Raw(("x", "y"), 5, total=6),
    "raw total not signed": Raw(("x", "y"), 5, total=6, signed=False),
    "raw square": Raw(("x", "y"), 6, square=40),
    "raw both": Raw(("x", "y"), 6, total=9, square=45),
}


def test_every_map_is_here():
    """A new map in the closed list must be added above."""
    here = {type(thing).__name__ for thing in (*CELLS.values(), *FEATURES.values())}
    maps = {name for name, kind in KINDS.items() if {"rows", "codes"} & set(dir(kind))}
    assert maps <= here


@pytest.mark.parametrize("cells", ["everyone", "categories"])
@pytest.mark.parametrize("form", ["linear", "pair", "gram"])
@pytest.mark.parametrize("features", FEATURES)
def test_features(cells, form, features):
    if form == "gram" and FEATURES[features].shape(ADD).limit > 1 << 15:
        pytest.skip("the gate refuses products of such long numbers")
    check_sum(Sum(CELLS[cells], (Block(FEATURES[features], form),)), *DOMAINS)


@pytest.mark.parametrize("cells", CELLS)
def test_cells(cells):
    blocks = (
        Block(Ones(), "linear", Fraction(1, 4)),
        Block(Values(("y",), bits=3), "pair", Fraction(1, 4)),
        Block(Values(("y",), bits=3, constant=True), "gram", Fraction(1, 2)),
    )
    check_sum(Sum(CELLS[cells], blocks), *DOMAINS)


LEFT_OUT = (
    *("deviations", "deviations l2", "fuzzy weights", "fuzzy presence"),
    *("fuzzy pulls", "presence", "squared loss", "logistic loss"),
)


@pytest.mark.parametrize("cells", ["everyone", "nearest", "rings", "completeness"])
@pytest.mark.parametrize("features", LEFT_OUT)
def test_gaps_are_left_out_within_the_bound(cells, features):
    query = Sum(CELLS[cells], (Block(FEATURES[features]),))
    check_sum(query, GAPS, GAPS_REPLACE)


def _tight(query, domain):
    """The real movement over the declared one: l1, and squared l2."""
    (real,) = check_sum(query, domain)
    (block,) = query.blocks
    told = block.bind(domain, query.cells.count(domain)).sensitivity
    return (
        Fraction(int(real.l1), told),
        Fraction(int(real.l2), block.bind(domain, 2).square),
    )


ATTAINED = [
    (Everyone(), Block(Ones()), ADD),
    (Categories(("c",)), Block(Ones()), ADD),
    (Categories(("c",)), Block(Ones()), REPLACE),  # the histogram: 2, not 1
    (Categories(("c",)), Block(Ones()), TWICE),
    (Everyone(), Block(Values(("x",), bits=4)), ADD),
    (Everyone(), Block(Values(("x",), bits=4)), REPLACE),
    (Everyone(), Block(Values(("x", "y"), bits=3)), ADD),
    (Everyone(), Block(Values(("x", "y"), bits=3)), REPLACE),
    (Everyone(), Block(Values(("x",), bits=4), "pair"), ADD),
    (Everyone(), Block(Values(("x",), bits=4), "pair"), REPLACE),
    (Everyone(), Block(Values(("x",), bits=4), "pair"), TWICE),
    (Everyone(), Block(Values(("x", "y"), bits=3), "gram"), ADD),
    (Categories(("c",)), Block(Values(("x", "y"), bits=3), "gram"), ADD),
    (Categories(("c",)), Block(Values(("x", "y"), bits=3), "gram"), REPLACE),
    (Everyone(), Block(Bernstein(("x",), 2)), ADD),
    (Everyone(), Block(Bernstein(("x",), 1)), REPLACE),
    (Everyone(), Block(Raw(("x",), 5)), REPLACE),
    (Everyone(), Block(Raw(("x", "y"), 5, signed=False)), ADD),
]


@pytest.mark.parametrize(("cells", "block", "domain"), ATTAINED)
def test_bounds_are_attained(cells, block, domain):
    assert _tight(Sum(cells, (block,)), domain) == (1, 1)


def test_bounds_that_are_loose_and_by_how_much():
    everyone, several = Everyone(), Categories(("c",))
    gram = Block(Values(("x", "y"), bits=3), "gram")
    # l1: z = (1, 1) against (1, -1): off-diagonals move by 2, diagonals by nothing;
    # (1, 1) against (0, 0) moves all three entries by 1, which is the bound.
    assert _tight(Sum(everyone, (gram,)), REPLACE) == (1, Fraction(2, 3))
    # A number of rows that is public cannot move: the bound of 2 is for cells.
    assert movement(Sum(everyone, (Block(Ones()),)), REPLACE)[0][0].l1 == 0
    # Without negative entries a replaced row moves a single number by one limit.
    capped = Block(Raw(("x", "y"), 5, signed=False))
    assert _tight(Sum(everyone, (capped,)), REPLACE) == (Fraction(1, 2), Fraction(1, 2))
    assert _tight(Sum(several, (capped,)), REPLACE) == (1, 1)
    # The clamp shrinks long rows by up to `width` steps more than it must.
    total = Block(Raw(("x", "y"), 5, total=6))
    assert _tight(Sum(everyone, (total,)), ADD)[0] == Fraction(5, 6)


# Planted bugs: the same checker must catch each of them.


class OneForReplace(Block):
    """Sensitivity of an added row where rows are replaced."""

    def bind(self, domain, cells):
        return super().bind(ADD, cells)


class Halved(Block):
    """Half the sensitivity, so half the noise."""

    def bind(self, domain, cells):
        bound = super().bind(domain, cells)
        return replace(bound, sensitivity=Fraction(bound.sensitivity, 2))


class OneCell(Block):
    """The bound for a single cell, whatever the cells."""

    def bind(self, domain, cells):
        return super().bind(domain, 1)


class OneRow(Block):
    """Forgets that a person may have several rows."""

    def bind(self, domain, cells):
        bound = super().bind(domain, cells)
        one = bound.sensitivity // domain.rows_per_person
        return replace(bound, sensitivity=one)


@dataclass(frozen=True, slots=True)
class Loudest:
    """Scaled by the largest value of the batch: bounds read from data."""

    names: tuple[str, ...] = ("x",)

    def shape(self, domain):
        return Shape(1, 100)

    def rows(self, batch, domain):
        values = np.nan_to_num(batch["x"], posinf=6, neginf=-2)
        top = np.abs(values).max(initial=1e-9)
        return (values / top * 100)[None, :]

    def columns(self):
        return self.names


PLANTED = {
    "histogram under replace with 1": (
        Sum(Categories(("c",)), (OneForReplace(Ones()),)),
        REPLACE,
    ),
    "mean under replace with 1": (
        Sum(Everyone(), (OneForReplace(Values(("x",), bits=4), "pair"),)),
        REPLACE,
    ),
    "half the noise": (Sum(Everyone(), (Halved(Ones()),)), ADD),
    "several cells, gram, replace": (
        Sum(Categories(("c",)), (OneCell(Values(("x", "y"), bits=3), "gram"),)),
        REPLACE,
    ),
    "several rows a person": (Sum(Everyone(), (OneRow(Ones()),)), TWICE),
    "bounds from data": (Sum(Everyone(), (Block(Loudest()),)), ADD),
}


@pytest.mark.parametrize(("query", "domain"), PLANTED.values(), ids=PLANTED)
def test_planted_bugs_are_caught(query, domain):
    with pytest.raises(AssertionError, match="moved"):
        check_sum(query, domain, largest=3)


@pytest.mark.parametrize(
    "features", [Raw(("x", "y"), 5, total=6), Raw(("x", "y"), 6, square=40)]
)
def test_a_forgotten_clamp_is_caught(features, monkeypatch):
    query = Sum(Everyone(), (Block(features),))
    check_sum(query, ADD)
    monkeypatch.setattr(aggregate.compiled, "loops", lambda *_: None)
    monkeypatch.setattr(aggregate, "_shrink", lambda *_: None)
    with pytest.raises(AssertionError, match="moved"):
        check_sum(query, ADD)


def test_a_float_sum_is_caught():
    """Half-precision sums move by 4 when a row of 2 comes in; exact ones by 2."""
    block = Block(Raw(("x",), 2))
    told = block.bind(ADD, 1).sensitivity
    ones = np.ones(2050)
    small, large = ones, np.insert(ones, 2048, 2.0)

    def half(values):
        total = np.float16(0)
        for value in values:
            total += np.float16(value)
        return int(total)

    def exact(values):
        batch = {"x": values}
        asked = inside(Sum(Everyone(), (block,)), ADD)
        (sums,) = aggregate.fold(asked, batch, values.size)
        return int(sums[0, 0])

    assert abs(exact(large) - exact(small)) <= told
    assert abs(half(large) - half(small)) > told
