"""People with several rows: no more of them count than are paid for, in any batch."""

from __future__ import annotations

import numpy as np
import pytest

from discreto import Category, Domain, Opaque, Table
from discreto.core.maps import Categories
from discreto.core.query import Block, Ones, Sum, inside
from discreto.data.frames import PersonFrame, open_frame
from discreto.testing import simulate

PEOPLE, EACH = 40, 5
ROWS = [f"{person}.{row}" for person in range(PEOPLE) for row in range(EACH)]


def data(seed):
    """Rows in some order; ``row`` is a category, so that it can be counted."""
    order = np.random.default_rng(seed).permutation(len(ROWS))
    names = np.array(ROWS, dtype=object)[order]
    return {"who": np.array([int(n.split(".")[0]) for n in names]), "row": names}


def domain(most):
    columns = {"who": Opaque(), "row": Category(tuple(ROWS))}
    return Domain(columns, person="who", rows_per_person=most)


def kept(table):
    """Which rows a table counts, without noise."""
    (sums,) = table.gate()._source.fold(
        inside(Sum(Categories(("row",)), (Block(Ones()),)), table.domain)
    )
    assert sums.max() == 1
    return {ROWS[i] for i in np.flatnonzero(sums[:, 0])}


def of_people(rows):
    return np.bincount([int(row.split(".")[0]) for row in rows], minlength=PEOPLE)


@pytest.mark.parametrize("most", [1, 3, 5, 9])
def test_nobody_counts_more_often_than_allowed(most):
    rows = kept(Table(data(0), domain(most), simulate(noise=False)))
    assert set(of_people(rows).tolist()) == {min(most, EACH)}


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_quota_holds_across_batches(size):
    frame = PersonFrame(open_frame(data(1), domain(2)), domain(2), bytes(range(24)))
    codes = np.concatenate([batch["row"] for batch, _ in frame.batches(["row"], size)])
    lengths = sum(length for _, length in frame.batches(["row"], size))
    assert lengths == codes.size == frame.length()
    assert set(of_people([ROWS[code] for code in codes]).tolist()) == {2}
    assert np.array_equal(codes, frame.column("row"))


def test_which_rows_stay_is_secret_and_nobody_elses_business():
    """Two tables keep the same rows of 40 people with a chance of 5^-40."""
    one, two = (
        kept(Table(data(0), domain(1), simulate(noise=False))) for _ in range(2)
    )
    assert one != two
    # Under one key the rows of a person stay, whoever else is there.
    key, whole = bytes(range(24)), data(0)
    few = {name: column[whole["who"] < 7] for name, column in whole.items()}
    rows = [
        {
            ROWS[code]
            for code in PersonFrame(open_frame(part, domain(1)), domain(1), key).column(
                "row"
            )
        }
        for part in (few, whole)
    ]
    assert rows[0] == {row for row in rows[1] if int(row.split(".")[0]) < 7}
