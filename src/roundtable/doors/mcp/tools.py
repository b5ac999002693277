"""The tools, each a call on the desk. Meetings run in processes of their own, so no tool has to last as long as one."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
import msgspec
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from roundtable.app.desk import Agenda, Roundtable
from roundtable.app.machine import discovery
from roundtable.app.runs.background import read_background_failure, run_in_background
from roundtable.app.settings.places import current_user_name
from roundtable.core.faults import RoundtableError, UsageError
from roundtable.core.ledger import EntryKind
from roundtable.core.session import Session
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.values import LIMIT_MAXIMUM, LIMIT_MINIMUMS, Limits, Seat
from roundtable.doors.mcp import session_view
from roundtable.doors.mcp.shapes import ListedMeeting, MeetingList, MeetingStatus, MemoryList

DEFAULT_WAIT_SECONDS = 20.0
MAX_WAIT_SECONDS = 50.0
"""Seconds: clients give a call up after a minute."""
MAX_SEQ = 2**63 - 1
"""The record counts no further."""
_LOOK_SECONDS = 1.0
_LOOKED_UP = (EntryKind.DECISION, EntryKind.DECREE, EntryKind.FAILURE)

SessionName = Annotated[str, Field(description="An id, a slug, the beginning of either, a name, or `last`.")]
Seats = Annotated[list[str] | None, Field(description="Names of configured seats; all of them if left out.")]
Files = Annotated[list[str] | None, Field(description="Files of the workspace to show: `path` or `path:10-50`.")]
Budget = Annotated[
    float | None,
    Field(
        ge=LIMIT_MINIMUMS["budget_usd"],
        le=LIMIT_MAXIMUM,
        allow_inf_nan=False,
        description="Dollars that may be spent; the config's own budget is never exceeded.",
    ),
]
Wait = Annotated[
    float,
    Field(
        ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False, description="Seconds to wait for the result before returning."
    ),
]
MeetingToolResult = Annotated[CallToolResult, MeetingStatus]


async def ask_second_opinion(
    question: Annotated[str, Field(description="What to ask, with all that the seats need to know.")],
    ctx: Context[Any, Any],
    seats: Seats = None,
    files: Files = None,
    follow_up: Annotated[bool, Field(description="Hold one more round if their stances differ.")] = False,
    budget_usd: Budget = None,
    wait_seconds: Wait = DEFAULT_WAIT_SECONDS,
) -> MeetingToolResult:
    """Have two or more models answer a question independently, and quote what they say side by side.

    Returns the result, or, if it takes longer than `wait_seconds`, the session to watch with `watch_meeting`.
    """
    async with open_desk_for_call() as desk:
        asked = Agenda(
            question,
            _seats(desk, seats, "second-opinion"),
            "second-opinion",
            settings={"follow_up": follow_up},
            files=tuple(files or ()),
            headless=True,
        )
        return await _hold(desk, asked, budget_usd, wait_seconds, ctx)


async def start_meeting(
    question: Annotated[str, Field(description="What is to be decided.")],
    meeting: Annotated[str, Field(description="Which rules, such as council, debate or vote.")] = "",
    seats: Seats = None,
    files: Files = None,
    options: Annotated[list[str] | None, Field(description="The answers to choose from, if they are known.")] = None,
    headless: Annotated[bool, Field(description="Let every gate take its default instead of waiting.")] = False,
    budget_usd: Budget = None,
    wait_seconds: Wait = 0,
) -> MeetingToolResult:
    """Start a meeting of several models that discuss a question and decide it; it goes on whatever becomes of you.

    Returns the session at once, or the decision if it is there within `wait_seconds`. Follow it with
    `watch_meeting`; where it waits at a gate, ask the person and call `answer_gate`.
    """
    async with open_desk_for_call() as desk:
        asked = Agenda(
            question,
            _seats(desk, seats, meeting),
            meeting,
            options=tuple(options or ()),
            files=tuple(files or ()),
            headless=headless,
        )
        return await _hold(desk, asked, budget_usd, wait_seconds)


async def watch_meeting(
    session: SessionName,
    ctx: Context[Any, Any],
    after: Annotated[
        int, Field(ge=0, le=MAX_SEQ, description="The `seq` you know already: only what is newer is told.")
    ] = 0,
    wait_seconds: Wait = DEFAULT_WAIT_SECONDS,
) -> MeetingToolResult:
    """Wait until a meeting has decided, stands at a gate or stops, and tell what happened since; or say what is new."""
    async with open_desk_for_call() as desk:
        return await _follow(desk, await desk.find(session), after, wait_seconds, ctx)


async def answer_gate(
    session: SessionName,
    gate: Annotated[str, Field(description="The gate's id.")],
    option: Annotated[str, Field(description="One of its options, as the person chose.")],
    text: Annotated[str, Field(description="What the person adds, in their words.")] = "",
) -> MeetingToolResult:
    """Answer the gate at which a meeting waits, with what the person chose; the meeting then goes on."""
    async with open_desk_for_call() as desk:
        found = await desk.find(session)
        before = await _going_on(desk, found)
        await desk.answer(found, gate, option, text, by=_by(), by_program=True)
        await run_in_background(desk, found)
        return await _told(desk, found, before.seq)


async def say(
    session: SessionName,
    text: Annotated[str, Field(description="What the table should know, in the person's words.")],
) -> MeetingToolResult:
    """Put a note to the table; the seats hear it at their next turn."""
    async with open_desk_for_call() as desk:
        found = await desk.find(session)
        before = await _going_on(desk, found)
        if not text.strip():
            raise UsageError("The note is empty.", "Say something.")
        await desk.say(found, text, by=_by())
        return await _told(desk, found, before.seq)


async def resume_meeting(session: SessionName) -> MeetingToolResult:
    """Go on with a meeting that was paused, or that no process runs any more; nobody is asked twice."""
    async with open_desk_for_call() as desk:
        found = await desk.find(session)
        before = await _going_on(desk, found)
        if before.paused:
            await desk.unpause(found)
        await run_in_background(desk, found)
        return await _told(desk, found, before.seq)


async def read_decision(session: SessionName) -> MeetingToolResult:
    """Read what a meeting decided: what it lacks first, then the result, the dissent word for word, and the cost."""
    async with open_desk_for_call() as desk:
        found = await desk.find(session)
        return await _told(desk, found, (await desk.session(found)).seq)


async def list_meetings(
    limit: Annotated[int, Field(ge=1, le=200, description="How many at most.")] = 20,
) -> Annotated[CallToolResult, MeetingList]:
    """List the meetings of this workspace, newest first."""
    async with open_desk_for_call() as desk:
        rows = [row for row in await desk.sessions(limit=limit) if not row.is_child]
        listed = [
            ListedMeeting(
                row.id,
                row.slug,
                sanitize_line(row.question, session_view.LONGEST_LINE),
                row.meeting,
                await _status(desk, row.id),
                row.outcome,
                row.opened_at,
            )
            for row in rows
        ]
    lines = [f"{it.address}: {it.outcome or it.status}. {sanitize_line(it.question, 120)}" for it in listed]
    return _result(MeetingList(listed), "\n".join(lines) or "There are no meetings in this workspace yet.")


async def search_decisions(
    words: Annotated[str, Field(description="What it was about; if empty, the newest are told.")],
    limit: Annotated[int, Field(ge=1, le=100, description="How many at most.")] = 10,
) -> Annotated[CallToolResult, MemoryList]:
    """Look up what earlier meetings of this workspace decided, what the person rejected, and what failed, with why."""
    async with open_desk_for_call() as desk:
        entries = await desk.memory.entries(_LOOKED_UP, words.strip(), limit)
    found = [session_view.build_memory_entry(entry) for entry in entries]
    return _result(
        MemoryList(found),
        "\n".join(map(session_view.render_memory_line, found)) or "Nothing like it is remembered here.",
    )


# --- shared --------------------------------------------------------------------------------------


@asynccontextmanager
async def open_desk_for_call() -> AsyncGenerator[Roundtable]:
    """The desk for one call, so that an edited config holds from the next call on; errors leave as one sentence."""
    try:
        async with await Roundtable.open() as desk:
            yield desk
    except RoundtableError as error:
        raise ToolError(sanitize_text(Redactor().redact(f"{error.message} {error.help}".strip()))) from None


def _seats(desk: Roundtable, names: list[str] | None, meeting: str) -> tuple[Seat, ...]:
    """The seats the person has set up, or a preset's; a program can choose among them and bring none of its own."""
    known = {seat.name: seat for seat in desk.usual_seats(meeting) or discovery.remembered(desk)}
    if not known:
        raise UsageError("There are no seats.", "The person sets them up once with `roundtable init`.")
    if unknown := [name for name in names or () if name not in known]:
        raise UsageError(f"There is no seat {sanitize_line(unknown[0], 60)}.", f"There are: {', '.join(known)}.")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else tuple(known.values())


async def _hold(
    desk: Roundtable, asked: Agenda, budget: float | None, wait: float, ctx: Context[Any, Any] | None = None
) -> MeetingToolResult:
    limits = _within(desk.usual_limits(asked.meeting), budget)
    if limits.budget_usd is None and (paid := desk.paid_voices(asked.seats)):
        raise UsageError(
            f"{paid[0]} is paid by the token, and nobody said how much may be spent.",
            "Ask the person, then pass budget_usd; or let them set budget_usd under [limits] in the config.",
        )
    session = ""
    with anyio.CancelScope(shield=True):  # whoever hangs up now still finds a meeting that runs
        session = await desk.convene(msgspec.structs.replace(asked, limits=limits))
        await run_in_background(desk, session)
    return await _follow(desk, session, 0, wait, ctx)


def _by() -> str:
    """Who speaks through a program: it passes on what the person said, or says so."""
    return f"{current_user_name()}, over MCP"


def _within(limits: Limits, budget: float | None) -> Limits:
    """A budget said here may narrow the person's own and never widen it."""
    stated = [it for it in (limits.budget_usd, budget) if it is not None]
    return msgspec.structs.replace(limits, budget_usd=min(stated, default=None))


async def _going_on(desk: Roundtable, session: str) -> Session:
    state = await desk.session(session)
    if state.ended:
        raise UsageError(f"This meeting has ended ({state.status}).", "read_decision tells how.")
    return state


async def _follow(
    desk: Roundtable, session: str, after: int, wait: float, ctx: Context[Any, Any] | None
) -> MeetingToolResult:
    """Wait, but not long, for something that the caller can act on; what happens meanwhile is told as progress."""
    loop = asyncio.get_running_loop()
    give_up, seen = loop.time() + wait, after
    while True:
        for recorded in await desk.store.read(session, seen):
            seen = recorded.seq
            if ctx is not None and (said := session_view.render_fact_line(recorded.event)):
                await ctx.report_progress(seen, message=said)
        left = give_up - loop.time()
        if left <= 0 or await _status(desk, session) != "running":
            return await _told(desk, session, after)
        await desk.store.changed(session, seen, min(left, _LOOK_SECONDS))


async def _status(desk: Roundtable, session: str) -> str:
    holder = await desk.holder(session)
    return session_view.meeting_status_word(await desk.session(session), holder)


async def _told(desk: Roundtable, session: str, after: int) -> MeetingToolResult:
    holder, why = await desk.holder(session), read_background_failure(desk.places, session)
    records = await desk.store.read(session)
    state = Session.fold(session, records)
    told = session_view.build_meeting_status(state, [it for it in records if it.seq > after], holder, why)
    return _result(told, session_view.render_meeting_text(told, state))


def _result(shape: MeetingStatus | MeetingList | MemoryList, text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], structured_content=dataclasses.asdict(shape))
