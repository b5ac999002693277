"""That a change was taken back, said on the record of the session that had it written."""

from __future__ import annotations

from roundtable.core.events import ChangeUndone
from roundtable.core.session import Session
from roundtable.store.sqlite import SqliteStore
from roundtable.workshop.journal import Journal
from roundtable.workshop.person import person

FINISHED_LATER = "The undo was cut off and finished by a later command."


async def say_undone(store: SqliteStore, journal: Journal, change: str, how: str) -> None:
    """Have the session that a journal is of say that a change is undone, unless it is gone or does so already."""
    records = await store.read(journal.session) if journal.session else ()
    if records and change not in Session.fold(journal.session, records).undone:
        await store.append(journal.session, ChangeUndone(change, journal.files, how, person()))
