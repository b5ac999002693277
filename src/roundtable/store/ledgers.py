"""The ledger in SQLite: entries beside the record, found by their words. Runs inside the store's own threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from roundtable.core.events import Recorded
from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.text.wording import content_words, words
from roundtable.store.filing import TO_FILE, Slip, file_entry

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

    def under(self, workspace: str, id: str) -> Slip | None:
        return self._slip("WHERE workspace = ? AND id = ?", workspace, id)

    def from_origin(self, origin: str) -> Slip | None:
        return self._slip("WHERE origin = ?", origin)

    def _slip(self, where: str, *given: str) -> Slip | None:
        row = self._db.execute(f"{_SLIP} {where}", given).fetchone()
        return Slip(_decode(row[0]), row[1], bool(row[2])) if row else None

    def errors(self, workspace: str) -> int:
        (count,) = self._db.execute(_ERRORS, (workspace,)).fetchone()
        return count

    def put(self, slip: Slip) -> None:
        entry = slip.entry
        body = msgspec.json.encode(entry).decode()
        row = (entry.workspace, entry.id, str(entry.kind), entry.at, slip.origin, slip.by_hand, body)
        ((place,),) = self._db.execute(_PUT, row).fetchall()
        self._db.execute(_UNWORD, (place,))
        self._db.execute(_WORD, (place, " ".join(words(entry.searchable))))


def want_filing(db: sqlite3.Connection, recorded: Recorded) -> None:
    """Note down that a session has something to file."""
    if isinstance(recorded.event, TO_FILE):
        db.execute(_WANT, (recorded.session, recorded.seq))


def unfiled(db: sqlite3.Connection) -> list[str]:
    """The sessions that have something to file, newest first: their ids begin with the time."""
    return [session for (session,) in db.execute(_UNFILED)]


def file(db: sqlite3.Connection, session: str, seq: int, entries: Sequence[Entry]) -> list[Entry]:
    """File what a session comes to, unless somebody has filed a later state of it meanwhile."""
    shelf = _Shelf(db)
    filed = db.execute(_FILED, (session,)).fetchone()
    if filed and filed[0] > seq:
        return [slip.entry for it in entries if (slip := shelf.under(it.workspace, it.id))]
    db.execute(_FILE, {"session": session, "seq": seq})
    return [file_entry(shelf, session, entry) for entry in entries]


def entries(db: sqlite3.Connection, workspace: str, kinds: Sequence[EntryKind], limit: int | None) -> list[Entry]:
    """Newest first."""
    query = f"SELECT body FROM ledger WHERE workspace = ? AND {_of(kinds)} ORDER BY at DESC, place DESC LIMIT ?"
    return [_decode(body) for (body,) in db.execute(query, (workspace, *map(str, kinds), rows(limit)))]


def search(
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
    return [_decode(body) for (body,) in db.execute(query, (wanted, workspace, *map(str, kinds), rows(limit)))]


def rows(limit: int | None) -> int:
    """A limit as SQLite takes it, where a number below zero is none."""
    return -1 if limit is None else limit


def _of(kinds: Sequence[EntryKind]) -> str:
    return f"kind IN ({', '.join('?' * len(kinds))})" if kinds else "TRUE"
