"""Group commit: requests that arrive during a transaction share the next one.

Syncing a disk takes as long for thirty entries as for one. So the threads of a process
do not each commit their own. The first thread commits for all that are waiting, and no
thread goes on before its own entry is on the disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from discreto.core.ledger.database import watch
from discreto.core.ledger.transaction import LedgerTransaction
from discreto.errors import LedgerError
from discreto.text import ledger_messages as say

T = TypeVar("T")
MOST = 64  # jobs of one transaction


@dataclass(slots=True)
class LedgerJob(Generic[T]):
    """One thread's part of a transaction: its work, and the entry that it reads."""

    do: Callable[[LedgerTransaction], T]
    key: str | None = None  # of the entry to read
    seq: int | None = None  # its number instead of its key
    done: bool = False
    result: T | None = None
    error: BaseException | None = None
    failed: str = ""  # the meaning of a failed transaction for this job


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
            Does jobs in one transaction, one after another. The refusal of a job is its
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
        """Wait until a job is done, or until this thread may commit for all."""
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
                        job.error = _error_of(failure, job)
                    job.done = True
                self._leader = None
                self._changed.notify_all()
        if isinstance(failure, LedgerError) or failure is None:
            return  # each job has its error
        if mine.done or not isinstance(failure, Exception):
            raise failure

    # Around a fork

    def pause(self) -> None:
        """Keep jobs from coming and going, before a fork."""
        self._changed.acquire()

    def resume(self, *, child: bool) -> None:
        """Go on after a fork. Waiting jobs are those of the parent."""
        if not child:
            self._changed.release()
            return
        self._changed = threading.Condition()
        self._waiting, self._leader = [], None


def _error_of(failure: BaseException, job: LedgerJob[Any]) -> BaseException:
    """Return the error of one job of a transaction that failed."""
    if isinstance(failure, LedgerError):
        return LedgerError(" ".join([str(failure), job.failed]).strip())
    return LedgerError(say.NOT_WRITTEN.format(kind=type(failure).__name__))
