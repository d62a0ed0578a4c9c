"""The audits are judged here: planted bugs are caught, honest twins not accused."""

from __future__ import annotations

import pytest

from discreto.errors import ParameterError
from discreto.lab.known_bugs import PLANTED_BUGS, named

WANTED = {
    "skipped empty cluster",
    "swapped shares",
    "exact labels",
    "classes from data",
    "forgotten clip",
    "halved noise",
    "reused noise",
    "exact count",
    "error on a missing value",
    "float sum",
    "charge after release",
    "cloned ledger",
    "thresholds from data",
    "index-split forest",
}
EVERY = pytest.mark.parametrize(
    "planted_bug", PLANTED_BUGS, ids=lambda planted_bug: planted_bug.name
)


def test_the_collection_is_complete():
    names = [planted_bug.name for planted_bug in PLANTED_BUGS]
    assert set(names) >= WANTED
    assert len(set(names)) == len(names) >= 16


@EVERY
def test_planted_bugs_are_caught(planted_bug):
    found = planted_bug.audit(seed=1, runs=6_000)
    assert found.violation, found
    assert found.shown > found.claimed or planted_bug.method == "ledger"
    assert found.method == planted_bug.method


@EVERY
def test_honest_twins_are_not_accused(planted_bug):
    found = planted_bug.audit(seed=1, honest=True, runs=3_000)
    assert not found.violation, found


@pytest.mark.parametrize("seed", range(8))
def test_a_quote_is_found_whatever_rows_follow(seed):
    """A typical row may close it: rows that are all alike do not."""
    found = named("a quote that stays open").audit(seed=seed)
    assert found.violation, found


def test_a_piece_that_does_not_exist():
    with pytest.raises(ParameterError, match="no planted bug"):
        named("cold fusion")
