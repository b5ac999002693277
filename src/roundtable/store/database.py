"""Opens the SQLite file of the record, migrates its tables, and explains its errors to people.

Migrations are numbered steps; steps are added, never changed.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import struct
import time
from contextlib import ExitStack, closing
from pathlib import Path

from roundtable.core.faults import RecordError, RecordTooNew
from roundtable.store.session_index import SessionIndex

APPLICATION_ID = 0x52544231  # "RTB1"

_V1 = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    """
    CREATE TABLE events (
        pos INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at TEXT NOT NULL,
        v INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        packed INTEGER NOT NULL,
        UNIQUE (session, seq)
    )
    """,
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE leases (
        session TEXT PRIMARY KEY,
        token INTEGER NOT NULL,
        holder TEXT NOT NULL,
        expires REAL NOT NULL
    )
    """,
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        slug TEXT NOT NULL,
        name TEXT NOT NULL,
        workspace TEXT NOT NULL,
        question TEXT NOT NULL,
        meeting TEXT NOT NULL,
        parent TEXT NOT NULL,
        branched_at INTEGER NOT NULL,
        opened_at TEXT NOT NULL,
        outcome TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE VIEW listed AS
    SELECT sessions.*, events.at AS updated_at, events.seq AS last_seq, events.pos AS pos
    FROM sessions JOIN events ON events.session = sessions.id
        AND events.seq = (SELECT max(seq) FROM events WHERE events.session = sessions.id)
    """,
    "CREATE INDEX sessions_by_workspace ON sessions (workspace)",
    "CREATE INDEX sessions_by_slug ON sessions (slug)",
)

_V2 = (
    "ALTER TABLE sessions ADD COLUMN forgotten_at TEXT NOT NULL DEFAULT ''",
    """
    CREATE TABLE ledger (
        place INTEGER PRIMARY KEY,
        workspace TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        origin TEXT NOT NULL,
        by_hand INTEGER NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (workspace, id)
    )
    """,
    "CREATE INDEX ledger_by_origin ON ledger (origin)",
    "CREATE INDEX ledger_by_time ON ledger (workspace, at)",
    # words are split by our own code, so that every script is split in the same way here and elsewhere
    "CREATE VIRTUAL TABLE ledger_words USING fts5 (words, tokenize = 'unicode61 remove_diacritics 0')",
    "CREATE TABLE filing (session TEXT PRIMARY KEY, wanted INTEGER NOT NULL, filed INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX filing_to_do ON filing (session) WHERE wanted > filed",
    """
    INSERT INTO filing (session, wanted, filed)
    SELECT session, max(seq), 0 FROM events WHERE kind IN ('session.ended', 'entry.written') GROUP BY session
    """,
)

_V3 = (
    "ALTER TABLE sessions ADD COLUMN opened_in TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX sessions_by_opening ON sessions (opened_in)",
)

_V4 = (
    "ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> ''",
    """
    CREATE TABLE gates (
        session TEXT NOT NULL,
        gate TEXT NOT NULL,
        place INTEGER NOT NULL,
        since TEXT NOT NULL,
        answered INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session, gate)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX gates_waiting ON gates (session) WHERE answered = 0",
)

_V5 = (
    "ALTER TABLE sessions ADD COLUMN applies TEXT NOT NULL DEFAULT ''",
    """
    CREATE TABLE changes (
        session TEXT NOT NULL,
        change TEXT NOT NULL,
        place INTEGER NOT NULL,
        commit_id TEXT NOT NULL,
        applied INTEGER NOT NULL,
        undone INTEGER NOT NULL,
        PRIMARY KEY (session, change)
    ) WITHOUT ROWID
    """,
)

_V6 = ("ALTER TABLE leases ADD COLUMN expires_uptime REAL NOT NULL DEFAULT 0",)

Migrations = tuple[tuple[str, ...], ...]
MIGRATIONS: Migrations = (_V1, _V2, _V3, _V4, _V5, _V6)
INDEXED_SINCE = 5
"""A database from before this version gets its index of sessions, gates and changes built from its events."""


def migrate_database(connection: sqlite3.Connection, steps: Migrations = MIGRATIONS) -> None:
    """Run the missing migrations in one transaction; several processes may try at once."""
    if _read_schema_version(connection, steps) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        before = _read_schema_version(connection, steps)
        for step in steps[before:]:
            for statement in step:
                connection.execute(statement)
        if 0 < before < INDEXED_SINCE <= len(steps):
            SessionIndex(connection).rebuild()
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _read_schema_version(connection: sqlite3.Connection, steps: Migrations = MIGRATIONS) -> int:
    """Return the schema version of a database; raise RecordError for another program's database or a newer version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not _ours(connection, version):
        raise RecordError("The record file belongs to another program.", "Set ROUNDTABLE_HOME to another folder.")
    if version > len(steps):
        raise RecordTooNew(
            f"The record has schema version {version}; this Roundtable supports versions up to {len(steps)}.",
            "Upgrade Roundtable to open it.",
        )
    return int(version)


def _ours(connection: sqlite3.Connection, version: int) -> bool:
    """Whether the tables carry our application id, or there are no tables yet."""
    (tables,) = (1,) if version else connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    # read last: another process may be creating the tables right now, and signs them first
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return application == APPLICATION_ID or not tables


def open_database(path: Path, busy_seconds: float) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Open an up-to-date database, readable only by its owner; return a writing and a reading connection.

    If the file or its folder is read-only, both connections only read.
    """
    is_writable = _create(path)
    _refuse_if_truncated(path)
    if not is_writable:
        return _open_read_only(path, busy_seconds)
    with ExitStack() as opened:
        try:
            writing = opened.enter_context(closing(_connect(path, busy_seconds)))
            if _read_schema_version(writing) < len(
                MIGRATIONS
            ):  # before anything is changed in a file that may not be ours
                _use_wal(writing, busy_seconds)
                migrate_database(writing)
            # A killed process loses nothing; a power cut may take the last moments with it, and seats are asked
            # again. FULL would cost one to four milliseconds of fsync for each step of a meeting.
            writing.execute("PRAGMA synchronous = NORMAL")
            reading = opened.enter_context(closing(_connect_to_read(path, busy_seconds)))
        except sqlite3.Error as error:
            raise explain_database_error(path, error) from error
        opened.pop_all()
    return writing, reading


def _open_read_only(path: Path, busy_seconds: float) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    # Without a write-ahead log nobody has unsaved facts, and reading it needs a file that cannot be created here.
    options = () if _has_log(path) else ("immutable=1",)
    with ExitStack() as opened:
        try:
            writing, reading = (
                opened.enter_context(closing(_connect_to_read(path, busy_seconds, *options))) for _ in range(2)
            )
            if _read_schema_version(reading) < len(MIGRATIONS):
                raise RecordError(
                    f"The record {path} was written by an older Roundtable and is read-only, so it cannot be updated.",
                    "Make it writable, or copy its folder and set ROUNDTABLE_HOME to the copy.",
                )
        except sqlite3.Error as error:
            raise explain_database_error(path, error) from error
        opened.pop_all()
    return writing, reading


def _create(path: Path) -> bool:
    """Create the file if there is none; return whether it can be written to."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return os.access(path.parent, os.W_OK)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES) and path.is_file():
            return False
        raise RecordError(
            f"The record {path} cannot be opened: {error.strerror}.", "Check the path, or set ROUNDTABLE_HOME."
        ) from error


_HEADER = struct.Struct(">16xH6xI I60xI")
"""Of the first 96 bytes: the page size, the change counter, the number of pages, and the change counter at which that
number was valid."""


def _refuse_if_truncated(path: Path) -> None:
    """Raise RecordError if the file is shorter than its header says; writing would destroy what is left of it.

    If there is a write-ahead log, the missing pages may be in it.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
        size = os.fstat(file.fileno()).st_size
    if len(header) < _HEADER.size or not header.startswith(b"SQLite format 3") or _has_log(path):
        return
    page_size, change, pages, valid_for = _HEADER.unpack(header)
    expected = pages * (65536 if page_size == 1 else page_size)
    if change == valid_for and size < expected:
        raise RecordError(
            f"The record {path} is truncated: it has {size:,} of {expected:,} bytes.",
            "Nothing was written to it. Restore it from a copy, or move it away to start a new record.",
        )


def _has_log(path: Path) -> bool:
    """Whether there are facts in the write-ahead log."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)


def _connect_to_read(path: Path, busy_seconds: float, *options: str) -> sqlite3.Connection:
    """Close it after the writing connection: a read-only connection skips the slow clean-up of the last one to
    close."""
    uri = f"{path.absolute().as_uri()}?{'&'.join(('mode=ro', *options))}"
    db = sqlite3.connect(uri, timeout=busy_seconds, isolation_level=None, check_same_thread=False, uri=True)
    db.execute("PRAGMA query_only = 1")
    return db


def _use_wal(db: sqlite3.Connection, busy_seconds: float) -> None:
    give_up = time.monotonic() + busy_seconds
    while True:  # the switch to WAL does not wait for a busy process by itself
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)


_LOCKED = ("is locked by another process", "Wait for that process to finish, or end it, and try again.")
_FORBIDDEN = ("may not be written to", "Check the permissions of the file and its folder.")
_REASONS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check the path and the permissions of its folder."),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "Restore it from a copy."),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Free some space and resume the session."),
    sqlite3.SQLITE_IOERR: ("cannot be read or written: the disk reports an error", "Check the disk and its space."),
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_NOTADB: ("is not a database", "Move the file away, or set ROUNDTABLE_HOME to another folder."),
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
}


def explain_database_error(path: Path, error: sqlite3.Error) -> RecordError:
    """Return an error that says what is wrong with the file and what to do about it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the high bits only say where it happened
    reason, help = _REASONS.get(code, (f"cannot be used: {error}", "Run with --debug for details."))
    failure = RecordError(f"The record {path} {reason}.", help)
    failure.__cause__ = error
    return failure
