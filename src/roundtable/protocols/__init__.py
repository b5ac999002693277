"""The rules: one file per meeting, a plain async function over a Table. A new meeting is one file and one line here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from roundtable.core.faults import NotFound
from roundtable.core.ports import Table
from roundtable.core.values import Decision
from roundtable.protocols.council import Settings as CouncilSettings
from roundtable.protocols.council import council
from roundtable.protocols.council import plan as council_plan
from roundtable.protocols.plan import PlannedRound


class Protocol(msgspec.Struct, frozen=True):
    """One kind of meeting: what it is called, who holds it, what it may be told, what it may come to."""

    name: str
    version: int
    hold: Callable[[Table], Awaitable[Decision]]
    settings: type[msgspec.Struct]
    plan: Callable[[Any, Sequence[str]], tuple[PlannedRound, ...]]
    templates: tuple[str, ...]
    summary: str
    gates: tuple[str, ...] = ()
    minimum: int = 1


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "council",
            1,
            council,
            CouncilSettings,
            council_plan,
            ("system", "blind", "ballot", "reconsider"),
            "Blind answers and a vote; a debate only where the seats disagree.",
            gates=("choose",),
        ),
    )
}


def protocol(name: str) -> Protocol:
    """A meeting by its name."""
    if name not in PROTOCOLS:
        raise NotFound(f"There is no meeting called {name}.", f"Meetings: {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]
