"""The audits are judged here: planted bugs are caught, honest twins not accused."""

from __future__ import annotations

import pytest

from discreto.errors import ParameterError
from discreto.lab.known_bugs import PIECES, named

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
EVERY = pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)


def test_the_museum_is_complete():
    names = [piece.name for piece in PIECES]
    assert set(names) >= WANTED
    assert len(set(names)) == len(names) >= 16


@EVERY
def test_planted_bugs_are_caught(piece):
    found = piece.audit(seed=1, runs=6_000)
    assert found.violation, found
    assert found.shown > found.claimed or piece.method == "ledger"
    assert found.method == piece.method


@EVERY
def test_honest_twins_are_not_accused(piece):
    found = piece.audit(seed=1, honest=True, runs=3_000)
    assert not found.violation, found


def test_a_piece_that_does_not_exist():
    with pytest.raises(ParameterError, match="no piece"):
        named("cold fusion")
