"""Undoes changes that sessions wrote to the workspace, and records that in the session that wrote them."""

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
from roundtable.workshop.identity import os_user_name

FINISHED_LATER = "The undo was interrupted; a later command finished it."


class UndoableChange(NamedTuple):
    """A change that can be undone, and the session that wrote it; None if that was forgotten or removed."""

    change: Journal
    session: SessionRow | None


async def perform_change_undo(parts: Parts, id: str = "", by: str = "") -> UndoResult:
    """Undo a change, the newest one if no id is given, and record that in its session."""
    try:
        undone = await asyncio.to_thread(undo_journaled_change, parts.workspace, parts.places.journals, id)
    except AlreadyUndone as already:
        await _record_undo(parts.record, already.change, already.change.id, FINISHED_LATER, by)
        raise
    await _record_undo(parts.record, undone.change, undone.change.id, undone.how, by)
    return undone


async def list_performable_change_undos(parts: Parts) -> list[UndoableChange]:
    """Return the changes of this workspace that can be undone, newest first."""
    journals = await asyncio.to_thread(list_undoable_journals, parts.workspace, parts.places.journals)
    rows = {row.id: row for row in await parts.index.rows([journal.session for journal in journals])}
    known = {id: row for id, row in rows.items() if not row.forgotten_at}
    return [UndoableChange(journal, known.get(journal.session)) for journal in journals]


async def perform_interrupted_change_recovery(store: Store, workspace: Path, journals: Path) -> tuple[str, ...]:
    """Finish or roll back the changes of a workspace that were interrupted; return a sentence about each."""
    recovered = await asyncio.to_thread(recover_open_journals, workspace, journals)
    for undo in (journal.undo for journal in recovered if journal.undo):
        await _record_undo(store, undo, undo.undoes, FINISHED_LATER)
    return tuple(journal.summary for journal in recovered)


async def _record_undo(store: Store, journal: Journal, change: str, how: str, by: str = "") -> None:
    """Record that a change was undone, unless its session was removed or has recorded that already."""
    records = await store.read(journal.session) if journal.session else ()
    if records and change not in Session.fold(journal.session, records).undone:
        await store.append(journal.session, ChangeUndone(change, journal.files, how, by or os_user_name()))
