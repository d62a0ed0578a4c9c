"""A table answers about the files that it was opened on, or not at all.

Who stays, which rows belong together and what lies beside a row is worked out once.
Laid over the rows of another file, one person could move thousands of rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto.core.query import Block, Everyone, Ones, Sum, bind
from discreto.core.steps import steps_for
from discreto.data.engines import ExecutorEngine, LocalEngine, executor
from discreto.data.frames import file_states, open_frame, stream
from discreto.data.frames.file_states import OpenedFiles, note_state
from discreto.errors import ChangedError, DomainError, KernelFault, ParameterError
from discreto.testing import simulate

ROWS = 600
AB = dp.Category(["a", "b"])
WHO = {"id": dp.Opaque(), "day": dp.Number(0, 10), "g": AB, "h": AB}
KINDS = ["csv", "csv.gz", "parquet", "arrow"]


def rows(g: str = "a", many: int = ROWS, people: int = ROWS) -> pd.DataFrame:
    day = np.arange(many) // people
    return pd.DataFrame({"id": np.arange(many) % people, "day": day, "g": g, "h": "a"})


def write(data: pd.DataFrame, path: Path) -> None:
    """Put a whole new file in the place of the old one, as exports do."""
    aside = path.with_name("aside " + path.name)
    if "csv" in path.name:
        data.to_csv(aside, index=False)
    elif path.suffix == ".parquet":
        data.to_parquet(aside, index=False, row_group_size=200)
    else:
        data.to_feather(aside, compression="uncompressed")
    os.replace(aside, path)


def overwrite(data: pd.DataFrame, path: Path) -> None:
    """Write into the file itself."""
    fresh = path.with_name("fresh " + path.name)
    write(data, fresh)
    path.write_bytes(fresh.read_bytes())
    fresh.unlink()


def person_domain(**options: Any) -> dp.Domain:
    return dp.Domain(WHO, person="id", **options)


def counts(table: Any, name: str = "g") -> list[float]:
    found = dp.stats.histogram(table, name, epsilon=1).value
    return [float(value) for value in np.asarray(found)[:2]]


def check_refused(table: Any, name: str = "g") -> None:
    """The next question is refused, charges nothing, and shuts nothing."""
    spent = table.ledger.spent()
    with pytest.raises(ParameterError, match=r"changed.*reload"):
        counts(table, name)
    assert table.ledger.spent() == spent
    assert not getattr(table.ledger, "shut", False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [write, overwrite])
def test_one_person_moves_no_more_rows_than_were_paid_for(tmp_path, kind, change):
    path = tmp_path / f"rows.{kind}"
    write(rows(), path)
    ledger = dp.Ledger(epsilon=100)
    table = dp.Table(path, person_domain(rows_per_person=1), ledger)
    counts(table)
    hers = rows()
    hers.loc[:299, ["id", "g"]] = [0, "b"]  # as many rows, and half of them are hers
    change(hers, path)
    check_refused(table)
    check_refused(table)  # for good
    moved = counts(table.reload().paid_by(simulate(1, noise=False)))
    assert moved == [ROWS - 300, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_append_does_not_shut_the_ledger(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    write(rows(), path)
    table = dp.Table(path, person_domain(), simulate(1, noise=False))
    assert counts(table) == [ROWS, 0]
    write(rows(many=2 * ROWS, people=2 * ROWS), path)
    check_refused(table)
    assert counts(table.reload()) == [2 * ROWS, 0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_without_people_are_checked_as_well(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    write(rows(), path)
    table = dp.Table(path, dp.Domain({"g": AB}), simulate(1, noise=False))
    write(rows("b"), path)
    check_refused(table)
    assert counts(table.reload()) == [0, ROWS]


def test_a_pattern_is_its_set_of_files(tmp_path):
    for i in range(3):
        write(rows(), tmp_path / f"{i}.parquet")
    for named in (tmp_path / "*.parquet", tmp_path, [tmp_path / "*.parquet"]):
        table = dp.Table(named, person_domain(), simulate(1, noise=False))
        assert counts(table) == [ROWS, 0]
        more = tmp_path / "more.parquet"
        write(rows("b", 2 * ROWS, 2 * ROWS), more)
        check_refused(table)
        assert sum(counts(table.reload())) == 2 * ROWS
        more.unlink()
    table = dp.Table(tmp_path, person_domain(), simulate(1, noise=False))
    (tmp_path / "1.parquet").unlink()
    check_refused(table)


def test_a_pattern_stays_where_it_is_when_the_folder_changes(tmp_path, monkeypatch):
    write(rows(), tmp_path / "0.csv")
    monkeypatch.chdir(tmp_path)
    table = dp.Table("*.csv", person_domain(), simulate(1, noise=False))
    alone = dp.Table("0.csv", person_domain(), simulate(1, noise=False))
    monkeypatch.chdir("/")
    assert counts(table) == counts(alone) == [ROWS, 0]


def test_places_of_a_join_belong_to_both_files(tmp_path):
    paths = tmp_path / "visits.csv", tmp_path / "people.csv"
    for place, columns in enumerate((["id", "g", "h"], ["id", "day"])):
        other = 1 - place
        for path, own in zip(paths, (["id", "g", "h"], ["id", "day"]), strict=True):
            write(rows()[own], path)
        ledger = simulate(1, noise=False)
        few = [
            {name: WHO[name] for name in own}
            for own in (["id", "g", "h"], ["id", "day"])
        ]
        tables = [
            dp.Table(path, dp.Domain(own, person="id"), ledger)
            for path, own in zip(paths, few, strict=True)
        ]
        joined = tables[0].join(tables[1])
        assert counts(joined) == [ROWS, 0]
        hers = rows()
        hers.loc[:299, "id"] = 7
        write(hers[columns], paths[place])
        check_refused(joined, "h")
        check_refused(tables[place] if place == 0 else joined.where("day >= 0"), "g")
        assert tables[other]._rows.unchanged()  # the other file is as it was
        assert sum(counts(joined.reload(), "h")) == (301 if place == 0 else ROWS)


def test_histories_belong_to_their_file(tmp_path):
    path = tmp_path / "rows.csv"
    write(rows(people=ROWS // 2), path)
    table = dp.Table(path, person_domain(rows_per_person=2), simulate(1, noise=False))
    seen = table.with_history("day", before=dp.lag("g"))
    assert counts(seen, "before") == [ROWS // 2, 0]
    hers = rows(people=ROWS // 2)
    hers.loc[:299, ["id", "h"]] = [5, "b"]
    write(hers, path)
    for view in (seen, seen.where("day >= 0"), table):
        check_refused(view, "h")
    again = seen.reload()
    assert counts(again, "h")[1] <= 2
    assert counts(again.where("day >= 0"), "h")[1] <= 2


def test_views_are_reloaded_as_they_are(tmp_path):
    path = tmp_path / "rows.parquet"
    write(rows(), path)
    table = dp.Table(path, person_domain(), simulate(1, noise=False))
    view = table.with_columns(old="day >= 1").where("g == 'a'")
    write(rows(many=2 * ROWS, people=2 * ROWS), path)
    check_refused(view)
    again = view.reload()
    assert counts(again) == [2 * ROWS, 0]
    assert (again.domain, again.view, again.ledger) == (
        view.domain,
        view.view,
        view.ledger,
    )


def test_tables_in_memory_are_copies_that_do_not_change(tmp_path):
    data = rows()
    table = dp.Table(data, person_domain(), simulate(1, noise=False))
    data.loc[:, "g"] = "b"
    assert counts(table) == counts(table.reload()) == [ROWS, 0]


def test_the_number_of_rows_is_checked_again(tmp_path):
    path = tmp_path / "rows.csv"
    write(rows(), path)
    domain = dp.Domain({"g": AB}, neighbours="replace", rows=ROWS)
    table = dp.Table(path, domain, dp.Ledger(epsilon=9))
    write(rows(many=ROWS + 1), path)
    check_refused(table)
    with pytest.raises(DomainError, match="another number of rows"):
        table.reload()


def test_every_way_to_pay_is_checked(tmp_path):
    """Reservations and trainings charge first, too."""
    path = tmp_path / "rows.csv"
    write(rows(), path)
    ledger = dp.Ledger(epsilon=9, delta=1e-6)
    domain = dp.Domain({"g": AB, "day": dp.Number(0, 10)}, target="g")
    table = dp.Table(path, domain, ledger, name="t")
    gate = table.gate()
    write(rows("b"), path)
    model = dp.models.GradientBoostingClassifier(epsilon=1)
    ways: list[Callable[[], Any]] = [
        lambda: table.reserve(dp.Cost.of(1), "all"),
        lambda: gate.measure(Sum(Everyone(), (Block(Ones()),)), dp.Cost.of(1), "rows"),
        lambda: table.train(steps_for("1", "1e-7", 9, "0.5"), "steps"),
        lambda: table.answers([dp.stats.sentence("count()")], epsilon=1),
        lambda: model.fit(table),
        lambda: table.answer(dp.stats.sentence("count()"), epsilon=1, key="k"),
    ]
    for way in ways:
        with pytest.raises(ParameterError, match="reload"):
            way()
    assert len(ledger.entries()) == 0


# In the middle of a fold


def changing(change: Callable[[], None]) -> Callable[..., Iterator[Any]]:
    """Readers of pieces that change the files after the first piece."""
    plain, done = stream._read, []

    def read(*args: Any, **options: Any) -> Iterator[Any]:
        for piece in plain(*args, **options):
            yield piece
            if not done:
                done.append(1)
                change()

    return read


def check_fault(table: Any) -> None:
    """There is no answer, the charge stands, and the ledger stays open."""
    with pytest.raises(ChangedError, match=r"changed while they were read.*reload"):
        counts(table)
    assert len(table.ledger.entries()) == 1
    assert not table.ledger.shut


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_counted_twice_in_two_files(tmp_path, monkeypatch, kind):
    """A row goes from the first file to the last while they are read."""
    paths = [tmp_path / f"{i}.{kind}" for i in range(4)]

    def put(place: int) -> None:
        for i, path in enumerate(paths):
            write(rows("b" if i == place else "a", 100), path)

    put(0)
    table = dp.Table(tmp_path / f"*.{kind}", dp.Domain({"g": AB}), dp.Ledger(epsilon=9))
    monkeypatch.setattr(stream, "_read", changing(lambda: put(3)))
    check_fault(table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [write, overwrite])
def test_a_file_that_changes_under_a_fold_has_no_answer(
    tmp_path, monkeypatch, kind, change
):
    path = tmp_path / f"rows.{kind}"
    write(rows(), path)
    table = dp.Table(path, person_domain(), dp.Ledger(epsilon=9))
    later = rows("b", ROWS + 7)
    monkeypatch.setattr(stream, "_read", changing(lambda: change(later, path)))
    check_fault(table)


def test_a_fit_ends_with_the_first_question_after_the_change(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    write(rows(), path)
    domain = dp.Domain({"g": AB, "day": dp.Number(0, 10)}, target="g")
    one = LocalEngine(1)
    table = dp.Table(path, domain, dp.Ledger(epsilon=9), engine=one)
    asked, plain = [], executor.StreamFrame.batches

    def batches(self: Any, *args: Any) -> Any:
        asked.append(1)
        if len(asked) == 3:
            write(rows("b"), path)
        return plain(self, *args)

    monkeypatch.setattr(stream.StreamFrame, "batches", batches)
    with pytest.raises(ChangedError, match="reload"):
        dp.models.LogisticRegression(epsilon=1).fit(table)
    assert len(asked) == 3
    assert not table.ledger.shut


def test_a_failure_of_another_kind_still_shuts(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    write(rows(), path)
    table = dp.Table(path, dp.Domain({"g": AB}), dp.Ledger(epsilon=9))

    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError("a row that says something")

    monkeypatch.setattr(stream, "_read", fail)
    with pytest.raises(KernelFault, match="shut"):
        counts(table)
    assert table.ledger.shut


# What is compared


def test_a_file_that_comes_back_is_another_file(tmp_path):
    """Moved away and back between two looks, or with its old times: still noticed."""
    path, away = tmp_path / "rows.csv", tmp_path / "away"
    write(rows(), path)
    files = OpenedFiles({str(path): note_state(path)})
    os.rename(path, away)
    assert not files.unchanged()
    os.rename(away, path)
    assert not files.unchanged()
    files = OpenedFiles({str(path): note_state(path)})
    old = path.stat()
    overwrite(rows("b"), path)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert path.stat().st_size == old.st_size
    assert not files.unchanged()


def test_once_changed_is_changed(tmp_path, monkeypatch):
    """Something may have been made of the other file meanwhile."""
    path = tmp_path / "rows.csv"
    write(rows(), path)
    files = OpenedFiles({str(path): note_state(path)})
    other = path.parent.stat()
    with monkeypatch.context() as patch:
        patch.setattr(file_states.os, "stat", lambda _: other)
        assert not files.unchanged()
    assert file_states.note_state(path) == files._states[str(path)]
    assert not files.unchanged()


def test_the_times_of_a_fresh_file_are_let_grow_old(tmp_path, monkeypatch):
    """Written again within one tick of the disk's clock, it would look the same."""
    path = tmp_path / "rows.csv"
    path.write_text("id,g\n1,a\n")
    written = path.stat().st_ctime
    slept: list[float] = []
    monkeypatch.setattr(file_states.time, "sleep", slept.append)
    monkeypatch.setattr(file_states.time, "time", lambda: written + 0.001)
    note_state(path)
    assert slept == [file_states._TICK]
    monkeypatch.setattr(file_states.time, "time", lambda: written + 1)
    note_state(path)
    assert len(slept) == 1


def test_a_handle_is_compared_where_it_is_read(tmp_path):
    """Even if the old file is back before anybody looks at the path again."""
    path, new = tmp_path / "rows.parquet", tmp_path / "new"
    write(rows(), path)
    frame = open_frame(path, dp.Domain({"g": AB}))
    os.rename(path, tmp_path / "old")
    write(rows("b"), path)
    with pytest.raises(OSError, match="changed"):
        frame.column("g")
    os.rename(path, new)


@pytest.mark.parametrize("kind", KINDS)
def test_workers_compare_what_they_can(tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    write(rows(), path)
    domain = dp.Domain({"g": AB})
    frame = open_frame(path, domain)
    asked = bind(Sum(Everyone(), (Block(Ones()),)), domain)
    place = executor._place(frame, ("g",))
    question = (
        executor.json.dumps([executor.write_question(asked.query)]),
        executor.json.dumps(domain.to_dict()),
    )
    copy = path.with_name("copy")  # another machine has it under another number
    copy.write_bytes(path.read_bytes())
    os.replace(copy, path)
    assert executor.fold_place(*question, place) is not None
    write(rows(many=ROWS + 7, people=ROWS + 7), path)
    assert executor.fold_place(*question, place) is None


def test_an_executor_gives_no_answer_from_changed_files(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "rows.csv"
    write(rows(), path)
    with ThreadPoolExecutor(1) as pool:
        engine = ExecutorEngine(pool)
        table = dp.Table(
            path, dp.Domain({"g": AB}), dp.Ledger(epsilon=9), engine=engine
        )
        plain = engine._try

        def changed(*args: Any) -> Any:
            found = list(plain(*args))
            write(rows("b"), path)
            return iter(found)

        engine._try = changed  # type: ignore[method-assign]
        check_fault(table)
