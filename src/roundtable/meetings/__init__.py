"""The rules: one file per meeting, a plain async function over a Table. A new meeting is one file and one line here."""

from __future__ import annotations

from roundtable.core.faults import NotFound
from roundtable.meetings import (
    apply,
    build,
    chat,
    code_red,
    council,
    debate,
    knights,
    review,
    sdlc,
    second_opinion,
    vote,
)
from roundtable.meetings.meeting import PlannedRound, Protocol

__all__ = ["PROTOCOLS", "PlannedRound", "Protocol", "protocol"]

PROTOCOLS = {
    held.name: held
    for held in (
        *(council.PROTOCOL, knights.PROTOCOL, debate.PROTOCOL, second_opinion.PROTOCOL, code_red.PROTOCOL),
        *(vote.PROTOCOL, review.PROTOCOL, build.PROTOCOL, apply.PROTOCOL, sdlc.PROTOCOL),
    )
}

ASIDE = {chat.PROTOCOL.name: chat.PROTOCOL}
"""What is held about another session, and never convened by its name."""


def protocol(name: str) -> Protocol:
    """A meeting by its name."""
    known = PROTOCOLS | ASIDE
    if name not in known:
        raise NotFound(f"There is no meeting called {name}.", f"Meetings: {', '.join(PROTOCOLS)}.")
    return known[name]
