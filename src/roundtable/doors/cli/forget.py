"""`forget` and `gc`: letting go of sessions, never of what they decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.doors.cli.output import print_note, run_at_desk, shortest_session_address
from roundtable.doors.cli.tables import print_json

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable
    from roundtable.app.records.forget import RemovedSessions


@click.command()
@click.argument("session", default="")
@click.option("--session", "name", default="", metavar="NAME", help="The same, as an option.")
def forget_command(session: str, name: str) -> None:
    """Take a session off the list; exported files stay.

    Its name is free for another one, and `last` no longer means it. What it decided is still known, and `show` still
    prints it by its address until `roundtable gc` clears it away. A session that somebody runs is not forgotten.

    \b
    Examples:
      roundtable forget last
      roundtable forget --session architecture
    """
    if bool(session) == bool(name):
        raise UsageError("Name one session to forget.", "`roundtable list` shows those there are.")
    click.echo(run_at_desk(lambda desk: _forget(desk, session or name)))


async def _forget(desk: Roundtable, address: str) -> str:
    from roundtable.app.records.forget import forget_session as let_go

    state = await desk.session(await desk.find(address))
    if state.forgotten:
        raise UsageError(f"The session {address} is forgotten already.", "`roundtable gc` clears it away.")
    short = await shortest_session_address(desk, state.id, state.charter.slug)
    await let_go(desk, state.id)
    return f"{short} is forgotten; until it is cleared away: roundtable show {short}"


@click.command()
@click.option(
    "--max-age-days", type=click.IntRange(0), required=True, metavar="N", help="Clear what is older than that."
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def gc_command(max_age_days: int, dry_run: bool, as_json: bool) -> None:
    """Clear away what old sessions said; decisions are remembered.

    In every workspace, sessions that nobody has touched for N days are deleted, and then the texts that no session
    needs any more (those only while no session runs). A session that somebody runs stays, and so does one that waits
    for your answer.

    \b
    Examples:
      roundtable gc --max-age-days 90 --dry-run
      roundtable gc --max-age-days 30
    """

    async def work(desk: Roundtable) -> RemovedSessions:

        return await desk.sessions.remove_old(max_age_days, dry_run=dry_run)

    done = run_at_desk(work)
    if as_json:
        gone = [{"id": row.id, "slug": row.slug, "workspace": row.workspace} for row in done.gone]
        kept = {row.id: why for row, why in done.kept}
        print_json({"v": 1, "dry_run": dry_run, "sessions": gone, "kept": kept, "freed_bytes": done.size})
        return
    for row in done.gone:
        click.echo(row.slug or row.id)
    for row, why in done.kept:
        print_note(f"{row.slug or row.id} stays: {why}.")
    number = f"{len(done.gone)} session{'' if len(done.gone) == 1 else 's'}"
    print_note(
        f"{number} would be cleared away." if dry_run else f"Cleared {number} away; {done.size:,} bytes are free again."
    )
