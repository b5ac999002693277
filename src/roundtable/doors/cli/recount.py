"""`recount_session_decision`: what the record says about a decision that was not asked of it then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.options import session_argument
from roundtable.doors.cli.output import run_at_desk
from roundtable.doors.cli.tables import print_json, print_table
from roundtable.report.recount import (
    RULE_RECOUNT_COLUMNS,
    SEAT_RECOUNT_COLUMNS,
    Recount,
    rule_recount_rows,
    seat_recount_rows,
)

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def recount_command(session: str, as_json: bool) -> None:
    """Decide again without a seat, or by another rule, for free.

    No model is asked: the meeting's own rules are held over its record without each seat in turn, and other rules over
    the same answers. It shows who moved, who held, who moved without evidence, and what each seat cost and changed.

    \b
    Example:
      roundtable recount last
    """

    async def count(desk: Roundtable) -> Recount:

        from roundtable.app.records.recount_session import recount_session_decision

        return await recount_session_decision(await desk.session(await desk.find(session)))

    counted = run_at_desk(count)
    if as_json:
        print_json(counted)
        return
    decided = ": ".join(filter(None, (counted.winner, sanitize_line(counted.position, 100))))
    click.echo(
        f"{sanitize_line(counted.question, 110)}\nDecided then: {counted.outcome}{f', {decided}' if decided else ''}\n"
    )
    print_table(SEAT_RECOUNT_COLUMNS, seat_recount_rows(counted))
    click.echo()
    print_table(RULE_RECOUNT_COLUMNS, rule_recount_rows(counted))
    if counted.texts:
        click.echo()
    for id, text in counted.texts.items():
        click.echo(f"{id}: {sanitize_line(text, 160)}")
