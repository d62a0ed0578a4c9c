"""Lags and rolling means: a person moves only her own rows, by brute force."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreto as dp
from discreto.core.history import (
    HistoryFrame,
    Lag,
    NamedPast,
    PersonHistory,
    RollingMean,
)
from discreto.core.people import PersonFrame
from discreto.data.frames import open_frame
from discreto.errors import DomainError, ParameterError
from discreto.testing import simulate

KEY = bytes(range(24))
PAST = (
    NamedPast("before", Lag("x")),
    NamedPast("earlier", Lag("x", 2)),
    NamedPast("lately", RollingMean("x", 2)),
    NamedPast("kind", Lag("c")),
)
HISTORY = PersonHistory("t", PAST)


def domain(k):
    columns = {
        "who": dp.Opaque(),
        "t": dp.Number(0, 9),
        "x": dp.Number(0, 9),
        "c": dp.Category(["a", "b"]),
    }
    return dp.Domain(columns, person="who", rows_per_person=k)


def seen(rows, k):
    """The rows of a view with a history, each person's bounded to k."""
    plain = domain(k)
    names = list(plain)
    data = {
        name: np.array([row[i] for row in rows], dtype=object if i in (0, 3) else float)
        for i, name in enumerate(names)
    }
    bounded = PersonFrame(open_frame(data, plain), plain, KEY).above(
        lambda frame: HistoryFrame(frame, HISTORY, plain), HISTORY.domain(plain)
    )
    columns = [bounded.raw("who").tolist()]
    for name in ("t", "x", "c", "before", "earlier", "lately", "kind"):
        columns.append([str(value) for value in bounded.column(name).tolist()])
    return Counter(zip(*columns, strict=True))


NAN = float("nan")
ROWS = [
    ("a", 1.0, 3.0, "a"),
    ("b", 2.0, 4.0, "b"),
    ("a", 2.0, 0.1, "b"),
    (None, 2.0, 8.0, "a"),
    ("a", 2.0, 0.2, None),
    ("b", NAN, 5.0, "a"),
    (None, 3.0, 7.0, "b"),
    ("b", 1.0, NAN, "a"),
]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_person_moves_no_more_rows_than_declared(k):
    """All tables of some of these rows; all rows of one person go."""
    worst = 0
    for bits in itertools.product([0, 1], repeat=len(ROWS)):
        rows = list(itertools.compress(ROWS, bits))
        whole = seen(rows, k)
        for gone in "ab":
            rest = seen([row for row in rows if row[0] != gone], k)
            moved = (whole - rest) + (rest - whole)
            assert {row[0] for row in moved} <= {gone}
            worst = max(worst, moved.total())
    assert worst == k


def test_one_row_moves_many_rows_of_a_view():
    """So the unit cannot be a row: this is what rows_per_person pays for."""
    rows = [("a", float(t), float(t), "a") for t in range(5)]
    whole, rest = seen(rows, 9), seen(rows[1:], 9)
    assert ((whole - rest) + (rest - whole)).total() > 2


VALUES = st.one_of(
    st.floats(0, 9), st.sampled_from([NAN, np.inf, -np.inf, 1e300, -1.0])
)
TABLES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.one_of(st.integers(0, 4).map(float), st.just(NAN)),
        VALUES,
        st.sampled_from(["a", "b", None]),
    ),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(TABLES, st.integers(1, 4))
def test_other_people_do_not_change_a_bit(rows, k):
    whole = seen(rows, k)
    assert all(count <= k for count in Counter(r[0] for r in whole.elements()).values())
    for person in "abc":
        alone = seen([row for row in rows if row[0] == person], k)
        mine = Counter({row: n for row, n in whole.items() if row[0] == person})
        assert mine == alone


COINS = np.random.default_rng(4)
DATA = {
    "id": COINS.integers(0, 80, 900),
    "day": COINS.permutation(900).astype(float),
    "kg": COINS.normal(70, 9, 900).round(1),
    "shift": COINS.choice(["day", "night"], 900),
}
UNITS = dp.Domain(
    {
        "id": dp.Opaque(),
        "day": dp.Number(0, 900, missing=False),
        "kg": dp.Number(0, 150, missing=False),
        "shift": dp.Category(["day", "night"], missing=False),
    },
    person="id",
    rows_per_person=40,
)


def test_it_is_what_pandas_does():
    frame = pd.DataFrame(DATA).sort_values("day")
    groups = frame.groupby("id")
    frame["before"] = groups.kg.shift(1)
    frame["third"] = groups.kg.shift(3)
    rolled = groups.kg.transform(lambda x: x.shift(1).rolling(4, min_periods=1).mean())
    frame["lately"], frame["was"] = rolled, groups["shift"].shift(1)
    table = dp.Table(DATA, UNITS, simulate(noise=False))
    view = table.with_history(
        "day",
        before=dp.lag("kg"),
        third=dp.lag("kg", 3),
        lately=dp.rolling_mean("kg", 4),
        was=dp.lag("shift"),
    )
    for name in ("before", "third", "lately"):
        found = dp.stats.mean(view, name, epsilon=1).value
        assert found == pytest.approx(frame[name].mean(), abs=1e-4)
    counts = dp.stats.count(view.where("was == 'night'"), epsilon=1).value
    assert counts == (frame.was == "night").sum()
    twice = view.with_history("day", two=dp.lag("before"))
    assert dp.stats.mean(twice, "two", epsilon=1).value == pytest.approx(
        frame.groupby("id").before.shift(1).mean(), abs=1e-4
    )


def test_lags_see_all_rows_before_a_person_is_bounded():
    """Few rows of each person stay, and what is beside them is the row before."""
    few = UNITS.with_(rows_per_person=2)
    view = dp.Table(DATA, few, simulate(noise=False)).with_history(
        "day", before=dp.lag("day")
    )
    frame = pd.DataFrame(DATA).sort_values("day")
    pairs = set(zip(frame.day, frame.groupby("id").day.shift(1), strict=True))
    rows = view._rows._frame
    assert rows.length() <= 160
    for day, before in zip(rows.column("day"), rows.column("before"), strict=True):
        assert np.isnan(before) or (day, before) in pairs


def test_the_noise_is_for_all_rows_of_a_person():
    table = dp.Table(DATA, UNITS, simulate(0))
    view = table.with_history("day", before=dp.lag("kg"))
    assert view.plan(dp.stats.Count(), epsilon=1).questions[0].sensitivity == (40,)
    assert view.domain["before"].missing
    assert (view.domain["before"].lower, view.domain["before"].upper) == (0, 150)


def test_what_is_not_bounded_is_refused():
    ledger = simulate(0)
    table = dp.Table(DATA, UNITS, ledger, name="units")
    free = dp.Table(DATA, UNITS.with_(person=None, rows_per_person=1), ledger)
    with pytest.raises(DomainError, match="same person"):
        free.with_history("day", before=dp.lag("kg"))
    with pytest.raises(DomainError, match="must be a number"):
        table.with_history("shift", before=dp.lag("kg"))
    with pytest.raises(DomainError, match="already"):
        table.with_history("day", kg=dp.lag("kg"))
    with pytest.raises(DomainError, match="needs numbers"):
        table.with_history("day", before=dp.rolling_mean("shift", 2))
    with pytest.raises(DomainError, match="opaque"):
        table.with_history("day", before=dp.lag("id"))
    with pytest.raises(ParameterError, match="before filters"):
        table.where("kg > 9").with_history("day", before=dp.lag("kg"))
    with pytest.raises(ParameterError, match="must be lag"):
        table.with_history("day", before="kg")
    for rows in (0, -1, 1.5, True, 10**6):
        with pytest.raises(ParameterError, match="whole number"):
            dp.lag("kg", rows)
    with pytest.raises(ParameterError, match="at least one"):
        table.with_history("day")


def test_keys_stand_for_one_history():
    ledger = dp.Ledger(epsilon=9)
    table = dp.Table(DATA, UNITS, ledger, name="units")
    one = table.with_history("day", before=dp.lag("kg"))
    two = table.with_history("day", before=dp.lag("kg", 2))
    first = dp.stats.count(one, epsilon=1, key="n")
    again = table.with_history("day", before=dp.lag("kg"))
    assert dp.stats.count(again, epsilon=1, key="n").value == first.value
    with pytest.raises(Exception, match="key"):
        dp.stats.count(two, epsilon=1, key="n")
