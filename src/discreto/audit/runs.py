"""Many runs of a mechanism, in this process or in several."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreto.audit.outputs import Matrix, matrix_of, numbers_of

CHUNK = 250  # runs between two moves of the progress bar
Tick = Callable[[int], None]


def outputs_of(mechanism: Any, data: Any, count: int) -> tuple[list[str], Matrix]:
    """The outputs of ``count`` runs as rows of numbers, and what the numbers are."""
    if hasattr(mechanism, "many"):
        rows = np.asarray(mechanism.many(data, count), dtype=np.float64)
        rows = rows.reshape(count, -1)
        named = getattr(mechanism, "names", None)
        names = named or [f"output[{i}]" for i in range(rows.shape[1])]
        return names, np.hstack([rows, np.full((count, 1), rows.shape[1])])
    names, out = ["output"], []
    for _ in range(count):
        try:
            output = mechanism(data)
        except Exception as error:  # what it says may be what gives it away
            output = error
        names, numbers = numbers_of(output)
        out.append(numbers)
    return names, matrix_of(out)


class Runs:
    """Where runs are made: here, or in forked workers that live as long as this."""

    def __init__(self, mechanism: Any, workers: int = 1) -> None:
        self._mechanism = mechanism
        self._names: list[str] = []
        fast = hasattr(mechanism, "many")
        can_fork = "fork" in multiprocessing.get_all_start_methods()
        self._wanted = workers if workers > 1 and can_fork and not fast else 0
        self._workers: list[Any] = []

    def __enter__(self) -> Runs:
        # Forked before any classifier starts threads. A fork needs no pickle, so the
        # mechanism may be any closure.
        context: Any = multiprocessing.get_context("fork") if self._wanted else None
        for _ in range(self._wanted):
            here, there = context.Pipe()
            worker = context.Process(
                target=_serve, args=(self._mechanism, there), daemon=True
            )
            worker.start()
            self._workers.append((worker, here))
        return self

    def __exit__(self, *trouble: object) -> None:
        for worker, pipe in self._workers:
            pipe.close()
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
        pipes = [pipe for _, pipe in self._workers]
        for start in range(0, len(sizes), len(pipes)):
            batch = sizes[start : start + len(pipes)]
            for pipe, size in zip(pipes, batch, strict=False):
                pipe.send((data, size))
            for pipe in pipes[: len(batch)]:
                yield pipe.recv()

    def names(self, width: int) -> list[str]:
        """What the columns of a matrix are."""
        known = self._names[: width - 1]
        missing = [f"output[{i}]" for i in range(len(known), width - 1)]
        return [*known, *missing, "how many numbers came out"]


def _serve(mechanism: Any, pipe: Any) -> None:
    while True:
        try:
            data, size = pipe.recv()
        except EOFError:
            return
        pipe.send(outputs_of(mechanism, data, size))


@contextmanager
def bar(title: str, wanted: bool) -> Iterator[Tick]:
    """A progress bar on a terminal, or nothing."""
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
