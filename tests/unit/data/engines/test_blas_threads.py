"""While rows are folded BLAS has one thread; afterwards it has what it had."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import discreto as dp
from discreto.core import aggregate
from discreto.data.engines import LocalEngine
from discreto.data.engines.blas_threads import one_thread
from discreto.testing import simulate

NAMES = ("a", "b", "c")


def threads() -> set[int]:
    return {
        one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def _three() -> Any:
    before = threadpool_limits(3, user_api="blas")
    for library in before._controller.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()  # or only this thread may say how many
    if threads() != {3}:
        pytest.skip("this BLAS has no threads of its own")
    yield
    assert threads() == {3}
    before.restore_original_limits()


def test_the_last_one_who_leaves_gives_threads_back() -> None:
    """Whichever thread that is; the first one may still be there."""
    inside, leave, left, end = (threading.Event() for _ in range(4))

    def first() -> None:
        with one_thread:
            inside.set()
            leave.wait(60)
        left.set()
        end.wait(60)

    other = threading.Thread(target=first)
    other.start()
    assert inside.wait(60)
    with one_thread:
        leave.set()
        assert left.wait(60)
        assert threads() == {1}
    assert threads() == {3}
    end.set()
    other.join()


def test_an_error_gives_threads_back() -> None:
    with pytest.raises(KeyError), one_thread:
        raise KeyError("mine")
    assert threads() == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_of_a_fold_has_its_threads() -> None:
    with one_thread:
        child = os.fork()
        if not child:
            fine = threads() == {3}
            with one_thread:
                fine = fine and threads() == {1}
            os._exit(0 if fine and threads() == {3} else 1)
        assert os.waitpid(child, 0)[1] == 0


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
