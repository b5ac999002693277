"""Meetings, an async function over a Table each, and shared parts: rounds, unsigned candidates, judge rounds.

A new meeting is one module and one line here.
"""

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
from roundtable.meetings.meeting import Meeting, PlannedRound

__all__ = ["MEETINGS", "Meeting", "PlannedRound", "find_meeting"]

MEETINGS = {
    meeting.name: meeting
    for meeting in (
        *(council.MEETING, knights.MEETING, debate.MEETING, second_opinion.MEETING, code_red.MEETING),
        *(vote.MEETING, review.MEETING, build.MEETING, apply.MEETING, sdlc.MEETING),
    )
}

INTERNAL_MEETINGS = {chat.MEETING.name: chat.MEETING}
"""Meetings about another session; a person cannot open them by name."""


def meeting_writes_files(name: str) -> bool:
    """Whether this meeting writes its result to files; meetings that a person defines in a file do not."""
    return name in MEETINGS and MEETINGS[name].writes_files


def find_meeting(name: str) -> Meeting:
    """The meeting of this name."""
    meetings = MEETINGS | INTERNAL_MEETINGS
    if name not in meetings:
        raise NotFound(f"There is no meeting called {name}.", f"Meetings: {', '.join(MEETINGS)}.")
    return meetings[name]
