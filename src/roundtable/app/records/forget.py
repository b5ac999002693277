"""Letting go of sessions: off the list at once, off the disk when they are old. What was decided stays known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from roundtable.app.parts import Parts
from roundtable.app.records.memory import NOTEBOOK, WorkspaceMemory
from roundtable.core.events import SessionForgotten
from roundtable.core.faults import RoundtableError
from roundtable.core.index import SessionRow
from roundtable.core.session import Session
from roundtable.store.leases import current_lease_holder
from roundtable.workshop.identity import current_user_name


class RemovedSessions(msgspec.Struct, frozen=True):
    """Which old sessions went, which stayed and why, and how many bytes were freed."""

    gone: list[SessionRow]
    kept: list[tuple[SessionRow, str]]
    size: int = 0


async def forget_stored_session(parts: Parts, session: str, by: str = "") -> None:
    """Take a session off the list and free its name; refused while somebody runs it.

    Its record stays, under its id, until it is old enough to be cleared away; so does all that was exported of it.
    """
    lease, _ = await parts.leases.acquire(session, current_lease_holder())
    try:
        await parts.record.append(session, SessionForgotten(by=by or current_user_name()))
    finally:
        await parts.leases.release(lease)


async def remove_old_stored_sessions(
    parts: Parts, memory: WorkspaceMemory, max_age_days: int, *, dry_run: bool = False
) -> RemovedSessions:
    """Remove what sessions said that nobody has touched for so many days, in every workspace.

    One that somebody runs stays, and so does one that waits at a gate. What it decided is filed before it goes.
    """
    before = (datetime.now(UTC) - timedelta(days=max_age_days)).isoformat()
    rows = await parts.index.sessions(limit=None, forgotten=True)
    old = [row for row in rows if row.updated_at < before and row.meeting != NOTEBOOK]
    await memory.catch_up()
    unfiled = set(await parts.ledger.unfiled())
    kept = [(row, why) for row in old if (why := await _needed(parts, row, unfiled))]
    needed = {row.id for row, _ in kept}
    gone = [row for row in old if row.id not in needed]
    if dry_run:
        return RemovedSessions(gone, kept)
    removed = await parts.record.remove([row.id for row in gone])
    return RemovedSessions([row for row in gone if row.id in removed.sessions], kept, removed.size)


async def _needed(parts: Parts, row: SessionRow, unfiled: set[str]) -> str:
    """Why a session must stay, if it must."""
    if await parts.leases.holder(row.id):
        return "somebody runs it"
    if row.id in unfiled:
        return "its record cannot be read"
    if row.outcome:
        return ""
    try:
        state = Session.fold(row.id, await parts.record.read(row.id))
    except RoundtableError:
        return "its record cannot be read"
    waiting = ", ".join(gate.id for gate in state.open_gates)
    return f"it waits for your answer at the gate {waiting}" if waiting else ""
