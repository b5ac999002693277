"""Lists the gates that wait for an answer, in all sessions that have not ended."""

from __future__ import annotations

import msgspec

from roundtable.app.parts import Parts
from roundtable.core.index import WaitingGate
from roundtable.core.values import Gate


class OpenGate(msgspec.Struct, frozen=True):
    """An open gate with its session, the time it opened, and the process that waits for the answer, if any."""

    session: str
    slug: str
    asks: str
    workspace: str
    gate: Gate
    since: str
    holder: str | None


async def list_open_gates_of_runs(
    parts: Parts, *, everywhere: bool = False, owner: str | None = None
) -> list[OpenGate]:
    """Return the open gates of this workspace, or of all workspaces; the newest session first."""
    waiting = await parts.index.open_gates(None if everywhere else parts.recorded_workspace, owner)
    return [await _open_gate(parts, gate) for gate in waiting]


async def _open_gate(parts: Parts, waiting: WaitingGate) -> OpenGate:
    charter = (await parts.read_session(waiting.session.id)).charter
    holder = await parts.leases.holder(waiting.session.id)
    row = waiting.session
    return OpenGate(row.id, row.slug, charter.question, row.workspace, waiting.gate, waiting.since, holder)
