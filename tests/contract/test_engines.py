"""One contract for every engine: the integers of numpy, whatever is in the rows.

A new engine joins ``engine`` below. Databases with a translation must give the same
bits for every map that has one; all engines must answer every question.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import engine_tables as tables
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_tables import DOMAIN, QUESTIONS, READ, TRANSLATED, hostile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core import aggregate, compiled
from discreto.core.maps import trees_numpy
from discreto.core.query import Ints, Shape, bind
from discreto.data.engines import DatabaseEngine, ExecutorEngine, LocalEngine, fold_all
from discreto.data.frames import open_frame
from discreto.data.sql import Untranslated

ROWS = 400
TABLE = hostile(ROWS)
SMALL = {
    "no rows": TABLE[:0],
    "one row": TABLE[3:4],
    "nothing there": pa.table(
        {field.name: pa.nulls(5, field.type) for field in TABLE.schema}
    ),
}


class Place:
    """Where tables are put and who folds them."""

    def __init__(self, engine: Any, put: Any = None) -> None:
        self.engine, self.put = engine, put or (lambda table: table)
        self._frames: dict[int, Any] = {}

    def frame(self, table: pa.Table) -> Any:
        if id(table) not in self._frames:
            self._frames[id(table)] = open_frame(self.put(table), DOMAIN)
        return self._frames[id(table)]

    def fold(self, question: Any, table: pa.Table) -> list[Ints]:
        return self.engine.fold(bind(question, DOMAIN), self.frame(table))


@pytest.fixture(scope="module")
def dask_engine() -> Iterator[ExecutorEngine]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
        with (
            distributed.LocalCluster(**options, processes=False) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield dp.engines.dask(client, parts=3)


ENGINES = ["numpy", "numba", "executor", "duckdb", "polars", "ibis", "postgresql"]
ENGINES += ["dask frame", "arrow dataset", "dask"]


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Place]:
    name = request.param
    if name == "numpy":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trees_numpy, "_compiled", lambda name, size: None)
            patch.setattr(compiled, "loops", lambda *_: None)
            yield Place(LocalEngine(1))
    elif name == "numba":
        pytest.importorskip("numba", reason="numba is not installed")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trees_numpy, "WORTH", 0)
            patch.setattr(compiled, "WORTH", 0)
            yield Place(LocalEngine(2))
    elif name == "executor":
        with ThreadPoolExecutor(2) as pool:
            yield Place(ExecutorEngine(pool, parts=3))
    elif name == "dask":
        engine = request.getfixturevalue("dask_engine")

        def write(table: pa.Table) -> str:
            path = tmp_path_factory.mktemp("files") / "people.parquet"
            pq.write_table(table, path, row_group_size=150)
            return str(path)

        yield Place(engine, write)
    elif name == "postgresql":
        connect = request.getfixturevalue("postgresql")
        yield Place(DatabaseEngine(keep=0), connect)
    elif name == "arrow dataset":

        def put(table: pa.Table) -> Any:
            return tables.to_dataset(tmp_path_factory.mktemp("files"), table)

        yield Place(DatabaseEngine(keep=0), put)
    else:
        yield Place(DatabaseEngine(keep=0), tables.MAKERS[name])


def same(first: list[Any], second: list[Any]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    frame = open_frame(TABLE, DOMAIN)
    return {n: fold_all(bind(q, DOMAIN), frame) for n, q in QUESTIONS.items()}


@pytest.mark.parametrize("name", QUESTIONS)
def test_hostile_rows_give_the_integers_of_numpy(
    place: Place, name: str, expected: dict[str, Any]
) -> None:
    assert same(place.fold(QUESTIONS[name], TABLE), expected[name])


SEVERAL = ["count", "indicators", "bins", "count", "splits"]


@pytest.mark.parametrize("kind", [None, "nothing there"])
def test_several_questions_in_one_pass_have_the_same_integers(
    place: Place, kind: str | None
) -> None:
    table = TABLE if kind is None else SMALL[kind]
    several = [bind(QUESTIONS[name], DOMAIN) for name in SEVERAL]
    found = place.engine.fold_several(several, place.frame(table))
    frame = open_frame(table, DOMAIN)
    assert found[-1] is None  # it keeps something with its rows
    for name, bound, one in zip(SEVERAL[:-1], several, found, strict=False):
        assert one is not None, name
        assert same(one, fold_all(bound, frame)), name


@pytest.mark.parametrize("name", ["duckdb", "polars"])
def test_several_questions_are_few_queries(name: str) -> None:
    frame = open_frame(tables.MAKERS[name](TABLE), DOMAIN)
    several = [bind(QUESTIONS[one], DOMAIN) for one in SEVERAL[:-1]]
    large = [bind(QUESTIONS["categories"], DOMAIN)] * 2
    portions = frame.queries([*several, *large])
    places = sorted(tuple(portion.places) for portion in portions)
    assert places == [tuple(range(len(several))), (len(several), len(several) + 1)]


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("name", ["numbers", "categories", "splits"])
def test_small_tables_have_answers(place: Place, name: str, kind: str) -> None:
    bound = bind(QUESTIONS[name], DOMAIN)
    wanted = fold_all(bound, open_frame(SMALL[kind], DOMAIN))
    assert same(place.fold(QUESTIONS[name], SMALL[kind]), wanted)


@pytest.mark.parametrize("name", ["duckdb", "polars"])
def test_what_should_be_translated_is(name: str) -> None:
    frame = open_frame(tables.MAKERS[name](TABLE), DOMAIN)
    for question in TRANSLATED.values():
        frame.query(bind(question, DOMAIN))
    for question in READ.values():
        with pytest.raises(Untranslated):
            frame.query(bind(question, DOMAIN))


@pytest.mark.parametrize("shape", [Shape(2, 8, total=9), Shape(2, 8, square=65)])
def test_norms_are_shrunk_in_queries(shape: Shape) -> None:
    """Whatever numbers come, those of a row keep to their norm, as in the core."""
    from discreto.data.sql.columns import Columns
    from discreto.data.sql.sums import clamp

    line = [-9.0, -8.0, -7.5, -3.0, -0.5, 0.0, 2.5, 4.0, 6.49, 8.0, 12.0]
    pairs = [(x, y) for x in line for y in line]
    x, y = (list(side) for side in zip(*pairs, strict=True))
    domain = dp.Domain({"x": dp.Number(-20, 20), "y": dp.Number(-20, 20)})
    frame = open_frame(tables.to_polars(pa.table({"x": x, "y": y})), domain)
    rows = Columns(frame.backend, frame._frame, domain, ("x", "y"))
    numbers = clamp([rows.value("x"), rows.value("y")], shape, rows)
    names = rows.named(numbers)
    found = rows.frame.select(*names).collect().to_native().to_numpy().T
    assert np.array_equal(found, aggregate.clamp(np.array([x, y]), shape))


CHANGED = ["columns", "codes", "sums"]


@pytest.mark.parametrize("what", CHANGED)
def test_a_wrong_translation_is_found(what: str, monkeypatch: Any) -> None:
    """The suite can fail: casts that round, or codes that start at one, are seen."""
    from discreto.data.sql import cell_maps, sums

    if what == "columns":
        real = sums.real
        monkeypatch.setattr(sums, "real", lambda x: real(0.0 if x == 0.5 else x))
    elif what == "codes":
        whole = cell_maps.whole
        monkeypatch.setattr(cell_maps, "whole", lambda x: whole(x + 1))
    else:
        monkeypatch.setattr(sums, "terms_of", lambda *_: [])
    frame = open_frame(tables.to_polars(TABLE), DOMAIN)
    wrong = 0
    for question in TRANSLATED.values():
        bound = bind(question, DOMAIN)
        try:
            found = tables.found_by_query(frame, bound)
        except ValueError:
            wrong += 1
            continue
        wrong += not same(found, fold_all(bound, open_frame(TABLE, DOMAIN)))
    assert wrong


NUMBERS = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-1, 11),
    st.sampled_from([0.0, -0.0, 10.0, 5.0, 1e-310, -5e-324, 1e308]),
)
ROW = st.tuples(NUMBERS, NUMBERS, st.sampled_from([*tables.WORDS, None, "?"]))


@pytest.mark.parametrize("name", ["duckdb", "polars"])
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
@given(st.lists(ROW, max_size=6), st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_any_bounds_and_any_rows(
    name: str, rows: list[Any], low: float, width: float
) -> None:
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    kinds = (pa.float64(), pa.float64(), pa.string())
    table = pa.table(
        {n: pa.array(c, k) for n, c, k in zip("abw", columns, kinds, strict=True)}
    )
    if low + width <= low:
        return
    domain = dp.Domain(
        {
            "a": dp.Number(low, low + width, missing=True),
            "b": dp.Number(-1, 1),
            "w": dp.Category(tables.WORDS),
        }
    )
    question = tables.Sum(
        tables.Cross(tables.Bins("a", 3), tables.Categories(("w",))),
        tables.several(
            tables.Block(tables.Values(("a", "b")), "pair"),
            tables.Block(tables.Partition(("a", "w"))),
            tables.Block(tables.SCALED, "linear"),
        ),
    )
    bound = bind(question, domain)
    frame = open_frame(tables.MAKERS[name](table), domain)
    found = tables.found_by_query(frame, bound)
    assert same(found, fold_all(bound, open_frame(table, domain)))
