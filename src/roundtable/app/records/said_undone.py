"""That a change was taken back, said on the record of the session that had it written."""

from __future__ import annotations

import asyncio
from pathlib import Path

from roundtable.core.events import ChangeUndone
from roundtable.core.session import Session
from roundtable.store.sqlite import SqliteStore
from roundtable.workshop.edit.journal import Journal
from roundtable.workshop.edit.settlement import recover
from roundtable.workshop.person import person

FINISHED_LATER = "The undo was cut off and finished by a later command."


async def say_undone(store: SqliteStore, journal: Journal, change: str, how: str) -> None:
    """Have the session that a journal is of say that a change is undone, unless it is gone or does so already."""
    records = await store.read(journal.session) if journal.session else ()
    if records and change not in Session.fold(journal.session, records).undone:
        await store.append(journal.session, ChangeUndone(change, journal.files, how, person()))


async def settle(store: SqliteStore, workspace: Path, journals: Path) -> tuple[str, ...]:
    """Have done with what was left half written in a workspace; what became of it, a sentence each."""
    found = await asyncio.to_thread(recover, workspace, journals)
    for undo in (it.undo for it in found if it.undo):
        await say_undone(store, undo, undo.undoes, FINISHED_LATER)
    return tuple(it.told for it in found)
