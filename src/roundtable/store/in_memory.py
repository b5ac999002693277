"""A store that keeps the record in memory, for tests and for programs that run a single meeting."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from roundtable.core.events import SCHEMA_VERSION, Event, Recorded
from roundtable.core.faults import NotFound
from roundtable.core.index import (
    INDEXED_CHANGES,
    INDEXED_GATES,
    AppliedChange,
    IndexedChange,
    IndexedGate,
    SessionRow,
    WaitingGate,
)
from roundtable.core.ports import DamagedFact, Lease, RemovedSessions
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Digest
from roundtable.store.leases import LEASE_SECONDS, LeaseEnd, is_lease_free, lease_held_error, lease_lost_error
from roundtable.store.ledgers import InMemoryLedger
from roundtable.store.stored_events import (
    BLOB_LIMIT,
    check_event_may_be_stored,
    check_stored_blob_size,
    compute_digest,
    find_stored_blob_digests,
    make_stored_slug_unique,
    pack_event_for_store,
    store_timestamp,
    unpack_stored_event,
)

_NO_LEASE = (0, "", LeaseEnd())


class InMemoryStore(InMemoryLedger):
    """The ports Store, Index, Ledger and Leases over plain dictionaries, for one event loop."""

    def __init__(
        self,
        redact: Redactor | None = None,
        *,
        max_blob_bytes: int = BLOB_LIMIT,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        super().__init__()
        self._redact = redact
        self._max_blob_bytes = max_blob_bytes
        self._lease_seconds = lease_seconds
        self._log: dict[int, Recorded] = {}
        self._offset = 0
        self._facts: defaultdict[str, list[Recorded]] = defaultdict(list)
        self._rows: dict[str, SessionRow] = {}
        self._gates: dict[tuple[str, str], IndexedGate] = {}
        self._changes: dict[tuple[str, str], IndexedChange] = {}
        self._blobs: dict[Digest, bytes] = {}
        self._leases: dict[str, tuple[int, str, LeaseEnd]] = {}
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    async def close(self) -> None:
        """Do nothing: there is no file to close."""

    async def __aenter__(self) -> InMemoryStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def append(self, session: str, event: Event, lease: Lease | None = None) -> Recorded:
        """Number and store one event."""
        (recorded,) = await self.append_many(session, (event,), lease)
        return recorded

    async def append_many(self, session: str, events: Sequence[Event], lease: Lease | None = None) -> list[Recorded]:
        """Number and store several events: all of them, or none."""
        await asyncio.sleep(0)
        if lease is not None and (lease.session != session or not self._is_current(lease)):
            raise lease_lost_error(session)
        last = len(self._facts[session])
        written: list[Recorded] = []
        for seq, event in enumerate(events, last + 1):
            check_event_may_be_stored(session, event, seq - 1, lease is not None)
            event = make_stored_slug_unique(event, lambda slug: any(row.slug == slug for row in self._rows.values()))
            written.append(Recorded(seq, store_timestamp(), session, self._written(event)))
        for recorded in written:
            self._offset += 1
            self._log[self._offset] = recorded
            self._facts[session].append(recorded)
            self.request_filing(recorded)
            self._index(self._offset, recorded)
        for wake in self._waiting[session]:
            wake.set()
        return written

    async def read(self, session: str, after: int = 0) -> list[Recorded]:
        """Return the events of a session after a sequence number."""
        return self._facts[session][after:]

    async def recover(self, session: str) -> list[Recorded]:
        """Return the events of a session: memory is not damaged."""
        return await self.read(session)

    async def damaged(self) -> list[DamagedFact]:
        """Return nothing: memory is not damaged."""
        return []

    async def changed(self, session: str, after: int, timeout: float, own: Lease | None = None) -> bool:
        """Wait until the session has an event after `after`; False if the time is up."""
        wake = asyncio.Event()
        self._waiting[session].add(wake)
        try:
            async with asyncio.timeout(timeout):
                while len(self._facts[session]) <= after:
                    wake.clear()
                    await wake.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting[session].discard(wake)
        return True

    async def keep(self, data: bytes) -> Digest:
        """Store a blob and return its digest."""
        check_stored_blob_size(data, self._max_blob_bytes)
        digest = compute_digest(data)
        self._blobs[digest] = data
        return digest

    async def fetch(self, digest: Digest) -> bytes:
        """Return the blob with this digest."""
        if digest not in self._blobs:
            raise NotFound(f"Blob {digest} is not in the record.", "The blob may be in the record of another machine.")
        return self._blobs[digest]

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
        listed = (row for row in self._rows.values() if forgotten or not row.forgotten_at)
        rows = (row for row in listed if row.is_found_in(workspace) and row.is_owned_by(owner))
        return sorted((row for row in rows if after is None or row.offset < after), key=lambda row: -row.offset)[:limit]

    async def find(self, address: str, workspace: str | None = None, owner: str | None = None) -> list[str]:
        """Return the ids that an address may mean: an id, a slug, the beginning of either, a name in the workspace, or
        `last`."""
        return SessionRow.match_address(address, self._rows.values(), workspace, owner)

    async def children(self, session: str) -> list[SessionRow]:
        """Return the meetings held under a session, in the order in which they were opened."""
        rows = [row for row in self._rows.values() if row.is_child and row.parent == session]
        return sorted(rows, key=lambda row: (row.opened_at, row.id))

    async def open_gates(self, workspace: str | None = None, owner: str | None = None) -> list[WaitingGate]:
        """Return every gate that waits for an answer, the session with the newest fact first."""
        rows = [row for row in await self.sessions(workspace, None, owner=owner) if not row.outcome]
        return [
            WaitingGate(row, known.gate, known.since)
            for row in rows
            for (session, _), known in self._gates.items()
            if session == row.id and not known.answered
        ]

    async def rows(self, ids: Sequence[str]) -> list[SessionRow]:
        """Return the sessions with these ids, the one with the newest event first."""
        return sorted((self._rows[id] for id in set(ids) & self._rows.keys()), key=lambda row: -row.offset)

    async def applied_changes(self, workspace: str | None = None) -> list[AppliedChange]:
        """Return the changes that sessions wrote, those of the session with the newest event first."""
        return [
            AppliedChange(row, change, known.commit, known.undone)
            for row in await self.sessions(workspace, None)
            for (session, change), known in self._changes.items()
            if session == row.id and known.applied
        ]

    async def facts(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Recorded]]:
        """Return the events of all sessions after a global offset, each with its own offset."""
        return [fact for fact in self._log.items() if fact[0] > after][:limit]

    async def rebuild(self) -> None:
        """Build the index of sessions, gates and changes again from the record."""
        self._rows.clear()
        self._gates.clear()
        self._changes.clear()
        for offset, recorded in self._log.items():
            self._index(offset, recorded)

    def _index(self, offset: int, recorded: Recorded) -> None:
        if row := SessionRow.after(self._rows.get(recorded.session), offset, recorded):
            self._rows[recorded.session] = row
        if isinstance(recorded.event, INDEXED_GATES):
            place = (recorded.session, IndexedGate.id_of(recorded.event))
            if gate := IndexedGate.after(self._gates.get(place), recorded):
                self._gates[place] = gate
        elif isinstance(recorded.event, INDEXED_CHANGES) and (change := IndexedChange.id_of(recorded.event)):
            place = (recorded.session, change)
            self._changes[place] = IndexedChange.after(self._changes.get(place), recorded.event)

    async def remove(self, sessions: Sequence[str]) -> RemovedSessions:
        """Delete sessions, and the blobs that no event refers to any more; a running session is not deleted."""
        running = {session for session in self._leases if await self.holder(session)}
        removed = [
            session for session in dict.fromkeys(sessions) if self._facts.get(session) and session not in running
        ]
        size = 0
        for session in removed:
            size += sum(len(_body(recorded).encode()) for recorded in self._facts.pop(session))
            self._rows.pop(session, None)
            self._gates = {place: gate for place, gate in self._gates.items() if place[0] != session}
            self._changes = {place: change for place, change in self._changes.items() if place[0] != session}
            self._leases.pop(session, None)
            self.drop_filing(session)
        self._log = {offset: recorded for offset, recorded in self._log.items() if recorded.session not in removed}
        referenced = {digest for recorded in self._log.values() for digest in find_stored_blob_digests(_body(recorded))}
        for digest in referenced & set(self._blobs):
            referenced |= find_stored_blob_digests(self._blobs[digest].decode(errors="replace"))
        unreferenced = set[Digest]() if running else set(self._blobs) - referenced
        return RemovedSessions(tuple(removed), size + sum(len(self._blobs.pop(digest)) for digest in unreferenced))

    async def acquire(self, session: str, holder: str) -> tuple[Lease, list[Recorded]]:
        """Take the lease of a session and return it with the session's events; raise SessionHeld if a live process
        holds it."""
        token, other, end = self._leases.get(session, _NO_LEASE)
        if not is_lease_free(other, end):
            raise lease_held_error(session, other)
        self._leases[session] = (token + 1, holder, LeaseEnd.after(self._lease_seconds))
        return Lease(session, token + 1), await self.read(session)

    async def renew(self, lease: Lease) -> None:
        """Renew a lease; raise LeaseLost if another process has taken the session over."""
        if not self._is_current(lease):
            raise lease_lost_error(lease.session)
        token, holder, _ = self._leases[lease.session]
        self._leases[lease.session] = (token, holder, LeaseEnd.after(self._lease_seconds))

    async def release(self, lease: Lease) -> None:
        """Release a lease; nothing happens if it was lost before."""
        if self._is_current(lease):
            self._leases[lease.session] = (lease.token, "", LeaseEnd())

    async def holder(self, session: str) -> str | None:
        """Return the live holder of a session's lease, or None."""
        _, holder, end = self._leases.get(session, _NO_LEASE)
        return None if is_lease_free(holder, end) else holder

    def _is_current(self, lease: Lease) -> bool:
        token, holder, _ = self._leases.get(lease.session, _NO_LEASE)
        return lease.token == token and bool(holder)

    def _written(self, event: Event) -> Event:
        """Return the event as a file would give it back, so that what works in memory also works with a file."""
        body = pack_event_for_store(event, self._redact)
        self._blobs |= body.blobs
        return unpack_stored_event(body.data, SCHEMA_VERSION, self._blobs.__getitem__ if body.blobs else None)


def _body(recorded: Recorded) -> str:
    return pack_event_for_store(recorded.event, None).data.decode()
