"""`rollback`, and the questions about it at a gate: which stage to go back to and what should be different."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from roundtable.core.faults import RoundtableError, UsageError
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.completion import shell_complete_session_names
from roundtable.doors.cli.output import print_note, run_cli_command_at_desk, shortest_cli_session_argument

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


async def prompt_rollback_stage_in_terminal(
    session: Session, answer: str, read_line: Callable[[str], Awaitable[str | None]]
) -> str | None:
    """Ask for the stage and what should be different, as one answer; None if the person left."""
    stages = [end.stage for end in session_stage_ends(session)]
    stage, _, different = (part.strip() for part in answer.partition(":"))
    while stage not in stages:
        if stage:
            print_note(f"There is no stage {sanitize_line(stage, 60)} to go back to.")
        line = await read_line(f"Which stage do you want to go back to? [{', '.join(stages)}]: ")
        if line is None:
            return None
        stage = line
    if not different:
        line = await read_line("What should be different? [Enter to skip]: ")
        if line is None:
            return None
        different = line
    return f"{stage}: {different}"


def check_cli_rollback_option(session: Session, text: str) -> None:
    """Reject an answer without a stage that was held."""
    from roundtable.app.desk.sessions import Sessions

    if not text.strip():
        stages = ", ".join(end.stage for end in session_stage_ends(session))
        raise UsageError(
            "Option `back` needs --text with a stage and your instructions for the seats.",
            f'Add --text "STAGE: INSTRUCTIONS". The stages are {stages}.',
        )
    Sessions.check_rollback(session, text)


async def cli_continue_rolled_back_session(desk: Roundtable, ended: Session) -> Session | None:
    """Open the session that continues one that ended with `back`; None if it did not, or if that fails."""
    from roundtable.app.desk.sessions import Sessions

    try:
        target = Sessions.requested_rollback(ended)
        if target is None:
            return None
        new_session = await desk.sessions.get(await desk.sessions.rollback(ended.id, *target))
    except RoundtableError as error:
        print_note(f"{error.message} {error.help}")
        return None
    old = await shortest_cli_session_argument(desk, ended.id, ended.charter.slug)
    new = await shortest_cli_session_argument(desk, new_session.id, new_session.charter.slug)
    print_note(f"Continuing in the new session {new} with stage {target[0]}.")
    print_note(f"To compare the two sessions: roundtable diff-sessions {old} {new}")
    return new_session


@click.command()
@click.argument("session", shell_complete=shell_complete_session_names)
@click.argument("stage")
@click.option("--instruct", default="", metavar="TEXT", help="Tell the seats what should be different in this stage.")
def rollback_command(session: str, stage: str, instruct: str) -> None:
    """Repeat a session from a given stage, in a new session.

    The new session shares the record up to that stage and repeats the stage and all later ones. The
    old session is not changed and, if it is running, continues.

    \b
    Examples:
      roundtable rollback last architecture --instruct "Use PostgreSQL."
      roundtable rollback 2026-11-15-a-to-do-api development
    """
    click.echo(run_cli_command_at_desk(lambda desk: _rollback(desk, session, stage, instruct)))


async def _rollback(desk: Roundtable, address: str, stage: str, instructions: str) -> str:
    state = await desk.sessions.get(await desk.sessions.find(address))
    new_id = await desk.sessions.rollback(state.id, stage, instructions)
    new = await shortest_cli_session_argument(desk, new_id, (await desk.sessions.get(new_id)).charter.slug)
    old = await shortest_cli_session_argument(desk, state.id, state.charter.slug)
    still_running = (
        f"; the old session is still running, stop it with: roundtable cancel {old}"
        if await desk.sessions.holder(state.id)
        else ""
    )
    return f"New session {new}, starting at stage {stage}; run it with: roundtable resume {new}{still_running}"
