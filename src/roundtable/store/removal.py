"""Taking sessions off a record in SQLite, with what was kept for them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from roundtable.core.ports import Removed
from roundtable.core.values import Digest
from roundtable.store.leases import is_free
from roundtable.store.stored_facts import digests_in

_LEASES = "SELECT session, holder, expires FROM leases WHERE holder <> ''"
_BODIES = "SELECT body FROM events WHERE session = ?"
_NAMING = "SELECT body FROM events WHERE body LIKE '%sha256:%'"
_NAMING_BLOBS = "SELECT digest, data FROM blobs WHERE instr(data, CAST('sha256:' AS BLOB))"


def remove(db: sqlite3.Connection, sessions: Sequence[str]) -> Removed:
    """Every fact, name and lease of these sessions, but of those that somebody runs; then what nobody names."""
    now = time.time()
    running = {session for session, holder, expires in db.execute(_LEASES) if not is_free(holder, expires, now)}
    gone: list[str] = []
    size = 0
    for session in dict.fromkeys(sessions):
        bodies = [body for (body,) in db.execute(_BODIES, (session,))]
        if session in running or not bodies:
            continue
        size += sum(len(body.encode()) for body in bodies)
        for table, column in (("events", "session"), ("leases", "session"), ("filing", "session"), ("sessions", "id")):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (session,))
        gone.append(session)
    return Removed(tuple(gone), size + (0 if running else _clear_unnamed(db)))


def _clear_unnamed(db: sqlite3.Connection) -> int:
    """Delete the blobs that no fact names any more, and no kept thing that a fact names; returns their bytes."""
    unnamed: dict[Digest, int] = dict(db.execute("SELECT digest, length(data) FROM blobs").fetchall())
    named = {digest for (body,) in db.execute(_NAMING) for digest in digests_in(body)}
    for digest, data in db.execute(_NAMING_BLOBS):
        if digest in named:
            named |= digests_in(data.decode(errors="replace"))
    for digest in named:
        unnamed.pop(digest, None)
    db.executemany("DELETE FROM blobs WHERE digest = ?", [(digest,) for digest in unnamed])
    return sum(unnamed.values())
