"""How a database file is opened, and what its errors mean to the person who sees them."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import ExitStack, closing
from pathlib import Path

from roundtable.core.faults import RecordError
from roundtable.store.database import MIGRATIONS, migrate, version_of


def open_file(path: Path, busy_seconds: float) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """A writing and a reading connection to an up-to-date database, into which only its owner may look."""
    _create(path)
    with ExitStack() as opened:
        try:
            writing = opened.enter_context(closing(_connect(path, busy_seconds)))
            if version_of(writing) < len(MIGRATIONS):  # before anything is changed in a file that may not be ours
                _use_wal(writing, busy_seconds)
                migrate(writing)
            # A killed process loses nothing; a power cut may take the last moments with it, and seats are asked
            # again. FULL would cost one to four milliseconds of fsync for each step of a meeting.
            writing.execute("PRAGMA synchronous = NORMAL")
            reading = opened.enter_context(closing(_connect_to_read(path, busy_seconds)))
        except sqlite3.Error as error:
            raise explained(path, error) from error
        opened.pop_all()
    return writing, reading


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise RecordError(
            f"The record {path} cannot be opened: {error.strerror}.", "Check the path, or set ROUNDTABLE_HOME."
        ) from error


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)


def _connect_to_read(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Closed after the writing one: a connection that cannot write leaves out the slow clean-up of the last to go."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    db = sqlite3.connect(uri, timeout=busy_seconds, isolation_level=None, check_same_thread=False, uri=True)
    db.execute("PRAGMA query_only = 1")
    return db


def _use_wal(db: sqlite3.Connection, busy_seconds: float) -> None:
    give_up = time.monotonic() + busy_seconds
    while True:  # the switch to WAL does not wait for a busy neighbour by itself
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)


_LOCKED = ("is locked by another process", "Wait for it to finish, or end it, and try again.")
_FORBIDDEN = ("may not be written to", "Check the permissions of the file and its folder.")
_REASONS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check the path and the permissions of its folder."),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "Restore it from a copy."),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Free some space and resume the session."),
    sqlite3.SQLITE_IOERR: ("cannot be read or written: the disk reports an error", "Check the disk and its space."),
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_NOTADB: ("is not a database", "Move that file away, or give another path."),
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
}


def explained(path: Path, error: sqlite3.Error) -> RecordError:
    """One sentence on what is wrong with the file and one on what to do, in place of a driver's traceback."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the high bits only say where it happened
    reason, help = _REASONS.get(code, (f"cannot be used: {error}", "Run with --debug for details."))
    failure = RecordError(f"The record {path} {reason}.", help)
    failure.__cause__ = error
    return failure
