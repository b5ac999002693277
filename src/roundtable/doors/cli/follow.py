"""`watch` and `resume`: joining a session that is there already."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import click

from roundtable.core.events import Delta, Recorded
from roundtable.core.faults import SessionHeld
from roundtable.core.session import Session
from roundtable.core.stages import in_stages
from roundtable.doors.cli.displays import Display, Manner, display
from roundtable.doors.cli.options import HeadedCommand, manner_options, option, session_argument, strict_option
from roundtable.doors.cli.output import (
    INTERRUPTED,
    TAKEN,
    address_of,
    at_desk,
    at_desk_of,
    ended_with,
    let_go_of_stdout,
    note,
)
from roundtable.doors.cli.run_session import conclude, conduct, follow, stopping
from roundtable.live.board import View

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


ALONE_SECONDS = 2.0
FOREVER = 1 << 60
"""Panels that open with this fact never do."""


@click.command(cls=HeadedCommand)
@session_argument
@manner_options
@strict_option
@option("Output", "--after", type=click.IntRange(0), default=0, metavar="SEQ", help="Only facts after this one.")
@option("Output", "--no-follow", is_flag=True, help="Print what is there and leave.")
def watch(session: str, as_json: bool, plain: bool, strict: bool, after: int, no_follow: bool) -> int:
    """Follow a session that runs here or in another process.

    SESSION is an id, a slug, the beginning of either, a name, or `last` (the default).
    Leaving with Ctrl-C does not stop the session. The exit code is the session's own.

    \b
    Examples:
      roundtable watch
      roundtable watch 2026-11-15-rest-or-graphql --json
      roundtable watch last --no-follow --plain
    """
    manner = Manner(as_json, plain)
    manner.check()
    return at_desk(lambda desk: _watch(desk, session, manner, after=after, stay=not no_follow, strict=strict))


async def _watch(desk: Roundtable, address: str, manner: Manner, *, after: int, stay: bool, strict: bool) -> int:
    state = await desk.session(await desk.find(address))
    address = await address_of(desk, state.id, state.charter.slug)
    stay = stay and not state.ended
    show = display(manner, View(state.charter, address, live_from=state.seq if stay else FOREVER, own=False))
    items = desk.watch(state.id, after) if stay else _so_far(desk, state.id, after)
    following = asyncio.create_task(follow(items, show))
    looking = asyncio.create_task(_say_when_alone(desk, state.id, address, show)) if stay else None
    with stopping(following.cancel, show.close):
        await asyncio.wait({following})
    if looking is not None:
        looking.cancel()
        await asyncio.wait({looking})
    if following.cancelled():
        note(f"You no longer watch; the session itself goes on. Come back with: roundtable watch {address}")
        return INTERRUPTED
    try:
        following.result()
    except BrokenPipeError:
        let_go_of_stdout()
        return TAKEN
    ended = state.ended or stay
    return await conclude(desk, state.id, show, address, strict=strict) if ended else TAKEN


async def _say_when_alone(desk: Roundtable, session: str, address: str, show: Display) -> None:
    """Say so, once, whenever no process runs the session any more: a killed one cannot say it itself."""
    said = False
    while True:
        alone = await desk.holder(session) is None
        if alone and not said and not (await desk.session(session)).ended:
            show.suspend()
            note(f"Nobody runs this session now; waiting for: roundtable resume {address}")
            show.resume()
        said = alone
        await asyncio.sleep(ALONE_SECONDS)


async def _so_far(desk: Roundtable, session: str, after: int) -> AsyncGenerator[Recorded | Delta]:
    """The record as it is, without waiting for more."""
    last = (await desk.session(session)).seq
    if after >= last:
        return
    async with contextlib.aclosing(desk.watch(session, after)) as items:
        async for item in items:
            yield item
            if isinstance(item, Recorded) and item.seq >= last:
                return


@click.command(cls=HeadedCommand)
@session_argument
@manner_options
@strict_option
@option("Gates", "--headless", is_flag=True, help="Ask nobody: gates take their default.")
def resume(session: str, as_json: bool, plain: bool, strict: bool, headless: bool) -> int:
    """Go on with a session that was stopped or paused.

    SESSION is an id, a slug, the beginning of either, a name, or `last` (the default).
    Seats that have answered are not asked again. If another process runs the session and it is
    paused, it is told to go on.

    \b
    Examples:
      roundtable resume
      roundtable resume 2026-11-15-rest-or-graphql --json
    """
    manner = Manner(as_json, plain)
    manner.check()
    return at_desk_of(
        lambda desk: desk.find(session),
        lambda desk, state: _resume(desk, state, manner, headless=headless, strict=strict),
    )


async def _resume(desk: Roundtable, state: Session, manner: Manner, *, headless: bool, strict: bool) -> int:
    address = await address_of(desk, state.id, state.charter.slug)
    if state.ended:
        return await _show_ended(desk, state, manner, address, strict=strict)
    if holder := await desk.holder(state.id):
        return await _told_to_go_on(desk, state, holder, address)
    if state.paused:
        await desk.unpause(state.id)
        state = await desk.session(state.id)
    return await conduct(desk, state, manner, headless=headless, strict=strict)


async def _show_ended(desk: Roundtable, state: Session, manner: Manner, address: str, *, strict: bool) -> int:
    by_round = f"a round on: roundtable branch {address} --at ROUND"
    by_stage = f"a stage on: roundtable rollback {address} STAGE"
    way = by_stage if in_stages(state.charter) else by_round
    note(f"This session has ended. To go another way from {way}")
    show = display(manner, View(state.charter, address, live_from=FOREVER))
    if manner.json:
        await follow(_so_far(desk, state.id, 0), show)
        return ended_with(state, strict=strict)
    return await conclude(desk, state.id, show, address, strict=strict)


async def _told_to_go_on(desk: Roundtable, state: Session, holder: str, address: str) -> int:
    if not state.paused:
        raise held(holder, address)
    await desk.unpause(state.id)
    note(f"The session goes on in {_process(holder)}; follow it with: roundtable watch {address}")
    return TAKEN


def held(holder: str, address: str) -> SessionHeld:
    """The error of somebody who wants to run what another process runs."""
    return SessionHeld(
        f"This session is run by {_process(holder)}.",
        f"Follow it with `roundtable watch {address}`, or end it with `roundtable cancel {address}`.",
    )


def _process(holder: str) -> str:
    host, pid, *_ = [*holder.split(":"), ""]
    return f"process {pid} on {host}" if pid else holder
