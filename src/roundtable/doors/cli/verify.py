"""`verify`: read every fact of the record and name the damaged sessions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import click
import msgspec

from roundtable.doors.cli.output import print_note, run_cli_command_at_desk
from roundtable.doors.cli.tables import print_json

if TYPE_CHECKING:
    from roundtable.core.ports import DamagedFact


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify_command(as_json: bool) -> None:
    """Read the whole record and name the damaged sessions.

    Reads every event and checks every stored text against its digest. Exits with 1 if anything is damaged; other
    sessions still work. `roundtable show SESSION --recover` prints what can be read of a damaged session.

    \b
    Examples:
      roundtable verify
      roundtable verify --json
    """
    damaged = run_cli_command_at_desk(lambda desk: desk.sessions.verify(), only_reads=True)
    if as_json:
        print_json({"v": 1, "damaged": [msgspec.to_builtins(fact) for fact in damaged]})
    else:
        _print_damage(damaged)
    if damaged:
        click.get_current_context().exit(1)


def _print_damage(damaged: list[DamagedFact]) -> None:
    if not damaged:
        click.echo("Every event in the record can be read.")
        return
    sessions: defaultdict[str, list[str]] = defaultdict(list)
    for fact in damaged:
        sessions[fact.session].append(str(fact.seq))
    for session, numbers in sessions.items():
        click.echo(f"{session}: damaged events {', '.join(numbers)}")
    print_note("Print what can be read of a session with: roundtable show SESSION --recover")
