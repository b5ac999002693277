"""The gates that wait for an answer, in every session that has not ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from roundtable.core.index import WaitingGate
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


async def list_open_gates(desk: Roundtable, *, everywhere: bool = False) -> list[OpenGate]:
    """Every gate that waits in this workspace, or in all of them; the newest session first."""
    waiting = await desk.store.open_gates(None if everywhere else desk.here)
    return [await _open_gate(desk, it) for it in waiting]


async def _open_gate(desk: Roundtable, waiting: WaitingGate) -> OpenGate:
    charter = (await desk.session(waiting.session.id)).charter
    holder = await desk.holder(waiting.session.id)
    row = waiting.session
    return OpenGate(row.id, row.slug, charter.question, row.workspace, waiting.gate, waiting.since, holder)
