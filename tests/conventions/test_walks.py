"""Short call paths: how many calls and files one request passes through.

A walk counts the functions of the package that are entered, and the files that they
stand in. Comprehensions are left out: newer versions of Python do not call them. A
limit may only fall: a walk that has become shorter lowers its limit.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.federated import FederatedAveraging, Federation, Policy, Silo
from discreto.models import GradientBoostingClassifier

ROOT = str(Path(dp.__file__).parent)
INLINE = {"<listcomp>", "<dictcomp>", "<setcomp>"}
ROWS = 30_000
# Counted, and lowered when a walk becomes shorter. Never raised.
MEAN_CALLS, MEAN_FILES = 612, 51  # compiled loops decide on a few
PLANNED_CALLS = 325
HTTP_CALLS, HTTP_FILES = 800, 64
FEDERATED_CALLS = 33_500  # noise decides on a few hundred
BOOSTING_CALLS = 26_000  # releases decide which way a fit goes


class Walk:
    """Calls by file, in this thread and in those that are started while it counts."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def _enter(self, frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name in INLINE:
            return
        if code.co_filename.startswith(ROOT):
            self.calls[code.co_filename[len(ROOT) + 1 :]] += 1

    def __enter__(self) -> Walk:
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def check(self, calls: int | None, files: int | None) -> None:
        """Fail if there were more calls or files than the limits say."""
        if calls is not None:
            assert self.calls.total() <= calls, self.calls.most_common(20)
        if files is not None:
            assert len(self.calls) <= files, sorted(self.calls)


def walk(work: Callable[[], Any]) -> Walk:
    with Walk() as found:
        work()
    return found


@pytest.fixture
def table() -> dp.Table:
    draws = np.random.default_rng(0)
    x, y = draws.random(ROWS), draws.random(ROWS)
    high = x + y + 0.3 * draws.normal(size=ROWS) > 1
    numbers = {"age": dp.Number(0, 120), "x": dp.Number(0, 1), "y": dp.Number(0, 1)}
    texts = {"sex": dp.Category(["f", "m"]), "out": dp.Category(["no", "yes"])}
    data = {"age": draws.integers(0, 100, ROWS), "x": x, "y": y}
    data |= {"sex": np.array(["f", "m"])[draws.integers(0, 2, ROWS)]}
    data |= {"out": np.array(["no", "yes"])[high.astype(int)]}
    return dp.Table(data, dp.Domain(numbers | texts), dp.Ledger(epsilon=1000))


def test_a_mean_of_a_table_in_memory(table: dp.Table) -> None:
    """The target is 300 calls in 25 files."""
    dp.stats.mean(table, "age", epsilon="0.2")  # modules and caches are ready
    found = walk(lambda: dp.stats.mean(table, "age", epsilon="0.1"))
    found.check(calls=MEAN_CALLS, files=MEAN_FILES)


def test_a_mean_that_was_planned_before(table: dp.Table) -> None:
    dp.stats.mean(table, "age", epsilon="0.1")
    found = walk(lambda: dp.stats.mean(table, "age", epsilon="0.1"))
    found.check(calls=PLANNED_CALLS, files=None)


def test_a_boosting_fit(table: dp.Table) -> None:
    """The target is 15,000 calls."""
    GradientBoostingClassifier(epsilon=1).fit(table, "out")
    model = GradientBoostingClassifier(epsilon=2)
    walk(lambda: model.fit(table, "out")).check(calls=BOOSTING_CALLS, files=None)


def test_federated_averaging_of_three_silos_in_four_rounds() -> None:
    """The target is 30,000 calls."""
    draws = np.random.default_rng(0)
    columns = {"age": dp.Number(0, 100), "dose": dp.Number(0, 10)}
    domain = dp.Domain(columns | {"days": dp.Number(0, 30)}, target="days")

    def silo() -> Silo:
        age, dose = draws.normal(50, 15, 400), draws.normal(5, 2, 400)
        days = 8 + 0.1 * age - 0.6 * dose + draws.normal(0, 3, 400)
        ledger = dp.Ledger(epsilon=9, delta="1e-5")
        rows = dp.Table({"age": age, "dose": dose, "days": days}, domain, ledger)
        return Silo(rows, Policy(partners={"c": 9}, least_noise=0.1), rows=400)

    def federation() -> Federation:
        return Federation({f"h{k}": silo() for k in range(3)}, partner="c")

    learner = FederatedAveraging(epsilon=1, rounds=4)
    federation().fit(learner, "days")
    second = federation()
    found = walk(lambda: second.fit(learner, "days"))
    found.check(calls=FEDERATED_CALLS, files=None)


def test_a_count_over_http(tmp_path: Path) -> None:
    """The target is 40 files."""
    testclient = pytest.importorskip("starlette.testclient")
    from discreto.service import Service, read_config
    from discreto.service.app import make_app
    from discreto.service.demo import write_demo

    config = write_demo(tmp_path, rows=500)
    service = Service(read_config(config))
    headers = {"authorization": f"Bearer {service.add_token('ana')['token']}"}
    service.close()
    url = "/api/v1/tables/patients/ask"
    app = make_app(read_config(config))
    with Walk() as found, testclient.TestClient(app) as client:

        def ask(epsilon: str) -> None:
            body = {"ask": "count()", "epsilon": epsilon}
            assert client.post(url, json=body, headers=headers).status_code == 200

        ask("0.1")
        found.calls.clear()
        ask("0.11")
        counted = Walk()
        counted.calls = found.calls.copy()
    counted.check(calls=HTTP_CALLS, files=HTTP_FILES)
