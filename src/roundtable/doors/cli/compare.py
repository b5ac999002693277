"""`recount` and `diff-sessions`: decide a session again by other rules, and compare two sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.doors.cli.completion import shell_complete_session_names
from roundtable.doors.cli.options import cli_session_argument
from roundtable.doors.cli.output import run_cli_command_at_desk, shortest_cli_session_argument
from roundtable.doors.cli.tables import print_json, print_table
from roundtable.report.comparison import ComparedSession, SessionComparison, SessionDifference
from roundtable.report.recount import (
    RULE_RECOUNT_COLUMNS,
    SEAT_RECOUNT_COLUMNS,
    Recount,
    render_rule_recount_rows,
    render_seat_recount_rows,
)

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


@click.command()
@cli_session_argument
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def recount_command(session: str, as_json: bool) -> None:
    """Recompute a decision by another rule or without a seat; no model is asked.

    No model is asked: the recorded answers are counted again without each seat in turn, and by other
    decision rules. The tables show which seats changed their position, which did so without evidence,
    and what each seat cost and changed.

    \b
    Example:
      roundtable recount last
    """

    async def recount(desk: Roundtable) -> Recount:
        return await desk.sessions.recount(await desk.sessions.get(await desk.sessions.find(session)))

    recounted = run_cli_command_at_desk(recount)
    if as_json:
        print_json(recounted)
        return
    recorded = ": ".join(filter(None, (recounted.winner, sanitize_line(recounted.position, 100))))
    click.echo(sanitize_line(recounted.question, 110))
    click.echo(f"Recorded decision: {recounted.outcome}{f', {recorded}' if recorded else ''}\n")
    print_table(SEAT_RECOUNT_COLUMNS, render_seat_recount_rows(recounted))
    click.echo()
    print_table(RULE_RECOUNT_COLUMNS, render_rule_recount_rows(recounted))
    if recounted.texts:
        click.echo()
    for id, text in recounted.texts.items():
        click.echo(f"{id}: {sanitize_line(text, 160)}")


DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff-sessions")
@click.argument("first", shell_complete=shell_complete_session_names)
@click.argument("second", shell_complete=shell_complete_session_names)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diff_sessions_command(first: str, second: str, as_json: bool) -> None:
    """Compare two sessions: stages, decisions, files, costs.

    Compares any two sessions, such as a session and its branch or rollback. Lines that only the first
    has are marked with -, lines that only the second has with +.

    \b
    Examples:
      roundtable diff-sessions 2026-11-15-a-to-do-api last
      roundtable diff-sessions 2026-11-15-a-shop 2026-11-15-a-shop-2 --json
    """

    async def compare(desk: Roundtable) -> tuple[SessionComparison, list[str]]:
        states = [await desk.sessions.get(await desk.sessions.find(address)) for address in (first, second)]
        addresses = [await shortest_cli_session_argument(desk, state.id, state.charter.slug) for state in states]
        return await desk.sessions.compare(*states), addresses

    comparison, addresses = run_cli_command_at_desk(compare, only_reads=True)
    if as_json:
        print_json({"v": 1, **msgspec.to_builtins(comparison)})
        return
    _print_comparison(comparison, addresses)


def _print_comparison(comparison: SessionComparison, addresses: Sequence[str]) -> None:
    head = ("", "session", "outcome", "rounds", "tokens", "cost")
    sides = zip(("first", "second"), addresses, (comparison.first, comparison.second), strict=True)
    print_table(head, [(label, address, *_side_cells(side)) for label, address, side in sides])
    if comparison.shared:
        click.echo(f"\nThe sessions diverge after event {comparison.shared}.")
    for difference in (*comparison.stages, *([comparison.decision] if comparison.decision else ())):
        _print_difference(difference)
    if comparison.files:
        click.echo()
        click.secho("Files that differ:", bold=True)
    for difference in comparison.files:
        _print_difference(difference)


def _side_cells(side: ComparedSession) -> tuple[str, ...]:
    return (side.outcome, str(side.rounds), f"{side.tokens:,}", side.cost)


def _print_difference(difference: SessionDifference) -> None:
    first, second = difference.first, difference.second
    outcomes = first if first == second else " → ".join(filter(None, (first, second)))
    click.echo()
    click.secho(
        f"{sanitize_line(difference.name)}: {difference.state}{f' ({sanitize_line(outcomes)})' if outcomes else ''}",
        bold=True,
    )
    for line in difference.diff:
        click.secho(f"  {sanitize_text(line)}", fg=DIFF_COLORS.get(line[:1]))
