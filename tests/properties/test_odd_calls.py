"""Odd arguments of statistics and models get an answer, or an error of ours."""

from __future__ import annotations

import odd_calls


def test_every_odd_call_is_answered_or_refused():
    made = odd_calls.run(seed=7, count=500)
    assert made.wrong == []
    assert made.ends["answered"] > 50  # the calls are near enough to what is right
    assert made.ends["ParameterError"] > 50
