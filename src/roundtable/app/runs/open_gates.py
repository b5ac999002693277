"""The gates that wait for an answer, in every session that has not ended."""

from __future__ import annotations

import msgspec

from roundtable.app.parts import Parts
from roundtable.core.index import WaitingGate
from roundtable.core.values import Gate


class OpenGate(msgspec.Struct, frozen=True):
    """A gate, whose it is, since when it waits, and which process would go on at once."""

    session: str
    slug: str
    asks: str
    workspace: str
    gate: Gate
    since: str
    holder: str | None


async def list_open_gates(parts: Parts, *, everywhere: bool = False, owner: str | None = None) -> list[OpenGate]:
    """Every gate that waits in this workspace, or in all of them; the newest session first."""
    waiting = await parts.index.open_gates(None if everywhere else parts.recorded_workspace, owner)
    return [await _open_gate(parts, gate) for gate in waiting]


async def _open_gate(parts: Parts, waiting: WaitingGate) -> OpenGate:
    charter = (await parts.read_session(waiting.session.id)).charter
    holder = await parts.leases.holder(waiting.session.id)
    row = waiting.session
    return OpenGate(row.id, row.slug, charter.question, row.workspace, waiting.gate, waiting.since, holder)
