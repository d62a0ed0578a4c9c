"""Tables in databases that change: every plan sees the rows of its own time."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.data.frames import open_frame
from discreto.data.sql import frame as database_frame
from discreto.errors import ChangedError, ParameterError
from discreto.testing import simulate

duckdb = pytest.importorskip("duckdb")
AB = dp.Category(["a", "b"])
DOMAIN = dp.Domain({"x": dp.Number(0, 1), "g": AB}, target="g")
PEOPLE = dp.Domain({"id": dp.Opaque(), "x": dp.Number(0, 1), "g": AB}, person="id")
SWAP = "UPDATE t SET g = CASE g WHEN 'a' THEN 'b' ELSE 'a' END"
MAKE = (
    "CREATE TABLE t AS SELECT n AS id, (n % 10) / 10.0::double AS x, "
    "CASE WHEN n % 10 > 4 THEN 'b' ELSE 'a' END AS g FROM range(1000) AS r(n)"
)


@pytest.fixture
def connection() -> Any:
    found = duckdb.connect()
    found.execute(MAKE)
    return found


def table_of(connection: Any, domain: dp.Domain = DOMAIN, **options: Any) -> dp.Table:
    rows = connection.sql("SELECT * FROM t")
    return dp.Table(rows, domain, simulate(1, noise=False), **options)


def fitted(table: Any) -> list[str]:
    """The labels of a small and of a large x."""
    model = dp.models.GradientBoostingClassifier(epsilon=5).fit(table)
    return [str(label) for label in model.predict({"x": np.array([0.1, 0.9])})]


def rows(table: Any) -> float:
    return float(dp.stats.count(table, epsilon=1).value)


def test_the_second_fit_sees_the_new_rows(connection):
    table = table_of(connection)
    assert fitted(table) == ["a", "b"]
    connection.execute(SWAP)
    connection.execute("DELETE FROM t WHERE x < 0.3 AND id > 100")
    assert fitted(table) == fitted(table_of(connection)) == ["b", "a"]


def test_views_see_them_as_well(connection):
    view = table_of(connection).with_columns(half="x / 2").where("x >= 0")
    fitted(view.select("x", "g"))
    connection.execute(SWAP)
    assert fitted(view.select("x", "g")) == ["b", "a"]


def test_the_questions_of_one_plan_share_one_copy(connection, monkeypatch):
    made: list[Any] = []
    plain = database_frame._Copies.whole

    def whole(self: Any, rows: Any) -> Any:
        found = plain(self, rows)
        made.append(weakref.ref(found[0]))
        return found

    monkeypatch.setattr(database_frame._Copies, "whole", whole)
    table = table_of(connection)
    fitted(table)
    assert len(made) == 1
    gc.collect()
    assert made[0]() is None  # nothing of it is left after the plan
    fitted(table)
    assert len(made) == 2


def test_a_gate_that_is_done_reads_anew(connection):
    table = table_of(connection)
    gate = table.gate()
    first = gate._source._frame.copied(1 << 20)[0]
    assert gate._source._frame.copied(1 << 20)[0] is first
    connection.execute("DELETE FROM t WHERE x < 0.5")
    gate.finish()
    assert gate._source._frame.copied(1 << 20)[0].length() == 500


def test_joined_rows_are_those_of_their_plan(connection):
    """A deleted person is in no later answer, and nobody's row beside another's."""
    first = table_of(connection, PEOPLE)
    more = {"id": list(range(1000)), "s": ["a"] * 500 + ["b"] * 500}
    domain = dp.Domain({"id": dp.Opaque(), "s": AB}, person="id")
    joined = first.join(dp.Table(more, domain, first.ledger), how="inner")
    assert rows(joined) == 1000
    connection.execute("DELETE FROM t WHERE id < 400")
    assert rows(joined) == 600
    assert rows(joined.where("s == 'a'")) == 100


@pytest.mark.parametrize("keep", [0, 1 << 27])
def test_people_of_an_untranslated_table_are_those_of_their_plan(connection, keep):
    """Identifiers that a database cannot count are counted in a copy."""
    connection.execute("ALTER TABLE t ALTER id TYPE DOUBLE")
    engine = dp.engines.DatabaseEngine(keep=keep)
    table = table_of(connection, PEOPLE, engine=engine)
    assert rows(table) == 1000
    connection.execute("UPDATE t SET id = 7 WHERE id < 500")
    assert rows(table) == 501


def test_a_copy_keeps_the_rows_of_a_person_bounded(connection):
    connection.execute("UPDATE t SET id = 7 WHERE id < 500")
    rows = connection.sql("SELECT * FROM t")
    frame = open_frame(rows, PEOPLE).bounded(bytes(24))  # type: ignore[attr-defined]
    for own in (frame, frame.for_plan(), frame.for_plan().held()):
        copy = own.copied(1 << 20)[0] if hasattr(own, "copied") else own
        assert copy.length() == 501


# A database that is a file


def write(path: Path, more: str = "") -> None:
    new = path.with_name("new.db")
    with duckdb.connect(str(new)) as connection:
        connection.execute(MAKE)
        if more:
            connection.execute(more)
    os.replace(new, path)


def test_a_database_file_that_was_replaced_is_opened_anew(tmp_path):
    path = tmp_path / "people.db"
    write(path)
    ledger = simulate(1, noise=False)
    table = dp.Table(f"duckdb:///{path}?table=t", DOMAIN, ledger)
    assert rows(table) == 1000
    write(path, "DELETE FROM t WHERE x < 0.5")
    spent = ledger.spent()
    with pytest.raises(ParameterError, match="reload"):
        rows(table)
    assert ledger.spent() == spent
    again = table.reload()
    assert rows(again) == 500
    write(path, "DELETE FROM t")
    assert rows(again.reload()) == 0


def test_a_database_file_that_is_replaced_in_a_fold_gives_no_answer(
    tmp_path, monkeypatch
):
    path = tmp_path / "people.db"
    write(path)
    table = dp.Table(f"duckdb:///{path}?table=t", DOMAIN, dp.Ledger(epsilon=9))
    plain = dp.engines.DatabaseEngine.fold_several

    def fold(self: Any, *args: Any) -> Any:
        write(path, "DELETE FROM t")
        return plain(self, *args)

    monkeypatch.setattr(dp.engines.DatabaseEngine, "fold_several", fold)
    two = [dp.stats.sentence("count()"), dp.stats.sentence("mean(x)")]
    with pytest.raises(ChangedError):
        table.answers(two, epsilon=1)
    assert not table.ledger.shut
