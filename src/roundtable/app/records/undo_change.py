"""What the table wrote, taken back by a person: on the record of the session that had it written."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from roundtable.app.desk import Roundtable
from roundtable.app.records.said_undone import FINISHED_LATER, say_undone
from roundtable.core.index import SessionRow
from roundtable.workshop.edit.journal import Journal
from roundtable.workshop.edit.undo import Undone, UndoneAlready, changes, undone


async def undo(desk: Roundtable, id: str = "") -> Undone:
    """Take a change back, the newest if none is named, and say so where it came from."""
    try:
        done = await asyncio.to_thread(undone, desk.workspace, desk.places.journals, id)
    except UndoneAlready as already:
        await say_undone(desk.store, already.change, already.change.id, FINISHED_LATER)
        raise
    await say_undone(desk.store, done.change, done.change.id, done.how)
    return done


class Undoable(NamedTuple):
    """A change that can be undone, and the session that had it written, if that is still known."""

    change: Journal
    session: SessionRow | None


async def undoable(desk: Roundtable) -> list[Undoable]:
    """What can be undone here, newest first."""
    found = await asyncio.to_thread(changes, desk.workspace, desk.places.journals)
    rows = {row.id: row for row in await desk.sessions(limit=None)} if found else {}
    return [Undoable(it, rows.get(it.session)) for it in found]
