"""Every engine gives the sums of one process, and a lost worker costs nothing more."""

from __future__ import annotations

import json
import pickle
import sys
import threading
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import discreto as dp
from discreto.core import aggregate
from discreto.core.maps import Categories, NearestRows, Values
from discreto.core.maps.trees import Tree
from discreto.core.query import Block, Bound, Everyone, Ones, Sum, inside
from discreto.data.engines import ExecutorEngine, LocalEngine, executor
from discreto.data.frames import Frame, StreamFrame, open_frame
from discreto.data.frames.spans import Span, cut, lone_span, units_of
from discreto.errors import KernelFault, MissingExtraError, ParameterError
from discreto.models import GradientBoostingClassifier
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "x": dp.Number(0, 10, missing=True),
        "y": dp.Number(-1, 1),
        "c": dp.Category(["a", "b"]),
    }
)
SUMS = Sum(
    Categories(("c",)),
    (
        Block(Values(("x", "y")), share=Fraction(1, 2)),
        Block(Ones(), share=Fraction(1, 2)),
    ),
)
QUERIES = {
    "count": Sum(Everyone(), (Block(Ones()),)),
    "sums": SUMS,
    "gram": Sum(Everyone(), (Block(Values(("x", "y"), bits=14), "gram"),)),
    "nearest": NearestRows(("x", "y"), "c", ((0.0, 0.5), (0.3, -0.5)), 3),
}


def columns(rows: int, seed: int = 0) -> dict[str, Any]:
    coins = np.random.default_rng(seed)
    x = coins.uniform(-2, 12, rows)
    x[::5] = np.nan
    return {
        "x": x,
        "y": coins.normal(0, 1, rows),
        "c": coins.choice(["a", "b", "?"], rows),
    }


def write(folder: Path, files: int = 3, rows: int = 1000, group: int = 300) -> str:
    for number in range(files):
        table = pa.table(columns(rows, number))
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=group)
    return f"{folder}/*.parquet"


def same(first: list[Any], second: list[Any]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


class Flaky(ThreadPoolExecutor):
    """An executor whose chosen submissions fail, in one of the ways pools do."""

    def __init__(self, fail: set[int], error: Exception) -> None:
        super().__init__(2)
        self.fail, self.error, self.submitted, self.seen = fail, error, 0, []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        self.submitted += 1
        self.seen.append(args)
        if self.submitted not in self.fail:
            return super().submit(fn, *args, **kwargs)
        future: Future = Future()
        future.set_exception(self.error)
        return future


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@pytest.mark.parametrize("parts", [1, 2, 7, 100])
def test_files_give_the_sums_of_one_process(tmp_path, query, parts):
    frame = open_frame(write(tmp_path), DOMAIN)
    engine = ExecutorEngine(ThreadPoolExecutor(2), parts=parts)
    truth = LocalEngine(1).fold(inside(query, DOMAIN), frame)
    assert same(engine.fold(inside(query, DOMAIN), frame), truth)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_rows_in_memory_give_the_sums_of_one_process(query):
    frame = open_frame(columns(140_000), DOMAIN)
    pool = Flaky(set(), OSError())
    engine = ExecutorEngine(pool, parts=3)
    truth = LocalEngine(1).fold(inside(query, DOMAIN), frame)
    assert same(engine.fold(inside(query, DOMAIN), frame), truth)
    assert pool.submitted == 3


def test_parts_hold_every_row_group_once(tmp_path):
    frame = open_frame(write(tmp_path, files=5, rows=100, group=100), DOMAIN)
    for parts in (2, 3, 5, 9):
        pieces = frame.split(parts)
        units = [unit for piece in pieces for unit in units_of(piece.spans)]
        assert units == list(units_of(frame.spans))
        assert len(pieces) == min(parts, 5), "files of one group are split, too"


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 10**9)), max_size=8),
    st.integers(1, 20),
)
@example([(1, 10**9), (9, 1), (1, 10**9)], 3)
def test_spans_are_cut_by_bytes(files, parts):
    """Every group once, in order; no part is larger than its share and a group more."""
    spans = [Span(str(i), 0, many, size) for i, (many, size) in enumerate(files)]
    found = cut(spans, parts)
    assert len(found) <= parts
    units = list(units_of(spans))
    assert [unit for _, some in found for unit in units_of(some)] == units
    for first, some in found:
        assert next(units_of(some)) == units[first]
        group = max(span.size / (span.stop - span.start) for span in spans)
        share = sum(span.size for span in spans) / parts
        assert sum(span.size for span in some) <= share + group + len(spans)


def test_tasks_are_cut_by_bytes_unless_their_number_is_given():
    engine = ExecutorEngine(ThreadPoolExecutor(1))
    engine.parts = 16
    sizes = [0, 1 << 20, 60 << 20, 1 << 30, 100 << 30]
    assert [engine._tasks(size) for size in sizes] == [1, 1, 8, 16, 400]
    assert ExecutorEngine(ThreadPoolExecutor(1), parts=3)._tasks(100 << 30) == 3


def test_row_groups_are_not_listed_one_by_one(tmp_path):
    """What goes to workers grows with files, not with their row groups."""
    few = open_frame(write(tmp_path, files=1, rows=1000, group=500), DOMAIN)
    text = len(pickle.dumps(few.spans))
    many = open_frame(write(tmp_path, files=1, rows=1000, group=2), DOMAIN)
    assert len(list(units_of(many.spans))) == 500
    assert len(pickle.dumps(many.spans)) <= text + 8


def test_csv_files_are_split_by_file_and_a_file_named_twice_counts_twice(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y,c\n1,0.5,a\n2,,b\n")
    pq.write_table(pa.table(columns(10)), tmp_path / "c.parquet")
    paths = [tmp_path / name for name in ("a.csv", "a.csv", "b.csv", "c.parquet")]
    frame = open_frame([str(path) for path in paths], DOMAIN)
    engine = ExecutorEngine(ThreadPoolExecutor(2))
    count = QUERIES["count"]
    assert engine.fold(inside(count, DOMAIN), frame)[0].tolist() == [[16]]
    assert LocalEngine().fold(inside(count, DOMAIN), frame)[0].tolist() == [[16]]
    assert frame.length() == 16


def test_an_empty_file_has_no_rows(tmp_path):
    pq.write_table(pa.table(columns(0)), tmp_path / "0.parquet")
    frame = open_frame(str(tmp_path / "0.parquet"), DOMAIN)
    engine = ExecutorEngine(ThreadPoolExecutor(1))
    assert engine.fold(inside(QUERIES["count"], DOMAIN), frame)[0].tolist() == [[0]]
    assert frame.length() == 0


def test_a_task_is_a_question_a_domain_and_a_place(tmp_path):
    pool = Flaky(set(), OSError())
    frame = open_frame(write(tmp_path), DOMAIN)
    ExecutorEngine(pool, parts=4).fold(inside(SUMS, DOMAIN), frame)
    for questions, domain, place in pool.seen:
        assert [json.loads(one)["kind"] for one in json.loads(questions)] == ["Sum"]
        assert dp.Domain.from_dict(json.loads(domain)) == DOMAIN
        plain = [[*span[:-1], list(span.state)] for span in place]
        assert json.loads(json.dumps(place)) == plain
        assert all(span.path.startswith(str(tmp_path)) for span in place)


@pytest.mark.parametrize(
    ("kept", "person"), [(True, False), (False, True)], ids=["files only", "people"]
)
def test_some_rows_stay_in_this_process(kept, person):
    data = columns(140_000) | {"id": np.arange(140_000) // 3}
    domain = DOMAIN
    if person:
        domain = dp.Domain(
            dict(DOMAIN.columns) | {"id": dp.Opaque()}, person="id", rows_per_person=2
        )
    pool = Flaky(set(), OSError())
    engine = ExecutorEngine(pool, parts=3, files_only=kept)
    ledger = simulate(noise=False)
    table = dp.Table(data, domain, ledger, engine=engine)
    rows = dp.stats.count(table, epsilon=1).value
    assert rows == (93_333 + 1 if person else 140_000)
    assert pool.submitted == 0


# Workers that fail


FAILURES = [OSError("SECRET 37.2"), BrokenExecutor("SECRET 37.2")]


@pytest.mark.parametrize("error", FAILURES, ids=lambda e: type(e).__name__)
def test_lost_parts_are_folded_again_and_charged_once(tmp_path, error):
    pattern = write(tmp_path)
    ledger = simulate(noise=False)
    truth = dp.stats.sum(dp.Table.scan(pattern, DOMAIN, ledger), "x", epsilon=1)
    # The first round loses two parts of four, the second round one of those.
    pool = Flaky({2, 4, 6}, error)
    book = simulate(noise=False)
    engine = ExecutorEngine(pool, parts=4)
    table = dp.Table.scan(pattern, DOMAIN, book, engine=engine)
    assert dp.stats.sum(table, "x", epsilon=1).value == truth.value
    assert pool.submitted == 4 + 2 + 1
    assert len(book.entries()) == 1


def test_a_pool_that_broke_is_made_anew(tmp_path):
    frame = open_frame(write(tmp_path), DOMAIN)
    pools: list[Flaky] = []

    def make() -> Flaky:
        pools.append(Flaky({1} if not pools else set(), BrokenExecutor()))
        return pools[-1]

    engine = ExecutorEngine(make, parts=4)
    truth = LocalEngine(1).fold(inside(SUMS, DOMAIN), frame)
    assert same(engine.fold(inside(SUMS, DOMAIN), frame), truth)
    assert [pool.submitted for pool in pools] == [4, 1]
    assert same(engine.fold(inside(SUMS, DOMAIN), frame), truth)
    assert len(pools) == 2, "a pool that works is kept"


def test_a_pool_that_takes_no_tasks_is_made_anew(tmp_path):
    frame = open_frame(write(tmp_path), DOMAIN)
    pools: list[ThreadPoolExecutor] = []

    def make() -> ThreadPoolExecutor:
        pools.append(ThreadPoolExecutor(1))
        return pools[-1]

    engine = ExecutorEngine(make, parts=4)
    truth = engine.fold(inside(SUMS, DOMAIN), frame)
    pools[0].shutdown()
    assert same(engine.fold(inside(SUMS, DOMAIN), frame), truth)
    assert len(pools) == 2


def test_after_all_retries_the_charge_stands_and_no_reason_is_given(tmp_path):
    pool = Flaky(set(range(100)), ValueError("SECRET 37.2"))
    ledger = dp.Ledger(epsilon=1)
    engine = ExecutorEngine(pool, parts=4, retries=1)
    table = dp.Table.scan(write(tmp_path), DOMAIN, ledger, engine=engine)
    with pytest.raises(KernelFault) as caught:
        dp.stats.mean(table, "x", epsilon="0.5")
    assert pool.submitted == 8
    assert ledger.spent().epsilon == Fraction(1, 2)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_worker_never_raises_or_prints(tmp_path, monkeypatch, capfd):
    def burst(*parts: Any) -> Any:
        raise ValueError("SECRET 37.2")

    frame = open_frame(write(tmp_path), DOMAIN)
    texts = json.dumps([executor.write_question(SUMS)])
    question = texts, json.dumps(DOMAIN.to_dict())
    assert executor.fold_place(*question, frame.spans) is not None
    gone = [lone_span((str(tmp_path / "gone.parquet"), 0))]
    assert executor.fold_place(*question, gone) is None
    assert executor.fold_place("no question", "no domain", frame.spans) is None
    monkeypatch.setattr(executor, "fold_all", burst)
    assert executor.fold_place(*question, frame.spans) is None
    assert capfd.readouterr() == ("", "")


class Panic(BaseException):
    """What native code raises when it panics: no Exception, with a row in its text."""


@pytest.mark.parametrize("error", [ValueError("SECRET 37.2"), Panic("SECRET 37.2")])
@pytest.mark.parametrize("rows", [10, 140_000], ids=["alone", "threads"])
@pytest.mark.parametrize("pool", [False, True], ids=["local", "executor"])
def test_every_engine_fails_in_one_way(monkeypatch, capfd, error, rows, pool):
    def burst(*parts: Any) -> Any:
        raise error

    engine = ExecutorEngine(ThreadPoolExecutor(2)) if pool else LocalEngine(2)
    frame = open_frame(columns(rows), DOMAIN)
    monkeypatch.setattr(aggregate, "fold", burst)
    with pytest.raises(KernelFault) as caught:
        engine.fold(inside(SUMS, DOMAIN), frame)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert capfd.readouterr() == ("", "")


def test_a_pool_that_cannot_be_made_and_a_cancelled_task_are_faults(tmp_path):
    def none() -> Any:
        raise OSError("SECRET 37.2")

    class Cancelled(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
            future: Future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    frame = open_frame(write(tmp_path), DOMAIN)
    for executor_ in (none, Cancelled(1), lambda: 3):
        with pytest.raises(KernelFault, match="folded") as caught:
            ExecutorEngine(executor_, retries=1).fold(inside(SUMS, DOMAIN), frame)
        assert caught.value.__context__ is None


def test_a_worker_that_answers_nonsense_is_a_fault(tmp_path):
    class Liar(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
            return super().submit(lambda: ["SECRET 37.2"])

    frame = open_frame(write(tmp_path), DOMAIN)
    with pytest.raises(KernelFault, match="folded") as caught:
        ExecutorEngine(Liar(1)).fold(inside(SUMS, DOMAIN), frame)
    assert caught.value.__context__ is None


def test_an_engine_that_folds_a_retried_part_twice_would_be_caught(tmp_path):
    class Twice(ExecutorEngine):
        def _try(self, question: Any, places: Any) -> Any:
            for place, sums in super()._try(question, places):
                yield place, sums
                if sums is None:  # a slow worker that was given up, but answers
                    yield place, executor.fold_place(*question, place)

    frame = open_frame(write(tmp_path), DOMAIN)
    truth = LocalEngine(1).fold(inside(SUMS, DOMAIN), frame)
    wrong = Twice(Flaky({2}, OSError()), parts=4).fold(inside(SUMS, DOMAIN), frame)
    assert not same(wrong, truth)


# What is refused


@pytest.mark.parametrize(
    "options", [{"parts": 0}, {"parts": 1.5}, {"retries": -1}, {"retries": None}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ParameterError):
        ExecutorEngine(ThreadPoolExecutor(1), **options)


def test_an_engine_needs_an_executor():
    with pytest.raises(ParameterError, match="ThreadPoolExecutor"):
        ExecutorEngine("tcp://127.0.0.1:1")


def test_without_dask_the_install_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"\[cluster\]"):
        dp.engines.dask("tcp://127.0.0.1:1")


def test_a_stream_of_units_is_a_stream(tmp_path):
    frame = open_frame(write(tmp_path), DOMAIN)
    part = StreamFrame.of(map(lone_span, [*units_of(frame.spans)][3:5]), DOMAIN)
    assert part.length() == sum(rows for _, rows in part.batches(["x"], 64)) == 400


def test_an_executor_that_does_nothing_is_not_waited_for(tmp_path):
    started, go = threading.Semaphore(0), threading.Event()

    class Stuck(ThreadPoolExecutor):
        def submit(self, work, *parts):
            def late():
                started.release()
                if go.wait(60):
                    return work(*parts)

            return super().submit(late)

    path = tmp_path / "rows.csv"
    path.write_text("x,g\n1,u\n")
    domain = dp.Domain({"x": dp.Number(0, 9)})
    asked, frame = inside(QUERIES["count"], domain), open_frame(path, domain)
    with Stuck(1) as pool:
        engine = ExecutorEngine(pool, silence=0.2)
        with pytest.raises(KernelFault, match=r"no task was done in 0\.2 s"):
            engine.fold(asked, frame)
        assert started.acquire(timeout=60)
        go.set()
        engine.silence = 60
        assert engine.fold(asked, frame)[0].tolist() == [[1]]


def test_silence_is_a_number_of_seconds():
    for wrong in (0, -1, "1", True, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="silence"):
            ExecutorEngine(ThreadPoolExecutor, silence=wrong)


# Questions on their way to workers.


class Writing(LocalEngine):
    """Folds what a worker would read, and keeps the texts."""

    def __init__(self) -> None:
        super().__init__(1)
        self.texts: list[str] = []

    def fold(self, asked: Bound, frame: Frame) -> Any:
        self.texts.append(executor.write_question(asked.query))
        assert executor.read_question(self.texts[-1]) == asked.query
        return super().fold(asked, frame)


def texts_of(trees: int) -> list[str]:
    """The texts of all questions of a fit."""
    rng = np.random.default_rng(0)
    data = {f"x{i}": rng.uniform(0, 1, 200) for i in range(4)}
    data["y"] = rng.integers(0, 2, 200)
    numbers = {f"x{i}": dp.Number(0, 1) for i in range(4)}
    domain = dp.Domain(numbers | {"y": dp.Category([0, 1])}, target="y")
    engine = Writing()
    table = dp.Table(data, domain, dp.testing.simulate(0), engine=engine)
    GradientBoostingClassifier(trees, max_depth=3, epsilon=1).fit(table)
    return engine.texts


def test_a_worker_reads_each_tree_once() -> None:
    executor._part.cache_clear()
    texts = texts_of(12)
    parts = executor._part.cache_info()
    assert parts.misses < len(texts) * 2  # a tree changes while it grows
    assert parts.hits > parts.misses


def test_a_tree_is_written_once() -> None:
    tree = Tree((0,), ((0, 1),), ((1.0,), (2.0,)))
    assert executor.write_question(tree) is not None
    memory = tree.__dict__["packed"]
    executor.write_question((tree, tree))
    assert tree.__dict__["packed"] is memory


def test_texts_grow_with_the_number_of_trees_only() -> None:
    short, long = texts_of(8)[-1], texts_of(16)[-1]
    assert len(long) < 2.2 * len(short) < 20_000
