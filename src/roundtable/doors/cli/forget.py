"""`forget` and `gc`: hide and delete sessions; their decisions are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.doors.cli.output import print_note, run_cli_command_at_desk, shortest_cli_session_argument
from roundtable.doors.cli.tables import print_json

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


@click.command()
@click.argument("session", default="")
@click.option("--session", "name", default="", metavar="NAME", help="Same as the argument SESSION.")
def forget_command(session: str, name: str) -> None:
    """Remove a session from the list; exported files stay.

    Its name becomes free, and `last` no longer refers to it. Its decision is kept, and `show` prints
    it by its address until `roundtable gc` deletes it. A running session cannot be forgotten.

    \b
    Examples:
      roundtable forget last
      roundtable forget --session architecture
    """
    if bool(session) == bool(name):
        raise UsageError("Give exactly one session.", "`roundtable list` shows the sessions.")
    click.echo(run_cli_command_at_desk(lambda desk: _forget(desk, session or name)))


async def _forget(desk: Roundtable, address: str) -> str:
    state = await desk.sessions.get(await desk.sessions.find(address))
    if state.forgotten:
        raise UsageError(
            f"Session {address} is already forgotten.", "To delete its transcript: roundtable gc --max-age-days N"
        )
    short = await shortest_cli_session_argument(desk, state.id, state.charter.slug)
    await desk.sessions.forget(state.id)
    return f"Session {short} is forgotten; until `roundtable gc` deletes it, `roundtable show {short}` prints it"


@click.command()
@click.option(
    "--max-age-days",
    type=click.IntRange(0),
    required=True,
    metavar="N",
    help="Delete sessions that have not changed for N days.",
)
@click.option("--dry-run", is_flag=True, help="List what would be deleted, without deleting.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gc_command(max_age_days: int, dry_run: bool, as_json: bool) -> None:
    """Delete the transcripts of old sessions; decisions are kept.

    In all workspaces, sessions that have not changed for N days are deleted, and then the texts that no
    session needs any more (only while no session runs). Running sessions and sessions that wait for
    your answer are kept.

    \b
    Examples:
      roundtable gc --max-age-days 90 --dry-run
      roundtable gc --max-age-days 30
    """

    removed = run_cli_command_at_desk(lambda desk: desk.sessions.remove_old(max_age_days, dry_run=dry_run))
    if as_json:
        deleted_fields = [{"id": row.id, "slug": row.slug, "workspace": row.workspace} for row in removed.gone]
        kept_fields = {row.id: reason for row, reason in removed.kept}
        print_json(
            {"v": 1, "dry_run": dry_run, "sessions": deleted_fields, "kept": kept_fields, "freed_bytes": removed.size}
        )
        return
    for row in removed.gone:
        click.echo(row.slug or row.id)
    for row, reason in removed.kept:
        print_note(f"Session {row.slug or row.id} is kept: {reason}.")
    number = f"{len(removed.gone)} session{'' if len(removed.gone) == 1 else 's'}"
    print_note(f"{number} would be deleted." if dry_run else f"Deleted {number}; freed {removed.size:,} bytes.")
