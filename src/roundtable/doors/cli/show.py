"""`show`: print a session as Markdown, HTML, JSON or JSONL, rendered at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, ConsoleOptions
from rich.markdown import CodeBlock, Markdown, TableElement
from rich.table import Table
from rich.text import Text

from roundtable.core.events import Recorded, events_to_jsonl
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.doors.cli.options import cli_session_argument
from roundtable.doors.cli.output import run_cli_command_at_desk
from roundtable.doors.cli.tables import print_json, print_table
from roundtable.report.costs import build_cost_report
from roundtable.report.phrases import COST_COLUMNS
from roundtable.report.summary import report_usage_as_data
from roundtable.report.transcript import render_cost_table

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable


class _FoldedTable(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _CodeBlockWithPath(CodeBlock):
    """A code block under the path that follows its language."""

    path = ""

    @classmethod
    def create(cls, markdown: Markdown, token: Any) -> _CodeBlockWithPath:
        language, _, path = str(token.info or "").partition(" ")
        block = cls(language or "text", markdown.code_theme)
        block.path = sanitize_line(path)
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        if self.path:
            yield Text(self.path, "bold")
        yield from super().__rich_console__(console, options)


class _Document(Markdown):
    elements = {**Markdown.elements, "table_open": _FoldedTable, "fence": _CodeBlockWithPath}


_MOST_RENDERED = 40_000
"""Most characters of Markdown that are rendered for a terminal, which takes about a second."""


def _end_of_rendered_part(text: str) -> int:
    """Where to stop rendering a long document: before a heading. The rest is printed as plain Markdown."""
    return len(text) if len(text) <= _MOST_RENDERED else max(0, text.rfind("\n\n##", 0, _MOST_RENDERED))


def _print_markdown(text: str) -> None:
    """Print Markdown in the width of the terminal."""
    Console().print(_Document(text))


SHOW_FORMATS = ("markdown", "json", "html", "jsonl")
PART_FORMATS = ("markdown", "json")
RECOVERY_FORMATS = ("markdown", "jsonl")


@click.command()
@cli_session_argument
@click.option(
    "--format", "form", type=click.Choice(SHOW_FORMATS), default="markdown", show_default=True, help="Output format."
)
@click.option("--round", metavar="ROUND", help="Show only this round, by name or number.")
@click.option(
    "--cost", is_flag=True, help="Show only the cost by seat and round. Works with --format markdown or json."
)
@click.option(
    "--run-id",
    metavar="RUN",
    help="Show only the second opinion with this run id. Works with --format markdown or json.",
)
@click.option("--recover", is_flag=True, help="Show what can be read of a damaged session (markdown or jsonl).")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
def show_command(
    session: str, form: str, round: str | None, cost: bool, run_id: str | None, recover: bool, as_json: bool
) -> None:
    """Print a session: the decision first, then how it was reached.

    SESSION is an id or its beginning, a slug, a name, or `last` (the default). To write files, use
    `roundtable export`.

    \b
    Examples:
      roundtable show last --round 1
      roundtable show --run-id run-20260328T120000000000Z --format json
    """
    form = "json" if as_json else form
    part = "--cost" if cost else "--run-id" if run_id is not None else "--recover" if recover else ""
    forms = RECOVERY_FORMATS if recover else PART_FORMATS
    if part and round is not None:
        raise UsageError(f"{part} covers the whole session and cannot be limited to a round.", "Leave out --round.")
    if part and form not in forms:
        raise UsageError(f"{part} cannot be shown as {form}.", f"Use --format {' or '.join(forms)}.")
    if run_id is not None:
        _print_text(
            run_cli_command_at_desk(lambda desk: _render_run_artifact(desk, run_id, form), only_reads=True), form
        )
    elif recover:
        _print_text(run_cli_command_at_desk(lambda desk: _render_recovered(desk, session, form), only_reads=True), form)
    elif cost:
        _print_costs(run_cli_command_at_desk(lambda desk: _load_session(desk, session), only_reads=True)[0], form)
    else:
        _print_text(
            run_cli_command_at_desk(lambda desk: _render_session(desk, session, form, round), only_reads=True), form
        )


async def _load_session(desk: Roundtable, address: str) -> tuple[Session, list[Recorded]]:
    id = await desk.sessions.find(address)
    records = await desk.sessions.records(id)
    return Session.fold(id, records), records


async def _render_session(desk: Roundtable, address: str, form: str, round: str | None) -> str:
    session, records = await _load_session(desk, address)
    return await desk.sessions.render(session, records, form, session.find_round(round) if round is not None else None)


async def _render_recovered(desk: Roundtable, address: str, form: str) -> str:
    from roundtable.report.recovered_session import render_recovered_session

    records = await desk.sessions.recover(await desk.sessions.find(address))
    return events_to_jsonl(records) if form == "jsonl" else render_recovered_session(records)


async def _render_run_artifact(desk: Roundtable, run: str, form: str) -> str:
    from roundtable.report.second_opinion_run import render_second_opinion_json, render_second_opinion_markdown

    session = await desk.sessions.find_run(run)
    return render_second_opinion_json(session) if form == "json" else render_second_opinion_markdown(session)


def _print_costs(session: Session, form: str) -> None:
    if form == "json":
        print_json(report_usage_as_data(session))
    elif sys.stdout.isatty():
        lines = build_cost_report(session)
        print_table(
            ("", *COST_COLUMNS), [(line.name, *line.cells()) for line in (*lines.seats, *lines.rounds, lines.total)]
        )
    else:
        click.echo(render_cost_table(session), nl=False)


def _print_text(text: str, form: str) -> None:
    rendered = text[: _end_of_rendered_part(text)] if form == "markdown" and sys.stdout.isatty() else ""
    if rendered:
        _print_markdown(rendered)
    if len(rendered) < len(text):
        click.echo(text[len(rendered) :], nl=False)
