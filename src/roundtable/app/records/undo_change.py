"""What the table wrote, taken back by a person: on the record of the session that had it written.

That a change was taken back, said on the record of the session that had it written.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from roundtable.app.parts import Parts
from roundtable.core.events import ChangeUndone
from roundtable.core.index import SessionRow
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.workshop.edit.journal import Journal
from roundtable.workshop.edit.journal_replay import recover_open_journals
from roundtable.workshop.edit.undo import AlreadyUndone, UndoResult, list_undoable_journals, undo_journaled_change
from roundtable.workshop.identity import current_user_name

FINISHED_LATER = "The undo was cut off and finished by a later command."


async def _record_undo(store: Store, journal: Journal, change: str, how: str, by: str = "") -> None:
    """Have the session that a journal is of say that a change is undone, unless it is gone or does so already."""
    records = await store.read(journal.session) if journal.session else ()
    if records and change not in Session.fold(journal.session, records).undone:
        await store.append(journal.session, ChangeUndone(change, journal.files, how, by or current_user_name()))


async def recover_interrupted_changes(store: Store, workspace: Path, journals: Path) -> tuple[str, ...]:
    """Have done with what was left half written in a workspace; what became of it, a sentence each."""
    found = await asyncio.to_thread(recover_open_journals, workspace, journals)
    for undo in (journal.undo for journal in found if journal.undo):
        await _record_undo(store, undo, undo.undoes, FINISHED_LATER)
    return tuple(journal.summary for journal in found)


async def undo_change(parts: Parts, id: str = "", by: str = "") -> UndoResult:
    """Take a change back, the newest if none is named, and say so where it came from."""
    try:
        done = await asyncio.to_thread(undo_journaled_change, parts.workspace, parts.places.journals, id)
    except AlreadyUndone as already:
        await _record_undo(parts.record, already.change, already.change.id, FINISHED_LATER, by)
        raise
    await _record_undo(parts.record, done.change, done.change.id, done.how, by)
    return done


class UndoableChange(NamedTuple):
    """A change that can be undone, and the session that had it written, if that is still known."""

    change: Journal
    session: SessionRow | None


async def list_undoable_changes(parts: Parts) -> list[UndoableChange]:
    """What can be undone here, newest first."""
    found = await asyncio.to_thread(list_undoable_journals, parts.workspace, parts.places.journals)
    rows = {row.id: row for row in await parts.index.sessions(parts.recorded_workspace, None)} if found else {}
    return [UndoableChange(journal, rows.get(journal.session)) for journal in found]
