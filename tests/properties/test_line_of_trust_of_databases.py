"""Faults planted in the code of databases: each ends in a fault, or moves nothing.

As in ``test_line_of_trust``: a fault in a query, in the bound of persons, in a copy or
in a translation, for every engine that adds up by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.fold import fold_all, merge
from discreto.core.maps import (
    Bernstein,
    Bins,
    Categories,
    CodeCounts,
    Grid,
    Partition,
    Scaled,
    Values,
)
from discreto.core.people import bound_by_query
from discreto.core.query import Block, Everyone, Ones, Sum, bind
from discreto.core.query_fold import (
    CellSums,
    CountedCopy,
    CountedRows,
    RowCounts,
    by_query,
    check_counts,
    of_copy,
    tables_of,
)
from discreto.data.engines import DatabaseEngine
from discreto.data.frames import open_frame
from discreto.errors import KernelFault, UnsafeError
from discreto.testing import simulate

duckdb = pytest.importorskip("duckdb", reason="duckdb is absent")
pytest.importorskip("narwhals")

import narwhals as nw  # noqa: E402

from discreto.data.sql import frame as frames  # noqa: E402
from discreto.data.sql import maps, row_language  # noqa: E402
from discreto.data.sql.stages import Stages, check_row_local  # noqa: E402
from discreto.data.sql.sums import SumQuery, query_of  # noqa: E402

COLUMNS = {"x": dp.Number(0, 120), "y": dp.Number(-1, 1), "c": dp.Category(["a", "b"])}
ROWS = dp.Domain(COLUMNS)
PEOPLE = dp.Domain({**COLUMNS, "id": dp.Opaque()}, person="id", rows_per_person=2)
TOTAL = Sum(Everyone(), (Block(Values(("x",))),))
BY_CELL = Sum(Categories(("c",)), (Block(Values(("x",))),))
QUESTIONS = {
    "sum": TOTAL,
    "sum by cell": BY_CELL,
    "count": Sum(Everyone(), (Block(Ones()),)),
    "histogram": Sum(Bins("x", 100), (Block(Ones()),)),
}
Put = Callable[[dict[str, Any]], Any]
HERE = DatabaseEngine(fetch=False)  # no rows leave the database


def data(rows: int = 60, heavy: int = 0) -> dict[str, Any]:
    """Rows of people who have two each, and of one person with many more."""
    coins = np.random.default_rng(1)
    total = rows + heavy
    return {
        "x": coins.uniform(0, 120, total).tolist(),
        "y": coins.uniform(-1, 1, total).tolist(),
        "c": coins.choice(["a", "b", "?"], total).tolist(),
        "id": [*(np.arange(rows) // 2).tolist(), *[10**6] * heavy],
    }


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("ibis", reason='Ibis is missing: pip install ".[sql]"')
    psycopg = pytest.importorskip("psycopg")
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    pgserver = pytest.importorskip("pgserver", reason="pgserver is not installed")
    from discreto.service.metrics_folder import scratch

    with scratch("discreto-pg-") as folder:
        folder.chmod(0o755)  # the server runs as another user
        server = pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            yield connection
        server.cleanup()


@pytest.fixture(params=["duckdb", "polars", "postgresql"])
def put(request: pytest.FixtureRequest) -> Put:
    """Put columns into an engine that adds up by itself."""
    if request.param == "duckdb":
        pa = pytest.importorskip("pyarrow")
        connection = duckdb.connect()

        def to_duckdb(columns: dict[str, Any]) -> Any:
            connection.register("given", pa.table(columns))
            connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")
            return connection.table("t")

        return to_duckdb
    if request.param == "polars":
        pl = pytest.importorskip("polars")
        return lambda columns: pl.DataFrame(columns).lazy()
    connection = request.getfixturevalue("server")
    import ibis

    def to_postgresql(columns: dict[str, Any]) -> Any:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (x float8, y float8, c text, id bigint)")
        lines = zip(*columns.values(), strict=True)
        sql = "INSERT INTO t VALUES (%s, %s, %s, %s)"
        connection.cursor().executemany(sql, list(lines))
        return ibis.postgres.from_connection(connection).table("t")

    return to_postgresql


def asked(put: Put, question: Sum, domain: dp.Domain, heavy: int = 0) -> Any:
    """Return the exact sums of a question, by a query."""
    table = dp.Table(put(data(heavy=heavy)), domain, simulate(noise=False), engine=HERE)
    return table.gate().measure(question, Cost.of(1), "sum").tables[0]


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("domain", [ROWS, PEOPLE], ids=["rows", "people"])
def test_without_a_fault_there_is_an_answer(
    put: Put, name: str, domain: dp.Domain
) -> None:
    found = asked(put, QUESTIONS[name], domain, heavy=9)
    if name in ("count", "histogram"):
        assert found.sum() == (69 if domain is ROWS else 62)


@pytest.mark.parametrize("domain", [ROWS, PEOPLE], ids=["rows", "people"])
def test_a_table_without_rows_has_an_answer(put: Put, domain: dp.Domain) -> None:
    nothing = put({name: list(column) for name, column in data(2).items()})
    table = dp.Table(nothing, domain, simulate(noise=False), engine=HERE)
    view = table.where("x > 200 - 79").where("x < 0")  # of which no row stays
    for question in QUESTIONS.values():
        assert not view.gate().measure(question, Cost.of(1), "sum").tables[0].any()


def faulty(put: Put, domain: dp.Domain, heavy: int = 9) -> None:
    for question in QUESTIONS.values():
        with pytest.raises(KernelFault):
            asked(put, question, domain, heavy=heavy)


@pytest.mark.parametrize("domain", [ROWS, PEOPLE], ids=["rows", "people"])
def test_a_join_that_doubles_rows_is_noticed(
    put: Put, domain: dp.Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Stages.frame.fget

    def doubled(self: Any) -> Any:
        found = plain(self)
        if not self._beside:  # beside the table it is the bound of persons
            self._frame = nw.concat([found, found])
        return self._frame

    monkeypatch.setattr(Stages, "frame", property(doubled))
    faulty(put, domain)


def test_rows_that_are_left_out_are_noticed(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Stages.frame.fget

    def few(self: Any) -> Any:
        value = self.tight("x")
        self._frame = plain(self).filter(value < 60)
        return self._frame

    monkeypatch.setattr(Stages, "frame", property(few))
    for question in (TOTAL, BY_CELL):
        with pytest.raises(KernelFault):
            asked(put, question, ROWS)


def test_a_forgotten_bound_of_people_is_noticed(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stages, "rank", lambda self, within, order: nw.lit(1))
    faulty(put, PEOPLE)


def test_a_bound_that_was_never_put_on_is_noticed(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "bounded", lambda _, frame, *more: (frame, None))
    faulty(put, PEOPLE, heavy=0)


def test_a_query_that_forgets_who_stays_is_noticed(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that the bound leaves out are folded: more than a person may have."""
    plain = Stages.total

    def total(self: Any, within: str, ones: Any) -> str:
        return plain(self, within, ones * 0 + 1)  # as if every row stayed

    monkeypatch.setattr(Stages, "total", total)
    faulty(put, PEOPLE)


def test_a_query_that_is_tried_again_and_added_is_noticed(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = SumQuery.run

    def twice(self: Any) -> Any:
        rows, found = plain(self)
        plain(self)
        rows = RowCounts(2 * rows.folded, rows.table, rows.person)
        more = [
            CellSums(
                one.cells,
                [2 * count for count in one.counts],
                [[[2 * x for x in line] for line in block] for block in one.sums],
            )
            for one in found
        ]
        return rows, more

    monkeypatch.setattr(SumQuery, "run", twice)
    faulty(put, ROWS)


class AsksTwice(DatabaseEngine):
    """An engine that asks twice, and puts both answers together."""

    def fold(self, asked: Any, frame: Any) -> Any:
        return merge(asked, super().fold(asked, frame), super().fold(asked, frame))


class AddsTwice(DatabaseEngine):
    """An engine that adds up two answers by itself."""

    def fold(self, asked: Any, frame: Any) -> Any:
        one, two = super().fold(asked, frame), super().fold(asked, frame)
        return [x + y for x, y in zip(one, two, strict=True)]


@pytest.mark.parametrize("engine", [AsksTwice, AddsTwice])
def test_an_engine_that_asks_twice_is_noticed(put: Put, engine: Any) -> None:
    table = dp.Table(put(data()), ROWS, simulate(noise=False), engine=engine())
    with pytest.raises(KernelFault):
        table.gate().measure(TOTAL, Cost.of(1), "sum")


@pytest.mark.parametrize("keep", [1 << 20, 0], ids=["copy", "stream"])
def test_rows_that_are_read_twice_are_noticed(
    put: Put, keep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions without a translation are answered from rows."""
    bound = bind(TOTAL, ROWS)
    frame = open_frame(put(data()), ROWS)
    engine = DatabaseEngine(keep=keep)
    monkeypatch.setattr(type(frame), "costly", lambda self, question: True)
    monkeypatch.setattr(maps, "TRANSLATIONS", {})
    engine.fold(bound, frame.for_plan())
    plain = type(frame.backend)._batches

    def twice(self: Any, native: Any, rows: int) -> Iterator[Any]:
        for part in plain(self, native, rows):
            yield part
            yield part

    monkeypatch.setattr(type(frame.backend), "_batches", twice)
    with pytest.raises(KernelFault):
        engine.fold(bound, frame.for_plan())


def test_a_copy_in_which_a_person_has_too_many_rows_is_noticed(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stages, "rank", lambda self, within, order: nw.lit(1))
    frame = open_frame(put(data(heavy=9)), PEOPLE).bounded(b"k" * 24)
    with pytest.raises(ValueError, match="bounded"):
        frame.copied(1 << 20)


def test_only_the_core_counts_the_rows_of_a_copy(put: Put) -> None:
    with pytest.raises(UnsafeError):
        CountedCopy(9)
    frame = open_frame(put(data()), ROWS)
    copy, proof = frame.copied(1 << 20)
    found = fold_all(bind(TOTAL, ROWS), copy)
    assert of_copy(found, copy, frame, proof).places == frame.places()
    with pytest.raises(ValueError, match="not counted"):
        of_copy(found, copy, frame, None)  # type: ignore[arg-type]
    shorter = open_frame({**data(20), "id": [0] * 20}, ROWS)
    found = fold_all(bind(TOTAL, ROWS), shorter)
    with pytest.raises(ValueError, match="not counted"):
        of_copy(found, shorter, frame, proof)


def test_rows_are_counted_to_their_end() -> None:
    pa = pytest.importorskip("pyarrow")
    parts = [pa.table({"x": [1.0, 2.0]}), pa.table({"x": [3.0]})]
    read = CountedRows(iter(parts), lambda part: (3, None), None)
    with pytest.raises(ValueError, match="end"):
        read.proof()
    assert len(list(read)) == 2
    assert read.proof().rows == 3
    for table in (2, 4):
        read = CountedRows(iter(parts), lambda part, n=table: (n, None), None)
        with pytest.raises(ValueError, match=r"twice|exactly once"):
            list(read)
    bound = bound_by_query(PEOPLE)
    list(CountedRows(iter(parts), lambda part: (9, 2), bound))
    with pytest.raises(ValueError, match="twice"):
        list(CountedRows(iter(parts), lambda part: (2, 2), bound))
    for person in (3, None):
        read = CountedRows(iter(parts), lambda part, n=person: (9, n), bound)
        with pytest.raises(ValueError, match="person"):
            list(read)


@pytest.mark.parametrize(
    "counts",
    [RowCounts(9, 10, 2), RowCounts(11, 10, 2), RowCounts(9, 9), RowCounts(9, 9, 3)],
)
def test_counts_that_do_not_fit_are_failures(counts: RowCounts) -> None:
    people = [bind(TOTAL, PEOPLE)]
    check_counts(RowCounts(9, 9, 2), people, bound_by_query(PEOPLE))
    with pytest.raises(ValueError, match="query"):
        check_counts(counts, people, None)
    with pytest.raises(ValueError, match="query"):
        check_counts(counts, [bind(TOTAL, ROWS)], bound_by_query(PEOPLE))


@pytest.mark.parametrize(
    "answer",
    [
        CellSums([0, 0], [1, 1], [[[0, 0]]]),
        CellSums([3], [1], [[[0]]]),
        CellSums([-1], [1], [[[0]]]),
        CellSums([0], [10], [[[0]]]),
        CellSums([0], [1], [[[2**30 + 1]]]),
    ],
)
def test_sums_that_no_rows_have_are_failures(answer: CellSums) -> None:
    with pytest.raises(ValueError, match=r"cell|sum"):
        tables_of(bind(BY_CELL, ROWS), answer, RowCounts(9, 9))


# The clamp comes last, whatever a translation returns.

WILD = {
    "a thousand times too large": lambda x: x * row_language.real(1000.0),
    "on the wrong side": lambda x: row_language.real(-(2.0**40)) - x,
    "null": lambda x: nw.when(x > row_language.real(1e300)).then(x),
    "not a number": lambda x: x * 0.0 + float("nan"),
}
MAPS = {
    "values": Values(("x", "y")),
    "partition": Partition(("x", "c")),
    "bernstein": Bernstein(("x", "y"), 2),
    "scaled": Scaled(("x", "y"), (0.0, 0.5), (1.0, 2.0), 1.0, 1.5),
    "codes": CodeCounts(Grid(("x", "c"), ((60.0, 90.0), ()))),
}


@pytest.mark.parametrize("fault", WILD)
@pytest.mark.parametrize("name", MAPS)
def test_a_bug_in_a_translation_stays_within_the_bound(
    name: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row has no more than its map promises: in every number, and in both norms."""
    pl = pytest.importorskip("polars")
    features = MAPS[name]
    table = maps.TRANSLATIONS if type(features) in maps.TRANSLATIONS else maps._SOFT
    right = table[type(features)]

    def wrong(*args: Any) -> Any:
        return [WILD[fault](x) for x in right(*args)]

    monkeypatch.setitem(table, type(features), wrong)
    question = bind(Sum(Everyone(), (Block(features),)), ROWS)
    shape = question.blocks[0].shape
    row = {"x": [119.0], "y": [-0.9], "c": ["b"]}
    for place in (
        duckdb.connect().from_arrow(pl.DataFrame(row).to_arrow()),
        pl.DataFrame(row).lazy(),
    ):
        frame = open_frame(place, ROWS)
        try:
            found = by_query([question], query_of([question], frame._columns), frame)
        except Exception:  # a fault, and no answer: Polars casts no NaN
            assert fault == "not a number"
            continue
        sums = np.abs(found[0][0][0].astype(object))
        assert sums.max() <= shape.limit
        assert sums.sum() <= min(shape.total, shape.limit * shape.width)
        assert (sums**2).sum() <= shape.square
        assert found[0][0].min() >= (-shape.limit if shape.signed else 0)


# A translation is about one row by construction.


@pytest.mark.parametrize(
    "expr",
    [
        nw.col("x").sum(),
        nw.col("x") - nw.col("x").mean(),
        nw.col("x").rank(),
        nw.when(nw.col("x") > nw.col("x").max()).then(nw.lit(1)),
        nw.col("x").cum_sum(),
        nw.len(),
        nw.col("x").sum().over("c"),
        nw.max_horizontal(nw.col("y"), nw.col("x").max()),
        nw.all(),
    ],
)
def test_a_translation_may_not_look_at_other_rows(expr: Any) -> None:
    with pytest.raises(UnsafeError, match="one row"):
        check_row_local(expr)


def test_a_translation_that_looks_at_other_rows_is_refused_before_the_charge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pl = pytest.importorskip("polars")

    def centred(features: Any, rows: Any) -> Any:
        value = rows.value("x")
        return [value - value.mean()]

    monkeypatch.setitem(maps.TRANSLATIONS, Values, centred)
    ledger = simulate(noise=False)
    place = pl.DataFrame(data()).lazy()
    table = dp.Table(place, ROWS, ledger, engine=HERE)
    with pytest.raises(UnsafeError, match="one row"):
        table.gate().measure(TOTAL, Cost.of(1), "sum")
