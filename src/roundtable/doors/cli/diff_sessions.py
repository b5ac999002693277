"""`diff-sessions`: two lines of the same work, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from roundtable.core.text.sanitize import clean, one_line
from roundtable.doors.cli import complete_words
from roundtable.doors.cli.output import address_of, at_desk
from roundtable.doors.cli.tables import show_json, show_table
from roundtable.report.comparison import Compared, Difference, Side

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

COLORS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff-sessions")
@click.argument("first", shell_complete=complete_words.sessions)
@click.argument("second", shell_complete=complete_words.sessions)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def diff_sessions(first: str, second: str, as_json: bool) -> None:
    """Compare two sessions: stages, decisions, files, costs.

    For a session and the line that left it (`roundtable rollback`, `roundtable branch`), or for
    any two. What stands in the first alone is marked with -, in the second alone with +.

    \b
    Examples:
      roundtable diff-sessions 2026-11-15-a-to-do-api last
      roundtable diff-sessions 2026-11-15-a-shop 2026-11-15-a-shop-2 --json
    """

    async def look(desk: Roundtable) -> tuple[Compared, list[str]]:
        from roundtable.app.records.compare_sessions import compare

        states = [await desk.session(await desk.find(it)) for it in (first, second)]
        return await compare(desk, *states), [await address_of(desk, it.id, it.charter.slug) for it in states]

    found, addresses = at_desk(look, only_reads=True)
    if as_json:
        show_json({"v": 1, **msgspec.to_builtins(found)})
        return
    _show(found, addresses)


def _show(found: Compared, addresses: Sequence[str]) -> None:
    head = ("", "session", "outcome", "rounds", "tokens", "cost")
    sides = zip(("first", "second"), addresses, (found.first, found.second), strict=True)
    show_table(head, [(which, address, *_figures(side)) for which, address, side in sides])
    if found.shared:
        click.echo(f"\nThe first {found.shared} facts are the same; the lines part after them.")
    for it in (*found.stages, *([found.decision] if found.decision else ())):
        _tell(it)
    if found.files:
        click.echo()
        click.secho("Files that differ:", bold=True)
    for it in found.files:
        _tell(it)


def _figures(side: Side) -> tuple[str, ...]:
    return (side.outcome, str(side.rounds), f"{side.tokens:,}", side.cost)


def _tell(it: Difference) -> None:
    ways = " → ".join(filter(None, (it.first, it.second))) if it.first != it.second else it.first
    click.echo()
    click.secho(f"{one_line(it.name)}: {it.state}{f' ({one_line(ways)})' if ways else ''}", bold=True)
    for line in it.diff:
        click.secho(f"  {clean(line)}", fg=COLORS.get(line[:1]))
