"""Facts and blobs as rows of SQLite: read back, and checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from roundtable.core.events import Recorded
from roundtable.core.faults import NotFound, RecordError
from roundtable.core.values import Digest, compute_digest
from roundtable.store.stored_events import unpack_event

FACT = "seq, at, session, v, body, packed"
"""The columns of a fact, in the order in which `read_stored_fact` takes them."""

_BLOB = "SELECT data FROM blobs WHERE digest = ?"


def read_stored_fact(db: sqlite3.Connection, row: Sequence[Any]) -> Recorded:
    """Return the fact in a row of the table of facts, with its long texts."""
    seq, at, session, version, body, packed = row
    return Recorded(
        seq, at, session, unpack_event(body, version, (lambda digest: read_stored_blob(db, digest)) if packed else None)
    )


def read_stored_blob(db: sqlite3.Connection, digest: Digest) -> bytes:
    """Return a stored blob, checked against its digest."""
    row = db.execute(_BLOB, (digest,)).fetchone()
    if row is None:
        raise NotFound(f"Blob {digest} is not in the record.", "The blob may be in the record of another machine.")
    if compute_digest(row[0]) != digest:
        raise RecordError(f"Blob {digest} is damaged.", "Restore the record from a copy.")
    return row[0]
