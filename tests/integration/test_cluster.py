"""Statistics and models on process pools and on Dask: the bits of one process."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreto as dp
from discreto import models, stats
from discreto.core.query import Block, Everyone, Ones, Sum, bind
from discreto.data.engines import ExecutorEngine, LocalEngine
from discreto.data.frames import open_frame
from discreto.data.frames.file_states import OpenedFiles
from discreto.errors import DiscretoError, KernelFault, ParameterError, StalledError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.kinds import PrivateClusterer, PrivateRegressor
from discreto.testing import simulate

NUMBERS = {"a": dp.Number(0, 10, missing=True), "b": dp.Number(-1, 1)}
CATEGORIES = {"s": dp.Category(["x", "y", "z"]), "t": dp.Category(["u", "v"])}
TARGETS = {"label": dp.Category(["no", "yes"]), "amount": dp.Number(0, 100)}
DOMAIN = dp.Domain(NUMBERS | CATEGORIES | TARGETS)
SPAWN = partial(ProcessPoolExecutor, 2, mp_context=get_context("spawn"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of three row groups each."""
    folder, coins = tmp_path_factory.mktemp("people"), np.random.default_rng(0)
    for number in range(3):
        rows = 700
        yes = coins.random(rows) < 0.4
        columns = {
            "a": np.where(yes, 7.0, 3.0) + coins.normal(0, 1.5, rows),
            "b": np.where(yes, 0.4, -0.3) + coins.normal(0, 0.3, rows),
            "s": np.where(coins.random(rows) < 0.3 + 0.4 * yes, "x", "z"),
            "t": np.where(coins.random(rows) < 0.2 + 0.5 * yes, "u", "v"),
            "label": np.where(yes, "yes", "no"),
            "amount": 30 + 40 * yes + coins.normal(0, 5, rows),
        }
        columns["a"][::9] = np.nan
        path = folder / f"part-{number}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=250)
    return f"{folder}/*.parquet"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes, as on two machines."""
    distributed = pytest.importorskip(
        "distributed", reason='Dask is not installed: pip install ".[cluster]"'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with (
            distributed.LocalCluster(**options, processes=True) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client


@pytest.fixture(scope="module", params=["processes", "dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[ExecutorEngine]:
    if request.param == "dask":
        yield dp.engines.dask(request.getfixturevalue("client"), parts=5)
    else:
        engine = ExecutorEngine(SPAWN, parts=5)
        yield engine
        engine.close()


class Twin:
    """Folds on two engines and notes where they differ in a single bit."""

    def __init__(self, engine: ExecutorEngine) -> None:
        self.engines, self.asked, self.wrong = (LocalEngine(), engine), 0, []

    def fold(self, asked: Any, frame: Any) -> Any:
        here, there = (e.fold(asked, frame) for e in self.engines)
        self.asked += 1
        pairs = zip(here, there, strict=True)
        if not all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs):
            self.wrong.append(asked.query)
        return here


def test_long_questions_and_domains_go_to_each_worker_once(
    client: Any, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks carry handles; if what these stand for is lost, they carry the texts."""
    from discreto.data.engines import cluster

    monkeypatch.setattr(cluster, "_LONG", 0)
    engine = dp.engines.dask(client, parts=4)
    sent: list[Any] = []
    submit, lost = engine._executor.submit, False

    def watched(work: Any, *parts: Any) -> Any:
        sent.append([type(part).__name__ for part in parts[:2]])
        if lost and sent[-1] == ["Future", "Future"]:
            raise OSError("no worker has it")
        return submit(work, *parts)

    monkeypatch.setattr(engine._executor, "submit", watched)

    def ask(engine: Any) -> Any:
        table = dp.Table.scan(files, DOMAIN, simulate(1), engine=engine)
        return stats.mean(table, "a", by="s", epsilon=1).value.tolist()

    truth = ask(LocalEngine())
    assert ask(engine) == truth
    assert sent == [["Future", "Future"]] * 4
    domain = engine._domain[1]
    assert ask(engine) == truth
    assert engine._domain[1] is domain, "sent once for all questions"
    lost = True
    assert ask(engine) == truth
    assert sent[-4:] == [["str", "str"]] * 4


# Every statistic


STATISTICS: dict[str, Callable[[dp.Table], Any]] = {
    "bounds": lambda t: stats.bounds(t, "amount", epsilon=1),
    "correlation": lambda t: stats.correlation(t, ["a", "b"], epsilon=1),
    "correlation_test": lambda t: stats.correlation_test(t, "a", "b", epsilon=1),
    "count": lambda t: stats.count(t, by=["s", "t"], epsilon=1),
    "covariance": lambda t: stats.covariance(t, ["b", "amount"], epsilon=1),
    "crosstab": lambda t: stats.crosstab(t, ["s", "label"], epsilon=1),
    "describe": lambda t: stats.describe(t, ["a", "s"], epsilon=1),
    "distribution": lambda t: stats.distribution(t, "a", [1, 2], epsilon=1),
    "domain_fit": lambda t: stats.domain_fit(t, epsilon=1),
    "gini": lambda t: stats.gini(t, "amount", epsilon=1),
    "histogram": lambda t: stats.histogram(t, ["a", "s"], bins=7, epsilon=1),
    "independence": lambda t: stats.independence(t, "s", "label", epsilon=1),
    "lorenz": lambda t: stats.lorenz(t, "amount", epsilon=1),
    "max": lambda t: stats.max(t, "a", epsilon=1),
    "mean": lambda t: stats.mean(t, "a", by="label", epsilon=1, delta=1e-6),
    "mean_difference": lambda t: stats.mean_difference(t, "a", "label", epsilon=1),
    "median": lambda t: stats.median(t, "amount", epsilon=1),
    "min": lambda t: stats.min(t, "a", epsilon=1),
    "mode": lambda t: stats.mode(t, "s", epsilon=1),
    "proportion": lambda t: stats.proportion(t, "a > 1", epsilon=1),
    "proportion_difference": lambda t: stats.proportion_difference(
        t, "a > 1", "label", epsilon=1
    ),
    "quantile": lambda t: stats.quantile(t, "a", ["0.1", "0.9"], epsilon=1),
    "quantile_difference": lambda t: stats.quantile_difference(
        t, "a", "label", "0.5", epsilon=1
    ),
    "ratio": lambda t: stats.ratio(t, "a", "amount", epsilon=1),
    "sentence": lambda t: t.answer(stats.sentence("mean(a * 2)"), epsilon=1),
    "std": lambda t: stats.std(t, "b", epsilon=1),
    "sum": lambda t: stats.sum(t, "amount", epsilon=1),
    "top": lambda t: stats.top(t, "s", 2, epsilon=1),
    "trend": lambda t: stats.trend(t, "b", "a", epsilon=1),
    "variance": lambda t: stats.variance(t, "b", epsilon=1),
    "weighted_mean": lambda t: stats.weighted_mean(t, "a", "amount", epsilon=1),
}
READ_HERE = {"unknown_keys"}  # texts are not folded by an engine


def test_every_statistic_is_here():
    offered = {name for name in stats.__all__ if name.islower()}
    assert set(STATISTICS) | READ_HERE == offered


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_have_the_bits_of_one_process(files, engine, name):
    twin = Twin(engine)
    table = dp.Table.scan(files, DOMAIN, simulate(noise=False), engine=twin)
    STATISTICS[name](table)
    assert twin.asked
    assert not twin.wrong


# Every model


MODELS = [
    name
    for name in models.__all__
    if isinstance(kind := getattr(models, name), type)
    and issubclass(kind, PrivateEstimator)
]


def make(name: str) -> tuple[Any, dp.Domain]:
    """A model, and the first kind of table that it can plan for."""
    kind = getattr(models, name)
    target = "amount" if issubclass(kind, PrivateRegressor) else "label"
    goal = {} if issubclass(kind, PrivateClusterer) else {target: TARGETS[target]}
    known = kind(epsilon=1).get_params()
    small = {"random_state": 0, "n_estimators": 3, "max_iter": 3}
    params = {"epsilon": 1} | {k: v for k, v in small.items() if k in known}
    for columns in (NUMBERS, CATEGORIES):
        domain = dp.Domain(columns | goal, target=next(iter(goal), None))
        for extra in ({}, {"delta": 1e-5}):
            model = kind(**params | extra)
            try:
                if hasattr(model, "plan"):
                    model.plan(domain)
                return model, domain
            except DiscretoError:
                continue
    raise AssertionError(f"no table fits {name}")


@pytest.mark.parametrize("name", MODELS)
def test_models_have_the_bits_of_one_process(files, engine, name):
    model, domain = make(name)
    points = {"a": [2.0, 8.0], "b": [-0.5, 0.5], "s": ["x", "z"], "t": ["u", "v"]}
    points = {n: np.array(v) for n, v in points.items() if n in domain.columns}
    twin = Twin(engine)
    table = dp.Table.scan(files, domain, simulate(0, noise=False), engine=twin)
    model.fit(table)
    if "Neighbors" in name and not twin.asked:  # these ask when they predict
        model.predict(np.column_stack(list(points.values())))
    assert twin.asked
    assert not twin.wrong


def test_an_engine_that_is_off_by_one_would_be_caught(files):
    class Off(LocalEngine):
        def fold(self, *parts: Any) -> Any:
            return [table + 1 for table in super().fold(*parts)]

    twin = Twin(Off())
    stats.count(dp.Table.scan(files, DOMAIN, simulate(0), engine=twin), epsilon=1)
    assert twin.wrong


# Workers that die


class Watched(ProcessPoolExecutor):
    """A pool whose futures can be looked at."""

    def __init__(self) -> None:
        super().__init__(2, mp_context=get_context("spawn"))
        self.futures: list[Future] = []

    def submit(self, *parts: Any, **named: Any) -> Future:
        self.futures.append(super().submit(*parts, **named))
        return self.futures[-1]


def wait_for(what: Callable[[], Any]) -> Any:
    for _ in range(600):
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError("waited for a minute")


class Trap:
    """The first file, replaced by a pipe: whoever opens it waits until it is killed."""

    def __init__(self, folder: Path, files: str) -> None:
        for path in sorted(Path(files).parent.glob("*.parquet")):
            (folder / path.name).write_bytes(path.read_bytes())
        self.pattern = f"{folder}/*.parquet"
        self.path, self.kept = folder / "part-0.parquet", folder / "kept"

    def set(self) -> None:
        self.path.rename(self.kept)
        os.mkfifo(self.path)

    def lift(self) -> None:
        self.kept.rename(self.path)


def asked_in_thread(table: dp.Table) -> tuple[threading.Thread, list[Any]]:
    out: list[Any] = []

    def ask() -> None:
        try:
            out.append(stats.sum(table, "amount", epsilon="0.5").value)
        except DiscretoError as error:
            out.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    return thread, out


def check_one_charge(ledger: Any, thread: threading.Thread, out: list[Any], truth: Any):
    thread.join(300)
    assert out == [truth]
    assert len(ledger.entries()) == 1
    assert ledger.spent() == dp.Cost.of("0.5")


@pytest.fixture
def trapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trap takes the place of a file, which would be noticed."""
    monkeypatch.setattr(OpenedFiles, "unchanged", lambda self: True)


@pytest.mark.usefixtures("trapped")
def test_a_killed_process_is_replaced_without_a_second_charge(files, tmp_path):
    trap, pools = Trap(tmp_path, files), []

    def pool() -> Watched:
        pools.append(Watched())
        return pools[-1]

    engine, ledger = ExecutorEngine(pool, parts=3), simulate(noise=False)
    table = dp.Table.scan(trap.pattern, DOMAIN, ledger, engine=engine)
    plain = dp.Table.scan(trap.pattern, DOMAIN, simulate(noise=False))
    truth = stats.sum(plain, "amount", epsilon="0.5").value
    trap.set()
    thread, out = asked_in_thread(table)
    wait_for(lambda: pools and sum(f.done() for f in pools[0].futures) == 2)
    trap.lift()
    for pid in list(pools[0]._processes):
        os.kill(pid, signal.SIGKILL)
    check_one_charge(ledger, thread, out, truth)
    assert len(pools) == 2
    engine.close()


@pytest.mark.usefixtures("trapped")
def test_a_killed_dask_worker_is_replaced_without_a_second_charge(
    client, files, tmp_path
):
    trap, ledger = Trap(tmp_path, files), simulate(noise=False)
    pids = client.run(os.getpid)
    engine = dp.engines.dask(client, parts=3)
    table = dp.Table.scan(trap.pattern, DOMAIN, ledger, engine=engine)
    plain = dp.Table.scan(trap.pattern, DOMAIN, simulate(noise=False))
    truth = stats.sum(plain, "amount", epsilon="0.5").value
    trap.set()
    thread, out = asked_in_thread(table)

    def stuck() -> list[str]:
        busy = [name for name, tasks in client.processing().items() if tasks]
        seconds = time.monotonic() - start
        return busy if len(busy) == 1 and seconds > 2 else []

    start = time.monotonic()
    (worker,) = wait_for(stuck)
    trap.lift()
    os.kill(pids[worker], signal.SIGKILL)
    check_one_charge(ledger, thread, out, truth)
    assert pids != wait_for(lambda: len(p := client.run(os.getpid)) == 2 and p)


def test_files_that_are_gone_are_refused_unpaid(engine, files, tmp_path, capfd):
    trap, ledger = Trap(tmp_path, files), dp.Ledger(epsilon=1)
    table = dp.Table.scan(trap.pattern, DOMAIN, ledger, engine=engine)
    trap.path.unlink()
    with pytest.raises(ParameterError, match="files were changed"):
        stats.sum(table, "amount", epsilon="0.5")
    assert ledger.spent() == dp.Cost()
    assert "amount" not in capfd.readouterr().err


# How a cluster is named


def test_a_scheduler_is_reached_by_its_address(client, files):
    engine = dp.engines.dask(client.scheduler.address)
    table = dp.Table.scan(files, DOMAIN, simulate(noise=False), engine=engine)
    assert stats.count(table, epsilon=1).value == 2100


def test_dask_refuses_what_is_no_cluster(client):
    with pytest.raises(ParameterError, match="no Dask scheduler"):
        dp.engines.dask("nowhere://x:9")
    with pytest.raises(ParameterError, match="address"):
        dp.engines.dask(7)


def test_rows_in_memory_do_not_go_to_dask(client):
    engine = dp.engines.dask(client)
    engine._executor = None  # nothing can be submitted
    data = {"a": np.arange(140_000.0) % 10}
    domain = dp.Domain({"a": NUMBERS["a"]})
    table = dp.Table(data, domain, simulate(noise=False), engine=engine)
    assert stats.count(table, epsilon=1).value == 140_000


def test_a_cluster_without_workers_is_a_fault_with_a_reason(
    files: str,
) -> None:
    """A paid question is not waited for without an end."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"n_workers": 0, "processes": False, "dashboard_address": None}
        with (
            distributed.LocalCluster(**options) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            engine = dp.engines.dask(client, parts=3, silence=0.5)
            ledger = dp.Ledger(epsilon=9)
            table = dp.Table.scan(files, DOMAIN, ledger, engine=engine)
            with pytest.raises(KernelFault):
                stats.mean(table, "a", epsilon=1)
            assert ledger.shut
            assert "no task was done in 0.5 s" in ledger.entries()[-1]["label"]
            rows = Sum(Everyone(), (Block(Ones()),))
            with pytest.raises(StalledError, match="are there workers"):
                engine.fold(bind(rows, DOMAIN), open_frame(files, DOMAIN))
            cluster.scale(1)
            client.wait_for_workers(1, timeout=60)
            ledger.reopen("there is a worker again")
            engine.silence = 600
            assert stats.count(table, epsilon=1).value > 0
