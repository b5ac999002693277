"""`rollback`, and the questions about it at a gate: which stage to go back to and what should be different."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from roundtable.core.faults import RoundtableError, UsageError
from roundtable.core.session import Session
from roundtable.core.stage_history import list_stage_ends
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.completion import complete_session_names
from roundtable.doors.cli.output import print_note, run_command_at_desk, shortest_session_argument

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


async def prompt_rollback_stage(
    session: Session, said: str, read_line: Callable[[str], Awaitable[str | None]]
) -> str | None:
    """Ask for the stage and what should be different, as one answer; None if the person left."""
    held = [end.stage for end in list_stage_ends(session)]
    stage, _, different = (part.strip() for part in said.partition(":"))
    while stage not in held:
        if stage:
            print_note(f"There is no stage {sanitize_line(stage, 60)} to go back to.")
        typed = await read_line(f"Go back to which stage? [{', '.join(held)}]: ")
        if typed is None:
            return None
        stage = typed
    if not different:
        typed = await read_line("What should be different? [Enter for nothing]: ")
        if typed is None:
            return None
        different = typed
    return f"{stage}: {different}"


def check_rollback_option_text(session: Session, text: str) -> None:
    """Reject an answer without a stage that was held."""
    from roundtable.app.desk.sessions import Sessions

    if not text.strip():
        held = ", ".join(end.stage for end in list_stage_ends(session))
        raise UsageError(
            "Option `back` needs --text with the stage and what should be different.",
            f'Write --text "STAGE: WHAT SHOULD BE DIFFERENT"; the stages are {held}.',
        )
    Sessions.check_rollback(session, text)


async def continue_rollback_command(desk: Roundtable, ended: Session) -> Session | None:
    """Open the session that continues one that ended with `back`; None if it did not, or if that fails."""
    from roundtable.app.desk.sessions import Sessions

    try:
        where = Sessions.requested_rollback(ended)
        if where is None:
            return None
        line = await desk.sessions.get(await desk.sessions.rollback(ended.id, *where))
    except RoundtableError as error:
        print_note(f"{error.message} {error.help}")
        return None
    old = await shortest_session_argument(desk, ended.id, ended.charter.slug)
    new = await shortest_session_argument(desk, line.id, line.charter.slug)
    print_note(f"Continuing with {new}, starting at {where[0]}. To compare both: roundtable diff-sessions {old} {new}")
    return line


@click.command()
@click.argument("session", shell_complete=complete_session_names)
@click.argument("stage")
@click.option("--instruct", default="", metavar="TEXT", help="What should be different in this stage.")
def rollback_command(session: str, stage: str, instruct: str) -> None:
    """Go back to a stage of a session, in a new session.

    The new session shares the record up to that stage and repeats the stage and all later ones. The
    old session is not changed and, if it is running, continues.

    \b
    Examples:
      roundtable rollback last architecture --instruct "Use PostgreSQL."
      roundtable rollback 2026-11-15-a-to-do-api development
    """
    click.echo(run_command_at_desk(lambda desk: _rollback(desk, session, stage, instruct)))


async def _rollback(desk: Roundtable, address: str, stage: str, instructions: str) -> str:
    state = await desk.sessions.get(await desk.sessions.find(address))
    line = await desk.sessions.rollback(state.id, stage, instructions)
    new = await shortest_session_argument(desk, line, (await desk.sessions.get(line)).charter.slug)
    old = await shortest_session_argument(desk, state.id, state.charter.slug)
    runs = (
        f"; the old session is still running, end it with: roundtable cancel {old}"
        if await desk.sessions.holder(state.id)
        else ""
    )
    return f"New session {new}, starting at {stage}; run it with: roundtable resume {new}{runs}"
