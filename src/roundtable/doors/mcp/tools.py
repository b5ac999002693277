"""The tools of the MCP server; each is one call on the desk. Meetings run in their own processes and outlive a call."""

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

from roundtable.app.desk import Agenda, Roundtable, Setup
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
"""Clients abandon a call after a minute."""
MAX_SEQ = 2**63 - 1
"""The largest sequence number of a record."""
_POLL_SECONDS = 1.0
_SEARCHED_KINDS = (EntryKind.DECISION, EntryKind.DECREE, EntryKind.FAILURE)

SessionName = Annotated[str, Field(description="A session: an id, a slug, the beginning of either, a name, or `last`.")]
Seats = Annotated[list[str] | None, Field(description="Names of configured seats; all of them by default.")]
Files = Annotated[list[str] | None, Field(description="Workspace files to show to the seats: `path` or `path:10-50`.")]
Budget = Annotated[
    float | None,
    Field(
        ge=LIMIT_MINIMUMS["budget_usd"],
        le=LIMIT_MAXIMUM,
        allow_inf_nan=False,
        description="The budget in US dollars. If the config sets a lower budget, the lower one applies.",
    ),
]
Wait = Annotated[
    float,
    Field(
        ge=0, le=MAX_WAIT_SECONDS, allow_inf_nan=False, description="Seconds to wait for the result before returning."
    ),
]
MeetingToolResult = Annotated[CallToolResult, MeetingStatus]


async def ask_second_opinion_tool(
    question: Annotated[str, Field(description="The question, with everything the seats need to know.")],
    ctx: Context[Any, Any],
    seats: Seats = None,
    files: Files = None,
    follow_up: Annotated[bool, Field(description="Hold one more round if the stances differ.")] = False,
    budget_usd: Budget = None,
    wait_seconds: Wait = DEFAULT_WAIT_SECONDS,
) -> MeetingToolResult:
    """Ask two or more models independently and quote their answers side by side.

    Returns the result, or, if it takes longer than `wait_seconds`, the session to watch with `watch_meeting`.
    """
    async with open_desk_for_mcp_call() as desk:
        agenda = Agenda(
            question,
            _choose_seats(desk, seats, "second-opinion"),
            "second-opinion",
            settings={"follow_up": follow_up},
            files=tuple(files or ()),
            headless=True,
        )
        return await _start_and_follow(desk, agenda, budget_usd, wait_seconds, ctx)


async def start_meeting_tool(
    question: Annotated[str, Field(description="The question to decide.")],
    meeting: Annotated[str, Field(description="The kind of meeting, such as council, debate or vote.")] = "",
    seats: Seats = None,
    files: Files = None,
    options: Annotated[list[str] | None, Field(description="The possible answers, if they are known.")] = None,
    headless: Annotated[bool, Field(description="Answer every gate with its default instead of waiting.")] = False,
    budget_usd: Budget = None,
    wait_seconds: Wait = 0,
) -> MeetingToolResult:
    """Start a meeting in which several models discuss a question and decide it; it continues if you disconnect.

    Returns the session at once, or the decision if it is reached within `wait_seconds`. Follow it with `watch_meeting`;
    when it waits at a gate, ask the person and call `answer_gate`.
    """
    async with open_desk_for_mcp_call() as desk:
        agenda = Agenda(
            question,
            _choose_seats(desk, seats, meeting),
            meeting,
            options=tuple(options or ()),
            files=tuple(files or ()),
            headless=headless,
        )
        return await _start_and_follow(desk, agenda, budget_usd, wait_seconds)


async def watch_meeting_tool(
    session: SessionName,
    ctx: Context[Any, Any],
    after: Annotated[
        int,
        Field(ge=0, le=MAX_SEQ, description="The `seq` of the last event you know; only later events are returned."),
    ] = 0,
    wait_seconds: Wait = DEFAULT_WAIT_SECONDS,
) -> MeetingToolResult:
    """Wait until a meeting decides, reaches a gate or stops, and return what happened since `after`."""
    async with open_desk_for_mcp_call() as desk:
        return await _follow_meeting(desk, await desk.sessions.find(session), after, wait_seconds, ctx)


async def answer_gate_tool(
    session: SessionName,
    gate: Annotated[str, Field(description="The gate's id.")],
    option: Annotated[str, Field(description="The option the person chose.")],
    text: Annotated[str, Field(description="The person's own words, if any.")] = "",
) -> MeetingToolResult:
    """Answer the gate at which a meeting waits, with the person's choice; the meeting then continues."""
    async with open_desk_for_mcp_call() as desk:
        session_id = await desk.sessions.find(session)
        before = await _load_running_session(desk, session_id)
        await desk.gates.answer(session_id, gate, option, text, by=_author_over_mcp(), by_program=True)
        await desk.meetings.run_in_background(session_id)
        return await _meeting_result(desk, session_id, before.seq)


async def say_tool(
    session: SessionName,
    text: Annotated[str, Field(description="The note, in the person's words.")],
) -> MeetingToolResult:
    """Send a note to the table; the seats see it at their next turn."""
    async with open_desk_for_mcp_call() as desk:
        session_id = await desk.sessions.find(session)
        before = await _load_running_session(desk, session_id)
        if not text.strip():
            raise UsageError("The note is empty.", "Pass the note as `text`.")
        await desk.sessions.say(session_id, text, by=_author_over_mcp())
        return await _meeting_result(desk, session_id, before.seq)


async def resume_meeting_tool(session: SessionName) -> MeetingToolResult:
    """Continue a meeting that was paused or that no process runs any more; no seat is asked twice."""
    async with open_desk_for_mcp_call() as desk:
        session_id = await desk.sessions.find(session)
        before = await _load_running_session(desk, session_id)
        if before.paused:
            await desk.sessions.resume(session_id)
        await desk.meetings.run_in_background(session_id)
        return await _meeting_result(desk, session_id, before.seq)


async def read_decision_tool(session: SessionName) -> MeetingToolResult:
    """Read the decision of a meeting: warnings first, then the result, the dissent and the cost."""
    async with open_desk_for_mcp_call() as desk:
        session_id = await desk.sessions.find(session)
        return await _meeting_result(desk, session_id, (await desk.sessions.get(session_id)).seq)


async def list_meetings_tool(
    limit: Annotated[int, Field(ge=1, le=200, description="Maximum number of results.")] = 20,
) -> Annotated[CallToolResult, MeetingList]:
    """List the meetings of this workspace, newest first."""
    async with open_desk_for_mcp_call() as desk:
        rows = [row for row in await desk.sessions.list(limit=limit) if not row.is_child]
        listed = [
            ListedMeeting(
                row.id,
                row.slug,
                sanitize_line(row.question, session_view.LONGEST_LINE),
                row.meeting,
                await _load_status(desk, row.id),
                row.outcome,
                row.opened_at,
            )
            for row in rows
        ]
    lines = [
        f"{meeting.address}: {meeting.outcome or meeting.status}. {sanitize_line(meeting.question, 120)}"
        for meeting in listed
    ]
    return _tool_result(MeetingList(listed), "\n".join(lines) or "There are no meetings in this workspace yet.")


async def search_decisions_tool(
    words: Annotated[str, Field(description="Words to search for; if empty, the newest entries are returned.")],
    limit: Annotated[int, Field(ge=1, le=100, description="Maximum number of results.")] = 10,
) -> Annotated[CallToolResult, MemoryList]:
    """Search the decisions, rejections and failures of earlier meetings of this workspace, with their reasons."""
    async with open_desk_for_mcp_call() as desk:
        entries = await desk.memory.entries(_SEARCHED_KINDS, words.strip(), limit)
    memories = [session_view.build_mcp_memory_entry(entry) for entry in entries]
    return _tool_result(
        MemoryList(memories),
        "\n".join(map(session_view.render_mcp_memory_line, memories))
        or "No decision, decree or failure of this workspace matches these words.",
    )


READING_TOOLS = {
    "watch_meeting": watch_meeting_tool,
    "read_decision": read_decision_tool,
    "list_meetings": list_meetings_tool,
    "search_decisions": search_decisions_tool,
}
"""The tools that change nothing, by name."""

CHANGING_TOOLS = {
    "ask_second_opinion": ask_second_opinion_tool,
    "start_meeting": start_meeting_tool,
    "answer_gate": answer_gate_tool,
    "say": say_tool,
    "resume_meeting": resume_meeting_tool,
}
"""The tools that start or steer a meeting, by name."""


# --- shared --------------------------------------------------------------------------------------


@asynccontextmanager
async def open_desk_for_mcp_call() -> AsyncGenerator[Roundtable]:
    """Open the desk for one call, so that config edits take effect; errors become tool errors."""
    try:
        async with await Roundtable.open() as desk:
            yield desk
    except RoundtableError as error:
        raise ToolError(sanitize_text(Redactor().redact(f"{error.message} {error.help}".strip()))) from None


def _choose_seats(desk: Roundtable, names: list[str] | None, meeting: str) -> tuple[Seat, ...]:
    """The configured seats or those of a preset; a caller can choose among them but add none."""
    seats = {seat.name: seat for seat in desk.meetings.default_seats(meeting) or desk.setup.remembered_seats()}
    if not seats:
        raise UsageError("No seats are configured.", "Ask the person to run `roundtable init`.")
    if unknown := [name for name in names or () if name not in seats]:
        raise UsageError(f"Unknown seat {sanitize_line(unknown[0], 60)}.", f"Choose from: {', '.join(seats)}.")
    return tuple(seats[name] for name in dict.fromkeys(names)) if names else tuple(seats.values())


async def _start_and_follow(
    desk: Roundtable, agenda: Agenda, budget: float | None, wait_seconds: float, ctx: Context[Any, Any] | None = None
) -> MeetingToolResult:
    limits = _cap_budget(desk.meetings.default_limits(agenda.meeting), budget)
    if limits.budget_usd is None and (paid := desk.meetings.paid_voices(agenda.seats)):
        raise UsageError(
            f"Voice {paid[0]} is paid by the token, and no budget is set.",
            "Ask the person for a budget and pass it as `budget_usd`, or ask them to set limits.budget_usd in the "
            "config.",
        )
    session = ""
    with anyio.CancelScope(shield=True):  # a caller that disconnects now still finds a running meeting
        session = await desk.meetings.open(msgspec.structs.replace(agenda, limits=limits))
        await desk.meetings.run_in_background(session)
    return await _follow_meeting(desk, session, 0, wait_seconds, ctx)


def _author_over_mcp() -> str:
    """The name recorded for a person who acts through a program."""
    return f"{Setup.user_name()}, over MCP"


def _cap_budget(limits: Limits, budget: float | None) -> Limits:
    """The limits with a caller's budget, which may lower the person's own but never raise it."""
    stated = [budget_limit for budget_limit in (limits.budget_usd, budget) if budget_limit is not None]
    return msgspec.structs.replace(limits, budget_usd=min(stated, default=None))


async def _load_running_session(desk: Roundtable, session: str) -> Session:
    state = await desk.sessions.get(session)
    if state.ended:
        raise UsageError(f"This meeting has ended ({state.status}).", "Call read_decision for its result.")
    return state


async def _follow_meeting(
    desk: Roundtable, session: str, after: int, wait_seconds: float, ctx: Context[Any, Any] | None
) -> MeetingToolResult:
    """Wait until the caller can act or the time is over; events are reported as progress."""
    loop = asyncio.get_running_loop()
    give_up, last_seq = loop.time() + wait_seconds, after
    while True:
        for recorded in await desk.sessions.records(session, last_seq):
            last_seq = recorded.seq
            if ctx is not None and (sentence := session_view.render_mcp_event_line(recorded.event)):
                await ctx.report_progress(last_seq, message=sentence)
        remaining = give_up - loop.time()
        if remaining <= 0 or await _load_status(desk, session) != "running":
            return await _meeting_result(desk, session, after)
        await desk.sessions.wait_for_facts(session, last_seq, min(remaining, _POLL_SECONDS))


async def _load_status(desk: Roundtable, session: str) -> str:
    holder = await desk.sessions.holder(session)
    return session_view.mcp_meeting_status_word(await desk.sessions.get(session), holder)


async def _meeting_result(desk: Roundtable, session: str, after: int) -> MeetingToolResult:
    holder, failure = await desk.sessions.holder(session), desk.meetings.background_failure(session)
    records = await desk.sessions.records(session)
    state = Session.fold(session, records)
    status = session_view.build_mcp_meeting_status(
        state, [record for record in records if record.seq > after], holder, failure
    )
    return _tool_result(status, session_view.render_mcp_meeting_text(status, state))


def _tool_result(shape: MeetingStatus | MeetingList | MemoryList, text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], structured_content=dataclasses.asdict(shape))
