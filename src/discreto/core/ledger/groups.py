"""Group commit: whoever comes while a transaction is under way shares the next one.

Syncing a disk takes as long for thirty entries as for one. So the threads of a process
do not each commit their own: the first does it for all that are waiting, and nobody
goes on before what is theirs is on the disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from discreto.core.ledger.fork import watch
from discreto.core.ledger.page import LedgerPage, Needs
from discreto.errors import LedgerError

T = TypeVar("T")
MOST = 64  # jobs of one transaction


@dataclass(slots=True)
class LedgerJob(Generic[T]):
    """One thread's part of a transaction: what it reads and what it does."""

    do: Callable[[LedgerPage], T]
    needs: Needs = field(default_factory=Needs)
    done: bool = False
    result: T | None = None
    error: BaseException | None = None
    failed: str = ""  # what a failure of the transaction means for this job


Commit = Callable[[list[LedgerJob[Any]]], None]


class Group:
    """Jobs of several threads, done together by one of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[LedgerJob[Any]] = []
        self._leader: int | None = None  # the thread that is committing
        watch(self)

    def run(self, job: LedgerJob[T], commit: Commit) -> T:
        """Do a job, perhaps together with others; it is durable when this returns.

        Parameters
        ----------
        job
            This thread's part.
        commit
            Does jobs in one transaction, one after another. What a job refused is its
            ``error``. It returns when all of them are durable, or raises.
        """
        with self._changed:
            self._waiting.append(job)
        while not job.done:
            self._lead(self._turn(job), job, commit)
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]

    def _turn(self, job: LedgerJob[Any]) -> list[LedgerJob[Any]]:
        """Wait until a job is done, or until this thread does what is waiting."""
        me = threading.get_ident()
        with self._changed:
            # A leader that comes back was interrupted before it could step down.
            while self._leader not in (None, me) and not job.done:
                self._changed.wait()
            if job.done:
                return []
            self._leader = me
            jobs, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            return jobs

    def _lead(
        self, jobs: list[LedgerJob[Any]], mine: LedgerJob[Any], commit: Commit
    ) -> None:
        if not jobs:
            return
        failure: BaseException | None = LedgerError("a transaction was cut short.")
        try:
            commit(jobs)
            failure = None
        except BaseException as error:
            failure = error
        finally:
            with self._changed:
                for job in jobs:
                    if failure is not None and job.error is None:
                        job.error = _told(failure, job)
                    job.done = True
                self._leader = None
                self._changed.notify_all()
        if isinstance(failure, LedgerError) or failure is None:
            return  # each job has its error
        if mine.done or not isinstance(failure, Exception):
            raise failure

    # Around a fork

    def pause(self) -> None:
        """Before a fork: nobody may come or go."""
        self._changed.acquire()

    def resume(self, *, child: bool) -> None:
        """After a fork. What others were waiting for is theirs, in the parent."""
        if not child:
            self._changed.release()
            return
        self._changed = threading.Condition()
        self._waiting, self._leader = [], None


def _told(failure: BaseException, job: LedgerJob[Any]) -> BaseException:
    """Return the error of one job of a transaction that failed."""
    if isinstance(failure, LedgerError):
        return LedgerError(" ".join([str(failure), job.failed]).strip())
    return LedgerError(
        f"the ledger could not be written ({type(failure).__name__}): nothing was "
        "released. It may have been charged; ask again under the same key."
    )
