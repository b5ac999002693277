"""Every table and index, and the numbered steps that lead to them. Steps are added, never changed."""

from __future__ import annotations

import sqlite3

from roundtable.core.faults import RecordError, RecordTooNew

APPLICATION = 0x52544231  # "RTB1"

_V1 = (
    f"PRAGMA application_id = {APPLICATION}",
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
    # The words come ready made, so that every script is split the same way here and elsewhere.
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

Steps = tuple[tuple[str, ...], ...]
MIGRATIONS: Steps = (_V1, _V2, _V3)


def migrate(connection: sqlite3.Connection, steps: Steps = MIGRATIONS) -> None:
    """Bring a database up to date in one transaction; several processes may try at once."""
    if version_of(connection, steps) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[version_of(connection, steps) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def version_of(connection: sqlite3.Connection, steps: Steps = MIGRATIONS) -> int:
    """How many steps a database has behind it; one of another program or a newer version is refused."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not _ours(connection, version):
        raise RecordError("The record is a database of another program.", "Give another path for the record.")
    if version > len(steps):
        raise RecordTooNew(
            f"The record has the tables of version {version}, and this Roundtable knows up to {len(steps)}.",
            "Upgrade Roundtable to open it.",
        )
    return int(version)


def _ours(connection: sqlite3.Connection, version: int) -> bool:
    """Whether the tables are signed as ours, or there are none yet."""
    (tables,) = (1,) if version else connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    # Read last: a neighbour may be making the tables right now, and by then it has signed them.
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return application == APPLICATION or not tables
