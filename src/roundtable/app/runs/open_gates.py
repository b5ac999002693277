"""The gates that wait for an answer, in every session that has not ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from roundtable.core.events import GateOpened
from roundtable.core.session import Session
from roundtable.core.values import Gate

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


class OpenGate(msgspec.Struct, frozen=True):
    """A gate, whose it is, since when it waits, and which process would go on at once."""

    session: str
    slug: str
    asks: str
    workspace: str
    gate: Gate
    since: str
    holder: str | None


async def open_gates(desk: Roundtable, *, everywhere: bool = False) -> list[OpenGate]:
    """Every gate that waits in this workspace, or in all of them; the newest session first."""
    rows = [row for row in await desk.sessions(everywhere=everywhere, limit=None) if not row.outcome]
    found = [await _open_gate(desk, row.id) for row in rows]
    return [it for it in found if it is not None]


async def _open_gate(desk: Roundtable, session: str) -> OpenGate | None:
    records = await desk.store.read(session)
    state = Session.fold(session, records)
    gate = state.open_gate
    if gate is None:
        return None
    since = next(it.at for it in records if isinstance(it.event, GateOpened) and it.event.gate.id == gate.id)
    charter, holder = state.charter, await desk.holder(session)
    return OpenGate(session, charter.slug, charter.question, charter.workspace, gate, since, holder)
