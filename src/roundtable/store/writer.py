"""The thread that writes to the database: jobs that arrive together, or during a commit, share one commit."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeVar

from roundtable.core.faults import RecordError
from roundtable.core.ports import Lease

T = TypeVar("T")

MAX_BATCH = 1000
POLL_SECONDS = 0.2
"""Seconds between two checks for events of other processes, while someone waits for one."""


class _Job(NamedTuple):
    run: Callable[[sqlite3.Connection], Any]
    session: str
    lease: Lease | None
    future: asyncio.Future[Any]


class _Waiter(NamedTuple):
    session: str
    own: Lease | None
    future: asyncio.Future[Any]

    def is_concerned_by(self, job: _Job) -> bool:
        return job.session == self.session and (job.lease is None or job.lease != self.own)


class _Outcome(NamedTuple):
    future: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None


class WriterThread:
    """Owns the writing connection, and wakes the tasks that wait for a session to change."""

    def __init__(self, connection: sqlite3.Connection, explain: Callable[[sqlite3.Error], Exception]) -> None:
        self._connection = connection
        self._explain = explain
        self._queue: SimpleQueue[list[_Job]] = SimpleQueue()
        self._pending: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._lock = Lock()
        self._closed = False
        self._waiting: set[_Waiter] = set()
        self._seen = self._data_version()  # here and not in the thread, which may start after another process's commit
        self._last_check = 0.0
        self._thread = Thread(target=self._work, name="roundtable-writer", daemon=True)
        self._thread.start()

    def submit(
        self, run: Callable[[sqlite3.Connection], T], session: str = "", lease: Lease | None = None
    ) -> asyncio.Future[T]:
        """Run a job in the next transaction; a session named here is announced as changed after the commit.

        Cancelling the future does not cancel the job: it either completes or fails as a whole.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._closed:
                raise RecordError("The record is closed.", "This is a bug: please report it.")
            jobs = self._pending.setdefault(loop, [])
            if not jobs:
                loop.call_soon(self._flush_pending, loop)
            jobs.append(_Job(run, session, lease, future))
        return future

    def _flush_pending(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake the thread once for all jobs of one turn of the event loop."""
        with self._lock:
            self._queue.put(self._pending.pop(loop, []))

    @contextmanager
    def waiting(self, session: str, own: Lease | None = None) -> Generator[asyncio.Future[Any]]:
        """Return a future that is done once the session, or anything written by another process, may have changed."""
        waiter = _Waiter(session, own, asyncio.get_running_loop().create_future())
        with self._lock:
            idle = not self._waiting
            self._waiting.add(waiter)
        if idle:
            self._queue.put([])  # so that the thread begins to check for events of other processes
        try:
            yield waiter.future
        finally:
            waiter.future.cancel()
            with self._lock:
                self._waiting.discard(waiter)

    def close(self) -> None:
        """Write what is queued, and end the thread."""
        with self._lock:
            self._closed = True
            for jobs in self._pending.values():
                self._queue.put(jobs)
            self._pending.clear()
            self._queue.put([])
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        while True:
            jobs = self._next_jobs()
            outcomes = self._transact(jobs) if jobs else []
            written = [job for job, outcome in zip(jobs, outcomes, strict=True) if not outcome.error]
            _settle(outcomes + self._wake(written, everybody=self._others_wrote()))
            if self._closed and self._queue.empty():
                break
        _settle(self._wake([], everybody=True))

    def _next_jobs(self) -> list[_Job]:
        jobs: list[_Job] = []
        with suppress(Empty):
            jobs += self._queue.get(timeout=POLL_SECONDS if self._waiting else None)
            while len(jobs) < MAX_BATCH:
                jobs += self._queue.get_nowait()
        return jobs

    def _transact(self, jobs: list[_Job]) -> list[_Outcome]:
        """Run all jobs in one transaction; if one fails, run each on its own, so that it fails alone."""
        try:
            return self._run_in_one_transaction(jobs)
        except Exception as error:
            if len(jobs) == 1:
                failure = self._explain(error) if isinstance(error, sqlite3.Error) else error
                return [_Outcome(jobs[0].future, error=failure)]
        return [outcome for job in jobs for outcome in self._transact([job])]

    def _run_in_one_transaction(self, jobs: list[_Job]) -> list[_Outcome]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [_Outcome(job.future, job.run(self._connection)) for job in jobs]
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise
        return outcomes

    def _others_wrote(self) -> bool:
        """Whether another process has committed since the last check; checks are rate-limited."""
        if time.monotonic() - self._last_check < POLL_SECONDS / 2:
            return False
        seen, self._seen, self._last_check = self._seen, self._data_version(), time.monotonic()
        return seen != self._seen

    def _data_version(self) -> int:
        """Return a counter that changes only with commits of other connections, that is, of other processes."""
        with suppress(sqlite3.Error):
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
            return int(version)
        return -1

    def _wake(self, written: list[_Job], *, everybody: bool) -> list[_Outcome]:
        with self._lock:
            return [
                _Outcome(waiter.future)
                for waiter in self._waiting
                if everybody or any(waiter.is_concerned_by(job) for job in written)
            ]


def _settle(outcomes: list[_Outcome]) -> None:
    """Deliver results with one call per event loop, however many there are."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[_Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_loop[outcome.future.get_loop()].append(outcome)
    for loop, settled in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
            loop.call_soon_threadsafe(_resolve, settled)


def _resolve(outcomes: list[_Outcome]) -> None:
    for future, value, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
