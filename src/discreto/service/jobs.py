"""Long work: it runs in a worker, says how far it is, and can be stopped.

The charge is made before a row is read and stands whatever happens. An answer is kept
with its charge, and is free from then on. Work that was cancelled or died has none:
asked again it is charged again, unless it had not read a row.
"""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from discreto.errors import DiscretoError
from discreto.service.asking import Door, Inquiry
from discreto.service.errors import Refusal, refusal_of
from discreto.service.state import Job, State

_BEAT = 2.0  # seconds between signs of life
_MOST_WAITING = 32


class Stopped(Exception):
    """The job was cancelled."""


class Jobs:
    """The long work of one worker process."""

    def __init__(self, door: Door, state: State, at_once: int, patience: float) -> None:
        self._door, self._state, self._patience = door, state, patience
        self._pool = ThreadPoolExecutor(at_once, "job")
        self._mine: set[str] = set()
        self._ended = threading.Event()
        self._pulse = threading.Thread(target=self._live, name="pulse", daemon=True)
        self._pulse.start()

    def start(self, question: Inquiry) -> Job:
        """Begin a piece of work."""
        if len(self._mine) >= _MOST_WAITING:
            raise Refusal("busy")
        now = time.time()
        work = question.work
        job = Job(
            id=secrets.token_hex(16),
            person=question.person,
            table=question.served.name,
            label=work.label,
            answer=question.key,
            status="waiting",
            message="",
            done=0,
            total=self._size(question),
            created=now,
            beat=now,
        )
        self._state.add_job(job)
        self._mine.add(job.id)
        self._pool.submit(self._run, job, question)
        return job

    def _size(self, question: Inquiry) -> int:
        """Return how many questions the work has; refuse what can be refused now."""
        if question.work.kind in ("evaluate", "compare"):  # they rehearse by themselves
            return 0
        return len(self._door.plan_of(question, 1))

    def _run(self, job: Job, question: Inquiry) -> None:
        try:
            self._state.set_job(job.id, status="running")
            self._door.ask(question, _Progress(self._state, job.id))
            self._state.set_job(job.id, status="done", done=job.total)
        except Stopped:
            self._say_stopped(question)
        except Exception as error:  # whatever it is, its text may quote a row
            refusal = refusal_of(error)
            with suppress(DiscretoError):
                self._state.set_job(
                    job.id, status="refused", message=refusal.message[:500]
                )
        finally:
            self._mine.discard(job.id)

    def _say_stopped(self, question: Inquiry) -> None:
        entry = question.served.ledger.find(question.key)
        if entry is None:
            return
        label = f"cancelled: entry {entry['seq']}; the charge stands"
        event = {"service": "cancelled", "entry": entry["seq"]}
        with suppress(DiscretoError):
            question.served.ledger.note(
                label, event, f"cancelled {entry['seq']}", question.person
            )

    def cancel(self, job: Job) -> None:
        """Stop a job before its next question. What was charged stays charged."""
        self._state.set_job(
            job.id,
            status="cancelled",
            message="The charge stands. Asked again, it is charged again.",
        )

    def _live(self) -> None:
        swept = 0.0
        while not self._ended.wait(_BEAT):
            with suppress(DiscretoError):
                self._state.beat(list(self._mine))
            if time.monotonic() - swept > self._patience / 2:
                swept = time.monotonic()
                self.sweep()

    def sweep(self) -> None:
        """Say of work whose worker died that it did."""
        with suppress(DiscretoError):
            since = time.time() - max(self._patience, 3 * _BEAT)
            self._state.bury(since)
            self._door.sweep(self._state.live_answers(since))

    def close(self) -> None:
        """Finish jobs that are running, and take no more."""
        self._ended.set()
        self._pulse.join()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Progress:
    """Counts the questions of a job, and stops it when its row says so."""

    def __init__(self, state: State, job: str) -> None:
        self._state, self._job = state, job
        self._count, self._told = 0, 0.0

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self._told > 0.2:  # a few times a second is enough
            self._told = now
            self._state.set_job(self._job, done=self._count)
            job = self._state.job(self._job)
            if job is None or not job.open:
                raise Stopped
        self._count += 1
