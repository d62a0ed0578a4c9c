"""The engine contract on Spark: ``scripts/test --spark``.

It needs PySpark and a Java virtual machine, and takes minutes, so it is not part of
every run. A fit of many steps is no faster for being asked there: see the page.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import engine_tables as tables
import pytest
from engine_tables import DOMAIN, QUESTIONS, READ, TRANSLATED, hostile

import discreto as dp
from discreto.core.maps import Block, Everyone, Values
from discreto.core.query import Ones, Sum, bind
from discreto.data.engines import DatabaseEngine, fold_all
from discreto.data.frames import open_frame
from discreto.data.sql import Untranslated
from discreto.errors import DomainError, KernelFault

pytestmark = pytest.mark.filterwarnings("ignore")
TABLE = hostile(400)
QUICK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    # Java code that is made for each query takes longer than these few rows do, and so
    # does learning which code is run often.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "America/Sao_Paulo",
}


@pytest.fixture
def spark() -> Any:
    """The Spark session, or a new one if it was stopped."""
    if "DISCRETO_TEST_SPARK" not in os.environ:
        pytest.skip("Spark takes minutes: scripts/test --spark")
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if which("java") is None:
        pytest.skip("there is no Java virtual machine for Spark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("discreto")
    for name, value in QUICK.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, Any]]:
    """Frames by the identifier of their session; all end with the module."""
    frames: dict[str, Any] = {}
    yield frames
    for frame in frames.values():
        frame.sparkSession.stop()


@pytest.fixture
def hostile_rows(spark: Any, places: dict[str, Any]) -> Any:
    name = spark.sparkContext.applicationId
    if name not in places:
        places[name] = tables.to_spark(spark, TABLE)
    return places[name]


def same(first: list[Any], second: list[Any]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(a.dtype == b.dtype and (a == b).all() for a, b in pairs)


@pytest.mark.parametrize("name", TRANSLATED)
def test_hostile_rows_give_the_integers_of_numpy(hostile_rows: Any, name: str) -> None:
    bound = bind(QUESTIONS[name], DOMAIN)
    found = tables.found_by_query(open_frame(hostile_rows, DOMAIN), bound)
    assert same(found, fold_all(bound, open_frame(TABLE, DOMAIN)))


@pytest.mark.parametrize("name", READ)
def test_rows_are_read_for_all_else(hostile_rows: Any, name: str) -> None:
    bound = bind(QUESTIONS[name], DOMAIN)
    frame = open_frame(hostile_rows, DOMAIN)
    with pytest.raises(Untranslated):
        frame.query(bound)
    found = DatabaseEngine(keep=0).fold(bound, frame)
    assert same(found, fold_all(bound, open_frame(TABLE, DOMAIN)))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_ansi_mode_plays_no_role(spark: Any, hostile_rows: Any, ansi: str) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for name in ("numbers", "bins", "magnitudes"):
            bound = bind(QUESTIONS[name], DOMAIN)
            found = tables.found_by_query(open_frame(hostile_rows, DOMAIN), bound)
            assert same(found, fold_all(bound, open_frame(TABLE, DOMAIN))), name
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


@pytest.mark.parametrize("rows", [0, 1])
def test_small_tables(spark: Any, rows: int) -> None:
    source = tables.to_spark(spark, TABLE[:rows])
    for name in ("numbers", "categories", "splits"):
        bound = bind(QUESTIONS[name], DOMAIN)
        for engine in (DatabaseEngine(), DatabaseEngine(keep=0)):
            found = engine.fold(bound, open_frame(source, DOMAIN))
            assert same(found, fold_all(bound, open_frame(TABLE[:rows], DOMAIN)))


def test_views_are_those_of_memory(hostile_rows: Any) -> None:
    answers = []
    for data in (TABLE, hostile_rows):
        table = dp.Table(data, DOMAIN, dp.testing.simulate(2))
        view = table.with_columns(z="clip(a / b, -9, 9)").where("z > -5 and s == 'x'")
        answers.append(dp.stats.mean(view, "z", by="label", epsilon=1).value.tolist())
    assert answers[0] == answers[1]


DAYS = "date'{}'", "timestamp'{}'", "timestamp_ntz'{}'"
WHEN = "+20000-01-01", "-20000-01-01", "2000-01-01", "0001-01-01", "9999-12-31"


@pytest.mark.parametrize("form", DAYS)
def test_days_that_python_does_not_know(spark: Any, form: str) -> None:
    """Each row counts as it does alone, whoever is beside it."""
    domain = dp.Domain({"v": dp.Date("1990-01-01", "2030-12-31", missing=True)})
    bound = bind(Sum(Everyone(), (Block(Values(("v",))),)), domain)
    # The clock of the session is three hours late: what it shows is another day in UTC.
    several = [f"SELECT {form.format(when)} AS v" for when in WHEN]
    source = spark.sql(" UNION ALL ".join(several))
    frame = open_frame(source, domain)
    found = fold_all(bound, frame)  # from rows
    last, first = 2**30, -(2**30)
    day = (dt.date(2000, 1, 1) - dt.date(1990, 1, 1)).days
    whole = (dt.date(2030, 12, 31) - dt.date(1990, 1, 1)).days
    middle = int((day - whole / 2) / (whole / 2) * 2**30 + 0.5) - 1
    assert abs(int(found[0][0, 0]) - (2 * last + 2 * first + middle)) <= 1
    if "timestamp'" not in form:  # times of a zone are read
        assert same(found, tables.found_by_query(frame, bound))


def test_decimals_of_any_length_are_read(spark: Any) -> None:
    domain = dp.Domain({"v": dp.Number(0, 10, missing=True)})
    bound = bind(Sum(Everyone(), (Block(Values(("v",))),)), domain)
    source = spark.sql(
        "SELECT cast(v AS decimal(38, 30)) AS v FROM VALUES "
        "('10'), ('99999999.9'), ('0.000000000000000000000000000001'), (null) AS t(v)"
    )
    (found,) = DatabaseEngine(keep=0).fold(bound, open_frame(source, domain))
    assert found.tolist() == [[2**30]]


KINDS = ("binary", "array<int>", "map<string,int>", "variant", "interval day to second")


@pytest.mark.parametrize("kind", [*KINDS, "string collate utf8_lcase"])
def test_what_spark_alone_knows_is_refused(spark: Any, kind: str) -> None:
    source = spark.sql(f"SELECT cast(null AS {kind}) AS v, 1.0D AS k")
    person = dp.Domain(
        {"v": dp.Opaque(), "k": dp.Number(0, 10)}, person="v", rows_per_person=1
    )
    for domain in (person, dp.Domain({"v": dp.Category(["a"])})):
        with pytest.raises(DomainError, match="'v'"):
            open_frame(source, domain)


def test_a_person_has_a_few_rows(spark: Any) -> None:
    domain = dp.Domain(
        {"who": dp.Opaque(), "a": dp.Number(0, 10, missing=True)},
        person="who",
        rows_per_person=2,
    )
    bound = bind(Sum(Everyone(), (Block(Ones()),)), domain)
    rows = [("ann", 1.0), ("ann", 2.0), ("ann", None), ("Ann", 3.0), ("", 1.0)]
    source = spark.createDataFrame([*rows, (None, 4.0)], "who string, a double")
    frame = open_frame(source, domain).bounded(b"k" * 24)
    assert DatabaseEngine(fetch=False).fold(bound, frame)[0].tolist() == [[3]]


def test_a_cancelled_query_is_paid_once(spark: Any, tmp_path: Path) -> None:
    """It stops in Spark, and says nothing."""
    ledger = dp.Ledger(tmp_path / "l", epsilon=2)
    domain = dp.Domain({"a": dp.Number(0, 10)})
    endless = spark.range(10**13).selectExpr("cast(id % 7 AS double) AS a")
    table = dp.Table(endless, domain, ledger, engine=DatabaseEngine(fetch=False))
    tracker = spark.sparkContext.statusTracker()

    def cancel() -> None:
        for _ in range(600):
            time.sleep(0.1)
            if tracker.getActiveJobsIds():
                spark.sparkContext.cancelAllJobs()
                return

    waiting = threading.Thread(target=cancel)
    waiting.start()
    with pytest.raises(KernelFault) as found:
        dp.stats.mean(table, "a", epsilon=1)
    waiting.join()
    assert not found.value.__context__
    assert ledger.spent().epsilon == 1
    assert not tracker.getActiveJobsIds()


def test_a_stopped_session_is_paid_once(spark: Any, tmp_path: Path) -> None:
    ledger = dp.Ledger(tmp_path / "l", epsilon=2)
    domain = dp.Domain({"a": dp.Number(0, 10)})
    source = spark.createDataFrame([(1.0,)], "a double")
    table = dp.Table(source, domain, ledger)
    dp.stats.count(table, epsilon="0.5")
    spark.stop()
    with pytest.raises(KernelFault):
        dp.stats.mean(table, "a", epsilon="0.5")
    assert ledger.spent().epsilon == 1
