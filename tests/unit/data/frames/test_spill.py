"""Arrays kept for rows of a file between questions: same answers, fewer reads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreto as dp
from discreto.core.maps import Gradients, Grid, Leaves, Tree, Values
from discreto.core.query import Block, Everyone, Sum, bind
from discreto.core.row_cache import RowCache
from discreto.data.engines import LocalEngine
from discreto.data.frames import open_frame, parquet, spill, stream
from discreto.data.frames.spill import Spill
from discreto.errors import KernelFault

ROWS = 6_000
DOMAIN = dp.Domain(
    {"x": dp.Number(0, 1), "k": dp.Category(["a", "b"]), "t": dp.Number(-1, 1)}
)
GRID = Grid(("x", "k"), ((0.25, 0.5), ()))


def rows(seed: int, many: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(seed)
    x, t = rng.random(many), rng.uniform(-1, 1, many)
    x[::11], t[::13] = np.nan, np.nan
    kinds = np.array(["a", "b", "c", None], dtype=object)[rng.integers(0, 4, many)]
    return pa.table({"x": x, "k": pa.array(kinds, pa.string()), "t": t})


def trees(many: int) -> tuple[Tree, ...]:
    route, kinds = (0, 0, 1, 1), (0, 1, 0)
    out = []
    for i in range(many):
        first = i % 2
        values = tuple((0.1 * (j - i % 3),) for j in range(2))
        out.append(Tree((first,), ((route, kinds)[first],), values))
    return tuple(out)


def questions() -> list[Any]:
    """As an ensemble asks: each question knows one tree more."""
    out = []
    for many in range(5):
        gradients = Gradients(GRID, "t", "squared", (0.0,), trees(many), weight=0.5)
        split = Tree((0,), ((0, 1, 1, 0),))
        out.append(Sum(Leaves(GRID, split, "t"), (Block(gradients),)))
    return out


def folded(data: Any, frame: Any = None) -> list[Any]:
    frame = open_frame(data, DOMAIN) if frame is None else frame
    engine = LocalEngine(2)
    return [engine.fold(bind(q, DOMAIN), frame)[0].tolist() for q in questions()]


@pytest.fixture
def path(tmp_path):
    pq.write_table(rows(0), tmp_path / "rows.parquet", row_group_size=1_700)
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("room", [0, 30_000, 1 << 24])
def test_answers_are_those_of_memory(path, monkeypatch, room):
    monkeypatch.setattr(Spill.__init__, "__defaults__", (room,))
    assert folded(path) == folded(rows(0))


def test_columns_are_read_twice_at_most(path, monkeypatch):
    """Codes are kept, so only the target is read again, and kept from then on."""
    read: list[str] = []
    plain = parquet.OpenedGroup.column

    def column(self, name):
        if name not in self._columns:
            read.append(name)
        return plain(self, name)

    monkeypatch.setattr(parquet.OpenedGroup, "column", column)
    frame = open_frame(path, DOMAIN)
    assert folded(path, frame) == folded(rows(0))
    groups = pq.read_metadata(path).num_row_groups
    assert sorted(read) == sorted(groups * ["x", "k", "t", "t"])


def test_who_asks_once_keeps_nothing(path, monkeypatch):
    monkeypatch.setattr(stream, "FileRows", None)  # it would fail
    frame, once = open_frame(path, DOMAIN), questions()[-1]
    found = LocalEngine(2).fold(bind(once, DOMAIN), frame)[0].tolist()
    assert found == folded(rows(0))[-1]


def test_batches_of_another_size_are_other_rows(path):
    """A row that comes with two batches would count twice."""
    frame, whole = open_frame(path, DOMAIN), rows(0)
    for size in (1_700, 1_700, 1_700, 1_700, 500, 500, 500, 1_700):
        found = []
        for batch, many in frame.kept_batches(("x", "t"), size):
            assert len(batch["x"]) == len(batch["t"]) == many
            found.append(batch["t"])
        np.testing.assert_array_equal(np.concatenate(found), whole["t"].to_numpy())


def test_what_was_kept_never_meets_rows_of_a_changed_file(path):
    """Kept rows are all of the old file; what has to be read is not read."""
    plain = {"row_group_size": 1_700, "compression": "none", "use_dictionary": False}
    pq.write_table(rows(0), path, **plain)
    early, engine = open_frame(path, DOMAIN), LocalEngine(2)
    asked = [bind(question, DOMAIN) for question in questions()]
    for question in asked[:2]:
        engine.fold(question, early)
    frame = open_frame(path, DOMAIN)
    first = folded(path, frame)
    old, size = rows(0), path.stat().st_size
    other = pa.array(-old["t"].to_numpy())
    pq.write_table(old.set_column(2, "t", other), path, **plain)
    assert path.stat().st_size == size  # every byte has its place, as before
    assert folded(path, frame) == first
    once = Sum(Everyone(), (Block(Values(("t",))),))
    with pytest.raises(KernelFault):  # it keeps nothing, so it opens the file
        engine.fold(bind(once, DOMAIN), frame)
    with pytest.raises(KernelFault):  # the target was read once, and not kept yet
        engine.fold(asked[2], early)
    assert not frame.origins()[0].unchanged()


def test_a_full_disk_costs_time_alone(path, monkeypatch):
    monkeypatch.setattr(Spill.__init__, "__defaults__", (0,))

    def full(*_):
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(spill.os, "pwrite", full)
    assert folded(path) == folded(rows(0))


def test_the_file_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr(spill.tempfile, "tempdir", str(tmp_path))
    room = Spill(0)
    kept = room.put(np.arange(1000))
    assert os.listdir(tmp_path) == []
    np.testing.assert_array_equal(kept.load(), np.arange(1000))


def test_memory_is_given_back_with_the_last_reference(tmp_path, monkeypatch):
    memory, kept = Spill(0), []
    for i in range(9):
        kept = [*kept[-1:], memory.put(np.full(1000, i))]
    assert [array.load()[0] for array in kept] == [7, 8]
    assert os.fstat(memory._file).st_size <= 3 * 8000


def test_an_array_that_is_being_read_is_not_written_over():
    """Else a thread would read rows of other people in place of its own."""
    memory = Spill(0)
    cache = RowCache(memory)
    cache.keep((0, 1000), "scores", ("old",), np.zeros(1000), most=1)
    reading = cache._entries[0, 1000]["scores"][0][1]  # as another thread has it
    cache.keep((0, 1000), "scores", ("new",), np.ones(1000), most=1)
    others = [memory.put(np.full(1000, i)) for i in range(2, 5)]
    assert not reading.load().any()
    assert [array.load()[0] for array in others] == [2, 3, 4]


def test_no_more_is_kept_in_memory_than_was_said():
    memory = Spill(20_000, file=False)
    first, second = memory.put(np.zeros(1000)), memory.put(np.zeros(1000))
    assert None not in (first, second)
    assert memory.put(np.zeros(1000)) is None
    del first
    assert memory.put(np.zeros(1000)) is not None


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_a_part_of_an_array_is_kept_by_itself(in_memory):
    whole = np.arange(4000.0)
    kept = Spill(in_memory).put(whole[1000:2000])
    whole[:] = 0
    np.testing.assert_array_equal(kept.load(), np.arange(1000.0, 2000.0))
    with pytest.raises(ValueError, match="read-only"):
        kept.load()[0] = 1


def test_one_file_named_twice_is_two_files(path):
    both = [str(path), str(path)]
    twice = folded(both)
    once = np.array(folded(path), dtype=object)
    assert (np.array(twice, dtype=object) == 2 * once).all()


def test_large_groups_are_read_from_end_to_end(path, monkeypatch):
    monkeypatch.setattr(parquet, "LARGEST", 800)
    monkeypatch.setattr(stream, "FileRows", None)  # it would fail
    assert folded(path) == folded(rows(0))
