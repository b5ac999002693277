"""The record in one SQLite file that several processes share: one thread writes in groups, another reads."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

from roundtable.core.events import SCHEMA_VERSION, Event, Recorded
from roundtable.core.faults import DamagedRecord, RecordError
from roundtable.core.index import AppliedChange, SessionRow, WaitingGate
from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.ports import DamagedFact, Lease, RemovedSessions
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Digest
from roundtable.store.database import explain_database_error, open_database
from roundtable.store.fact_rows import (
    FACT,
    find_damaged_stored_events,
    read_stored_blob,
    read_stored_event_row,
    recover_stored_event_row,
)
from roundtable.store.leases import LEASE_SECONDS, LeaseEnd, is_lease_free, lease_held_error, lease_lost_error
from roundtable.store.ledgers import SqliteLedger
from roundtable.store.session_index import Scope, SessionIndex
from roundtable.store.stored_events import (
    BLOB_LIMIT,
    LONG_TEXT_BYTES,
    PackedEvent,
    check_event_may_be_stored,
    check_stored_blob_size,
    compute_digest,
    find_stored_blob_digests,
    make_stored_slug_unique,
    pack_event_for_store,
    store_timestamp,
)
from roundtable.store.writer import WriterThread

T = TypeVar("T")

RECENT_BLOBS = 32

_LAST = "SELECT coalesce(max(seq), 0) FROM events WHERE session = ?"
_PLACE = """
    SELECT (SELECT coalesce(max(seq), 0) FROM events WHERE session = :session), token, holder
    FROM (SELECT 1) LEFT JOIN leases ON leases.session = :session
"""
_READ = f"SELECT {FACT} FROM events WHERE session = ? AND seq > ? ORDER BY seq"
_ALL = f"SELECT pos, {FACT} FROM events WHERE pos > ? ORDER BY pos"
_ADD = "INSERT INTO events (session, seq, at, v, kind, body, packed) VALUES (?, ?, ?, ?, ?, ?, ?)"

_KEEP = "INSERT INTO blobs (digest, data) VALUES (?, ?) ON CONFLICT DO NOTHING"

_LEASE = "SELECT token, holder, expires, expires_uptime FROM leases WHERE session = ?"
_TAKE = """
    INSERT INTO leases (session, token, holder, expires, expires_uptime) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (session) DO UPDATE SET token = excluded.token, holder = excluded.holder,
        expires = excluded.expires, expires_uptime = excluded.expires_uptime
"""
_RENEW = "UPDATE leases SET expires = ?, expires_uptime = ? WHERE session = ? AND token = ? AND holder <> ''"
_RELEASE = "UPDATE leases SET holder = '', expires = 0 WHERE session = ? AND token = ?"


class SqliteStore:
    """The ports Store, Index, Ledger and Leases over one file. `await SqliteStore.open(path)`, then `async with` it."""

    def __init__(
        self,
        path: Path,
        connections: tuple[sqlite3.Connection, sqlite3.Connection],
        reader: ThreadPoolExecutor,
        redact: Redactor | None,
        *,
        max_blob_bytes: int,
        lease_seconds: float,
    ) -> None:
        self.path = path
        self._redact = redact
        self._max_blob_bytes = max_blob_bytes
        self._lease_seconds = lease_seconds
        writing, self._reading = connections
        self._writer = WriterThread(writing, self._explain)
        self._reader = reader
        self._recent: dict[Digest, bytes] = {}
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: str | Path,
        redact: Redactor | None = None,
        *,
        max_blob_bytes: int = BLOB_LIMIT,
        lease_seconds: float = LEASE_SECONDS,
        busy_seconds: float = 20.0,
    ) -> SqliteStore:
        """Open the record; create or migrate it if necessary."""
        path = Path(path)
        reader = ThreadPoolExecutor(1, "roundtable-reader")
        connections = await asyncio.get_running_loop().run_in_executor(reader, open_database, path, busy_seconds)
        return cls(path, connections, reader, redact, max_blob_bytes=max_blob_bytes, lease_seconds=lease_seconds)

    async def close(self) -> None:
        """Write what is queued, and close the file."""
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._reader, self._shut)
            self._reader.shutdown(wait=False)

    async def __aenter__(self) -> SqliteStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- events --------------------------------------------------------------------------------

    async def append(self, session: str, event: Event, lease: Lease | None = None) -> Recorded:
        """Number and store one event."""
        (recorded,) = await self.append_many(session, (event,), lease)
        return recorded

    async def append_many(self, session: str, events: Sequence[Event], lease: Lease | None = None) -> list[Recorded]:
        """Number and store several events: all of them, or none."""

        def write(db: sqlite3.Connection) -> list[Recorded]:
            last, token, holder = db.execute(_PLACE, {"session": session}).fetchone()
            if lease is not None and (lease.session != session or lease.token != token or not holder):
                raise lease_lost_error(session)
            written: list[Recorded] = []
            for seq, event in enumerate(events, last + 1):
                check_event_may_be_stored(session, event, seq - 1, lease is not None)
                body = pack_event_for_store(make_stored_slug_unique(event, SessionIndex(db).has_slug), self._redact)
                written.append(Recorded(seq, store_timestamp(), session, body.event))
                _insert(db, written[-1], body)
            return written

        return await self._writer.submit(write, session, lease)

    async def read(self, session: str, after: int = 0) -> list[Recorded]:
        """Return the events of a session after a sequence number."""
        return await self._read(lambda db: _facts(db, session, after))

    async def recover(self, session: str) -> list[Recorded]:
        """Return the facts of a session, with an unknown event in place of each that is damaged."""
        return await self._read(
            lambda db: [recover_stored_event_row(db, row) for row in db.execute(_READ, (session, 0)).fetchall()]
        )

    async def damaged(self) -> list[DamagedFact]:
        """Read every fact and return the damaged ones."""
        return await self._read(find_damaged_stored_events)

    async def changed(self, session: str, after: int, timeout: float, own: Lease | None = None) -> bool:
        """Wait until the session has an event after `after` from any process; False if the time is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while True:
            with self._writer.waiting(session, own) as wake:
                if await self._last(session) > after:
                    return True
                await asyncio.wait((wake,), timeout=max(0.0, deadline - loop.time()))
                if not wake.done():
                    return False

    # --- blobs ---------------------------------------------------------------------------------

    async def keep(self, data: bytes) -> Digest:
        """Store a blob and return its digest."""
        check_stored_blob_size(data, self._max_blob_bytes)
        digest = compute_digest(data)
        await self._writer.submit(lambda db: db.execute(_KEEP, (digest, data)))
        self._remember(digest, data)
        return digest

    async def fetch(self, digest: Digest) -> bytes:
        """Return the blob with this digest, after verifying it."""
        data = self._recent.get(digest)
        return data if data is not None else await self._read(lambda db: read_stored_blob(db, digest))

    def _remember(self, digest: Digest, data: bytes) -> None:
        """Cache a small blob: a meeting's templates are stored at its opening and read a moment later."""
        if len(data) <= LONG_TEXT_BYTES:
            self._recent[digest] = data
        if len(self._recent) > RECENT_BLOBS:
            del self._recent[next(iter(self._recent))]

    # --- the index -----------------------------------------------------------------------------

    async def sessions(
        self,
        workspace: str | None = None,
        limit: int | None = 100,
        *,
        owner: str | None = None,
        after: int | None = None,
        forgotten: bool = False,
    ) -> list[SessionRow]:
        """Return the sessions of a workspace, or of all workspaces, the one with the newest event first."""
        scope = Scope(workspace, owner, after, forgotten)
        return await self._read(lambda db: SessionIndex(db).list_rows(scope, limit))

    async def find(self, address: str, workspace: str | None = None, owner: str | None = None) -> list[str]:
        """Return the ids that an address may mean: an id, a slug, the beginning of either, a name in the workspace, or
        `last`."""
        rows = await self._read(lambda db: SessionIndex(db).candidate_rows(address, Scope(workspace, owner)))
        return SessionRow.match_address(address, rows, workspace, owner)

    async def children(self, session: str) -> list[SessionRow]:
        """Return the meetings held under a session, in the order in which they were opened."""
        return await self._read(lambda db: SessionIndex(db).child_rows(session))

    async def open_gates(self, workspace: str | None = None, owner: str | None = None) -> list[WaitingGate]:
        """Return every gate that waits for an answer, the session with the newest fact first."""
        return await self._read(lambda db: SessionIndex(db).waiting_gates(Scope(workspace, owner)))

    async def rows(self, ids: Sequence[str]) -> list[SessionRow]:
        """Return the sessions with these ids, the one with the newest event first."""
        return await self._read(lambda db: SessionIndex(db).rows_by_id(ids))

    async def applied_changes(self, workspace: str | None = None) -> list[AppliedChange]:
        """Return the changes that sessions wrote, those of the session with the newest event first."""
        return await self._read(lambda db: SessionIndex(db).applied_changes(Scope(workspace, None)))

    async def facts(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Recorded]]:
        """Return the events of all sessions after a global offset, each with its own offset."""
        return await self._read(lambda db: list(islice(_readable_facts(db, after), limit)))

    async def rebuild(self) -> None:
        """Build the index of sessions, gates and changes again from the record."""
        await self._writer.submit(lambda db: SessionIndex(db).rebuild())

    async def remove(self, sessions: Sequence[str]) -> RemovedSessions:
        """Delete sessions, and the blobs that no event refers to any more; a running session is not deleted."""
        removed = await self._writer.submit(lambda db: _remove_sessions(db, sessions))
        self._recent.clear()
        return removed

    # --- the ledger ----------------------------------------------------------------------------

    async def unfiled(self) -> list[str]:
        """Return the sessions that ended or got an entry since they were last filed, newest first."""
        return await self._read(lambda db: SqliteLedger(db).unfiled())

    async def file(self, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
        """File the entries of a session and return them as filed."""
        return await self._writer.submit(lambda db: SqliteLedger(db).file(session, seq, entries))

    async def entries(self, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 100) -> list[Entry]:
        """Return the entries of a workspace, newest first."""
        return await self._read(lambda db: SqliteLedger(db).entries(workspace, kinds, limit))

    async def search(
        self, words: str, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 20
    ) -> list[Entry]:
        """Return the entries that share words with a text, the most relevant first."""
        return await self._read(lambda db: SqliteLedger(db).search(words, workspace, kinds, limit))

    # --- leases --------------------------------------------------------------------------------

    async def acquire(self, session: str, holder: str) -> tuple[Lease, list[Recorded]]:
        """Take the lease of a session and return it with the session's events; raise SessionHeld if a live process
        holds it."""

        def take(db: sqlite3.Connection) -> tuple[Lease, list[Recorded]]:
            token, other, *end = db.execute(_LEASE, (session,)).fetchone() or (0, "")
            if not is_lease_free(other, LeaseEnd(*end)):
                raise lease_held_error(session, other)
            db.execute(_TAKE, (session, token + 1, holder, *LeaseEnd.after(self._lease_seconds)))
            return Lease(session, token + 1), _facts(db, session)

        return await self._writer.submit(take)

    async def renew(self, lease: Lease) -> None:
        """Renew a lease; raise LeaseLost if another process has taken the session over."""

        def prolong(db: sqlite3.Connection) -> None:
            if not db.execute(_RENEW, (*LeaseEnd.after(self._lease_seconds), lease.session, lease.token)).rowcount:
                raise lease_lost_error(lease.session)

        await self._writer.submit(prolong)

    async def release(self, lease: Lease) -> None:
        """Release a lease; nothing happens if it was lost before."""
        await self._writer.submit(lambda db: db.execute(_RELEASE, (lease.session, lease.token)))

    async def holder(self, session: str) -> str | None:
        """Return the live holder of a session's lease, or None."""
        row = await self._read(lambda db: db.execute(_LEASE, (session,)).fetchone())
        return None if row is None or is_lease_free(row[1], LeaseEnd(*row[2:])) else row[1]

    # --- threads and errors --------------------------------------------------------------------

    async def _last(self, session: str) -> int:
        (last,) = await self._read(lambda db: db.execute(_LAST, (session,)).fetchone())
        return last

    async def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise RecordError("The record is closed.", "This is a bug: please report it.")
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._guarded, query)

    def _guarded(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return query(self._reading)
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> RecordError:
        return explain_database_error(self.path, error)

    def _shut(self) -> None:
        self._writer.close()
        self._reading.close()


def _insert(db: sqlite3.Connection, recorded: Recorded, body: PackedEvent) -> None:
    for blob in body.blobs.items():
        db.execute(_KEEP, blob)
    fact = (recorded.session, recorded.seq, recorded.at, SCHEMA_VERSION, body.kind, body.data.decode())
    pos = db.execute(_ADD, (*fact, bool(body.blobs))).lastrowid or 0
    SessionIndex(db).update(pos, recorded)
    SqliteLedger(db).request_filing(recorded)


def _facts(db: sqlite3.Connection, session: str, after: int = 0) -> list[Recorded]:
    return [read_stored_event_row(db, row) for row in db.execute(_READ, (session, after)).fetchall()]


def _readable_facts(db: sqlite3.Connection, after: int) -> Iterator[tuple[int, Recorded]]:
    for pos, *row in db.execute(_ALL, (after,)):
        with suppress(DamagedRecord):
            yield pos, read_stored_event_row(db, row)


_LEASES = "SELECT session, holder, expires, expires_uptime FROM leases WHERE holder <> ''"
_BODIES = "SELECT body FROM events WHERE session = ?"
_TABLES = {
    **dict.fromkeys(("events", "leases", "filing", "gates", "changes"), "session"),
    "sessions": "id",
}
"""The tables with rows of a session, and the column that names the session."""
_NAMING = "SELECT body FROM events WHERE body LIKE '%sha256:%'"
_NAMING_BLOBS = "SELECT digest, data FROM blobs WHERE instr(data, CAST('sha256:' AS BLOB))"


def _remove_sessions(db: sqlite3.Connection, sessions: Sequence[str]) -> RemovedSessions:
    """Delete all rows of these sessions, except of those that are running; then delete unreferenced blobs."""
    running = {session for session, holder, *end in db.execute(_LEASES) if not is_lease_free(holder, LeaseEnd(*end))}
    removed: list[str] = []
    size = 0
    for session in dict.fromkeys(sessions):
        bodies = [body for (body,) in db.execute(_BODIES, (session,))]
        if session in running or not bodies:
            continue
        size += sum(len(body.encode()) for body in bodies)
        for table, column in _TABLES.items():
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (session,))
        removed.append(session)
    return RemovedSessions(tuple(removed), size + (0 if running else _clear_unnamed(db)))


def _clear_unnamed(db: sqlite3.Connection) -> int:
    """Delete the blobs that neither an event nor a referenced blob refers to; return their size in bytes."""
    unreferenced: dict[Digest, int] = dict(db.execute("SELECT digest, length(data) FROM blobs").fetchall())
    referenced = {digest for (body,) in db.execute(_NAMING) for digest in find_stored_blob_digests(body)}
    for digest, data in db.execute(_NAMING_BLOBS):
        if digest in referenced:
            referenced |= find_stored_blob_digests(data.decode(errors="replace"))
    for digest in referenced:
        unreferenced.pop(digest, None)
    db.executemany("DELETE FROM blobs WHERE digest = ?", [(digest,) for digest in unreferenced])
    return sum(unreferenced.values())
