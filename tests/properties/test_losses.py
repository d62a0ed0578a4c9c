"""Scores and losses of a model: cells and parts of one, row by row, for any row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute import INF, NAN

import discreto as dp
from discreto.core import aggregate
from discreto.core.cost import Cost
from discreto.core.maps import Everyone, Ones
from discreto.core.maps.losses import ErrorSizes, LossParts, ScoreBins
from discreto.core.query import Block, Sum, bind
from discreto.errors import DomainError, ParameterError
from discreto.models import LinearRegression, NaiveBayes
from discreto.models.interop import json as persist
from discreto.testing import simulate

COLUMNS = {"a": dp.Number(0, 10), "s": dp.Category(["x", "y"], missing=True)}
CLASSES = dp.Domain(
    {**COLUMNS, "t": dp.Category(["p", "q", "r"], missing=True)}, target="t"
)
AMOUNTS = dp.Domain({**COLUMNS, "t": dp.Number(0, 100, missing=True)}, target="t")
A = (0.0, 9.0, -1e200, INF, NAN)
TARGETS = {"classes": (0, 2, -1), "amounts": (0.0, 70.0, 1e9, -INF, NAN)}


def texts():
    rng = np.random.default_rng(0)
    a = rng.random(60) * 10
    table = {"a": a, "s": np.where(a > 3, "x", "y"), "t": np.where(a > 5, "p", "r")}
    one = NaiveBayes(epsilon=50).fit(dp.Table(table, CLASSES, simulate(0)))
    numbers = dp.Domain({"a": COLUMNS["a"], "t": AMOUNTS["t"]}, target="t")
    two = LinearRegression(epsilon=50).fit(
        dp.Table({"a": a, "t": 100 - a * 10}, numbers, simulate(0))
    )
    return persist.dumps(one), persist.dumps(two)


CLASSIFIER, REGRESSOR = texts()
MAPS = {
    "scores": ("classes", ScoreBins(CLASSIFIER, 2)),
    "log": ("classes", LossParts(CLASSIFIER, "log", 7.0)),
    "brier": ("classes", LossParts(CLASSIFIER, "brier")),
    "sizes": ("amounts", ErrorSizes(REGRESSOR)),
    "squared": ("amounts", LossParts(REGRESSOR, "squared", 0.25)),
}


def domain_of(kind, relation):
    domain = CLASSES if kind == "classes" else AMOUNTS
    return (
        domain
        if relation == "add-remove"
        else domain.with_(neighbours="replace", rows=2)
    )


def batch_of(kind, rows):
    target = np.int64 if kind == "classes" else np.float64
    return {
        "a": np.array([row[0] for row in rows], dtype=float),
        "s": np.array([row[1] for row in rows], dtype=np.int64),
        "t": np.array([row[2] for row in rows], dtype=target),
    }


def query_of(one):
    if hasattr(one, "rows"):
        return Sum(Everyone(), (Block(one),))
    return Sum(one, (Block(Ones()),))


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("name", MAPS)
def test_no_row_moves_them_beyond_their_bound(name, relation):
    kind, one = MAPS[name]
    domain = domain_of(kind, relation)
    bound = bind(query_of(one), domain)
    rows = list(itertools.product(A, (0, 1, -1), TARGETS[kind]))
    sums = [
        aggregate.fold(bound, batch_of(kind, [row]), 1)[0].astype(np.int64)
        for row in rows
    ]
    told = bound.blocks[0].sensitivity
    moves = [np.abs(one).sum() for one in sums]
    if relation == "replace":
        moves = [np.abs(x - y).sum() for x in sums for y in sums]
    assert max(moves) <= told
    assert max(moves) >= 0.95 * told  # half of it would not do


@pytest.mark.parametrize("name", MAPS)
def test_a_row_counts_the_same_whatever_rows_are_beside_it(name):
    kind, one = MAPS[name]
    domain = domain_of(kind, "add-remove")
    rows = list(itertools.product(A, (0, 1, -1), TARGETS[kind]))
    work = one.rows if hasattr(one, "rows") else one.codes
    together = work(batch_of(kind, rows), domain)
    for place, row in enumerate(rows):
        alone = work(batch_of(kind, [row]), domain)
        np.testing.assert_array_equal(alone[..., 0], together[..., place])


@pytest.mark.parametrize(
    ("one", "domain"),
    [
        (ScoreBins(CLASSIFIER, 3), CLASSES),
        (ScoreBins(CLASSIFIER, -1), CLASSES),
        (ErrorSizes(CLASSIFIER), CLASSES),
        (LossParts(CLASSIFIER, "squared"), CLASSES),
        (LossParts(REGRESSOR, "log"), AMOUNTS),
        (LossParts(REGRESSOR, "squared", 0.0), AMOUNTS),
        (LossParts(REGRESSOR, "squared", float("nan")), AMOUNTS),
    ],
)
def test_what_could_fail_on_a_row_is_refused_before_it_is_paid(one, domain):
    ledger = dp.Ledger(epsilon=1)
    empty = {name: [] for name in domain}
    with pytest.raises((ParameterError, DomainError)):
        dp.Table(empty, domain, ledger).gate().measure(query_of(one), Cost.of(1), "x")
    assert ledger.total() == 0
