"""Methods without arguments can be read as attributes."""

from __future__ import annotations

import inspect

import pytest

import discreto as dp


def test_what_is_left_of_a_ledger_is_a_method_and_a_number() -> None:
    ledger = dp.Ledger(epsilon=3)
    left = ledger.remaining
    assert left() == 3.0
    assert left == 3
    assert 1 < left <= 3
    assert not left > 3
    assert left >= 3
    assert (left + 1, 1 + left, left - 1, 4 - left) == (4, 4, 2, 1)
    assert (left * 2, 2 * left, left / 2, float(left)) == (6, 6, 1.5, 3)
    assert (f"{left:.1f}", str(left), repr(left), bool(left)) == (
        "3.0",
        "3.0",
        "3.0",
        True,
    )


def test_it_follows_the_ledger() -> None:
    ledger = dp.Ledger(epsilon=3)
    left = ledger.remaining
    table = dp.Table({"x": [1]}, dp.Domain({"x": dp.Number(0, 1)}), ledger)
    dp.stats.count(table, epsilon=1)
    assert left == 2
    assert str(ledger.spent) == "ε 1"
    assert ledger.spent.epsilon == 1
    assert ledger.remaining("") == ledger.remaining


def test_its_signature_and_docstring_are_those_of_the_method() -> None:
    ledger = dp.Ledger(epsilon=3)
    assert list(inspect.signature(dp.Ledger.remaining).parameters) == [
        "self",
        "analyst",
    ]
    assert "epsilon that is left" in (ledger.remaining.__doc__ or "")
    with pytest.raises(TypeError):
        hash(ledger.remaining)
