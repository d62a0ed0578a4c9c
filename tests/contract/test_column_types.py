"""Types that only some databases have: refused when opened, or read in every row."""

from __future__ import annotations

from typing import Any

import pytest

import discreto as dp
from discreto.core.maps import Block, Categories, Everyone, Values
from discreto.core.query import Ones, Sum, bind
from discreto.data.engines import DatabaseEngine
from discreto.data.frames import open_frame
from discreto.errors import DomainError
from discreto.testing import simulate

NUMBER = dp.Domain({"v": dp.Number(0, 10, missing=True)})
LABEL = dp.Domain({"v": dp.Category(["a", "1"], missing=True)})
DAY = dp.Domain({"v": dp.Date("1990-01-01", "2030-12-31", missing=True)})
PERSON = dp.Domain(
    {"v": dp.Opaque(), "k": dp.Number(0, 10)}, person="v", rows_per_person=1
)
ENGINES = (DatabaseEngine(keep=0), DatabaseEngine(fetch=False))
MADE = (
    "DROP TYPE IF EXISTS mood CASCADE",
    "CREATE TYPE mood AS ENUM ('a', 'A', '1')",
    "DROP DOMAIN IF EXISTS small CASCADE",
    "CREATE DOMAIN small AS float8 CHECK (VALUE <> 5)",
    "DROP COLLATION IF EXISTS loose CASCADE",
    "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', "
    "deterministic = false)",
)


@pytest.fixture(scope="module")
def typed(postgresql_server: str) -> Any:
    """Puts values of a type into PostgreSQL."""
    import ibis
    import psycopg

    names = iter(range(1000))
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        client = ibis.postgres.from_connection(connection)
        lacking = []
        for line in MADE:
            try:
                connection.execute(line)
            except psycopg.Error:  # a server without ICU
                lacking.append("loose")

        def put(kind: str, *values: str) -> Any:
            if any(one in kind for one in lacking):
                pytest.skip("this PostgreSQL has no such collation")
            name = f"typed_{next(names)}"
            connection.execute(f"CREATE TABLE {name} (v {kind}, k float8)")
            for value in values:
                connection.execute(f"INSERT INTO {name} VALUES ({value}::{kind}, 1)")
            return client.table(name)

        yield put


REFUSED = {
    "money": "'$2.50'",
    "inet": "'1.2.3.4'",
    "int4range": "'[1,3)'",
    "daterange": "'[2000-01-01,infinity)'",
    "time": "'24:00'",
    "interval": "'178000000 years'",
    "int[]": "'{{1,2},{3,4}}'",
    "bit(3)": "'101'",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_postgresql_alone_knows_is_refused(typed: Any, kind: str) -> None:
    """With rows and without: some of them would make an answer fail."""
    for values in ([], [REFUSED[kind], "NULL"]):
        source = typed(kind, *values)
        for domain in (NUMBER, LABEL, DAY, PERSON):
            with pytest.raises(DomainError, match="'v'"):
                open_frame(source, domain)
        # What is not asked about is never read.
        open_frame(source, dp.Domain({"v": dp.Opaque(), "k": dp.Number(0, 10)}))


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_days_that_python_does_not_know_are_not_names(typed: Any, kind: str) -> None:
    with pytest.raises(DomainError, match="'v'"):
        open_frame(typed(kind, "'infinity'", "'9999-12-31 23:00'"), PERSON)


READ: dict[str, tuple[dp.Domain, list[str], list[int]]] = {
    "mood": (LABEL, ["'a'", "'A'", "'1'", "NULL"], [1, 1, 2]),
    "uuid": (LABEL, ["'00000000-0000-0000-0000-000000000001'", "NULL"], [0, 0, 2]),
    "json": (LABEL, ["'1'", "'{\"a\": 1}'", "'null'", "NULL"], [0, 1, 3]),
    "char(5)": (LABEL, ["'a'", "'1'", "'A'", "NULL"], [1, 1, 2]),
    "text COLLATE loose": (LABEL, ["'a'", "'A'", "'1'", "NULL"], [1, 1, 2]),
    "small": (NUMBER, ["7.5", "'nan'", "'-inf'", "NULL"], [-(2**29)]),
    "oid": (NUMBER, ["10", "4294967295", "NULL"], [2**31]),
    "numeric": (NUMBER, ["10", "'1e131000'", "'nan'", "'-1e-16000'"], [2**30]),
}


@pytest.mark.parametrize("kind", READ)
def test_what_can_be_cast_is_read_in_every_row(typed: Any, kind: str) -> None:
    domain, values, wanted = READ[kind]
    question = Sum(Everyone(), (Block(Values(("v",))),))
    if domain is LABEL:
        question = Sum(Categories(("v",)), (Block(Ones()),))
    bound, source = bind(question, domain), typed(kind, *values)
    for engine in ENGINES:
        frame = open_frame(source, domain)
        if not engine.refusal(bound, frame):
            (found,) = engine.fold(bound, frame)
            assert found.ravel().tolist() == wanted


@pytest.mark.parametrize("kind", ["mood", "text COLLATE loose", "uuid"])
def test_people_are_told_apart_by_every_letter(typed: Any, kind: str) -> None:
    """Else one person's rows would decide which rows of another one stay."""
    values = ["'a'", "'A'", "'A'", "NULL"]
    if kind == "uuid":
        values = [f"'00000000-0000-0000-0000-00000000000{i}'" for i in (1, 2, 2)]
    frame = open_frame(typed(kind, *values), PERSON).bounded(b"k" * 24)
    bound = bind(Sum(Everyone(), (Block(Ones()),)), PERSON)
    (found,) = DatabaseEngine().fold(bound, frame)
    assert found.tolist() == [[2]]


def test_a_role_may_see_a_few_columns(postgresql_server: str, typed: Any) -> None:
    import psycopg

    name = typed("money", "'$1'").get_name()
    with psycopg.connect(postgresql_server, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS narrow")
        owner.execute("CREATE ROLE narrow LOGIN")
        owner.execute(f"GRANT SELECT (k) ON {name} TO narrow")
    address = postgresql_server.replace("postgres:@", "narrow:@")
    domain = dp.Domain({"k": dp.Number(0, 10)})
    table = dp.Table.scan(f"{address}&table={name}", domain, simulate(noise=False))
    assert dp.stats.sum(table, "k", epsilon=1).value == pytest.approx(1)
    with psycopg.connect(postgresql_server, autocommit=True) as owner:
        owner.execute("DROP OWNED BY narrow; DROP ROLE narrow")


SESSIONS = {
    "client_encoding": "latin1",  # most letters are none of its
    "DateStyle": "German",  # in which the driver reads no time with a zone
    "standard_conforming_strings": "off",  # a backslash would end no text
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_that_read_in_another_way(postgresql_server: str, name: str) -> None:
    import ibis
    import psycopg

    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS styled AS SELECT now() AS v")
        connection.execute(f"SET {name} TO '{SESSIONS[name]}'")
        styled = ibis.postgres.from_connection(connection).table("styled")
        with pytest.raises(DomainError, match=name):
            open_frame(styled, DAY)


def test_an_address_has_a_session_that_reads_all(
    postgresql_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setenv("PGCLIENTENCODING", "latin1")
    monkeypatch.setenv("PGDATESTYLE", "German")
    with psycopg.connect(postgresql_server, autocommit=True) as owner:
        owner.execute("DROP TABLE IF EXISTS letters")
        owner.execute("CREATE TABLE letters (v text, t timestamptz)")
        owner.execute("INSERT INTO letters SELECT chr(128512), now()")
    domain = dp.Domain(
        {"v": dp.Category(["😀"], strip=True), "t": dp.Date("1990-01-01", "2090-01-01")}
    )
    frame = open_frame(postgresql_server + "&table=letters", domain)
    ((batch, rows),) = frame.batches(("v", "t"), 10)
    assert (rows, batch["v"].tolist()) == (1, [0])


def test_an_encoding_with_bytes_for_nothing(postgresql_server: str) -> None:
    import psycopg

    with psycopg.connect(postgresql_server, autocommit=True) as owner:
        owner.execute("DROP DATABASE IF EXISTS windows")
        owner.execute(
            "CREATE DATABASE windows ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0"
        )
    address = postgresql_server.replace("/postgres?", "/windows?")
    with pytest.raises(DomainError, match="WIN1252"):
        open_frame(address + "&table=any", LABEL)


@pytest.fixture
def duck() -> Any:
    import duckdb

    with duckdb.connect() as connection:

        def put(kind: str, *values: str) -> Any:
            connection.execute(f"CREATE OR REPLACE TABLE t (v {kind}, k DOUBLE)")
            for value in values:
                connection.execute(f"INSERT INTO t VALUES ({value}, 1)")
            return connection.table("t")

        yield put


def test_nanoseconds_of_duckdb(duck: Any) -> None:
    """They end in 1677 and 2262: a comparison with another year fails for any row."""
    values = ["'2000-01-01'", "'infinity'", "'-infinity'", "'1677-09-22'", "NULL"]
    bound = bind(Sum(Everyone(), (Block(Values(("v",))),)), DAY)
    frame = open_frame(duck("TIMESTAMP_NS", *values), DAY)
    read, there = (engine.fold(bound, frame)[0].tolist() for engine in ENGINES)
    alone = sum(
        DatabaseEngine(fetch=False).fold(
            bound, open_frame(duck("TIMESTAMP_NS", value), DAY)
        )[0]
        for value in values
    )
    assert read == there == alone.tolist()


def test_people_named_by_json(duck: Any) -> None:
    source = duck("JSON", "'\"a\"'", "'\"a\"'", "'{}'", "NULL")
    bound = bind(Sum(Everyone(), (Block(Ones()),)), PERSON)
    frame = open_frame(source, PERSON).bounded(b"k" * 24)
    assert DatabaseEngine().fold(bound, frame)[0].tolist() == [[2]]


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT"])
@pytest.mark.parametrize("domain", [LABEL, PERSON])
def test_a_column_with_a_collation_of_its_own(
    duck: Any, collation: str, domain: dp.Domain
) -> None:
    for values in ((), ("'a'", "'A'")):
        source = duck(f"VARCHAR COLLATE {collation}", *values)
        with pytest.raises(DomainError, match="collation of column 'v'"):
            open_frame(source, domain)


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_long_numbers_of_polars_are_refused(kind: str) -> None:
    import polars as pl

    for values in ([], [1]):
        column = pl.Series("v", values, dtype=getattr(pl, kind))
        for domain in (NUMBER.select(["v"]), dp.Domain({"v": dp.Category([1, 2])})):
            with pytest.raises(DomainError, match="'v'"):
                open_frame(pl.LazyFrame({"v": column}), domain)
