"""Joined tables: no person moves more joined rows than declared, by brute force."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto.core.joins import JoinedFrame, joined_domain
from discreto.core.maps.cells import MISSING
from discreto.core.people import PersonFrame
from discreto.data.frames import open_frame
from discreto.errors import DomainError, ParameterError
from discreto.stats import sentence
from discreto.testing import simulate

KEY = bytes(range(24))


def domains(k, m):
    visits = {"who": dp.Opaque(), "cost": dp.Number(0, 9, missing=False)}
    people = {"who": dp.Opaque(), "sex": dp.Category(["f", "m"], missing=False)}
    return (
        dp.Domain(visits, person="who", rows_per_person=k),
        dp.Domain(people, person="who", rows_per_person=m),
    )


def joined(visits, people, k, m, how):
    first, second = domains(k, m)
    frames = []
    for rows, domain in ((visits, first), (people, second)):
        names = list(domain)
        data = {n: [row[i] for row in rows] for i, n in enumerate(names)}
        frames.append(PersonFrame(open_frame(data, domain), domain, KEY))
    whole = JoinedFrame(frames[0], frames[1], (first, second), how)
    cost, sex = whole.column("cost").tolist(), whole.column("sex").tolist()
    return Counter(zip(whole.raw("who").tolist(), cost, sex, strict=True))


VISITS = [("a", 1.0), ("a", 2.0), ("a", 3.0), ("b", 1.0), (None, 5.0)]
PEOPLE = [("a", "f"), ("a", "m"), ("b", "m"), ("c", "f"), (None, "f")]


@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize(("k", "m"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_a_person_moves_no_more_joined_rows_than_declared(k, m, how):
    """All tables of some of these rows; one person goes from both."""
    worst = 0
    bound = joined_domain(*domains(k, m), how).rows_per_person
    sets = [
        list(itertools.compress(VISITS, bits))
        for bits in itertools.product([0, 1], repeat=5)
    ]
    others = [
        list(itertools.compress(PEOPLE, bits))
        for bits in itertools.product([0, 1], repeat=5)
    ]
    for visits in sets[::5]:
        for people in others[::3]:
            whole = joined(visits, people, k, m, how)
            for gone in "abc":
                rest = joined(
                    [row for row in visits if row[0] != gone],
                    [row for row in people if row[0] != gone],
                    k,
                    m,
                    how,
                )
                moved = (whole - rest) + (rest - whole)
                assert {row[0] for row in moved} <= {gone}
                worst = max(worst, moved.total())
    assert worst == bound == k * m


COINS = np.random.default_rng(5)
PATIENTS = {
    "id": np.arange(600),
    "sex": COINS.choice(["f", "m"], 600),
    "born": COINS.integers(1930, 2010, 600),
}
STAYS = {
    "id": COINS.integers(0, 700, 2500),
    "days": COINS.integers(0, 30, 2500).astype(float),
}
LEFT = dp.Domain(
    {"id": dp.Opaque(), "days": dp.Number(0, 30, missing=False)},
    person="id",
    rows_per_person=20,
)
RIGHT = dp.Domain(
    {
        "id": dp.Opaque(),
        "sex": dp.Category(["f", "m"], missing=False),
        "born": dp.Number(1920, 2024, integer=True, missing=False),
    },
    person="id",
)


def tables(ledger):
    return dp.Table(STAYS, LEFT, ledger, name="stays"), dp.Table(
        PATIENTS, RIGHT, ledger, name="patients"
    )


def test_joined_tables_answer_like_pandas():
    stays, patients = tables(simulate(noise=False))
    frame = pd.DataFrame(STAYS).merge(pd.DataFrame(PATIENTS), on="id", how="left")
    both = stays.join(patients)
    assert both.domain.rows_per_person == 20
    assert both.domain["sex"].missing
    found = both.answer(sentence("mean(days) by sex"), epsilon=1)
    wanted = frame.groupby("sex").days.mean()
    assert found.value[:2] == pytest.approx(wanted.to_numpy(), abs=1e-6)
    assert found.keys == ("f", "m", MISSING)
    inner = stays.join(patients, how="inner")
    assert dp.stats.count(inner, epsilon=1).value == frame.sex.notna().sum()
    young = stays.where("days > 3").join(patients.where("born >= 1980"), how="inner")
    wanted = ((frame.days > 3) & (frame.born >= 1980)).sum()
    assert dp.stats.count(young, epsilon=1).value == wanted


def test_the_noise_is_for_all_rows_of_a_person():
    stays, patients = tables(simulate(0))
    plan = stays.join(patients).plan(dp.stats.Count(), epsilon=1)
    assert plan.questions[0].sensitivity == (20,)


def test_what_is_not_bounded_is_refused():
    ledger = simulate(0)
    stays, patients = tables(ledger)
    free = dp.Table(PATIENTS, RIGHT.with_(person=None), ledger, name="without a person")
    with pytest.raises(DomainError, match="nothing bounds"):
        stays.join(free)
    with pytest.raises(ParameterError, match="same ledger"):
        stays.join(dp.Table(PATIENTS, RIGHT, simulate(0)))
    with pytest.raises(DomainError, match="both tables have"):
        stays.join(dp.Table(STAYS, LEFT, ledger))
    with pytest.raises(DomainError, match="'left' or 'inner'"):
        stays.join(patients, how="outer")
    with pytest.raises(ParameterError, match="needs a Table"):
        stays.join(PATIENTS)


def test_keys_stand_for_one_joined_table():
    ledger = dp.Ledger(epsilon=9)
    stays, patients = tables(ledger)
    one = dp.stats.count(stays.join(patients), epsilon=1, key="n")
    again = dp.stats.count(stays.join(patients), epsilon=1, key="n")
    assert one.value == again.value
    with pytest.raises(Exception, match="key"):
        dp.stats.count(stays.join(patients, how="inner"), epsilon=1, key="n")
