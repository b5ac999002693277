"""How an entry gets its place in the ledger, whatever the ledger is kept in."""

from __future__ import annotations

from typing import Protocol

import msgspec

from roundtable.core.events import EntryWritten, SessionEnded
from roundtable.core.ledger import Entry, EntryKind

TO_FILE = (SessionEnded, EntryWritten)
"""The facts after which a session has something to file."""


class Slip(msgspec.Struct, frozen=True):
    """An entry as it is filed. `origin` is where it came from and the id it came with, which may have been taken."""

    entry: Entry
    origin: str = ""
    by_hand: bool = False


class Shelf(Protocol):
    """Where slips are kept."""

    def under(self, workspace: str, id: str) -> Slip | None: ...

    def from_origin(self, origin: str) -> Slip | None: ...

    def errors(self, workspace: str) -> int:
        """How many errors were ever filed there."""
        ...

    def put(self, slip: Slip) -> None: ...


def file_entry(shelf: Shelf, session: str, entry: Entry) -> Entry:
    """File one entry of a session. What was written by hand is never undone by what the session itself comes to."""
    if entry.session != session:
        known = shelf.under(entry.workspace, entry.id)
        slip = Slip(entry, known.origin if known else "", by_hand=True)
    else:
        origin = f"{session}/{entry.id}"
        known = shelf.from_origin(origin)
        if known is not None and known.by_hand:
            return known.entry
        slip = Slip(msgspec.structs.replace(entry, id=known.entry.id if known else _free_id(shelf, entry)), origin)
    if slip != known:
        shelf.put(slip)
    return slip.entry


def _free_id(shelf: Shelf, entry: Entry) -> str:
    if entry.kind is EntryKind.ERROR:
        return f"CR-{shelf.errors(entry.workspace) + 1:03}"
    id, number = entry.id, 1
    while shelf.under(entry.workspace, id) is not None:
        number += 1
        id = f"{entry.id}-{number}"
    return id
