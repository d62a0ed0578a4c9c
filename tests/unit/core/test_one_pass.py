"""Several statistics are folded in one pass over the rows, after they are paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreto as dp
from discreto.core.gate import Gate
from discreto.core.maps import Values
from discreto.core.query import Block, Everyone, Ones, Sum, bind
from discreto.data.engines import LocalEngine
from discreto.data.frames import StreamFrame
from discreto.errors import BudgetError, KernelFault
from discreto.testing import simulate

ROWS = 3000
COLUMNS = {"x": dp.Number(0, 10), "y": dp.Number(-1, 1), "k": dp.Category(["a", "b"])}
DOMAIN = dp.Domain(COLUMNS)
STATS = [
    dp.stats.Count(),
    dp.stats.Mean("x", ("k",)),
    dp.stats.Variance("y"),
    dp.stats.Quantile("x"),
    dp.stats.Quantiles("y", (0.25, 0.75)),
    dp.stats.Mean("x", ("k",)),
]


def rows() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    kinds = np.array(["a", "b", "?"])[rng.integers(0, 3, ROWS)]
    return {"x": rng.normal(5, 3, ROWS), "y": rng.normal(0, 1, ROWS), "k": kinds}


@pytest.fixture
def path(tmp_path: Any) -> str:
    place = tmp_path / "rows.parquet"
    pq.write_table(pa.table(rows()), place, row_group_size=700)
    return str(place)


def asked(source: Any, threads: int) -> list[Any]:
    table = dp.Table(source, DOMAIN, simulate(4), engine=LocalEngine(threads))
    found = table.answers(STATS, epsilon=3)
    return [np.asarray([r.value, r.low, r.high]).tolist() for r in found]


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_are_those_of_single_passes(
    path: str, threads: int, monkeypatch: Any
) -> None:
    together = asked(path, threads), asked(rows(), threads)
    monkeypatch.setattr(Gate, "folded_ahead", lambda self, several, label: self)
    assert together == (asked(path, threads), asked(rows(), threads))


def test_rows_are_read_once_and_again_for_what_a_choice_decides(
    path: str, monkeypatch: Any
) -> None:
    reads: list[tuple[str, ...]] = []
    plain = StreamFrame.batches

    def counted(self: Any, names: Any, size: int) -> Any:
        reads.append(tuple(names))
        return plain(self, names, size)

    monkeypatch.setattr(StreamFrame, "batches", counted)
    asked(path, 1)
    assert sorted(reads[0]) == ["k", "x", "y"]
    assert reads[1:] == [("x",)]  # the interval of the median


def test_nothing_is_read_before_it_is_paid(path: str, monkeypatch: Any) -> None:
    def read(self: Any, names: Any, size: int) -> Any:
        raise AssertionError("rows were read")

    monkeypatch.setattr(StreamFrame, "batches", read)
    table = dp.Table(path, DOMAIN, dp.Ledger(epsilon=1))
    with pytest.raises(BudgetError):
        table.answers(STATS, epsilon=2)
    query = Sum(Everyone(), (Block(Ones()),))
    several = [bind(query, DOMAIN), bind(query, DOMAIN)]
    gate = table.gate()
    assert gate.folded_ahead(several, "counts") is gate


def test_a_failure_shuts_the_ledger(path: str, monkeypatch: Any) -> None:
    def fail(self: Any, names: Any, size: int) -> Any:
        raise ValueError("a row that says something")

    monkeypatch.setattr(StreamFrame, "batches", fail)
    ledger = dp.Ledger(epsilon=2)
    table = dp.Table(path, DOMAIN, ledger)
    with pytest.raises(KernelFault) as caught:
        table.answers(STATS, epsilon=1)
    assert caught.value.__context__ is None is caught.value.__cause__
    with pytest.raises(Exception, match="reopen"):
        table.answers(STATS, epsilon=1)


def test_sums_are_handed_out_for_their_own_question_once() -> None:
    from discreto.core.gate import FoldedAhead

    class Source:
        refusal = column = texts = seen = unready = unchanged = None
        places = person_bound = None

        def fold(self, asked: Any, keep: Any = None) -> list[Any]:
            return ["now"]

    first, second = (
        bind(Sum(Everyone(), (Block(Values((name,))),)), DOMAIN) for name in "xy"
    )
    other = bind(first.query, dp.Domain(COLUMNS | {"x": dp.Number(0, 5)}))
    source = FoldedAhead(Source(), [first, second], [["x"], None])  # type: ignore
    assert source.fold(other) == ["now"]
    assert source.fold(second) == ["now"]
    assert source.fold(first, keep=lambda rows: None) == ["now"]  # type: ignore
    assert [source.fold(first), source.fold(first)] == [["x"], ["now"]]
