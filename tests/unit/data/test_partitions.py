"""Rows split into parts of one: bounds by brute force, votes row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import discreto as dp
from discreto.core import aggregate
from discreto.core.maps import Categories, Partition, SoftVotes, from_json, to_json
from discreto.core.maps.simplex_features import soft_votes, weights_of
from discreto.core.query import Block, Sum, inside
from discreto.core.validation import check_parts
from discreto.errors import ParameterError

MIXED = {
    "x": dp.Number(0, 10),
    "z": dp.Number(-1, 1, missing=True),
    "s": dp.Category(["a", "b", "c"]),
    "t": dp.Category(["u", "v"], missing=True),
}


def mixed_domain(**more):
    return dp.Domain(MIXED | {"y": dp.Category(["n", "p"])}, target="y", **more)


def grid_rows():
    """Every row of a tiny table, odd values included."""
    return [
        dict(zip([*MIXED, "y"], row, strict=True))
        for row in itertools.product(
            (-5.0, 0.0, 3.3, 10.0, np.nan),
            (-1.0, 0.2, np.inf),
            (0, 2, -1, 7),
            (0, -1),
            (0, 1, -1),
        )
    ]


def batch_of(rows):
    keys = {"x": float, "z": float, "s": np.int64, "t": np.int64, "y": np.int64}
    return {k: np.array([row[k] for row in rows], dtype=v) for k, v in keys.items()}


def features(kind):
    if kind == "parts":
        return Partition(tuple(MIXED))
    weights = ((1.0, -3.0, 0.5, 4.0, 0.0, 7.0, -1e6, 2.0, 0.0), (0.0,) * 9, (0.3,) * 9)
    return SoftVotes(tuple(MIXED), weights)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("kind", ["parts", "votes"])
def test_sensitivity_by_brute_force(kind, neighbours):
    rows = 1 if neighbours == "replace" else None
    domain = mixed_domain(neighbours=neighbours, rows=rows)
    block = Block(features(kind))
    query = Sum(Categories(("y",)), (block,))
    every = grid_rows()
    sums = [
        aggregate.fold(inside(query, domain), batch_of([row]), 1)[0] for row in every
    ]
    table = np.array(sums, dtype=float).reshape(len(every), -1)
    if neighbours == "add-remove":
        moves = table
    else:
        some = table[:: max(1, len(table) // 120)]
        moves = (table[:, None, :] - some[None, :, :]).reshape(-1, table.shape[1])
    far, square = np.abs(moves).sum(axis=1).max(), (moves**2).sum(axis=1).max()
    bound = block.bind(domain, 2).sensitivity
    assert far <= bound
    assert square <= block.bind(domain, 2).square
    assert far > 0.99 * bound  # and it is tight
    ones = 4 if kind == "parts" else 1
    assert bound == ones * (1 << 30) * (2 if neighbours == "replace" else 1)


def test_parts_add_up_to_one():
    domain = mixed_domain()
    known = [r for r in grid_rows() if r["x"] == r["x"] and r["s"] in (0, 1, 2)]
    rows = batch_of(known)
    for made, ones in ((Partition(tuple(MIXED)), 4), (features("votes"), 1)):
        total = made.rows(rows, domain).sum(axis=0) / (1 << 30)
        np.testing.assert_allclose(total, ones, atol=1e-7)
        query = Sum(Categories(("y",)), (Block(made),))
        assert from_json(to_json(query)) == query


@pytest.mark.parametrize("classes", [2, 3, 11])
def test_votes_do_not_depend_on_the_rows_beside(classes):
    coins = np.random.default_rng(1)
    names = tuple(f"x{i}" for i in range(7))
    domain = dp.Domain({name: dp.Number(0, 1) for name in names})
    batch = {name: coins.random(300) for name in names}
    batch["x3"][::7] = np.nan
    weights = coins.normal(0, 1, (classes, 14))
    whole = soft_votes(names, weights, batch, domain)
    for i in range(300):
        alone = {name: values[i : i + 1] for name, values in batch.items()}
        one = soft_votes(names, weights, alone, domain)
        np.testing.assert_array_equal(one[:, 0], whole[:, i])


@pytest.mark.parametrize(
    "weights", [(), ((1.0,), (1.0, 2.0)), ((float("nan"),),), ((True,),), [[1.0]]]
)
def test_votes_of_strangers_are_checked(weights):
    domain = dp.Domain({"x": dp.Number(0, 1)})
    width = weights_of("x", domain)
    check_parts(SoftVotes(("x",), ((1.0,) * width,) * 2), domain)
    with pytest.raises(ParameterError):
        check_parts(SoftVotes(("x",), weights), domain)
    with pytest.raises(ParameterError):
        SoftVotes(("x",), ((1.0,),)).check(mixed_domain())
