"""What the table wrote, taken back by a person: on the record of the session that had it written."""

from __future__ import annotations

import asyncio
import getpass
from typing import NamedTuple

from roundtable.app.desk import Roundtable
from roundtable.core.events import ChangeUndone
from roundtable.core.index import SessionRow
from roundtable.workshop.journal import Journal
from roundtable.workshop.undoing import Undone, changes, undone


async def undo(desk: Roundtable, id: str = "") -> Undone:
    """Take a change back, the newest if none is named, and say so where it came from."""
    done = await asyncio.to_thread(undone, desk.workspace, desk.places.journals, id)
    session = done.change.session
    if session and await desk.store.read(session):
        fact = ChangeUndone(done.change.id, done.change.files, done.how, getpass.getuser())
        await desk.store.append(session, fact)
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
