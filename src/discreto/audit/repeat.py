"""Many runs of a mechanism, in this process or in several."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

import numpy as np

from discreto.audit.output_features import Matrix, ending_of, matrix_of, numbers_of

CHUNK = 250  # runs between two moves of the progress bar
Tick = Callable[[int], None]
Output = tuple[str, list[str], list[float]]  # how it ended, names, numbers
CRASH = "crash"  # the process of a run died


def output_of(mechanism: Any, data: Any) -> Output:
    """Return one run: an exception is an output like any other."""
    try:
        output = mechanism(data)
    except Exception as error:  # what it says may be what gives it away
        output = error
    return ending_of(output), *numbers_of(output)


def outputs_of(mechanism: Any, data: Any, count: int) -> tuple[list[str], Matrix]:
    """The outputs of ``count`` runs as rows of numbers, and what the numbers are."""
    if hasattr(mechanism, "many"):
        rows = np.asarray(mechanism.many(data, count), dtype=np.float64)
        rows = rows.reshape(count, -1)
        named = getattr(mechanism, "names", None)
        names = named or [f"output[{i}]" for i in range(rows.shape[1])]
        well, size = np.zeros((count, 1)), np.full((count, 1), rows.shape[1])
        return names, np.hstack([rows, well, size])
    return _matrix([output_of(mechanism, data) for _ in range(count)])


def _matrix(outputs: list[Output]) -> tuple[list[str], Matrix]:
    names = max((names for _, names, _ in outputs), key=len)
    rows, endings = [row for _, _, row in outputs], [how for how, _, _ in outputs]
    return names, matrix_of(rows, endings)


class Runs:
    """Where runs are made: here, or in forked workers that live as long as this.

    A worker that dies is an output, too, and gets a successor. ``isolate`` takes a
    worker even if one is enough, so that a crash cannot end the audit.
    """

    def __init__(
        self, mechanism: Any, workers: int = 1, *, isolate: bool = False
    ) -> None:
        self._mechanism = mechanism
        self._names: list[str] = []
        fast = hasattr(mechanism, "many")
        can_fork = "fork" in multiprocessing.get_all_start_methods()
        wanted = can_fork and not fast and (workers > 1 or isolate)
        self._wanted = max(workers, 1) if wanted else 0
        self._workers: dict[Any, Any] = {}  # by their pipes

    def __enter__(self) -> Runs:
        # Forked before any classifier starts threads.
        for _ in range(self._wanted):
            self._start()
        return self

    def _start(self) -> Any:
        # A fork needs no pickle, so the mechanism may be any closure.
        context: Any = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        worker = context.Process(
            target=_serve, args=(self._mechanism, there), daemon=True
        )
        worker.start()
        there.close()  # so that the end of the worker is the end of the pipe
        self._workers[here] = worker
        return here

    def __exit__(self, *trouble: object) -> None:
        for pipe in self._workers:
            pipe.close()
        for worker in self._workers.values():
            worker.join(timeout=2)
            if worker.is_alive():
                worker.terminate()

    def draw(self, data: Any, count: int, tick: Tick) -> list[Matrix]:
        """``count`` outputs, in chunks."""
        sizes = [CHUNK] * (count // CHUNK) + [count % CHUNK] * bool(count % CHUNK)
        if hasattr(self._mechanism, "many"):
            sizes = [count]
        out = []
        for names, part in self._made(data, sizes):
            self._names = max(self._names, names, key=len)
            out.append(part)
            tick(len(part))
        return out

    def _made(self, data: Any, sizes: list[int]) -> Iterator[tuple[list[str], Matrix]]:
        if not self._workers:
            for size in sizes:
                yield outputs_of(self._mechanism, data, size)
            return
        waiting, busy = list(sizes), dict[Any, list[Any]]()  # pipe: runs to come, done
        while waiting or busy:
            for pipe in [p for p in self._workers if p not in busy]:
                if waiting:
                    size = waiting.pop()
                    pipe.send((data, size))
                    busy[pipe] = [size, []]
            for pipe in wait(list(busy)):
                left, done = busy.pop(pipe)
                output, pipe = self._next(pipe, data, left)
                done.append(output)
                if left > 1:
                    busy[pipe] = [left - 1, done]
                else:
                    yield _matrix(done)

    def _next(self, pipe: Any, data: Any, left: int) -> tuple[Output, Any]:
        """Return the next output of a worker; if it died, that, and who goes on."""
        try:
            return pipe.recv(), pipe
        except (EOFError, OSError):
            worker = self._workers.pop(pipe)
            worker.join()
            pipe.close()
            heir = self._start()
            if left > 1:
                heir.send((data, left - 1))
            return (CRASH, ["exit code"], [float(worker.exitcode or 0)]), heir

    def names(self, width: int) -> list[str]:
        """Return the names of a matrix's columns."""
        known = self._names[: width - 2]
        missing = [f"output[{i}]" for i in range(len(known), width - 2)]
        return [*known, *missing, "how it ended", "how many numbers came out"]


def _serve(mechanism: Any, pipe: Any) -> None:
    while True:
        try:
            data, size = pipe.recv()
        except EOFError:
            return
        for _ in range(size):
            pipe.send(output_of(mechanism, data))


@contextmanager
def bar(title: str, wanted: bool) -> Iterator[Tick]:
    """Yield a progress bar on a terminal, or nothing."""
    if not wanted:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} runs"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as screen:
        task = screen.add_task(title, total=None)
        yield lambda count: screen.advance(task, count)
