"""The ledger: files the entries of sessions, in tables of the record's database or in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Protocol

import msgspec

from roundtable.core.events import EntryWritten, Recorded, SessionEnded
from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.text.wording import content_words_of_text, split_words

FILED_EVENTS = (SessionEnded, EntryWritten)
"""The events after which a session has entries to file."""


class FiledEntry(msgspec.Struct, frozen=True):
    """An entry as it is filed. `origin` is its session and its id before a free id was chosen."""

    entry: Entry
    origin: str = ""
    by_hand: bool = False


class LedgerTable(Protocol):
    """A table of filed entries."""

    def find_entry(self, workspace: str, id: str) -> FiledEntry | None: ...

    def find_by_origin(self, origin: str) -> FiledEntry | None: ...

    def count_errors(self, workspace: str) -> int:
        """Return how many errors were ever filed in a workspace."""
        ...

    def put(self, filed: FiledEntry) -> None: ...


def _file_entry(table: LedgerTable, session: str, entry: Entry) -> Entry:
    """File one entry of a session. An entry written by hand is never replaced by the session's own result."""
    if entry.session != session:
        known = table.find_entry(entry.workspace, entry.id)
        filed = FiledEntry(entry, known.origin if known else "", by_hand=True)
    else:
        origin = f"{session}/{entry.id}"
        known = table.find_by_origin(origin)
        if known is not None and known.by_hand:
            return known.entry
        filed = FiledEntry(
            msgspec.structs.replace(entry, id=known.entry.id if known else _free_id(table, entry)), origin
        )
    if filed != known:
        table.put(filed)
    return filed.entry


def _free_id(table: LedgerTable, entry: Entry) -> str:
    if entry.kind is EntryKind.ERROR:
        return f"CR-{table.count_errors(entry.workspace) + 1:03}"
    id, number = entry.id, 1
    while table.find_entry(entry.workspace, id) is not None:
        number += 1
        id = f"{entry.id}-{number}"
    return id


_REQUEST = """
    INSERT INTO filing (session, wanted, filed) VALUES (?, ?, 0)
    ON CONFLICT (session) DO UPDATE SET wanted = excluded.wanted
"""
_UNFILED = "SELECT session FROM filing WHERE wanted > filed ORDER BY session DESC"
_FILED = "SELECT filed FROM filing WHERE session = ?"
_MARK_FILED = """
    INSERT INTO filing (session, wanted, filed) VALUES (:session, :seq, :seq)
    ON CONFLICT (session) DO UPDATE SET filed = excluded.filed
"""
_SELECT_FILED = "SELECT body, origin, by_hand FROM ledger"
_COUNT_ERRORS = "SELECT count(*) FROM ledger WHERE workspace = ? AND kind = 'error'"
_PUT = """
    INSERT INTO ledger (workspace, id, kind, at, origin, by_hand, body) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (workspace, id) DO UPDATE
        SET kind = excluded.kind, at = excluded.at, by_hand = excluded.by_hand, body = excluded.body
    RETURNING place
"""
_DELETE_WORDS = "DELETE FROM ledger_words WHERE rowid = ?"
_INSERT_WORDS = "INSERT INTO ledger_words (rowid, words) VALUES (?, ?)"

_decode = msgspec.json.Decoder(Entry).decode


class SqliteLedger:
    """The ledger in SQLite: the tables `ledger` and `filing`, and the full-text index `ledger_words`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def request_filing(self, recorded: Recorded) -> None:
        """Note that a session has entries to file, if this event is one after which it has."""
        if isinstance(recorded.event, FILED_EVENTS):
            self._db.execute(_REQUEST, (recorded.session, recorded.seq))

    def unfiled(self) -> list[str]:
        """Return the sessions with entries to file, newest first: their ids begin with the time."""
        return [session for (session,) in self._db.execute(_UNFILED)]

    def file(self, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
        """File the entries of a session, unless a later state of it has been filed; return the filed entries."""
        filed = self._db.execute(_FILED, (session,)).fetchone()
        if filed and filed[0] > seq:
            return [filed.entry for entry in entries if (filed := self.find_entry(entry.workspace, entry.id))]
        self._db.execute(_MARK_FILED, {"session": session, "seq": seq})
        return [_file_entry(self, session, entry) for entry in entries]

    def entries(self, workspace: str, kinds: Sequence[EntryKind], limit: int | None) -> list[Entry]:
        """Return the entries of a workspace, newest first."""
        query = f"SELECT body FROM ledger WHERE workspace = ? AND {_of(kinds)} ORDER BY at DESC, place DESC LIMIT ?"
        return self._select_entries(query, workspace, *kinds, _row_limit(limit))

    def search(self, text: str, workspace: str, kinds: Sequence[EntryKind], limit: int | None) -> list[Entry]:
        """Return the entries that share words with a text, the most relevant first.

        The text is never read as a query expression.
        """
        words = " OR ".join(f'"{word}"' for word in content_words_of_text(text))
        if not words:
            return []
        query = f"""
            SELECT body FROM ledger_words JOIN ledger ON place = ledger_words.rowid
            WHERE ledger_words MATCH ? AND workspace = ? AND {_of(kinds)} ORDER BY rank, at DESC, place DESC LIMIT ?
        """
        return self._select_entries(query, words, workspace, *kinds, _row_limit(limit))

    def _select_entries(self, query: str, *values: str | int) -> list[Entry]:
        return [_decode(body) for (body,) in self._db.execute(query, values)]

    # --- as a ledger table -----------------------------------------------------------------------

    def find_entry(self, workspace: str, id: str) -> FiledEntry | None:
        """Return the entry filed under an id."""
        return self._find_filed("WHERE workspace = ? AND id = ?", workspace, id)

    def find_by_origin(self, origin: str) -> FiledEntry | None:
        """Return the entry filed from an origin."""
        return self._find_filed("WHERE origin = ?", origin)

    def _find_filed(self, where: str, *values: str) -> FiledEntry | None:
        row = self._db.execute(f"{_SELECT_FILED} {where}", values).fetchone()
        return FiledEntry(_decode(row[0]), row[1], bool(row[2])) if row else None

    def count_errors(self, workspace: str) -> int:
        """Return how many errors were ever filed in a workspace."""
        (count,) = self._db.execute(_COUNT_ERRORS, (workspace,)).fetchone()
        return count

    def put(self, filed: FiledEntry) -> None:
        """Store an entry under its id."""
        entry = filed.entry
        body = msgspec.json.encode(entry).decode()
        row = (entry.workspace, entry.id, str(entry.kind), entry.at, filed.origin, filed.by_hand, body)
        ((place,),) = self._db.execute(_PUT, row).fetchall()
        self._db.execute(_DELETE_WORDS, (place,))
        self._db.execute(_INSERT_WORDS, (place, " ".join(split_words(entry.searchable))))


def _row_limit(limit: int | None) -> int:
    """Return a row limit for SQLite, where a negative number means no limit."""
    return -1 if limit is None else limit


def _of(kinds: Sequence[EntryKind]) -> str:
    return f"kind IN ({', '.join('?' * len(kinds))})" if kinds else "TRUE"


class InMemoryLedger:
    """The port Ledger over plain dictionaries."""

    def __init__(self) -> None:
        self._filed_entries: dict[tuple[str, str], FiledEntry] = {}
        self._requested: dict[str, int] = {}
        self._filed: dict[str, int] = {}

    def request_filing(self, recorded: Recorded) -> None:
        """Note that a session has entries to file, if this event is one after which it has."""
        if isinstance(recorded.event, FILED_EVENTS):
            self._requested[recorded.session] = recorded.seq

    def drop_filing(self, session: str) -> None:
        """Forget that a session has entries to file."""
        self._requested.pop(session, None)

    async def unfiled(self) -> list[str]:
        """Return the sessions with entries to file, newest first."""
        waiting = (session for session, seq in self._requested.items() if seq > self._filed.get(session, 0))
        return sorted(waiting, reverse=True)

    async def file(self, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
        """File the entries of a session and return them as filed."""
        if self._filed.get(session, 0) > seq:
            return [filed.entry for entry in entries if (filed := self.find_entry(entry.workspace, entry.id))]
        self._filed[session] = seq
        return [_file_entry(self, session, entry) for entry in entries]

    async def entries(self, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 100) -> list[Entry]:
        """Return the entries of a workspace, newest first."""
        entries = [filed.entry for filed in self._filed_entries.values() if filed.entry.workspace == workspace]
        matching = [entry for entry in reversed(entries) if not kinds or entry.kind in kinds]
        return sorted(matching, key=lambda entry: entry.at, reverse=True)[:limit]

    async def search(
        self, words: str, workspace: str, kinds: Sequence[EntryKind] = (), limit: int | None = 20
    ) -> list[Entry]:
        """Return the entries that share words with a text, the most relevant first."""
        query_words = set(content_words_of_text(words))
        matches = [(_shared(query_words, entry), entry) for entry in await self.entries(workspace, kinds, None)]
        return [entry for shared, entry in sorted(matches, key=lambda match: -match[0]) if shared][:limit]

    # --- as a ledger table -----------------------------------------------------------------------

    def find_entry(self, workspace: str, id: str) -> FiledEntry | None:
        """Return the entry filed under an id."""
        return self._filed_entries.get((workspace, id))

    def find_by_origin(self, origin: str) -> FiledEntry | None:
        """Return the entry filed from an origin."""
        return next((filed for filed in self._filed_entries.values() if filed.origin == origin), None)

    def count_errors(self, workspace: str) -> int:
        """Return how many errors were ever filed in a workspace."""
        return sum(
            filed.entry.kind is EntryKind.ERROR
            for filed in self._filed_entries.values()
            if filed.entry.workspace == workspace
        )

    def put(self, filed: FiledEntry) -> None:
        """Store an entry under its id."""
        self._filed_entries[filed.entry.workspace, filed.entry.id] = filed


def _shared(query_words: set[str], entry: Entry) -> int:
    return len(query_words & set(split_words(entry.searchable)))
