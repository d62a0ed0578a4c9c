"""Text files as the world writes them, with the numbers that they hold.

Every case says what each cell is. Answers with noise off must be those of these cells,
and pandas, Polars and DuckDB must agree if they are told how the file is written: what
differs is named in the case. Nothing is read in silence as something else.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from csv_cases import CASES, DAYS, LETTERS, PEERS, WIDE, XS, Case, Cells

import discreto as dp
from discreto.data.frames import open_frame
from discreto.data.frames.owner_check import exact_shares
from discreto.errors import DomainError
from discreto.testing import simulate

AGREED = [
    (case, peer)
    for case in CASES
    for peer in case.peers
    if "d" not in case.cells or case.format
]


def value_of(cell: Any, column: Any) -> float:
    """A cell as the domain has it: a number, days since 1970, or a code."""
    if isinstance(column, dp.Category):
        return column.categories.index(cell) if cell is not None else -1
    if cell is None:
        return np.nan
    if isinstance(cell, dt.date):
        return float((cell - dt.date(1970, 1, 1)).days)
    return float(cell)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers_are_those_of_the_cells(case: Case, tmp_path: Path) -> None:
    path, domain = case.write(tmp_path), case.domain
    table = dp.Table(path, domain, simulate(noise=False))
    rows = len(next(iter(case.cells.values())))
    assert dp.stats.count(table, epsilon=1).value == rows
    frame = open_frame(path, domain)
    for name, cells in case.cells.items():
        column = domain[name]
        wanted = np.array([value_of(cell, column) for cell in cells])
        read = frame.column(name)
        if isinstance(column, dp.Category):
            np.testing.assert_array_equal(np.maximum(read, -1), wanted)
            counts = [cells.count(kind) for kind in (*column.categories, None)]
            asked = dp.stats.count(table, by=name, epsilon=1)
            assert asked.value.tolist() == counts
            continue
        read = np.clip(read, column.lower, column.upper)
        np.testing.assert_array_equal(read, wanted)
        there = wanted[~np.isnan(wanted)]
        step = 1e-6 * (column.upper - column.lower)
        answer = dp.stats.sum(table, name, epsilon=1).value
        assert answer == pytest.approx(there.sum(), abs=step * max(rows, 1))
        if there.size:
            mean = dp.stats.mean(table, name, epsilon=1).value
            assert mean == pytest.approx(there.mean(), abs=step)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_owner_is_shown_every_text_that_was_not_read(
    case: Case, tmp_path: Path
) -> None:
    found = exact_shares(str(case.write(tmp_path)), case.domain)
    for name, cells in case.cells.items():
        missing = found[name].missing
        if isinstance(case.column(name), dp.Category):
            missing += found[name].outside
        else:
            assert {text for text, _ in found[name].unknown} == set(case.unread)
        assert (found[name].rows, missing) == (len(cells), cells.count(None))


@pytest.mark.parametrize(
    ("case", "peer"), AGREED, ids=lambda one: getattr(one, "name", one)
)
def test_others_read_the_same_cells(case: Case, peer: str, tmp_path: Path) -> None:
    pytest.importorskip(peer)
    found = PEERS[peer](case, case.write(tmp_path))
    for name, cells in case.cells.items():
        column = case.column(name)
        if isinstance(column, dp.Category):
            known = [
                cell if cell in column.categories else None for cell in found[name]
            ]
            assert known == cells
            continue
        read = [value_of(cell, column) for cell in found[name]]
        wanted = [value_of(cell, column) for cell in cells]
        np.testing.assert_array_equal(read, wanted)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty: it has no line with column names"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\n", "names no columns"),
        (XS.encode("utf-16"), "is written in UTF-16.*UTF-8"),
        (b"\xff\xfe" + XS.encode("utf-16-le"), "is written in UTF-16"),
        (b"\xfe\xff" + XS.encode("utf-16-be"), "is written in UTF-16"),
        (XS.encode("utf-16-le"), "is written in UTF-16"),
        (XS.encode("utf-16-be"), "is written in UTF-16"),
        (XS.encode("utf-32"), "is written in UTF-32"),
        (b"x,x,s\n1,10,a\n", "two columns 'x'"),
        (b"# made by\nx,s\n1,a\n", "lacks the columns"),
        (b"X,S\n1,a\n", "lacks the columns"),
        (b"x;s\n1;a\n", "separated by ';'"),
        (b"sep=,\nx,s\n1,a\n", "lacks the columns"),
    ],
)
def test_what_is_refused_is_refused_by_the_header(
    data: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    ledger = simulate(noise=False)
    domain = dp.Domain({"x": WIDE, "s": LETTERS})
    with pytest.raises(DomainError, match=words):
        dp.Table(tmp_path / "a.csv", domain, ledger)


def test_times_keep_their_zone(tmp_path: Path) -> None:
    """An instant is moved to the zone of the column; a time without a zone is not."""
    zone = dp.DateTime(
        "2024-01-01", "2024-12-31", resolution="minute", zone="Europe/Zurich"
    )
    texts = ["2024-07-01T10:00:00Z", "2024-07-01T12:00:00+02:00", "2024-07-01T12:00"]
    (tmp_path / "a.csv").write_text("t\n" + "\n".join(texts) + "\n")
    found = open_frame(tmp_path / "a.csv", dp.Domain({"t": zone})).column("t")
    noon = (dt.datetime(2024, 7, 1, 12) - dt.datetime(1970, 1, 1)).total_seconds() / 60
    assert found.tolist() == [noon] * 3
    (tmp_path / "a.csv").write_text("t\n1719828000\n")
    domain = dp.Domain({"t": zone}, dialect=dp.Dialect(dates="epoch"))
    assert open_frame(tmp_path / "a.csv", domain).column("t").tolist() == [noon]


@pytest.mark.parametrize(
    "cells", [[45322, 44535], [45322.0, 44535.5], ["45322", "44535"]]
)
def test_days_of_excel_may_be_stored_as_numbers(cells: Cells) -> None:
    domain = dp.Domain({"d": DAYS}, dialect=dp.Dialect(dates="excel"))
    for source in ({"d": cells}, {"d": np.array(cells)}):
        found = open_frame(source, domain).column("d").tolist()
        assert found == [
            value_of(day, DAYS) for day in (dt.date(2024, 1, 31), dt.date(2021, 12, 5))
        ]
    with pytest.raises(DomainError, match="is a date in the domain but holds number"):
        open_frame({"d": np.array([45322])}, dp.Domain({"d": DAYS}))
