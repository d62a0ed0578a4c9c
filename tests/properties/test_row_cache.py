"""Whatever was asked before, of these rows or of others, an answer is the same.

Sequences of questions are drawn: of tables in memory, of views and of files, in one
domain and in another, in batches of several sizes, with little and with much memory.
Each sum is compared with that of the same rows without a store.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asked import COLUMNS, DOMAIN, PARTS, WRITTEN, joined, odd_rows, plain_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core.expressions import Col, Compare, Const, Where
from discreto.core.fold import fold_all
from discreto.core.maps import Gradients, Grid, SplitHistogram, Tree
from discreto.core.maps.row_partition import TallyWithin
from discreto.core.query import Choice, Sum, inside
from discreto.core.row_cache import RowCache
from discreto.data.frames import open_frame, view_of
from discreto.data.frames.spill import Spill

ROWS = joined(plain_rows(40, 1), odd_rows(20, 2), plain_rows(40, 3))
NUMBERS = [name for name, column in COLUMNS.items() if isinstance(column, dp.Number)]
# The same rows in other bounds.
OTHER = dp.Domain(
    COLUMNS
    | {
        "a": dp.Number(-5, 20, missing=True),
        "amount": dp.Number(0, 50),
        "b": dp.Number(-3, 2),
    }
)


def grown() -> list[Any]:
    """Return questions of an ensemble that grows, which use what was kept most."""
    grid, out, trees = Grid(("a", "s"), ((2.0, 5.0), ())), [], ()
    for route in ((0, 0, 1, 1), (0, 1, 1, 0), (0, 1, 0, 0)):
        gradients = Gradients(grid, "amount", "squared", (0.5,), trees, bits=12)
        out += [SplitHistogram(gradients, t) for t in (Tree(), Tree((0,), (route,)))]
        trees = (*trees, Tree((0,), (route,), ((0.5,), (-0.5,))))
    return out


def questions() -> list[Any]:
    whole = [q.tally if isinstance(q, Choice) else q for q in [*WRITTEN, *grown()]]
    whole = [q for q in whole if isinstance(q, Sum) or hasattr(q, "merge")]
    tallies = [q for q in whole if not isinstance(q, Sum)]
    return whole + [TallyWithin(PARTS, i, q) for q in tallies for i in (0, 1)]


ASKED = questions()


class Plain:
    """A frame whose batches have no store."""

    def __init__(self, frame: Any) -> None:
        self._frame, self.places = frame, frame.places

    def batches(self, names: Any, size: int) -> Any:
        for batch, rows in self._frame.batches(names, size):
            yield dict(batch), rows


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    columns = {n: ROWS[n] if n in NUMBERS else list(map(_text, ROWS[n])) for n in ROWS}
    out = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.table(columns), out, row_group_size=37)
    return out


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def frames(path: Path) -> list[Any]:
    memory = open_frame(ROWS, DOMAIN)
    some = Where(Compare(">", Col("b"), Const(0.0)))
    return [memory, view_of(memory, some, DOMAIN), open_frame(path, DOMAIN)]


STEPS = st.tuples(
    st.integers(0, 2),  # the frame
    st.integers(0, len(ASKED) - 1),
    st.sampled_from([DOMAIN, OTHER]),
    st.sampled_from([11, 16, 100]),  # rows of a batch
)


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(STEPS, min_size=2, max_size=24), st.sampled_from([0, 900, 1 << 20]))
def test_answers_do_not_depend_on_what_is_kept(
    path: Path, steps: list[Any], memory: int
) -> None:
    several = frames(path)
    for frame in several[:2]:
        frame.cache = RowCache(Spill(memory, file=False), Spill(memory, file=False))
    plain = [Plain(frame) for frame in frames(path)]
    for which, number, domain, size in [*steps, *steps]:  # what was kept is met again
        asked = inside(ASKED[number], domain)
        asked.kept["rows at once"] = size
        found = fold_all(asked, several[which])
        wanted = fold_all(asked, plain[which])
        for one, two in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, two)


def test_something_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would see nothing if no store were used."""
    found: dict[str, int] = {}
    find = RowCache.find

    def counted(self: Any, rows: Any, name: str, key: Any) -> Any:
        thing = find(self, rows, name, key)
        found[name] = found.get(name, 0) + (thing is not None)
        return thing

    monkeypatch.setattr(RowCache, "find", counted)
    for frame in frames(path):
        for query in [*ASKED, *[q for q in ASKED for _ in range(2)]]:
            asked = inside(query, DOMAIN)
            asked.kept["rows at once"] = 16
            fold_all(asked, frame)
    names = {"codes", "leaf", "scores", "whole", "cells", "chosen", "part"}
    assert {name for name in names if not found.get(name)} == set()
