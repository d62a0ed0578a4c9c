"""One engine over any ``concurrent.futures`` executor: threads, processes, Dask.

A task is a question, a domain and a place: files and which of their row groups. The
worker opens them itself. Exact integer sums come back, inside the owner's boundary, and
are merged here. Noise and charges happen in the process that asks, never in a worker.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from discreto.core.domain.domain import Domain
from discreto.core.expressions import ViewFrame, view_from_json, view_to_json
from discreto.core.fold import Folded, fold_all, fold_together, keeps, nothing
from discreto.core.frame import Place
from discreto.core.maps import KINDS
from discreto.core.maps.row_partition import TallyWithin
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query import Bound, inside
from discreto.core.query_json import decode, encode
from discreto.core.validation import kinds_of
from discreto.data.engines.blas_threads import one_thread
from discreto.data.engines.local import merged, quietly
from discreto.data.frames import Array, Frame, StreamFrame
from discreto.data.frames.spans import Span
from discreto.errors import KernelFault, ParameterError, StalledError
from discreto.session.parameters import MANY, number, whole

SILENCE = 600.0  # seconds without a task that is done
# Workers get what the gate asks, which may be about a part; strangers may not ask that.
WORKER_KINDS = KINDS | {"TallyWithin": TallyWithin}
_PACKED = "packed"
_SMALLEST, _LARGEST = 8 << 20, 256 << 20  # bytes of files in one task


class ExecutorEngine:
    """Folds the parts of a table on an executor; the sums are those of one process.

    Parameters
    ----------
    executor
        An executor, or a function that makes one. With a function, a pool that breaks
        because a worker died is made anew.
    parts
        Into how many tasks a table is cut, at most. By default four for each thread,
        but files in tasks of 8 to 256 MB.
    retries
        How often the tasks that failed are tried again. The charge was made before.
    files_only
        Rows in memory stay in this process; only files are read by workers.
    silence
        After so many seconds in which no task was done, the answer is a fault: a
        cluster that has lost its workers would be waited for without an end.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import discreto as dp
    >>> engine = dp.engines.ExecutorEngine(ThreadPoolExecutor(2))
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> ledger = dp.Ledger(epsilon=1)
    >>> table = dp.Table({"age": [40, 50]}, domain, ledger, engine=engine)
    >>> dp.stats.count(table, epsilon="0.5").cost
    Cost(ε 0.5)
    """

    def __init__(
        self,
        executor: Executor | Callable[[], Executor],
        *,
        parts: int | None = None,
        retries: int = 2,
        files_only: bool = False,
        silence: float = SILENCE,
    ) -> None:
        if not isinstance(executor, Executor) and not callable(executor):
            raise ParameterError(
                "an ExecutorEngine needs a concurrent.futures executor or a function "
                "that makes one: ExecutorEngine(ThreadPoolExecutor(4))."
            )
        self._by_size = parts is None
        parts = 4 * (os.cpu_count() or 1) if parts is None else parts
        self.parts = whole(parts, "parts", most=MANY, of="ExecutorEngine")
        self.retries = whole(retries, "retries", least=0, of="ExecutorEngine")
        self.files_only = files_only
        most = float(MANY)
        self.silence = number(silence, "silence", 0.001, most, of="ExecutorEngine")
        self._make = None if isinstance(executor, Executor) else executor
        self._executor = executor if isinstance(executor, Executor) else None

    def fold(self, asked: Bound, frame: Frame) -> Folded:
        """Return the exact sums over all rows.

        Parameters
        ----------
        asked
            What is summed, bound to its domain.
        frame
            The rows.
        """
        return quietly(lambda: self._fold([asked], frame))[0]

    def fold_several(
        self, several: Sequence[Bound], frame: Frame
    ) -> list[Folded | None]:
        """Return the exact sums of several questions, from one pass over all rows.

        Parameters
        ----------
        several
            What is summed, each bound to its domain.
        frame
            The rows.

        Returns
        -------
        list
            The sums of each question; None for one that is better asked by itself.
        """
        alone = [keeps(asked) or not _known(asked) for asked in several]
        apart = [a for a, own in zip(several, alone, strict=True) if not own]
        found = iter(quietly(lambda: self._fold(apart, frame)) if apart else [])
        return [None if own else next(found) for own in alone]

    def _fold(self, several: Sequence[Bound], frame: Frame) -> list[Folded]:
        # What a worker cannot read (a model's predictions) is folded here: how many
        # rows there are must not decide whether there is an answer.
        parts = self._parts(frame) if all(map(_known, several)) else []
        names = tuple(dict.fromkeys(n for asked in several for n in asked.columns))
        places = [_place(part, names) for part in parts]
        if not places:
            return _fold_here(several, frame)
        texts = [write_question(asked.query) for asked in several]
        question = json.dumps(texts), json.dumps(several[0].domain.to_dict())
        total = [nothing(asked) for asked in several]
        for attempt in range(self.retries + 1):
            failed = []
            # What was sent before may be lost with a worker: then tasks carry it.
            sent = question if attempt else self._sent(question)
            for place, found in self._try(sent, places):
                if found is None:
                    failed.append(place)
                    continue
                total = merged(several, total, found)
            if not failed:
                return total
            places = failed
        raise KernelFault("workers failed, again and again.")

    def _parts(self, frame: Frame) -> list[Frame]:
        """Return the parts that go to workers; none if the rows stay here."""
        base = _steps(frame)[0]
        if isinstance(base, StreamFrame):
            return frame.split(self._tasks(base.size()))
        parts = [] if self.files_only else frame.split(self.parts)
        return parts if len(parts) > 1 else []

    def _tasks(self, size: int) -> int:
        """Return into how many tasks files of so many bytes are cut.

        A task costs some time by itself, so it is not too small; and it is done again
        if its worker dies, so it is not too large.
        """
        if not self._by_size:
            return self.parts
        fewest, most = -(-size // _LARGEST), -(-size // _SMALLEST)
        return max(min(self.parts, most), fewest, 1)

    def _sent(self, question: tuple[str, str]) -> tuple[Any, Any]:
        """Return a question and a domain as tasks get them; here they carry both."""
        return question

    def _try(
        self, question: tuple[Any, Any], places: Sequence[Any]
    ) -> Iterator[tuple[Any, list[Folded] | None]]:
        """Yield each place with its sums, in any order, or with None if it failed."""
        waiting: dict[Any, Any] = {}
        for place in places:
            try:
                waiting[self._pool().submit(fold_place, *question, place)] = place
            except Exception:  # a broken pool takes no more tasks
                self._drop_pool()
                yield place, None
        for done in self._done(set(waiting)):
            sums = None
            try:
                sums = done.result()
            except BrokenExecutor:
                self._drop_pool()
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except BaseException:  # noqa: S110 - what a failure says might quote a row
                pass
            yield waiting.pop(done), sums

    def _done(self, tasks: set[Any]) -> Iterator[Any]:
        """Yield tasks as they are done; a fault if none is for too long."""
        while tasks:
            done, tasks = wait(tasks, self.silence, return_when=FIRST_COMPLETED)
            if not done:
                for task in tasks:
                    task.cancel()
                self._drop_pool()
                raise StalledError(
                    f"no task was done in {self.silence:g} s: are there workers?"
                )
            yield from done

    def _pool(self) -> Executor:
        if self._executor is None and self._make is not None:
            self._executor = self._make()
        return cast(Executor, self._executor)

    def _drop_pool(self) -> None:
        if self._make is not None:
            self._executor = None

    def close(self) -> None:
        """End the pool that this engine made, if it made one."""
        if self._make is not None and self._executor is not None:
            self._executor.shutdown()
            self._executor = None


@dataclass(frozen=True, slots=True)
class _WorkerRows:
    """Converted columns on their way to a worker of the same machine."""

    columns: dict[str, Array]
    rows: int
    covered: tuple[Place, ...]

    def places(self) -> tuple[Place, ...]:
        return self.covered

    def batches(
        self, names: Sequence[str], size: int
    ) -> Iterator[tuple[dict[str, Array], int]]:
        for start in range(0, self.rows, size):
            stop = min(start + size, self.rows)
            yield {n: self.columns[n][start:stop] for n in names}, stop - start


@dataclass(frozen=True, slots=True)
class _FileView:
    """Row groups of files, and the view of them that a worker folds."""

    spans: list[Span]
    view: str
    domain: str

    def open(self) -> Frame:
        """Return the rows of the view."""
        domain = domain_of(self.domain)
        frame: Frame = StreamFrame.of(self.spans, domain)
        for step in view_from_json(json.loads(self.view)):
            frame, domain = ViewFrame(frame, step, domain), step.domain(domain)
        return frame


def _steps(frame: Frame) -> tuple[Frame, list[ViewFrame]]:
    """Return the frame under all views of it, and the views, innermost first."""
    views: list[ViewFrame] = []
    while isinstance(frame, ViewFrame):
        views.insert(0, frame)
        frame = frame.frame
    return frame, views


def _place(part: Frame, names: tuple[str, ...]) -> Any:
    frame, views = _steps(part)
    if isinstance(frame, StreamFrame) and views:
        text = json.dumps(view_to_json([view.step for view in views]))
        domain = json.dumps(views[0].domain.to_dict())
        return _FileView(_elsewhere(frame.spans), text, domain)
    if isinstance(part, StreamFrame):
        return _elsewhere(part.spans)
    columns = {name: part.column(name) for name in names}
    return _WorkerRows(columns, part.length(), part.places())


def _elsewhere(spans: Sequence[Span]) -> list[Span]:
    """Spans for workers, whose machine may have the same files under other numbers.

    This process compares all of a file's state before and after the fold.
    """
    states = [span.state and span.state.elsewhere() for span in spans]
    return [span._replace(state=s) for span, s in zip(spans, states, strict=True)]


def _known(asked: Bound) -> bool:
    """Return True if a worker can read a question."""
    return kinds_of(asked.query) <= set(WORKER_KINDS)


def _fold_here(several: Sequence[Bound], frame: Frame) -> list[Folded]:
    with one_thread:
        if len(several) == 1:  # it may keep something with its rows
            return [fold_all(several[0], frame)]
        return fold_together(several, frame)


def fold_place(questions: str, domain: str, place: Any) -> list[Folded] | None:
    """Return, in a worker, the exact sums over its rows for each question, or None.

    It never raises: executors carry exceptions over the network and into logs, and an
    exception might quote a row.
    """

    def work() -> list[Folded]:
        facts = domain_of(domain)
        several = [inside(read_question(text), facts) for text in json.loads(questions)]
        rows = place.open() if isinstance(place, _FileView) else place
        if not isinstance(place, _FileView | _WorkerRows):
            rows = StreamFrame.of(place, facts)
        return _fold_here(several, cast(Frame, rows))

    with suppress(KernelFault):
        return quietly(work)
    return None


@lru_cache(maxsize=16)
def domain_of(text: str) -> Domain:
    """Return a domain from its text, read once by a worker."""
    return Domain.from_dict(json.loads(text))


def write_question(query: Any) -> str:
    """Return a question as text, for ``read_question``."""
    return json.dumps(encode(query, _packed))


def read_question(text: str) -> Any:
    """Return the question of a text that this process's owner wrote."""
    return decode(_unpack(json.loads(text)), WORKER_KINDS)


def _packed(part: Any) -> Any:
    """Return a tree or a grid as one short text; None for anything else.

    A question about a boosted tree holds all trees before it. Each of them is written
    and read once, so the work grows with the number of trees, not with its square.
    """
    if not isinstance(part, Tree | Grid):
        return None
    memory = part.__dict__  # it is frozen, so its text stays what it is
    if _PACKED not in memory:
        text = json.dumps(encode(part)).encode()
        memory[_PACKED] = base64.b85encode(zlib.compress(text, 6)).decode()
    return {_PACKED: memory[_PACKED]}


def _unpack(data: Any) -> Any:
    if isinstance(data, dict):
        if _PACKED in data:
            return _part(data[_PACKED])
        return {name: _unpack(value) for name, value in data.items()}
    return [_unpack(value) for value in data] if isinstance(data, list) else data


@lru_cache(maxsize=4096)
def _part(packed: str) -> Any:
    text = zlib.decompress(base64.b85decode(packed))
    return decode(json.loads(text), WORKER_KINDS)
