"""Cells on several processes: one that fails, or dies, takes no other with it."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from discreto.errors import MissingExtraError
from discreto.lab.study.experiment import Cell, Experiment

Task = tuple[Experiment, Cell]
Done = dict[str, Any]


def work(measure: Callable[..., Any], cell: Cell) -> Done:
    """Measure one cell: its lines and seconds, or what is missing, or its error."""
    start = time.process_time()  # how busy the machine is does not matter
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            found = measure(**cell)
            lines = [_plain(line) for line in _as_list(found)]
        except MissingExtraError as error:
            return {"missing": str(error)}
        except Exception as error:
            return {"error": _describe(error)}
    said = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    seconds = round(time.process_time() - start, 4)
    return {"lines": lines, "seconds": seconds} | ({"warnings": said} if said else {})


def _as_list(found: Any) -> list[Any]:
    return [found] if isinstance(found, Mapping) else list(found)


def _plain(value: Any) -> Any:
    """Numpy's numbers and arrays as those of JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _describe(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return f"{type(error).__name__}: {error} ({where})"


def run_here(tasks: Iterable[Task]) -> Iterator[tuple[Task, Done]]:
    """Every task, one after the other, in this process."""
    for task in tasks:
        with threadpool_limits(1):
            done = work(task[0].measure, task[1])
        yield task, done


def run_apart(tasks: Iterable[Task], jobs: int) -> Iterator[tuple[Task, Done]]:
    """Every task, on ``jobs`` processes, in the order in which they finish."""
    waiting = deque(tasks)
    while waiting:
        flying: dict[Future[Done], Task] = {}
        pool = _pool(jobs)
        try:
            while waiting or flying:
                while waiting and len(flying) <= jobs:
                    experiment, cell = waiting[0]  # still ours if this one breaks
                    future = pool.submit(work, experiment.measure, cell)
                    flying[future] = waiting.popleft()
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    done = future.result()
                    yield flying.pop(future), done
        except BrokenProcessPool:
            # One of these brought its process down. Alone, it harms no other.
            for task in flying.values():
                yield task, _alone(task)
        finally:
            pool.shutdown(cancel_futures=True)


def _alone(task: Task) -> Done:
    with _pool(1) as pool:
        try:
            return pool.submit(work, task[0].measure, task[1]).result()
        except BrokenProcessPool:
            return {"error": "the process died; perhaps it ran out of memory"}


def _pool(jobs: int) -> ProcessPoolExecutor:
    # Forking a process that has threads can hang: start from scratch.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, context, initializer=_prepare)


def _prepare() -> None:
    threadpool_limits(1)  # the cores are busy with other cells
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Do not outlive a run that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
