"""`rollback`: another line of a session from one of its stages on, made from any terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.doors.cli import complete_words
from roundtable.doors.cli.output import address_of, at_desk

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


@click.command()
@click.argument("session", shell_complete=complete_words.sessions)
@click.argument("stage")
@click.option("--instruct", default="", metavar="TEXT", help="What is to be different in this stage.")
def rollback(session: str, stage: str, instruct: str) -> None:
    """Go back to a stage of a session, on a line of its own.

    The new session shares the record up to this stage; it and all after it are held anew. Nothing
    of the old one is changed, whether it has ended or still runs.

    \b
    Examples:
      roundtable rollback last architecture --instruct "Use PostgreSQL."
      roundtable rollback 2026-11-15-a-to-do-api development
    """
    click.echo(at_desk(lambda desk: _rollback(desk, session, stage, instruct)))


async def _rollback(desk: Roundtable, address: str, stage: str, instructions: str) -> str:
    state = await desk.session(await desk.find(address))
    line = await desk.rollback(state.id, stage, instructions)
    new = await address_of(desk, line, (await desk.session(line)).charter.slug)
    old = await address_of(desk, state.id, state.charter.slug)
    runs = f"; the old line still runs, end it with: roundtable cancel {old}" if await desk.holder(state.id) else ""
    return f"New session {new}, from {stage} on; hold it with: roundtable resume {new}{runs}"
