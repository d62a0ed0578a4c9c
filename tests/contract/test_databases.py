"""Databases behind the gate: nothing leaks, nothing is charged twice, nothing hangs."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine_tables import (
    DOMAIN,
    MAKERS,
    found_by_query,
    hostile,
    several,
    to_duckdb,
    to_polars,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreto as dp
from discreto import models, stats
from discreto.core import aggregate
from discreto.core.expressions import Named, WithColumns, view_domain
from discreto.core.maps import Bins, Block, Categories, Cross, Everyone, Values
from discreto.core.query import Ones, Sum, bind
from discreto.core.query_fold import by_query
from discreto.data.engines import DatabaseEngine, fold_all
from discreto.data.frames import open_frame
from discreto.data.frames.memory import MemoryView
from discreto.data.sql.address import is_address, public_name
from discreto.errors import DomainError, KernelFault, ParameterError
from discreto.table.expression_text import parse
from discreto.testing import simulate

TABLE = hostile(200, 4)
SECRET = "hunter2"
COUNT = Sum(Everyone(), (Block(Ones()),))


class TestFaults:
    def test_a_killed_server_is_paid_once_and_says_nothing(
        self,
        postgresql: Any,
        postgresql_server: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        import ibis
        import psycopg
        from engine_tables import fill

        from discreto.data.sql.ibis_backend import Ibis

        plain = Ibis._collect

        def killed(self: Any, plan: Any) -> Any:
            owner.execute(
                "SELECT pg_terminate_backend(%s)", [connection.info.backend_pid]
            )
            return plain(self, plan)

        with psycopg.connect(postgresql_server, autocommit=True) as owner:
            fill(owner, "victim", TABLE)
            connection = psycopg.connect(postgresql_server, autocommit=True)
            source = ibis.postgres.from_connection(connection).table("victim")
            ledger = dp.Ledger(tmp_path / "l", epsilon=2)
            table = dp.Table(source, DOMAIN, ledger)
            dp.stats.count(table, epsilon="0.5")
            monkeypatch.setattr(Ibis, "_collect", killed)
            with pytest.raises(KernelFault) as found:
                dp.stats.mean(table, "a", epsilon="0.5")
        assert "a" not in str(found.value).split()
        assert not found.value.__context__
        assert ledger.spent().epsilon == 1
        assert ledger.shut  # until its owner has looked
        with pytest.raises(ParameterError, match="cannot be reached"):
            dp.stats.count(table, epsilon="0.5")
        connection.close()

    def test_a_closed_connection_is_paid_once(self, tmp_path: Path) -> None:
        import duckdb

        with duckdb.connect(str(tmp_path / "p.db")) as connection:
            connection.execute(
                "CREATE TABLE people AS SELECT 1.0 AS a, range FROM range(9)"
            )
        connection = duckdb.connect(str(tmp_path / "p.db"), read_only=True)
        domain = dp.Domain({"a": dp.Number(0, 10)})
        ledger = dp.Ledger(tmp_path / "l", epsilon=2)
        table = dp.Table(connection.table("people"), domain, ledger)
        connection.close()
        with pytest.raises(KernelFault):
            dp.stats.mean(table, "a", epsilon=1)
        assert ledger.spent().epsilon == 1

    def test_an_interrupted_question_stops_in_the_server(
        self, postgresql_server: str, tmp_path: Path
    ) -> None:
        import psycopg

        text = (
            "import sys, discreto as dp\n"
            "domain = dp.Domain({'a': dp.Number(0, 10)})\n"
            "table = dp.Table.scan(sys.argv[1], domain, dp.Ledger(epsilon=1))\n"
            "print('ready', flush=True)\n"
            "dp.stats.mean(table, 'a', epsilon=1)\n"
        )
        running = (
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND "
            "backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        with psycopg.connect(postgresql_server, autocommit=True) as owner:
            owner.execute(
                "CREATE OR REPLACE VIEW endless AS "
                "SELECT x::float8 AS a FROM generate_series(1, 2000000000) AS x"
            )
            address = postgresql_server + "&table=endless"
            asking = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", text, address],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            try:
                assert asking.stdout is not None
                assert asking.stdout.readline() == b"ready\n"
                _until(lambda: owner.execute(running).fetchone()[0] == 1)  # type: ignore[index]
                asking.send_signal(signal.SIGINT)
                asking.wait(300)
                _until(lambda: owner.execute(running).fetchone()[0] == 0)  # type: ignore[index]
            finally:
                asking.kill()
                asking.wait()
                asking.stdout.close()  # type: ignore[union-attr]


def _until(done: Any) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.1)
    pytest.fail("it took more than 60 seconds")


class TestRefusals:
    def test_rows_that_may_not_be_read_are_refused_for_free(self) -> None:
        ledger = dp.Ledger(epsilon=1)
        engine = DatabaseEngine(fetch=False)
        table = dp.Table(to_duckdb(TABLE), DOMAIN, ledger, engine=engine)
        few = table.select("a", "b", "label")
        with pytest.raises(ParameterError, match=r"Leaves|SplitHistogram"):
            models.GradientBoostingClassifier(epsilon=1).fit(few, "label")
        assert ledger.spent().epsilon == 0
        models.LinearRegression(epsilon=1).fit(table.select("a", "b"), "b")
        assert ledger.spent().epsilon == 1

    MODELS = ("NaiveBayes", "LogisticRegression", "FuzzyCMeans", "KMeans")

    @pytest.mark.parametrize("name", MODELS)
    def test_models_that_need_no_rows_are_those_of_memory(
        self, name: str, tmp_path: Path
    ) -> None:
        domain = DOMAIN.select(["a", "b", "s", "label"])
        fitted = []
        for put, engine in ((None, None), (to_polars, DatabaseEngine(fetch=False))):
            data = TABLE if put is None else put(TABLE)
            table = dp.Table(data, domain, simulate(3), engine=engine)
            if name == "LogisticRegression":
                table = table.with_columns(c="log1p(a)").select("b", "c", "label")
            coins = {} if name == "NaiveBayes" else {"random_state": 0}
            model = getattr(models, name)(epsilon=4, **coins)
            if name in ("FuzzyCMeans", "KMeans"):
                model.fit(table.select("a", "b"))
            else:
                model.fit(table, "label")
            models.save(model, tmp_path / "model.json")
            fitted.append(json.loads((tmp_path / "model.json").read_text()))
        for one in fitted:
            one.pop("receipts", None)
        assert fitted[0] == fitted[1]

    def test_samples_are_refused_for_free(self) -> None:
        from fractions import Fraction

        from discreto.core.steps import Steps

        ledger = dp.Ledger(epsilon=9, delta="1e-5")
        engine = DatabaseEngine(fetch=False)
        table = dp.Table(to_polars(TABLE), DOMAIN, ledger, engine=engine)
        steps = Steps(Fraction(4), Fraction(1, 10**6), 3, Fraction(1, 10))
        with pytest.raises(ParameterError, match="secret samples"):
            table.train(steps, "train")
        assert not ledger.entries()

    @pytest.mark.parametrize("wrong", [0, "yes", None])
    def test_parameters(self, wrong: Any) -> None:
        with pytest.raises(ParameterError):
            DatabaseEngine(fetch=wrong)
        with pytest.raises(ParameterError):
            DatabaseEngine(keep=-1)

    @pytest.mark.parametrize(("name", "put"), [("*", to_duckdb), ("^.*$", to_polars)])
    def test_names_that_mean_something_else_are_refused(
        self, name: str, put: Any
    ) -> None:
        table = pa.table({name: [1.0], "b": [2.0]})
        with pytest.raises(DomainError, match="Rename"):
            open_frame(put(table), dp.Domain({name: dp.Number(0, 1)}))

    def test_an_old_polars_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        frame = to_polars(TABLE)
        monkeypatch.delattr(type(frame), "collect_batches")
        with pytest.raises(DomainError, match=r"1\.34"):
            open_frame(frame, DOMAIN)

    def test_types_are_refused_and_values_are_not(self) -> None:
        import datetime

        table = pa.table({"a": [datetime.date(2024, 1, 1)]})
        with pytest.raises(DomainError, match="'a'"):
            open_frame(to_duckdb(table), dp.Domain({"a": dp.Number(0, 1)}))
        with pytest.raises(DomainError, match="lacks"):
            open_frame(to_polars(TABLE), dp.Domain({"zz": dp.Number(0, 1)}))


# What an engine returns is looked at before noise is added.


@pytest.mark.parametrize(
    "table",
    [
        np.array([[1.5]]),
        np.array([[1, 2]]),
        np.array([1]),
        np.array([[1]], dtype=np.int32),
        np.array([["1"]], dtype=object),
        [[1]],
    ],
)
def test_other_forms_are_failures(table: Any) -> None:
    with pytest.raises(ValueError, match="engine returned"):
        aggregate.checked(bind(COUNT, DOMAIN), [table])


def test_more_than_the_rows_add_up_to() -> None:
    domain = DOMAIN.with_(neighbours="replace", rows=3)
    question = bind(COUNT, domain)
    assert aggregate.checked(question, [np.array([[3]])])
    with pytest.raises(ValueError, match="add up"):
        aggregate.checked(question, [np.array([[4]])])


def test_a_database_that_lies_about_sums(monkeypatch: Any) -> None:
    frame = open_frame(to_polars(TABLE), DOMAIN)
    bound = bind(Sum(Everyone(), (Block(Values(("a",))),)), DOMAIN)
    query = frame.query(bound)
    lie = {"rows": [2], "table": [2], "s1": [2 * 2**30 + 1]}
    monkeypatch.setattr(query._backend, "collect", lambda plan: lie)
    with pytest.raises(ValueError, match="beyond"):
        by_query([bound], query, frame)


def test_large_sums_do_not_wrap(monkeypatch: Any) -> None:
    frame = open_frame(to_polars(TABLE), DOMAIN)
    bound = bind(Sum(Everyone(), (Block(Values(("a",))),)), DOMAIN)
    query = frame.query(bound)
    truth = {"rows": [2**40], "table": [2**40], "s1": [2**69]}
    monkeypatch.setattr(query._backend, "collect", lambda plan: truth)
    assert by_query([bound], query, frame)[0][0].tolist() == [[2**69]]


ADDRESS = f"postgresql://reader:{SECRET}@db.example:6543/clinic?table=s.visits"


def test_names_have_no_password() -> None:
    assert public_name(ADDRESS) == (
        "postgresql://db.example:6543/clinic?table=s.visits"
    )
    assert not is_address("data/people.parquet")
    assert is_address("duckdb:///people.db?table=visits")
    assert public_name("people.csv") == "people.csv"


class TestCredentials:
    @pytest.mark.parametrize(
        "address",
        [
            f"postgresql://reader:{SECRET}@127.0.0.1:9/clinic?table=visits",
            f"postgresql://reader:{SECRET}@127.0.0.1:9/clinic",
            f"postgresql://reader:{SECRET}@[::1/clinic?table=visits",
            f"postgresql://reader:{SECRET}@host:port/clinic?table=visits",
            f"oracle://reader:{SECRET}@host/clinic?table=visits",
            f"duckdb://{SECRET}@/no.db?table=t",
            f"duckdb:///no.db?table=t&token={SECRET}",
        ],
    )
    def test_messages_have_no_password(self, address: str) -> None:
        with pytest.raises((DomainError, ParameterError)) as found:
            dp.Table.scan(address, DOMAIN, dp.Ledger(epsilon=1))
        assert SECRET not in str(found.value)
        error = found.value
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__

    def test_ledgers_and_models_have_no_password(
        self, postgresql_server: str, tmp_path: Path
    ) -> None:
        import psycopg

        rows = (
            "SELECT x::float8 / 10 AS a, CASE WHEN x % 2 = 0 THEN 'no' ELSE 'yes' END"
        )
        with psycopg.connect(postgresql_server, autocommit=True) as owner:
            owner.execute("DROP VIEW IF EXISTS visits")
            owner.execute(
                f"CREATE VIEW visits AS {rows} AS label FROM generate_series(1, 50) x"
            )
            owner.execute("DROP ROLE IF EXISTS reader")
            owner.execute(f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'")
            owner.execute("GRANT SELECT ON visits TO reader")
        address = postgresql_server.replace("postgres:@", f"reader:{SECRET}@")
        domain = dp.Domain({"a": dp.Number(0, 10), "label": dp.Category(["no", "yes"])})
        path = tmp_path / "people.ledger"
        with dp.Ledger(path, epsilon=5) as ledger:
            table = dp.Table.scan(address + "&table=visits", domain, ledger)
            release = dp.stats.mean(table, "a", epsilon=1, key="once")
            model = models.NaiveBayes(epsilon=1).fit(table, "label")
            models.save(model, tmp_path / "model.json")
            everything = [repr(table), table.name, str(release), release.to_json()]
        everything.append(path.read_bytes().decode("latin-1"))
        everything.append((tmp_path / "model.json").read_text())
        assert not [text for text in everything if SECRET in text]
        assert "visits" in table.name

    def test_a_refusal_says_what_to_look_at(self, postgresql_server: str) -> None:
        nowhere = "postgresql://reader@127.0.0.1:9/clinic?table=visits"
        with pytest.raises(DomainError, match=r"cannot be reached\. Is the server up"):
            dp.Table.scan(nowhere, DOMAIN, dp.Ledger(epsilon=1))
        missing = postgresql_server + "&table=no_such_schema.visits"
        with pytest.raises(DomainError, match=r"Is there such a table in this schema"):
            dp.Table.scan(missing, DOMAIN, dp.Ledger(epsilon=1))

    def test_a_role_that_may_only_read_is_enough(self, postgresql_server: str) -> None:
        import psycopg

        with psycopg.connect(postgresql_server, autocommit=True) as owner:
            owner.execute("CREATE TABLE IF NOT EXISTS plain AS SELECT 1.0::float8 AS a")
        table = dp.Table.scan(
            postgresql_server + "&table=public.plain",
            dp.Domain({"a": dp.Number(0, 10)}),
            simulate(1),
        )
        client = table._rows._frame.backend.frame.to_native().get_backend()
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            client.con.execute("CREATE TABLE written (x int)")
        assert dp.stats.count(table, epsilon=1).label == "count"


def test_texts_without_an_encoding_are_refused(
    postgresql_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ibis
    import psycopg

    monkeypatch.setenv("PGCLIENTENCODING", "utf8")  # read, until a row is not UTF-8
    with psycopg.connect(postgresql_server, autocommit=True) as owner:
        owner.execute("DROP DATABASE IF EXISTS bytes")
        owner.execute(
            "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' "
            "LC_CTYPE 'C' TEMPLATE template0"
        )
    address = postgresql_server.replace("/postgres?", "/bytes?")
    assert address != postgresql_server
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("CREATE TABLE visits AS SELECT 1.0::float8 AS a")
    domain = dp.Domain({"a": dp.Number(0, 10)})
    with pytest.raises(DomainError, match="SQL_ASCII"):
        dp.Table.scan(address + "&table=visits", domain, dp.Ledger(epsilon=1))
    with psycopg.connect(address, autocommit=True) as reader:
        visits = ibis.postgres.from_connection(reader).table("visits")
        with pytest.raises(DomainError, match="SQL_ASCII"):
            dp.Table(visits, domain, dp.Ledger(epsilon=1))


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A folder with a DuckDB file, and a domain beside it."""
    import duckdb

    with duckdb.connect(str(tmp_path / "people.db")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT range % 10 AS a, "
            "CASE WHEN range % 2 = 0 THEN 'no' ELSE 'yes' END AS label FROM range(50)"
        )
    columns = {"a": dp.Number(0, 10), "label": dp.Category(["no", "yes"])}
    dp.Domain(columns).save(tmp_path / "d.json")
    return tmp_path


class TestPlaces:
    """Addresses stand wherever paths can stand."""

    def test_the_shell(self, visits: Path) -> None:
        from discreto.cli import app

        def run(*line: object) -> Any:
            return CliRunner().invoke(app, [str(word) for word in line])

        address = f"duckdb:///{visits}/people.db?table=visits"
        drafted = run("domain", "draft", address)
        assert drafted.exit_code == 0, drafted.output
        assert '"label"' in drafted.output
        domain, ledger = visits / "d.json", visits / "l"
        asked = run(
            "query", address, "mean", "a", "--domain", domain, "--ledger", ledger,
            "--epsilon", 1, "--budget", 3,
        )  # fmt: skip
        assert asked.exit_code == 0, asked.output
        made = visits / "m.json"
        fitted = run(
            "fit", "NaiveBayes", address, "--target", "label", "--domain", domain,
            "--ledger", ledger, "--epsilon", 1, "--out", made,
        )  # fmt: skip
        assert fitted.exit_code == 0, fitted.output
        assert made.exists()

    def test_a_silo(self, visits: Path) -> None:
        from discreto.federated.config import read_silo

        (visits / "silo.toml").write_text(
            'data = "duckdb:///people.db?table=visits"\ndomain = "d.json"\n'
            'ledger = "l"\nepsilon = 3\nfetch = false\n'
        )
        silo = read_silo(visits / "silo.toml")
        assert tuple(silo.domain) == ("a", "label")

    def test_a_service(self, visits: Path) -> None:
        from discreto.service.config import read_config

        (visits / "s.toml").write_text(
            '[ledgers.l]\npath = "l"\nepsilon = 3\n[tables.t]\nledger = "l"\n'
            'data = "duckdb:///people.db?table=visits"\ndomain = "d.json"\n'
            'fetch = false\n[people.o]\nrole = "owner"\n'
        )
        settings = read_config(visits / "s.toml").tables["t"]
        domain = dp.Domain.load(settings.domain)
        assert not settings.fetch
        table = dp.Table.scan(settings.data, domain, dp.Ledger(epsilon=1))
        assert dp.stats.count(table, epsilon=1).label == "count"


NASTY = st.text(
    st.sampled_from(list("'\"`;-/*%{}\\$?:@\n\t\0 aA1é\u202e\u2028😀(),"))
    | st.characters(exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
)


class TestInjection:
    @settings(
        max_examples=20,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(NASTY, min_size=2, max_size=2), st.lists(NASTY, max_size=4))
    def test_only_names_and_categories_are_in_a_query(
        self, names: list[str], words: list[str]
    ) -> None:
        """Every name and text of the SQL is ours or stands in the domain."""
        import ibis
        import sqlglot

        number, category = (name.replace("\0", "") or "x" for name in names)
        words = list(dict.fromkeys(word.replace("\0", "") for word in [*words, "w"]))
        if number.lower() == category.lower():
            category += "_"
        domain = dp.Domain({number: dp.Number(0, 10), category: dp.Category(words)})
        question = Sum(
            Cross(Bins(number, 3), Categories((category,))),
            several(Block(Ones()), Block(Values((number,)))),
        )
        schema = ibis.schema({number: "float64", category: "string"})
        source = ibis.table(schema, name="people")
        frame = open_frame(source, domain)
        frame.backend.exact = True
        frame.backend.prepare = lambda frame: frame
        native = frame.query(bind(question, domain)).plan.to_native()
        for dialect in ("postgres", "duckdb"):
            # Indented, an older Ibis writes line breaks in names as others.
            text = str(ibis.to_sql(native, dialect=dialect, pretty=False))
            (parsed,) = sqlglot.parse(text, dialect=dialect)
            found = {one.this for one in parsed.find_all(sqlglot.exp.Identifier)}
            odd = {n for n in found if n not in (number, category, "people", "fence")}
            assert all(n.isascii() and n.isidentifier() for n in odd), odd
            texts = {
                one.this
                for one in parsed.find_all(sqlglot.exp.Literal)
                if one.is_string
            }
            assert texts <= {*words, "NaN"}, texts

    @settings(
        max_examples=40,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(NASTY, st.lists(NASTY, min_size=1, max_size=4, unique=True))
    def test_odd_names_are_only_names(self, name: str, words: list[str]) -> None:
        name = name.replace("\0", "") or "x"
        domain = dp.Domain({name: dp.Category(words)})
        table = pa.table({name: pa.array([*words, *words[:1], "else", None])})
        bound = bind(Sum(Categories((name,)), (Block(Ones()),)), domain)
        wanted = fold_all(bound, open_frame(table, domain))[0].tolist()
        for put in (MAKERS["polars"], to_duckdb):
            if put is to_duckdb and any("\0" in word for word in words):
                continue
            if name == "*":  # which is refused
                continue
            found = found_by_query(open_frame(put(table), domain), bound)
            assert found[0].tolist() == wanted


# No person has more than a few rows, and nobody decides about another's.

PEOPLE = dp.Domain(
    {
        "a": dp.Number(0, 10, missing=True),
        "c": dp.Category(["u", "v"]),
        "who": dp.Opaque(),
    },
    person="who",
    rows_per_person=2,
)
VISITS = (
    ("ann", 1.0, "u"),
    ("ann", 2.0, "u"),
    ("ann", 2.0, "v"),
    ("ann", None, "u"),
    ("bob", 9.0, "v"),
    ("bob", float("nan"), "?"),
    ("bob", float("inf"), None),
    ("", 5.0, "u"),
    (None, 5.0, "u"),
    ("cyd", 7.0, "v"),
)


def kept(rows: Any, put: Any, key: bytes = b"k" * 24) -> list[Any]:
    who, a, c = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = pa.string(), pa.float64(), pa.string()
    table = pa.table(
        {
            n: pa.array(v, k)
            for n, v, k in zip(("who", "a", "c"), (who, a, c), kinds, strict=True)
        }
    )
    frame = open_frame(put(table), PEOPLE).bounded(key)
    batches = list(frame.tables(("who", "a", "c")))

    def own(batch: Any) -> Any:  # without the counts of rows beside them
        return batch.select(["who", "a", "c"]).to_pylist()

    found = [tuple(r.values()) for b in batches for r in own(b)]
    return sorted(map(repr, found))


@pytest.mark.parametrize("name", ["duckdb", "polars", "ibis"])
def test_a_person_moves_only_her_own_rows(name: str) -> None:
    put = MAKERS[name]
    everyone = kept(VISITS, put)
    assert len(everyone) == 2 + 2 + 1  # nobody has no name
    for person in ("ann", "bob", "cyd"):
        others = [row for row in VISITS if row[0] != person]
        rest = [row for row in everyone if repr(person) not in row]
        assert kept(others, put) == rest
    for rows in itertools.islice(itertools.permutations(VISITS), 0, 40000, 8000):
        assert kept(rows, put) == everyone


def test_postgresql_keeps_the_same_rows(
    postgresql: Any, postgresql_server: str
) -> None:
    import ibis
    import psycopg

    with psycopg.connect(postgresql_server, autocommit=True) as owner:
        owner.execute("DROP TABLE IF EXISTS named")
        owner.execute("CREATE TABLE named (who text, a float8, c text)")
        owner.cursor().executemany("INSERT INTO named VALUES (%s, %s, %s)", VISITS)
        client = ibis.postgres.from_connection(owner)
        found = kept(VISITS, lambda table: client.table("named"))
    assert found == kept(VISITS, to_polars)


@pytest.mark.parametrize("name", ["duckdb", "polars"])
def test_numbers_are_names_too(name: str) -> None:
    numbers = {"ann": 1, "bob": 2, "cyd": 3}
    who, a, c = zip(*VISITS, strict=True)
    ids = pa.array([numbers.get(one) for one in who], pa.int64())
    table = pa.table({"who": ids, "a": pa.array(a, pa.float64()), "c": pa.array(c)})
    frame = open_frame(MAKERS[name](table), PEOPLE).bounded(b"k" * 24)
    found = [one for part in frame.tables(("who",)) for one in part["who"].to_pylist()]
    assert sorted(found) == [1, 1, 2, 2, 3]  # and nobody is None


def test_which_rows_stay_depends_on_the_key() -> None:
    found = {tuple(kept(VISITS, to_polars, bytes([i]) * 24)) for i in range(12)}
    assert len(found) > 2


def test_an_untested_database_is_copied_and_bounded_here() -> None:
    import pyarrow.dataset as ds

    who, a, c = zip(*VISITS, strict=True)
    data = ds.dataset(pa.table({"who": who, "a": a, "c": c}))
    table = dp.Table(data, PEOPLE, simulate(1))
    assert table.has_at_most(5)
    assert not table.has_at_most(4)
    engine = DatabaseEngine(fetch=False)
    with pytest.raises(DomainError, match="rows of a person"):
        dp.Table(data, PEOPLE, simulate(1), engine=engine)


class TestViews:
    STEPS = (
        "where a > 2.5 and (b < 0.5 or s == 'x')",
        "where is_missing(a)",
        "z = clip(a * b - 0.1, -3, 3)",
        "z = clip(a / b, -9, 9)",
        "z = sqrt(a) + 0.1 * (0.2 + 0.1)",
        "z = floor(a) ** 2 + abs(b)",
        "z = if_else(s == 'y', a, 0.1) + if_else(b > 0, 0.2, 0.7)",
        "z = fill(a, 3)",
        "z = to_number(s, {'x': 0.1, 'z': 4})",
        "z = log1p(a)",
        "z = a / 1e-140 / 49 * 1e-140",
    )

    def test_columns_that_are_not_asked_about_are_not_made(self) -> None:
        """Where they were, the question was answered from rows."""
        engine = DatabaseEngine(fetch=False)
        answers = []
        for table in (
            dp.Table(to_polars(TABLE), DOMAIN, simulate(2), engine=engine),
            dp.Table(TABLE, DOMAIN, simulate(2)),
        ):
            view = table.with_columns(z="a * b", y="b + 1").where("y > 1")
            answers.append(stats.count(view, by="s", epsilon=1).value.tolist())
        assert answers[0] == answers[1]

    @pytest.mark.parametrize("name", ["duckdb", "polars", "postgresql"])
    @pytest.mark.parametrize("step", STEPS)
    def test_views_give_the_integers_of_numpy(
        self, name: str, step: str, request: pytest.FixtureRequest
    ) -> None:
        put = MAKERS.get(name) or request.getfixturevalue(name)
        own = dp.Table(TABLE, DOMAIN, simulate(2))
        there = dp.Table(_put_once(name, put), DOMAIN, simulate(2))
        answers = []
        for table in (own, there):
            if step.startswith("where"):
                view = table.where(step.removeprefix("where "))
                answers.append(stats.mean(view, "b", by="s", epsilon=1))
            else:
                view = table.with_columns(z=step.removeprefix("z = "))
                answers.append(stats.mean(view, "z", by="label", epsilon=1))
        first, second = (json.loads(a.to_json())["value"] for a in answers)
        assert first == second


CALENDAR = dp.Domain(
    {
        "d": dp.Date("1899-12-30", "2031-02-28"),
        "m": dp.DateTime("1969-12-31 22:00", "2001-03-01 07:59", resolution="minute"),
        "s": dp.DateTime("1999-01-01 00:00", "2000-03-01 00:00"),
    }
)


def some_dates(rows: int = 300) -> pa.Table:
    """Days and times of all centuries, around midnights and leap days, and gaps."""
    toss = random.Random(3)
    start = dt.datetime(1970, 1, 1)

    def pick(first: int, last: int) -> dt.datetime | None:
        odd = [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]
        odd += [dt.datetime(2000, 2, 29), dt.datetime(1900, 3, 1), None]
        odd += [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2000, 3, 1)]
        if toss.random() < 0.2:
            return toss.choice(odd)
        return start + dt.timedelta(microseconds=toss.randint(first, last) * 10**6 + 7)

    times = [pick(-(10**9), 10**9) for _ in range(rows)]
    days = [None if t is None else t.date() for t in times]
    return pa.table(
        {
            "d": pa.array(days, pa.date32()),
            "m": pa.array([pick(-9000, 10**9) for _ in days], pa.timestamp("us")),
            "s": pa.array(times, pa.timestamp("us")),
        }
    )


class TestSettings:
    """A session that calculates in another way is refused when it is opened."""

    def test_a_collation_that_hides_capital_letters(self) -> None:
        import duckdb

        connection = duckdb.connect()
        connection.execute("CREATE TABLE people AS SELECT 1.5 AS x, 'A' AS s")
        domain = dp.Domain({"x": dp.Number(0, 9), "s": dp.Category(["a", "A"])})
        dp.Table(connection.table("people"), domain, simulate(1))
        connection.execute("SET default_collation = 'nocase'")
        with pytest.raises(DomainError, match="capital letters"):
            dp.Table(connection.table("people"), domain, simulate(1))

    @pytest.mark.parametrize("rows", [0, 1])
    def test_it_depends_on_no_row(self, rows: int) -> None:
        import duckdb

        connection = duckdb.connect()
        connection.execute(
            f"CREATE TABLE people AS SELECT range AS x FROM range({rows})"
        )
        connection.execute("SET default_collation = 'noaccent'")
        with pytest.raises(DomainError, match="accents"):
            dp.Table(
                connection.table("people"),
                dp.Domain({"x": dp.Number(0, 9)}),
                simulate(1),
            )

    def test_postgresql_is_asked_once(self, postgresql: Any) -> None:
        assert open_frame(postgresql(hostile(3)), DOMAIN).backend._checked


class TestDates:
    """Days and times are taken apart in the database as they are here."""

    ASKED = (
        "year(d) + 10000 * month(d) + 1000000 * quarter(d) + 10000000 * day(d)",
        "weekday(m) + 10 * hour(m) + 1000 * minute(m) + 100000 * hour(s)",
        "age_at(d, '2000-02-28') + 200 * age_at(d, m) + 100000 * days_between(m, d)",
        "if_else(m >= '1999-12-31', 1, 0) + if_else(period(d, 'quarter') == '1999-Q4', "
        "10, 0) + if_else(period(m, 'week') == '1999-12-27', 100, 0)",
    )

    @pytest.mark.parametrize("name", ["duckdb", "polars", "postgresql"])
    def test_all_parts_are_those_of_numpy(
        self, name: str, request: pytest.FixtureRequest
    ) -> None:
        put, table = MAKERS.get(name) or request.getfixturevalue(name), some_dates()
        source, asked = put(table), self.ASKED
        if name == "postgresql":  # one at a time: Ibis writes no deep queries
            asked = ("month(d)", "day(d)", "weekday(m)", "minute(m)", "age_at(d, m)")
        for text in asked:
            step = WithColumns((Named("z", parse(text)),))
            question = Sum(Everyone(), (Block(Values(("z", "d", "m", "s"))),))
            bound = bind(question, view_domain(step, CALENDAR))
            there = found_by_query(open_frame(source, CALENDAR).seen(step), bound)
            own = MemoryView(open_frame(table, CALENDAR), step, CALENDAR)
            assert there[0].tolist() == fold_all(bound, own)[0].tolist(), text

    def test_days_beyond_all_calendars(self) -> None:
        import duckdb

        connection = duckdb.connect()
        odd = "('infinity', '-infinity'), ('290000-01-01', '20000-01-01'), "
        odd += "('4000-01-01 (BC)', '-infinity'), ('2000-01-01', '2000-01-01')"
        connection.execute("CREATE TABLE people (d DATE, m TIMESTAMP)")
        connection.execute(f"INSERT INTO people VALUES {odd}")
        domain = CALENDAR.select(["d", "m"])
        table = dp.Table(
            connection.table("people"),
            domain,
            simulate(noise=False),
            engine=DatabaseEngine(fetch=False),
        )
        old = stats.histogram(table, "d", bins=2, epsilon=1)
        assert old.value.tolist() == [1, 3]
        view = table.with_columns(z="year(m)")
        assert stats.histogram(view, "z", epsilon=1).value.sum() == 4


_PUT: dict[str, Any] = {}


def _put_once(name: str, put: Any) -> Any:
    if name not in _PUT:
        _PUT[name] = put(TABLE)
    return _PUT[name]
