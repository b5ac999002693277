"""`watch` and `resume`: follow or continue an existing session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import click

from roundtable.core.events import Delta, Recorded
from roundtable.core.faults import SessionHeld
from roundtable.core.session import Session
from roundtable.doors.cli.displays import Display, OutputMode, create_terminal_display
from roundtable.doors.cli.options import (
    SectionCommand,
    cli_output_mode_options,
    cli_section_option,
    cli_session_argument,
    cli_strict_option,
)
from roundtable.doors.cli.output import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    discard_closed_stdout,
    print_note,
    run_cli_command_at_desk,
    run_cli_command_at_session_desk,
    session_exit_code,
    shortest_cli_session_argument,
)
from roundtable.doors.cli.run_session import (
    cli_run_and_show_session,
    display_session_in_terminal,
    handle_terminal_signals,
    print_decision,
)
from roundtable.live.board import SessionView

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


HOLDER_CHECK_SECONDS = 2.0
NEVER_LIVE = 1 << 60
"""Event number at which live panels never open."""


@click.command(cls=SectionCommand)
@cli_session_argument
@cli_output_mode_options
@cli_strict_option
@cli_section_option(
    "Output", "--after", type=click.IntRange(0), default=0, metavar="SEQ", help="Show only events after number SEQ."
)
@cli_section_option("Output", "--no-follow", is_flag=True, help="Print the recorded events and exit.")
def watch_command(session: str, as_json: bool, plain: bool, strict: bool, after: int, no_follow: bool) -> int:
    """Follow a session that runs here or in another process.

    SESSION is an id or its beginning, a slug, a name, or `last` (the default). Ctrl-C stops watching;
    the session continues. The exit code is that of the session.

    \b
    Examples:
      roundtable watch
      roundtable watch 2026-11-15-rest-or-graphql --json
      roundtable watch last --no-follow --plain
    """
    output_mode = OutputMode(as_json, plain)
    output_mode.check()
    return run_cli_command_at_desk(
        lambda desk: _watch(desk, session, output_mode, after=after, stay=not no_follow, strict=strict)
    )


async def _watch(
    desk: Roundtable, address: str, output_mode: OutputMode, *, after: int, stay: bool, strict: bool
) -> int:
    state = await desk.sessions.get(await desk.sessions.find(address))
    address = await shortest_cli_session_argument(desk, state.id, state.charter.slug)
    stay = stay and not state.ended
    display = create_terminal_display(
        output_mode, SessionView(state.charter, address, live_from=state.seq if stay else NEVER_LIVE, own=False)
    )
    items = desk.sessions.watch(state.id, after) if stay else _recorded_events(desk, state.id, after)
    following = asyncio.create_task(display_session_in_terminal(items, display))
    looking = asyncio.create_task(_report_missing_holder(desk, state.id, address, display)) if stay else None
    with handle_terminal_signals(following.cancel, display.close):
        await asyncio.wait({following})
    if looking is not None:
        looking.cancel()
        await asyncio.wait({looking})
    if following.cancelled():
        print_note(f"Stopped watching; the session continues. Watch again with: roundtable watch {address}")
        return EXIT_INTERRUPTED
    try:
        following.result()
    except BrokenPipeError:
        discard_closed_stdout()
        return EXIT_OK
    ended = state.ended or stay
    return await print_decision(desk, state.id, display, address, strict=strict) if ended else EXIT_OK


async def _report_missing_holder(desk: Roundtable, session: str, address: str, display: Display) -> None:
    """Print a note each time the process that runs the session has gone; a killed one cannot report it."""
    reported = False
    while True:
        unheld = await desk.sessions.holder(session) is None
        if unheld and not reported and not (await desk.sessions.get(session)).ended:
            display.suspend()
            print_note(f"No process runs this session; continue it in another terminal: roundtable resume {address}")
            display.resume()
        reported = unheld
        await asyncio.sleep(HOLDER_CHECK_SECONDS)


async def _recorded_events(desk: Roundtable, session: str, after: int) -> AsyncGenerator[Recorded | Delta]:
    """The recorded events, without waiting for new ones."""
    last = (await desk.sessions.get(session)).seq
    if after >= last:
        return
    async with contextlib.aclosing(desk.sessions.watch(session, after)) as items:
        async for item in items:
            yield item
            if isinstance(item, Recorded) and item.seq >= last:
                return


@click.command(cls=SectionCommand)
@cli_session_argument
@cli_output_mode_options
@cli_strict_option
@cli_section_option("Gates", "--headless", is_flag=True, help="Never prompt: every gate takes its default option.")
def resume_command(session: str, as_json: bool, plain: bool, strict: bool, headless: bool) -> int:
    """Continue a session that was stopped or paused.

    SESSION is an id or its beginning, a slug, a name, or `last` (the default). Seats that have answered
    are not asked again. A session that is paused in another process continues there.

    \b
    Examples:
      roundtable resume
      roundtable resume 2026-11-15-rest-or-graphql --json
    """
    output_mode = OutputMode(as_json, plain)
    output_mode.check()
    return run_cli_command_at_session_desk(
        lambda desk: desk.sessions.find(session),
        lambda desk, state: _resume(desk, state, output_mode, headless=headless, strict=strict),
    )


async def _resume(desk: Roundtable, state: Session, output_mode: OutputMode, *, headless: bool, strict: bool) -> int:
    address = await shortest_cli_session_argument(desk, state.id, state.charter.slug)
    if state.ended:
        return await _display_ended_session(desk, state, output_mode, address, strict=strict)
    if holder := await desk.sessions.holder(state.id):
        return await _continue_elsewhere(desk, state, holder, address)
    if state.paused:
        await desk.sessions.resume(state.id)
        state = await desk.sessions.get(state.id)
    return await cli_run_and_show_session(desk, state, output_mode, headless=headless, strict=strict)


async def _display_ended_session(
    desk: Roundtable, state: Session, output_mode: OutputMode, address: str, *, strict: bool
) -> int:
    by_round = f"roundtable branch {address} --at ROUND"
    by_stage = f"roundtable rollback {address} STAGE"
    command = by_stage if state.charter.has_stages else by_round
    print_note(f"This session has ended. To repeat a part of it: {command}")
    display = create_terminal_display(output_mode, SessionView(state.charter, address, live_from=NEVER_LIVE))
    if output_mode.json:
        await display_session_in_terminal(_recorded_events(desk, state.id, 0), display)
        return session_exit_code(state, strict=strict)
    return await print_decision(desk, state.id, display, address, strict=strict)


async def _continue_elsewhere(desk: Roundtable, state: Session, holder: str, address: str) -> int:
    if not state.paused:
        raise cli_session_held_error(holder, address)
    await desk.sessions.resume(state.id)
    print_note(f"The session continues in {_describe_process(holder)}; follow it with: roundtable watch {address}")
    return EXIT_OK


def cli_session_held_error(holder: str, address: str) -> SessionHeld:
    """The error for a session that another process is running."""
    return SessionHeld(
        f"This session is running in {_describe_process(holder)}.",
        f"Follow it with `roundtable watch {address}` or end it with `roundtable cancel {address}`.",
    )


def _describe_process(holder: str) -> str:
    host, pid, *_ = [*holder.split(":"), ""]
    return f"process {pid} on {host}" if pid else holder
