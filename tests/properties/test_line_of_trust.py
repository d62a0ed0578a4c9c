"""Faults planted outside of the core: each ends in a fault, or moves nothing.

Every test plants one mistake that an engine, a reader, a table or a map could make, and
asks two neighbouring tables for the same exact sum. The core must refuse to answer, or
the sums must be no further apart than the sensitivity that the gate has stated.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreto as dp
import discreto.core.maps.clusters as clusters
import discreto.data.frames.memory as memory
import discreto.table.table as tables
from discreto.core import compiled
from discreto.core.cost import Cost
from discreto.core.fold import Folded, _ends, fold_all, merge, nothing
from discreto.core.maps import Deviations, Values
from discreto.core.people import PersonBound
from discreto.core.query import Block, Everyone, Sum, bind
from discreto.data.engines import LocalEngine
from discreto.errors import KernelFault, UnsafeError
from discreto.testing import simulate

DOMAIN = dp.Domain({"age": dp.Number(0, 120)})
TOTAL = Sum(Everyone(), (Block(Values(("age",))),))
AGES = np.random.default_rng(1).uniform(20, 60, 1000)


def moved(
    one: Any, two: Any, domain: dp.Domain, question: Sum, engine: Any = None
) -> float:
    """Return how far neighbours' sums are apart, in multiples of the sensitivity."""
    sums = []
    for data in (one, two):
        table = dp.Table(data, domain, simulate(noise=False), engine=engine)
        try:
            found = table.gate().measure(question, Cost.of(1), "sum")
        except KernelFault:
            return 0.0  # the fault was noticed, and nothing was answered
        sums.append(found.tables[0].astype(float))
    told = bind(question, domain).blocks[0].sensitivity
    return float(np.abs(sums[0] - sums[1]).sum() / told)


def test_without_a_fault_one_row_moves_what_is_stated() -> None:
    more = {"age": np.append(AGES, 119.0)}
    assert 0.9 < moved({"age": AGES}, more, DOMAIN, TOTAL) <= 1


class AddsTwice(LocalEngine):
    """An engine that folds all rows twice, as a retry on a cluster could."""

    def fold(self, asked: Any, frame: Any) -> Any:
        one, two = super().fold(asked, frame), super().fold(asked, frame)
        return [x + y for x, y in zip(one, two, strict=True)]


class MergesTwice(LocalEngine):
    """The same, by the core's own means."""

    def fold(self, asked: Any, frame: Any) -> Any:
        return merge(asked, super().fold(asked, frame), super().fold(asked, frame))


class Forgets(LocalEngine):
    """An engine that folds the first part twice in place of the last."""

    def fold(self, asked: Any, frame: Any) -> Any:
        parts = frame.split(4)
        total = nothing(asked)
        for part in (*parts[:-1], parts[0]):
            total = merge(asked, total, fold_all(asked, part))
        return total


@pytest.mark.parametrize("engine", [AddsTwice, MergesTwice, Forgets])
def test_an_engine_that_folds_a_part_twice_is_noticed(engine: Any) -> None:
    ages = np.resize(AGES, 200_000)  # so many that they are split
    table = dp.Table({"age": ages}, DOMAIN, simulate(noise=False), engine=engine(2))
    with pytest.raises(KernelFault):
        table.gate().measure(TOTAL, Cost.of(1), "sum")


class AddsItself(LocalEngine):
    """An engine that returns sums of its own."""

    def fold(self, asked: Any, frame: Any) -> Any:
        return SimpleNamespace(tables=list(super().fold(asked, frame)), places=())


def test_sums_of_an_engine_are_not_believed() -> None:
    ledger = simulate(noise=False)
    table = dp.Table({"age": AGES}, DOMAIN, ledger, engine=AddsItself())
    with pytest.raises(KernelFault):
        table.gate().measure(TOTAL, Cost.of(1), "sum")


def test_sums_are_folded_in_the_core_only() -> None:
    with pytest.raises(UnsafeError):
        Folded([np.zeros((1, 1), dtype=np.int64)], (("rows", 0, 9),))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(0, 6))))
def test_places_tile_a_table_exactly_if_each_row_is_there_once(places: Any) -> None:
    places = [(n, min(a, b), max(a, b)) for n, a, b in places]
    whole = (("a", 0, 6), ("b", 0, 6))
    rows = [(n, i) for n, a, b in places for i in range(a, b)]
    once = sorted(rows) == [(n, i) for n, a, b in whole for i in range(a, b)]
    assert (_ends(tuple(places)) == _ends(whole)) == once


def ranked(found: Any) -> Any:
    """Set a threshold by the smallest value of the column."""
    return np.where(found >= found.min() + 50, 120.0, 0.0)


def test_a_conversion_that_looks_at_its_column_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = memory.convert
    monkeypatch.setattr(
        memory, "convert", lambda *args, **named: ranked(right(*args, **named))
    )
    ages = np.full(1000, 100.0)
    assert moved({"age": ages}, {"age": np.append(ages, 0.0)}, DOMAIN, TOTAL) <= 1


def test_a_table_that_forgets_to_bound_people_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = {"age": dp.Number(0, 120), "id": dp.Opaque()}
    domain = dp.Domain(columns, person="id", rows_per_person=1)
    few = {"age": np.full(10, 60.0), "id": np.arange(10)}
    many = {
        "age": np.append(np.full(10, 60.0), np.full(50, 120.0)),
        "id": np.append(np.arange(10), np.full(50, 99)),
    }
    assert moved(few, many, domain, TOTAL) <= 1
    monkeypatch.setattr(tables, "PersonFrame", lambda frame, domain, key: frame)
    with pytest.raises(UnsafeError, match="nothing bounds"):
        moved(few, many, domain, TOTAL)


def test_a_bug_in_a_row_function_stays_within_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled, "_folded", compiled.WORTH)
    domain = dp.Domain({"x": dp.Number(-1, 1), "y": dp.Number(-1, 1)})
    features = Deviations(("x", "y"), ((0.0, 0.0),), 1.0, 1)
    question = Sum(Everyone(), (Block(features),))
    right = clusters.Deviations.row_numbers

    def wrong(self: Any, row: Any, domain: Any) -> Any:
        return [value * 1000.0 for value in right(self, row, domain)]

    monkeypatch.setattr(clusters.Deviations, "row_numbers", wrong)
    few = {"x": np.zeros(5000), "y": np.zeros(5000)}
    more = {name: np.append(values, 0.9) for name, values in few.items()}
    assert moved(few, more, domain, question) <= 1


def test_only_the_core_proves_that_people_are_bounded() -> None:
    with pytest.raises(UnsafeError):
        PersonBound(1)


def test_joined_rows_are_bounded_by_both_tables() -> None:
    def table(column: str, rows: int) -> dp.Table:
        columns = {column: dp.Number(0, 1), "id": dp.Opaque()}
        domain = dp.Domain(columns, person="id", rows_per_person=rows)
        data = {column: np.zeros(9), "id": np.arange(9) // 3}
        return dp.Table(data, domain, ledger)

    ledger = simulate(noise=False)
    joined = table("x", 2).join(table("y", 3))
    bound = joined.gate()._source.person_bound()
    assert bound is not None
    assert bound.rows == joined.domain.rows_per_person == 6
