"""While rows are folded BLAS has one thread; afterwards it has what it had."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import discreto as dp
from discreto.core import aggregate
from discreto.data.engines import LocalEngine
from discreto.testing import simulate

NAMES = ("a", "b", "c")


def threads() -> set[int]:
    return {
        one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def _three() -> Any:
    with threadpool_limits(3, user_api="blas"):
        if threads() != {3}:
            pytest.skip("this BLAS has no threads of its own")
        yield
        assert threads() == {3}


def test_folds_on_several_threads_do_not_share_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[set[int], str]] = []
    fold = aggregate.fold

    def noted(*given: Any) -> Any:
        seen.append((threads(), threading.current_thread().name))
        return fold(*given)

    monkeypatch.setattr(aggregate, "fold", noted)
    domain = dp.Domain({name: dp.Number(0, 1) for name in NAMES})
    x = np.random.default_rng(0).uniform(size=(400_000, 3))
    data = dict(zip(NAMES, x.T, strict=True))
    table = dp.Table(data, domain, simulate(0), engine=LocalEngine(2))
    dp.stats.covariance(table, NAMES, epsilon=1)  # products, which BLAS works out
    table.answers([dp.stats.Mean("a"), dp.stats.Mean("b")], epsilon=1)
    assert {frozenset(found) for found, _ in seen} == {frozenset({1})}
    assert len({name for _, name in seen}) >= 2
