"""What the table wrote, taken back by a person: on the record of the session that had it written."""

from __future__ import annotations

import asyncio
import getpass

from roundtable.app.desk import Roundtable
from roundtable.core.events import ChangeUndone
from roundtable.workshop.applying import Undone, changes, undone
from roundtable.workshop.journal import Journal


async def undo(desk: Roundtable, id: str = "") -> Undone:
    """Take a change back, the newest if none is named, and say so where it came from."""
    done = await asyncio.to_thread(undone, desk.workspace, desk.places.journals, id)
    session = done.change.session
    if session and await desk.store.read(session):
        fact = ChangeUndone(done.change.id, done.change.files, done.how, getpass.getuser())
        await desk.store.append(session, fact)
    return done


async def undoable(desk: Roundtable) -> list[Journal]:
    """What can be undone here, newest first."""
    return await asyncio.to_thread(changes, desk.workspace, desk.places.journals)
