"""`apply`: carry out what a session decided; nothing is written that the person did not take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from roundtable.core.session import Session
from roundtable.doors.cli import complete_words
from roundtable.doors.cli.meeting_options import (
    MEETING_HEADING,
    MeetingRequest,
    add_approve_all_answer,
    apply_options,
    write_options,
)
from roundtable.doors.cli.open_meeting import build_agenda, convene_and_run
from roundtable.doors.cli.options import SectionCommand, section_option
from roundtable.doors.cli.output import run_at_session_desk
from roundtable.doors.cli.seat_choice import choose_seats

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


@click.command(cls=SectionCommand)
@click.argument("session", default="", shell_complete=complete_words.complete_session_names)
@section_option(
    MEETING_HEADING, "--by", default="", metavar="SEAT", help="Who writes it; else the seat that is best at it."
)
@write_options
@apply_options("plan", "approve", "approve-tests", "destroy", "decree")
def apply_command(
    session: str, by: str, everything: bool, dry_run: bool, branch: str, answers: tuple[str, ...], **given: Any
) -> int:
    """Carry out what a session decided; you approve each change.

    One seat writes the change and it is run in a sandbox. You are shown the plan, then every hunk
    with who asked for it and who wrote it: take it, leave it, edit it, or ask the table about it.
    What you took is rehearsed, written at once and committed; `roundtable undo` takes it back.
    Without SESSION it is the newest here that decided something.

    \b
    Examples:
      roundtable apply
      roundtable apply 2026-11-15-rest-or-graphql --by claude --branch rest
      roundtable apply last --dry-run
    """
    settings = {"dry_run": dry_run, "branch": branch, "by": by}
    told = MeetingRequest(
        "", meeting="apply", settings=settings, answers=add_approve_all_answer(answers, everything, dry_run), **given
    )
    told.manner.check()
    return run_at_session_desk(lambda desk: _meant(desk, session), lambda desk, meant: _apply(desk, meant, told))


async def _meant(desk: Roundtable, address: str) -> str:
    from roundtable.app.records.session_to_apply import find_session_to_apply

    return await desk.find(address) if address else (await find_session_to_apply(desk, "")).id


async def _apply(desk: Roundtable, meant: Session, given: MeetingRequest) -> int:
    from roundtable.app.opening.apply_source import build_apply_agenda
    from roundtable.app.records.session_to_apply import find_session_to_apply

    decided = await find_session_to_apply(desk, meant.id)
    seats = await choose_seats(desk, given) if given.seats else ()
    return await convene_and_run(desk, build_apply_agenda(decided, build_agenda(desk, given, seats)), given)
