"""The ledger in SQLite: entries beside the record, found by their words. Runs inside the store's own threads.

How an entry gets its place in the ledger, whatever the ledger is kept in.

The ledger without a file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Protocol

import msgspec

from roundtable.core.events import EntryWritten, Recorded, SessionEnded
from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.text.wording import content_words, split_words

FILED_EVENTS = (SessionEnded, EntryWritten)
"""The facts after which a session has something to file."""


class FiledEntry(msgspec.Struct, frozen=True):
    """An entry as it is filed. `origin` is where it came from and the id it came with, which may have been taken."""

    entry: Entry
    origin: str = ""
    by_hand: bool = False


class LedgerTable(Protocol):
    """Where slips are kept."""

    def under(self, workspace: str, id: str) -> FiledEntry | None: ...

    def from_origin(self, origin: str) -> FiledEntry | None: ...

    def errors(self, workspace: str) -> int:
        """How many errors were ever filed there."""
        ...

    def put(self, slip: FiledEntry) -> None: ...


def file_ledger_entry(shelf: LedgerTable, session: str, entry: Entry) -> Entry:
    """File one entry of a session. What was written by hand is never undone by what the session itself comes to."""
    if entry.session != session:
        known = shelf.under(entry.workspace, entry.id)
        slip = FiledEntry(entry, known.origin if known else "", by_hand=True)
    else:
        origin = f"{session}/{entry.id}"
        known = shelf.from_origin(origin)
        if known is not None and known.by_hand:
            return known.entry
        slip = FiledEntry(
            msgspec.structs.replace(entry, id=known.entry.id if known else _free_id(shelf, entry)), origin
        )
    if slip != known:
        shelf.put(slip)
    return slip.entry


def _free_id(shelf: LedgerTable, entry: Entry) -> str:
    if entry.kind is EntryKind.ERROR:
        return f"CR-{shelf.errors(entry.workspace) + 1:03}"
    id, number = entry.id, 1
    while shelf.under(entry.workspace, id) is not None:
        number += 1
        id = f"{entry.id}-{number}"
    return id


_WANT = """
    INSERT INTO filing (session, wanted, filed) VALUES (?, ?, 0)
    ON CONFLICT (session) DO UPDATE SET wanted = excluded.wanted
"""
_UNFILED = "SELECT session FROM filing WHERE wanted > filed ORDER BY session DESC"
_FILED = "SELECT filed FROM filing WHERE session = ?"
_FILE = """
    INSERT INTO filing (session, wanted, filed) VALUES (:session, :seq, :seq)
    ON CONFLICT (session) DO UPDATE SET filed = excluded.filed
"""
_SLIP = "SELECT body, origin, by_hand FROM ledger"
_ERRORS = "SELECT count(*) FROM ledger WHERE workspace = ? AND kind = 'error'"
_PUT = """
    INSERT INTO ledger (workspace, id, kind, at, origin, by_hand, body) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (workspace, id) DO UPDATE
        SET kind = excluded.kind, at = excluded.at, by_hand = excluded.by_hand, body = excluded.body
    RETURNING place
"""
_UNWORD = "DELETE FROM ledger_words WHERE rowid = ?"
_WORD = "INSERT INTO ledger_words (rowid, words) VALUES (?, ?)"

_decode = msgspec.json.Decoder(Entry).decode


class _Shelf:
    """The table `ledger`, and its words."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def under(self, workspace: str, id: str) -> FiledEntry | None:
        return self._slip("WHERE workspace = ? AND id = ?", workspace, id)

    def from_origin(self, origin: str) -> FiledEntry | None:
        return self._slip("WHERE origin = ?", origin)

    def _slip(self, where: str, *given: str) -> FiledEntry | None:
        row = self._db.execute(f"{_SLIP} {where}", given).fetchone()
        return FiledEntry(_decode(row[0]), row[1], bool(row[2])) if row else None

    def errors(self, workspace: str) -> int:
        (count,) = self._db.execute(_ERRORS, (workspace,)).fetchone()
        return count

    def put(self, slip: FiledEntry) -> None:
        entry = slip.entry
        body = msgspec.json.encode(entry).decode()
        row = (entry.workspace, entry.id, str(entry.kind), entry.at, slip.origin, slip.by_hand, body)
        ((place,),) = self._db.execute(_PUT, row).fetchall()
        self._db.execute(_UNWORD, (place,))
        self._db.execute(_WORD, (place, " ".join(split_words(entry.searchable))))


def request_ledger_filing(db: sqlite3.Connection, recorded: Recorded) -> None:
    """Note down that a session has something to file."""
    if isinstance(recorded.event, FILED_EVENTS):
        db.execute(_WANT, (recorded.session, recorded.seq))


def list_unfiled_sessions(db: sqlite3.Connection) -> list[str]:
    """The sessions that have something to file, newest first: their ids begin with the time."""
    return [session for (session,) in db.execute(_UNFILED)]


def file_session_entries(db: sqlite3.Connection, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
    """File what a session comes to, unless somebody has filed a later state of it meanwhile."""
    shelf = _Shelf(db)
    filed = db.execute(_FILED, (session,)).fetchone()
    if filed and filed[0] > seq:
        return [slip.entry for it in entries if (slip := shelf.under(it.workspace, it.id))]
    db.execute(_FILE, {"session": session, "seq": seq})
    return [file_ledger_entry(shelf, session, entry) for entry in entries]


def list_ledger_entries(
    db: sqlite3.Connection, workspace: str, kinds: Sequence[EntryKind], limit: int | None
) -> list[Entry]:
    """Newest first."""
    query = f"SELECT body FROM ledger WHERE workspace = ? AND {_of(kinds)} ORDER BY at DESC, place DESC LIMIT ?"
    return [_decode(body) for (body,) in db.execute(query, (workspace, *map(str, kinds), sql_row_limit(limit)))]


def search_ledger(
    db: sqlite3.Connection, asked: str, workspace: str, kinds: Sequence[EntryKind], limit: int | None
) -> list[Entry]:
    """Those that share words with these, the most relevant first. What is asked for is words, never a query."""
    wanted = " OR ".join(f'"{word}"' for word in content_words(asked))
    if not wanted:
        return []
    query = f"""
        SELECT body FROM ledger_words JOIN ledger ON place = ledger_words.rowid
        WHERE ledger_words MATCH ? AND workspace = ? AND {_of(kinds)} ORDER BY rank, at DESC, place DESC LIMIT ?
    """
    return [_decode(body) for (body,) in db.execute(query, (wanted, workspace, *map(str, kinds), sql_row_limit(limit)))]


def sql_row_limit(limit: int | None) -> int:
    """A limit as SQLite takes it, where a number below zero is none."""
    return -1 if limit is None else limit


def _of(kinds: Sequence[EntryKind]) -> str:
    return f"kind IN ({', '.join('?' * len(kinds))})" if kinds else "TRUE"


class InMemoryLedger:
    """The port Ledger over plain dictionaries."""

    def __init__(self) -> None:
        self._slips: dict[tuple[str, str], FiledEntry] = {}
        self._wanted: dict[str, int] = {}
        self._filed: dict[str, int] = {}

    def want_filing(self, recorded: Recorded) -> None:
        """Note down that a session has something to file."""
        if isinstance(recorded.event, FILED_EVENTS):
            self._wanted[recorded.session] = recorded.seq

    def drop_filing(self, session: str) -> None:
        """There is nothing more to file of a session."""
        self._wanted.pop(session, None)

    async def unfiled(self) -> list[str]:
        """The sessions that have something to file, newest first."""
        waiting = (session for session, seq in self._wanted.items() if seq > self._filed.get(session, 0))
        return sorted(waiting, reverse=True)

    async def file(self, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
        """File what a session comes to; returns it as it is filed."""
        if self._filed.get(session, 0) > seq:
            return [slip.entry for it in entries if (slip := self.under(it.workspace, it.id))]
        self._filed[session] = seq
        return [file_ledger_entry(self, session, entry) for entry in entries]

    async def entries(self, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 100) -> list[Entry]:
        """What is remembered there, newest first."""
        found = [it.entry for it in self._slips.values() if it.entry.workspace == workspace]
        kept = [entry for entry in reversed(found) if not kinds or entry.kind in kinds]
        return sorted(kept, key=lambda entry: entry.at, reverse=True)[:limit]

    async def search(
        self, words: str, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 20
    ) -> list[Entry]:
        """Those that share words with these, the most relevant first."""
        asked = set(content_words(words))
        found = [(_shared(asked, it), it) for it in await self.entries(workspace, kinds, None)]
        return [entry for shared, entry in sorted(found, key=lambda it: -it[0]) if shared][:limit]

    # --- as a shelf ------------------------------------------------------------------------------

    def under(self, workspace: str, id: str) -> FiledEntry | None:
        """What is filed under an id."""
        return self._slips.get((workspace, id))

    def from_origin(self, origin: str) -> FiledEntry | None:
        """What came from there."""
        return next((slip for slip in self._slips.values() if slip.origin == origin), None)

    def errors(self, workspace: str) -> int:
        """How many errors were ever filed there."""
        return sum(it.entry.kind is EntryKind.ERROR for it in self._slips.values() if it.entry.workspace == workspace)

    def put(self, slip: FiledEntry) -> None:
        """Keep a slip under its id."""
        self._slips[slip.entry.workspace, slip.entry.id] = slip


def _shared(asked: set[str], entry: Entry) -> int:
    return len(asked & set(split_words(entry.searchable)))
