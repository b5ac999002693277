"""The index of sessions, gates and applied changes in SQLite, written in one transaction with each fact."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from roundtable.core.events import Recorded
from roundtable.core.faults import RoundtableError
from roundtable.core.index import (
    INDEXED_CHANGES,
    INDEXED_EVENTS,
    INDEXED_GATES,
    LAST_SESSION,
    MIN_PREFIX_LENGTH,
    ROW_FIELDS,
    AppliedChange,
    IndexedChange,
    IndexedGate,
    SessionRow,
    WaitingGate,
)
from roundtable.core.values import Gate
from roundtable.store.fact_rows import FACT, read_stored_event_row

_ROW = (
    "id, slug, name, workspace, question, meeting, parent, branched_at, opened_at, updated_at, last_seq, pos, outcome, "
    "forgotten_at, opened_in, owner, applies"
)
_ONE = f"SELECT {_ROW} FROM listed WHERE id = ?"
_PUT_ROW = f"INSERT OR REPLACE INTO sessions ({', '.join(ROW_FIELDS)}) VALUES ({', '.join('?' * len(ROW_FIELDS))})"
_SLUG = "SELECT 1 FROM sessions WHERE slug = ?"
_LIST = f"SELECT {_ROW} FROM listed WHERE {{}} ORDER BY pos DESC LIMIT :limit"
_NAMED = f"""
    SELECT {_ROW} FROM listed
    WHERE name = :address OR slug BETWEEN :address AND :upto OR id BETWEEN :address AND :upto
"""
_CHILDREN = f"SELECT {_ROW} FROM listed WHERE parent = ? AND parent <> '' AND branched_at = 0 ORDER BY opened_at, id"
_GATE = "SELECT body, since, answered FROM gates WHERE session = ? AND gate = ?"
_PUT_GATE = """
    INSERT INTO gates (session, gate, place, since, answered, body) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (session, gate) DO UPDATE SET answered = excluded.answered
"""
_WAITING = f"""
    SELECT {_ROW}, body, since FROM gates JOIN listed ON listed.id = gates.session
    WHERE answered = 0 AND outcome = '' AND {{}}
    ORDER BY pos DESC, place
"""
_ROWS = f"SELECT {_ROW} FROM listed WHERE id IN (SELECT value FROM json_each(?)) ORDER BY pos DESC"
_CHANGE = "SELECT commit_id, applied, undone FROM changes WHERE session = ? AND change = ?"
_PUT_CHANGE = """
    INSERT INTO changes (session, change, place, commit_id, applied, undone) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (session, change)
    DO UPDATE SET commit_id = excluded.commit_id, applied = excluded.applied, undone = excluded.undone
"""
_APPLIED = f"""
    SELECT {_ROW}, change, commit_id, undone FROM changes JOIN listed ON listed.id = changes.session
    WHERE applied = 1 AND {{}}
    ORDER BY pos DESC, place
"""
_FACTS = f"SELECT pos, {FACT} FROM events WHERE kind IN ({{}}) ORDER BY pos"

_decode_gate = msgspec.json.Decoder(Gate).decode


class Scope(NamedTuple):
    """The sessions that a lookup is about; None means all."""

    workspace: str | None
    owner: str | None
    after: int | None = None
    forgotten: bool = False

    @property
    def condition(self) -> str:
        """The scope in SQL. It has only the conditions that are asked for, so that the database can use its indexes."""
        parts = {
            "(workspace = :workspace OR opened_in = :workspace)": self.workspace is not None,
            "owner = :owner": self.owner is not None,
            "pos < :after": self.after is not None,
            "forgotten_at = ''": not self.forgotten,
        }
        return " AND ".join(condition for condition, wanted in parts.items() if wanted) or "TRUE"


class SessionIndex:
    """The tables `sessions`, `gates` and `changes`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def update(self, pos: int, recorded: Recorded) -> None:
        """Bring the index up to date with one fact that was written at this offset."""
        event = recorded.event
        if isinstance(event, INDEXED_EVENTS):
            row = SessionRow.after(self._row(recorded.session), pos, recorded)
            if row is not None:
                self._db.execute(_PUT_ROW, tuple(getattr(row, column) for column in ROW_FIELDS))
        elif isinstance(event, INDEXED_GATES):
            id = IndexedGate.id_of(event)
            known = self._gate(recorded.session, id)
            gate = IndexedGate.after(known, recorded)
            if gate is not None and gate != known:
                body = msgspec.json.encode(gate.gate).decode()
                self._db.execute(_PUT_GATE, (recorded.session, id, pos, gate.since, gate.answered, body))
        elif isinstance(event, INDEXED_CHANGES) and (id := IndexedChange.id_of(event)):
            change = IndexedChange.after(self._change(recorded.session, id), event)
            self._db.execute(_PUT_CHANGE, (recorded.session, id, pos, change.commit, change.applied, change.undone))

    def rebuild(self) -> None:
        """Build the index again from the facts; a fact that cannot be read is left out."""
        self._db.execute("DELETE FROM gates")
        self._db.execute("DELETE FROM changes")
        kinds = [event.__struct_config__.tag for event in (*INDEXED_EVENTS, *INDEXED_GATES, *INDEXED_CHANGES)]
        for pos, *row in self._db.execute(_FACTS.format(", ".join("?" * len(kinds))), kinds).fetchall():
            try:
                recorded = read_stored_event_row(self._db, row)
            except RoundtableError:
                continue
            self.update(pos, recorded)

    def has_slug(self, slug: str) -> bool:
        """Whether a session has this slug."""
        return self._db.execute(_SLUG, (slug,)).fetchone() is not None

    def list_rows(self, scope: Scope, limit: int | None, condition: str = "TRUE") -> list[SessionRow]:
        """Return the rows of the sessions in a scope, those with the newest fact first."""
        query = _LIST.format(f"{scope.condition} AND {condition}")
        return self._rows(query, {**scope._asdict(), "limit": -1 if limit is None else limit})

    def candidate_rows(self, address: str, scope: Scope) -> list[SessionRow]:
        """Return the rows of every session that an address could mean."""
        if address == LAST_SESSION:
            return self.list_rows(scope, 1, "(parent = '' OR branched_at > 0)")
        upto = f"{address}\U0010ffff" if len(address) >= MIN_PREFIX_LENGTH else address
        return self._rows(_NAMED, {"address": address, "upto": upto})

    def child_rows(self, session: str) -> list[SessionRow]:
        """Return the rows of the meetings held under a session."""
        return self._rows(_CHILDREN, (session,))

    def waiting_gates(self, scope: Scope) -> list[WaitingGate]:
        """Return the gates without an answer in sessions without an outcome."""
        rows = self._db.execute(_WAITING.format(scope.condition), scope._asdict())
        return [WaitingGate(SessionRow(*row), _decode_gate(body), since) for *row, body, since in rows]

    def rows_by_id(self, ids: Sequence[str]) -> list[SessionRow]:
        """Return the rows of the sessions with these ids, the one with the newest fact first."""
        return self._rows(_ROWS, (msgspec.json.encode(ids).decode(),))

    def applied_changes(self, scope: Scope) -> list[AppliedChange]:
        """Return the changes that sessions wrote, those of the session with the newest fact first."""
        rows = self._db.execute(_APPLIED.format(scope.condition), scope._asdict())
        return [AppliedChange(SessionRow(*row), change, commit, bool(undone)) for *row, change, commit, undone in rows]

    def _rows(self, query: str, values: Any) -> list[SessionRow]:
        return [SessionRow(*row) for row in self._db.execute(query, values)]

    def _row(self, session: str) -> SessionRow | None:
        return next(iter(self._rows(_ONE, (session,))), None)

    def _gate(self, session: str, gate: str) -> IndexedGate | None:
        row = self._db.execute(_GATE, (session, gate)).fetchone()
        return IndexedGate(_decode_gate(row[0]), row[1], bool(row[2])) if row else None

    def _change(self, session: str, change: str) -> IndexedChange | None:
        row = self._db.execute(_CHANGE, (session, change)).fetchone()
        return IndexedChange(row[0], bool(row[1]), bool(row[2])) if row else None
