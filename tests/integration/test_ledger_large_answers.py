"""Large answers have a place of their own, and are checked when they are read."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from postgres import Postgres
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.core.cost import Cost
from discreto.core.ledger import sqlite
from discreto.errors import LedgerError

TENTH = Cost.of("0.1")
LARGE = json.dumps(["é" * (1 << 15), 1])  # more bytes than letters
SMALL = "x" * (1 << 16)  # the largest answer that stays in its row


@pytest.fixture(params=["sqlite", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a ledger can be made that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "people.ledger")
    server: Postgres = request.getfixturevalue("postgres")
    return f"{server.url}#t{secrets.token_hex(6)}"


def made(path: str, answer: str = SMALL + "!") -> None:
    """Make a ledger with one large answer, and close it."""
    with dp.Ledger(path, epsilon=1) as ledger:
        ledger.keep(ledger.charge(TENTH, "a look", key="k"), answer)


def postgres_rows(path: str, *statements: str) -> list[tuple[str, ...]]:
    """Run statements past the triggers; return the rows of the last one."""
    server, _, name = path.partition("#")
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"SET search_path TO discreto_{name}")
        db.execute("SET session_replication_role TO replica")
        for statement in statements:
            found = db.execute(statement)
        return found.fetchall() if found.description else []


def places(path: str) -> list[str]:
    """Return the names of the large answers of a ledger."""
    if "://" in path:
        return [
            name for (name,) in postgres_rows(path, "SELECT name FROM large_answer")
        ]
    folder = Path(path + sqlite.ANSWERS)
    return sorted(part.name for part in folder.iterdir()) if folder.exists() else []


def lose(path: str) -> None:
    """Take away the texts of all large answers."""
    if "://" in path:
        postgres_rows(path, "DELETE FROM large_answer")
    else:
        shutil.rmtree(path + sqlite.ANSWERS)


def change(path: str) -> None:
    """Change one letter of every large answer."""
    if "://" in path:
        postgres_rows(
            path, "UPDATE large_answer SET body = overlay(body placing '_' from 9)"
        )
        return
    for name in places(path):
        place = Path(path + sqlite.ANSWERS, name)
        text = place.read_bytes()
        place.write_bytes(text[:8] + b"_" + text[9:])


@pytest.mark.parametrize("answer", [LARGE, SMALL + "!", SMALL, "[1]"])
def test_answers_of_all_sizes_are_given_again(path: str, answer: str) -> None:
    made(path, answer)
    with dp.Ledger(path) as ledger:
        again = ledger.charge(TENTH, "a look", key="k")
        assert again.answer == answer
        assert ledger.find("k")["answer"] == answer  # type: ignore[index]
        assert ledger.keep(again, "another") == answer
        assert (ledger.verify(), ledger.spent()) == (1, TENTH)
    name = hashlib.sha256(answer.encode()).hexdigest()
    assert places(path) == ([name] if len(answer.encode()) > 1 << 16 else [])


def test_rows_of_large_answers_are_small(path: str) -> None:
    made(path)
    with dp.Ledger(path)._store.reading() as db:
        ((size,),) = db.execute("SELECT length(body) FROM answer").fetchall()
    assert size == 64


@pytest.mark.parametrize(("harm", "word"), [(lose, "missing"), (change, "changed")])
def test_a_lost_text_is_said_and_not_computed_again(
    path: str, harm: Callable[[str], None], word: str
) -> None:
    made(path)
    harm(path)
    with dp.Ledger(path) as ledger:  # opening reads no large answer
        for use in (
            lambda: ledger.charge(TENTH, "a look", key="k"),
            lambda: ledger.find("k"),
            ledger.verify,
        ):
            with pytest.raises(LedgerError, match=rf"{word}\. Restore it .*The charge"):
                use()
        assert (len(ledger.entries()), ledger.spent()) == (1, TENTH)
        ledger.charge(TENTH, "something else")


def test_a_name_does_not_pass_for_an_answer(path: str) -> None:
    """An answer that looks like the name of a large one is an answer."""
    made(path)
    (name,) = places(path)
    with dp.Ledger(path) as ledger:
        ledger.keep(ledger.charge(TENTH, "another", key="n"), name)
        assert ledger.charge(TENTH, "another", key="n").answer == name


def test_another_large_answer_does_not_pass(path: str) -> None:
    made(path)
    with dp.Ledger(path) as ledger:
        ledger.keep(ledger.charge(TENTH, "another", key="n"), SMALL + "?")
        other = hashlib.sha256((SMALL + "?").encode()).hexdigest()
    statement = f"UPDATE answer SET body = '{other}' WHERE seq = 1"
    if "://" in path:
        postgres_rows(path, statement)
    else:
        import sqlite3

        db = sqlite3.connect(path)
        (text,) = db.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'answer_update'"
        ).fetchone()
        for one in ("DROP TRIGGER answer_update", statement, text):
            db.execute(one)
        db.commit()
        db.close()
    with pytest.raises(LedgerError, match="stored for entry 1 was changed"):
        dp.Ledger(path)


def test_large_rows_are_append_only(postgres: Postgres) -> None:
    path = f"{postgres.url}#t{secrets.token_hex(6)}"
    made(path)
    for statement in ("UPDATE large_answer SET body = ''", "DELETE FROM large_answer"):
        ledger = dp.Ledger(path)
        with pytest.raises(LedgerError), ledger._store.writing() as db:
            db.execute(statement)
    assert dp.Ledger(path).verify() == 1


# One step after another is the last one of a process. The text is there before its row.
KILLED = """
import os, signal, sqlite3, sys
import discreto as dp
from discreto.core.cost import Cost
from discreto.core.ledger import sqlite
path, left = sys.argv[1], int(sys.argv[2])

def stepping(function):
    def stepped(*args, **options):
        global left
        for after in (0, 1):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            if not after:
                out = function(*args, **options)
        return out
    return stepped

ledger = dp.Ledger(path)
paid = ledger.charge(Cost.of("0.1"), "a look", key="k")
print(len(ledger.entries()), flush=True)
if paid.answer is None:
    class Connection(sqlite3.Connection):
        execute = stepping(sqlite3.Connection.execute)
        executemany = stepping(sqlite3.Connection.executemany)
    connect = sqlite3.connect
    sqlite3.connect = lambda *a, **o: connect(*a, factory=Connection, **o)
    ledger._store._close()
    for name in ("replace", "fsync", "makedirs", "unlink"):
        setattr(os, name, stepping(getattr(os, name)))
    ledger.keep(paid, "x" * (1 << 16) + str(os.getpid()))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_killed_between_the_text_and_its_row(tmp_path: Path) -> None:
    kills, torn = 0, 0
    while True:
        path = str(tmp_path / f"{kills}.ledger")
        dp.Ledger(path, epsilon=1).close()
        words = [sys.executable, "-c", KILLED, path, str(kills)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        with dp.Ledger(path) as ledger:
            found = ledger.find("k")
            assert ledger.verify() == 1
            assert ledger.spent() == TENTH
            again = ledger.charge(TENTH, "a look", key="k")
            if again.answer is None:  # paid for once more, with or without the text
                torn += bool(places(path))
                assert ledger.spent() == TENTH * 2
                assert ledger.keep(again, LARGE) == LARGE
            else:
                assert found is not None
                assert again.answer == found["answer"]
                assert again.answer.startswith(SMALL)
                assert ledger.spent() == TENTH
            assert ledger.verify() == len(ledger.entries())
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        kills += 1
    assert kills > 20
    assert torn > 3


def test_a_disk_that_is_full_leaves_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dp.Ledger(tmp_path / "l", epsilon=1)
    paid = ledger.charge(TENTH, "a look", key="k")
    replace = os.replace

    def full(*words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(LedgerError, match=r"No space left.*The charge stands"):
        ledger.keep(paid, LARGE)
    monkeypatch.setattr(os, "replace", replace)
    assert places(str(tmp_path / "l")) == []
    assert ledger.keep(paid, LARGE) == LARGE
    assert ledger.verify() == 1


def test_a_text_is_synced_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, steps = dp.Ledger(tmp_path / "l", epsilon=1), list[str]()
    paid = ledger.charge(TENTH, "a look", key="k")
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def noting(*words: object, name: str = name, real: object = real) -> object:
            steps.append(name)
            return real(*words)  # type: ignore[operator]

        monkeypatch.setattr(os, name, noting)
    ledger.keep(paid, LARGE)
    assert steps == ["fsync", "fsync", "replace", "fsync"]  # folder, text, folder


def test_ledgers_in_memory_keep_large_answers_in_their_rows() -> None:
    ledger = dp.Ledger(epsilon=1)
    ledger.keep(ledger.charge(TENTH, "a look", key="k"), LARGE)
    assert ledger.charge(TENTH, "a look", key="k").answer == LARGE


def test_commands_know_large_answers(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    made(str(path))
    done = CliRunner().invoke(app, ["ledger", "verify", str(path)])
    assert done.exit_code == 0, done.output
    moved = CliRunner().invoke(
        app, ["ledger", "move", str(path), str(tmp_path / "new.ledger")]
    )
    assert moved.exit_code == 0, moved.output
    assert "people.ledger.answers" in moved.output.replace("\n", "")
    shutil.copy(path, tmp_path / "copy.ledger")  # without its folder
    alone = CliRunner().invoke(app, ["ledger", "verify", str(tmp_path / "copy.ledger")])
    assert alone.exit_code != 0
    assert "missing" in alone.output
