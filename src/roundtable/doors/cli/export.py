"""`export` and `sync`: write the record to files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.doors.cli.options import cli_session_argument
from roundtable.doors.cli.output import EXIT_NO_DECISION, EXIT_OK, print_note, run_cli_command_at_desk
from roundtable.report.layouts import EXPORT_LAYOUTS

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable

REPORT_FORMATS = ("report-md", "report-html")
EXPORT_FORMATS = ("markdown", "html", "json", "jsonl", *REPORT_FORMATS)


@click.command()
@cli_session_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(EXPORT_FORMATS),
    default="markdown",
    show_default=True,
    help="Format of the file.",
)
@click.option(
    "--layout",
    type=click.Choice(tuple(EXPORT_LAYOUTS)),
    help="Write a folder of files, arranged as another tool expects them.",
)
@click.option(
    "-o", "--output", metavar="PATH", help="File, or folder with --layout.  [default: named after the session]"
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def export_command(session: str, form: str, layout: str | None, output: str | None, force: bool) -> None:
    """Write a session to files: Markdown, HTML, JSON or JSONL.

    HTML is one file without scripts, with a map of which seats agreed. A meeting in stages can also be
    exported as a report (report-md or report-html): decisions, disputes, findings, runs, costs and
    who contributed what. Layouts: `runs` writes sessions/, runs/ and logs/ by session key and run id;
    `debate` writes debate/ROUND/agent-NAME.md and, after a ballot, debate/vote-results.md.

    \b
    Examples:
      roundtable export last --format html -o decision.html
      roundtable export last --format report-html -o report.html
      roundtable export last --layout debate -o docs
    """
    from roundtable.app.desk import EXPORT_SUFFIXES, PRINT_INSTEAD_HELP
    from roundtable.app.desk.sessions import Sessions

    if output == "-":
        raise UsageError("Files cannot be written to standard output.", PRINT_INSTEAD_HELP)
    name, texts = run_cli_command_at_desk(lambda desk: _render_files(desk, session, form, layout))
    file = name if layout else name + EXPORT_SUFFIXES[form]
    place = Path(output or file)
    if layout is None:
        place = place / file if place.is_dir() else place
        place, texts = place.parent, {place.name: texts[""]}
    for path in Sessions.write_files(place, texts, force=force):
        click.echo(path)


async def _render_files(desk: Roundtable, address: str, form: str, layout: str | None) -> tuple[str, dict[str, str]]:
    """Return the slug of a session, and the text of each file of a layout; a single format has one text, named ""."""
    id = await desk.sessions.find(address)
    records = await desk.sessions.records(id)
    session = Session.fold(id, records)
    if layout:
        files = await desk.sessions.render_layout(session, records, layout)
    elif form in REPORT_FORMATS:
        files = {"": await desk.sessions.render_report(session, records, form)}
    else:
        files = {"": await desk.sessions.render(session, records, form)}
    return session.charter.slug or id, files


@click.command("sync")
@click.option("-y", "--yes", is_flag=True, help="If the folder is missing, create it without asking.")
def sync_workspace_folder_command(yes: bool) -> int:
    """Rewrite the files in .roundtable/ from the stored sessions.

    The folder holds the chronicle, the error log and every session of this workspace, for reading and
    committing. Your own files in it are not changed.

    \b
    Example:
      roundtable sync --yes
    """
    return run_cli_command_at_desk(lambda desk: _sync(desk, yes))


async def _sync(desk: Roundtable, yes: bool) -> int:
    folder = desk.sessions.folder
    if folder.path.is_symlink():
        raise UsageError(f"{folder.path.name} is a symbolic link.", "Replace the link with a folder.")
    if not folder.exists:
        if not yes and not sys.stdin.isatty():
            raise UsageError(
                "This workspace has no .roundtable/ folder yet.", "Create it with `roundtable sync --yes`."
            )
        if not yes and not click.confirm(f"Create {folder.path}?", default=False, err=True):
            print_note("Nothing was written.")
            return EXIT_NO_DECISION
        folder.create()
    synced = await desk.sessions.sync_folder()
    for path in synced.kept:
        print_note(f"Not changed, because Roundtable did not write it: .roundtable/{path}")
    count = len(synced.changed)
    summary = f"{count} {'file' if count == 1 else 'files'} written."
    if synced.failed:
        raise UsageError(
            synced.problem,
            f"All other files are up to date: {summary} Fix the problem and run `roundtable sync` again.",
        )
    click.echo(f".roundtable/ is up to date: {summary}")
    return EXIT_OK
