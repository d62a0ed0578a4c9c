"""How the suite runs: the same every time, in any order, on any worker.

Each test gets noise of its own, derived from its name: what ``Entropy`` draws without a
key repeats, and so do public coins without a seed. A test that wants real noise says so
and says how often it fails: ``@pytest.mark.real_noise(1e-10)``; 1e-9 is too often.

``--shuffle SEED`` runs modules, and the tests in them, in another order, with other
examples of hypothesis. ``--fresh`` gives real noise to all, ``--repeat N`` runs each
test N times from scratch, and ``--record FILE`` appends a JSON line for each run with
the chance it used: ``benchmarks/flaky.py`` finds out how often tests really fail.
"""

from __future__ import annotations

import os

# Before numpy: one thread for each process. Threads of several processes that wait for
# each other on a busy machine take ten times as long.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import hashlib
import itertools
import json
import random
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from discreto.core.noise import entropy

# Whoever draws must not open windows, and no test needs to say so before an import.
os.environ["MPLBACKEND"] = "Agg"
RARE = 1e-9


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("order, repetition and noise")
    group.addoption("--shuffle", type=int, metavar="SEED", help="another order")
    group.addoption("--fresh", action="store_true", help="real noise for every test")
    group.addoption("--repeat", type=int, default=1, metavar="N", help="runs of a test")
    group.addoption("--record", metavar="FILE", help="a JSON line for each run")


def pytest_configure(config: pytest.Config) -> None:
    mark = "real_noise(failing): draws real noise and fails with this probability"
    config.addinivalue_line("markers", mark)
    seed = config.getoption("shuffle")
    # No deadlines: how long an example takes is a fact about the machine.
    hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
    hypothesis.settings.register_profile("other", deadline=None)
    hypothesis.settings.load_profile("same" if seed is None else "other")
    if seed is not None and config.getoption("hypothesis_seed", None) is None:
        hypothesis.core.global_force_seed = seed
    if not config.getoption("fresh"):
        config.pluginmanager.register(Repeatable())
    if config.getoption("record"):
        config.pluginmanager.register(Recorder(Path(config.getoption("record"))))


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("shuffle")
    return None if seed is None else f"shuffled: --shuffle {seed}"


def pytest_itemcollected(item: pytest.Item) -> None:
    for mark in item.iter_markers("real_noise"):
        if not (len(mark.args) == 1 and 0 <= mark.args[0] < RARE):
            raise pytest.UsageError(
                f"{item.nodeid}: real_noise needs a probability below {RARE}."
            )


@pytest.hookimpl(
    tryfirst=True
)  # pytest then brings those with a shared fixture together
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    seed = config.getoption("shuffle")
    if seed is None:
        return
    coins = random.Random(seed)  # noqa: S311 (an order of tests is no secret)
    modules = [
        list(group) for _, group in itertools.groupby(items, lambda item: item.path)
    ]
    coins.shuffle(modules)
    for module in modules:
        coins.shuffle(module)
    items[:] = [item for module in modules for item in module]


def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> bool | None:
    times = item.config.getoption("repeat")
    if times == 1:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    names = dict(item.dtest.globs) if isinstance(item, pytest.DoctestItem) else {}
    for _ in range(times):
        if names:  # a doctest empties them when it ends
            item.dtest.globs.update(names)
        # No next item: fixtures of any scope are made again, with noise of their own.
        runtestprotocol(item, nextitem=None)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave the process as it was found, so that no test knows which one ran before."""
    names = vars(getattr(request.node, "module", request))
    shared = [v for v in names.values() if isinstance(v, np.random.Generator)]
    states = [coins.bit_generator.state for coins in shared]
    folder, environment = Path.cwd(), dict(os.environ)
    errors, filters = np.geterr(), warnings.filters[:]
    path = sys.path[:]
    # Whoever asks for global coins gets the same ones in each test.
    random.seed(0)
    np.random.seed(0)
    yield
    os.chdir(folder)
    if dict(os.environ) != environment:
        os.environ.clear()
        os.environ.update(environment)
    np.seterr(**errors)
    warnings.filters[:] = filters
    sys.path[:] = path
    for coins, state in zip(shared, states, strict=True):
        coins.bit_generator.state = state
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot as plt

        plt.close("all")


class Chance:
    """What ``entropy`` takes for the operating system: ``os`` with bytes that repeat.

    Only this process repeats: a forked child draws real bytes, as it must differ.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._name: str | None = None
        self._count = itertools.count()

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def urandom(self, size: int) -> bytes:
        """The next bytes that belong to the running test; real ones if it has none."""
        if self._name is None or os.getpid() != self._process:
            return os.urandom(size)
        text = f"{self._name} {next(self._count)}"
        return hashlib.shake_256(text.encode()).digest(size)

    @contextmanager
    def of(self, name: str | None) -> Iterator[None]:
        """Draw what belongs to ``name``; real bytes for None."""
        before = self._name, self._count
        self._name, self._count = name, itertools.count()
        yield
        self._name, self._count = before


class Repeatable:
    """Gives each test, and each fixture that several tests share, chance of its own."""

    def __init__(self) -> None:
        self.chance, make = Chance(), np.random.default_rng
        entropy.os = self.chance  # type: ignore[assignment]

        def default_rng(seed: Any = None) -> np.random.Generator:
            known = seed is not None
            return make(seed if known else int.from_bytes(self.chance.urandom(16)))

        np.random.default_rng = default_rng

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        real = item.get_closest_marker("real_noise")
        with self.chance.of(None if real else item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        index = getattr(request, "param_index", 0)
        with self.chance.of(f"{fixturedef.baseid} {fixturedef.argname} {index}"):
            return (yield)


class Recorder:
    """Writes down each run of a test: outcome, seconds, and the chance that it used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used = {"noise": 0, "coins": 0, "processes": 0}
        self.before: dict[str, int] = {}
        self.start = 0.0
        self.outcome = "passed"
        self.shared: dict[Any, dict[str, int]] = {}
        self._watch()

    def _watch(self) -> None:
        draw, coins, used = entropy.Entropy.bytes, np.random.default_rng, self.used

        def bytes_(stream: entropy.Entropy, count: int) -> bytes:
            used["noise"] += 0 if stream.seeded else count
            return draw(stream, count)

        def default_rng(seed: Any = None) -> np.random.Generator:
            used["coins"] += seed is None
            return coins(seed)

        def hook(event: str, _: object) -> None:
            used["processes"] += event == "subprocess.Popen"

        entropy.Entropy.bytes = bytes_  # type: ignore[method-assign]
        np.random.default_rng = default_rng
        sys.addaudithook(hook)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = dict(self.used)
        yield
        self.shared[fixturedef] = self._since(before)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        self.before, self.start = dict(self.used), time.perf_counter()
        self.outcome = "passed"
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        outcome = yield
        report = outcome.get_result()  # type: ignore[attr-defined]
        if report.outcome != "passed":
            self.outcome = report.outcome
        if report.when != "teardown":
            return
        used = self._since(self.before)
        # A fixture of the module drew for all its tests, though only one saw it.
        info = getattr(item, "_fixtureinfo", None)
        for definitions in info.name2fixturedefs.values() if info else ():
            for name, count in self.shared.get(definitions[-1], {}).items():
                used[name] = max(used[name], count)
        line = {"test": item.nodeid, "outcome": self.outcome}
        seconds = round(time.perf_counter() - self.start, 3)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"seconds": seconds} | used) + "\n")

    def _since(self, before: dict[str, int]) -> dict[str, int]:
        return {name: count - before[name] for name, count in self.used.items()}
