"""The one thread that writes: whatever was queued while it committed shares the next commit."""

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

T = TypeVar("T")

BATCH = 1000
POLL = 0.2
"""Seconds between two looks for facts of other processes, while somebody waits for one."""


class _Job(NamedTuple):
    run: Callable[[sqlite3.Connection], Any]
    session: str
    future: asyncio.Future[Any]


class _Outcome(NamedTuple):
    future: asyncio.Future[Any]
    value: Any = None
    error: Exception | None = None


class Writer:
    """Owns the writing connection, and knows who waits for which session to change."""

    def __init__(self, connection: sqlite3.Connection, explain: Callable[[sqlite3.Error], Exception]) -> None:
        self._connection = connection
        self._explain = explain
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = Lock()
        self._closed = False
        self._waiting: defaultdict[str, set[asyncio.Future[Any]]] = defaultdict(set)
        self._seen = 0
        self._looked = 0.0
        self._thread = Thread(target=self._work, name="roundtable-writer", daemon=True)
        self._thread.start()

    def submit(self, run: Callable[[sqlite3.Connection], T], session: str = "") -> asyncio.Future[T]:
        """Run a job in the next transaction; a session named here is announced as changed after the commit.

        Giving up on the future does not take the job back: it is done whole, or fails whole.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed:
                raise RecordError("The record is closed.", "This is a bug: please report it.")
            self._queue.put(_Job(run, session, future))
        return future

    @contextmanager
    def waiting(self, session: str) -> Generator[asyncio.Future[Any]]:
        """A future that is done once the session, or anything written by another process, may have changed."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        with self._lock:
            idle = not self._waiting
            self._waiting[session].add(future)
        if idle:
            self._queue.put(None)  # so that the thread begins to look for others' facts
        try:
            yield future
        finally:
            future.cancel()
            with self._lock:
                self._waiting[session].discard(future)
                if not self._waiting[session]:
                    del self._waiting[session]

    def close(self) -> None:
        """Write what is queued, and end the thread."""
        with self._lock:
            self._closed = True
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        self._seen = self._data_version()
        while True:
            jobs = self._next_jobs()
            outcomes = self._transact(jobs) if jobs else []
            changed = {job.session for job, outcome in zip(jobs, outcomes, strict=True) if not outcome.error}
            _settle(outcomes + self._wake(changed))
            if self._closed and self._queue.empty():
                break
        _settle(self._wake(None))

    def _next_jobs(self) -> list[_Job]:
        jobs: list[_Job] = []
        with suppress(Empty):
            first = self._queue.get(timeout=POLL if self._waiting else None)
            jobs += [first] if first else []
            while len(jobs) < BATCH:
                another = self._queue.get_nowait()
                jobs += [another] if another else []
        return jobs

    def _transact(self, jobs: list[_Job]) -> list[_Outcome]:
        """All jobs in one transaction; what fails takes nothing of its neighbours with it."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            if len(jobs) == 1:
                outcomes = [self._attempt(jobs[0], undo="ROLLBACK")]
            else:
                outcomes = [self._saved(job) for job in jobs]
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._connection.rollback()
            return [_Outcome(job.future, error=self._explain(error)) for job in jobs]
        return outcomes

    def _saved(self, job: _Job) -> _Outcome:
        self._connection.execute("SAVEPOINT job")
        outcome = self._attempt(job, undo="ROLLBACK TO job")
        self._connection.execute("RELEASE job")
        return outcome

    def _attempt(self, job: _Job, undo: str) -> _Outcome:
        try:
            return _Outcome(job.future, job.run(self._connection))
        except Exception as error:
            self._connection.execute(undo)
            failure = self._explain(error) if isinstance(error, sqlite3.Error) else error
            return _Outcome(job.future, error=failure)

    def _others_wrote(self) -> bool:
        """Whether another process has committed since the last look; there is no need to look all the time."""
        if time.monotonic() - self._looked < POLL / 2:
            return False
        seen, self._seen, self._looked = self._seen, self._data_version(), time.monotonic()
        return seen != self._seen

    def _data_version(self) -> int:
        """Changes only with other connections' commits, and ours is the only one of this process that writes."""
        with suppress(sqlite3.Error):
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
            return int(version)
        return -1

    def _wake(self, changed: set[str] | None) -> list[_Outcome]:
        """Everybody when another process has written (or at the end), else those who wait for a changed session."""
        others = changed is None or self._others_wrote()
        with self._lock:
            sessions = set(self._waiting) if others or changed is None else changed & set(self._waiting)
            return [_Outcome(future) for session in sessions for future in self._waiting[session]]


def _settle(outcomes: list[_Outcome]) -> None:
    """Hand results back with one call per event loop, however many there are."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[_Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_loop[outcome.future.get_loop()].append(outcome)
    for loop, settled in by_loop.items():
        with suppress(RuntimeError):  # that loop is closed: nobody waits there any more
            loop.call_soon_threadsafe(_resolve, settled)


def _resolve(outcomes: list[_Outcome]) -> None:
    for future, value, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
