"""Facts and blobs as rows of SQLite: read back, and checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from roundtable.core.events import DAMAGED_KIND, Recorded, UnknownEvent
from roundtable.core.faults import DamagedRecord, NotFound, RecordTooNew
from roundtable.core.ports import DamagedFact
from roundtable.core.values import Digest, compute_digest
from roundtable.store.stored_events import find_stored_blob_digests, unpack_stored_event

FACT = "seq, at, session, v, CAST(body AS BLOB), packed"
"""The columns of a fact, in the order in which `read_stored_event_row` takes them."""

_BLOB = "SELECT data FROM blobs WHERE digest = ?"


def read_stored_event_row(db: sqlite3.Connection, row: Sequence[Any]) -> Recorded:
    """Return the fact in a row of the table of facts, with its long texts."""
    seq, at, session, version, body, packed = row
    try:
        event = unpack_stored_event(body, version, (lambda digest: read_stored_blob(db, digest)) if packed else None)
    except DamagedRecord as error:
        raise DamagedRecord(
            f"Event {seq} of session {session} is damaged: {error.message}",
            f"Print what can be read with: roundtable show {session} --recover",
        ) from error
    return Recorded(seq, at, session, event)


def recover_stored_event_row(db: sqlite3.Connection, row: Sequence[Any]) -> Recorded:
    """Return the fact in a row; if it is damaged, an unknown event in its place."""
    try:
        return read_stored_event_row(db, row)
    except DamagedRecord as error:
        seq, at, session, *_ = row
        return Recorded(seq, at, session, UnknownEvent(DAMAGED_KIND, {"problem": error.message}))


def find_damaged_stored_events(db: sqlite3.Connection) -> list[DamagedFact]:
    """Read every fact and every blob, and return the facts that are damaged or refer to a damaged blob."""
    blobs = {digest for digest, data in db.execute("SELECT digest, data FROM blobs") if compute_digest(data) != digest}
    found: list[DamagedFact] = []
    for row in db.execute(f"SELECT {FACT} FROM events ORDER BY pos"):
        seq, _, session, _, body, _ = row
        try:
            read_stored_event_row(db, row)
        except RecordTooNew:
            continue
        except DamagedRecord as error:
            found.append(DamagedFact(session, seq, error.message))
            continue
        if blobs and (broken := blobs & find_stored_blob_digests(body.decode())):
            found.append(
                DamagedFact(
                    session, seq, f"Event {seq} of session {session} refers to {min(broken)}, which is damaged."
                )
            )
    return found


def read_stored_blob(db: sqlite3.Connection, digest: Digest) -> bytes:
    """Return a stored blob, checked against its digest."""
    row = db.execute(_BLOB, (digest,)).fetchone()
    if row is None:
        raise NotFound(f"Blob {digest} is not in the record.", "The blob may be in the record of another machine.")
    if compute_digest(row[0]) != digest:
        raise DamagedRecord(f"Blob {digest} is damaged.", "Restore the record from a copy.")
    return row[0]
