"""Removes stored sessions: from lists at once, and from the disk when they are old. The ledger keeps decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from roundtable.app.parts import Parts
from roundtable.app.records.memory import NOTEBOOK, WorkspaceMemory
from roundtable.core.events import SessionForgotten
from roundtable.core.faults import RoundtableError
from roundtable.core.index import SessionRow
from roundtable.core.session import Session
from roundtable.store.leases import lease_holder_of_this_process
from roundtable.workshop.identity import os_user_name


class RemovedSessions(msgspec.Struct, frozen=True):
    """The removed sessions, the kept ones with the reason, and the number of bytes that were freed."""

    gone: list[SessionRow]
    kept: list[tuple[SessionRow, str]]
    size: int = 0


async def forget_session(parts: Parts, session: str, by: str = "") -> None:
    """Remove a session from lists and release its name; raise SessionHeld while a process runs it.

    Its record can still be read by its id until it is old enough to be removed. Exported files are not changed.
    """
    lease, _ = await parts.leases.acquire(session, lease_holder_of_this_process())
    try:
        await parts.record.append(session, SessionForgotten(by=by or os_user_name()))
    finally:
        await parts.leases.release(lease)


async def forget_old_sessions(
    parts: Parts, memory: WorkspaceMemory, max_age_days: int, *, dry_run: bool = False
) -> RemovedSessions:
    """Remove the records of the sessions of all workspaces that have not changed for this many days.

    A session that is running or waits at a gate is kept. Its decision is filed in the ledger before it is removed.
    """
    before = (datetime.now(UTC) - timedelta(days=max_age_days)).isoformat()
    rows = await parts.index.sessions(limit=None, forgotten=True)
    old = [row for row in rows if row.updated_at < before and row.meeting != NOTEBOOK]
    await memory.catch_up()
    unfiled = set(await parts.ledger.unfiled())
    kept = [(row, reason) for row in old if (reason := await _reason_to_keep(parts, row, unfiled))]
    kept_ids = {row.id for row, _ in kept}
    removable = [row for row in old if row.id not in kept_ids]
    if dry_run:
        return RemovedSessions(removable, kept)
    removed = await parts.record.remove([row.id for row in removable])
    return RemovedSessions([row for row in removable if row.id in removed.sessions], kept, removed.size)


async def _reason_to_keep(parts: Parts, row: SessionRow, unfiled: set[str]) -> str:
    if await parts.leases.holder(row.id):
        return "it is running"
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
