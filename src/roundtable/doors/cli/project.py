"""`project`: show and export the files of a project made in stages."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from roundtable.core.effects import ProjectDelivered
from roundtable.core.faults import UsageError
from roundtable.core.handover import HandoverForm, session_handover_path_with_suffix
from roundtable.core.text.sanitize import sanitize_text
from roundtable.doors.cli.options import cli_session_argument
from roundtable.doors.cli.output import print_note, resolve_cli_path_argument, run_cli_command_at_desk
from roundtable.doors.cli.tables import print_json, print_table
from roundtable.report.stage_words import describe_file_contributions

if TYPE_CHECKING:
    from roundtable.app.desk import ProjectVersion, Roundtable


@click.command()
@cli_session_argument
@click.option("--list", "listing", is_flag=True, help="List every version of every file (default).")
@click.option("--file", "path", metavar="PATH", help="Print one file of the project.")
@click.option(
    "--stage",
    "version",
    metavar="STAGE",
    help="With --file: print the version that STAGE or STAGE/SEAT wrote.",
)
@click.option("--to", "into", metavar="PATH", help="Export the project to this new path.")
@click.option("--git", "form", flag_value="git", help="With --to: export a Git repository with one commit per stage.")
@click.option("--zip", "form", flag_value="zip", help="With --to: export a zip file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def project_command(
    session: str,
    listing: bool,
    path: str | None,
    version: str | None,
    into: str | None,
    form: HandoverForm | None,
    as_json: bool,
) -> None:
    """Show and export the files of a project that `sdlc` made.

    Every version of every file is kept, with the seat that contributed each part. --to exports the
    newest version to a new folder. With --git it becomes a repository with one commit per stage and
    the decisions in docs/decisions. Existing files are never overwritten.

    \b
    Examples:
      roundtable project last
      roundtable project last --file app.py --stage development/gpt
      roundtable project last --to ../todo --git
      roundtable project last --to todo.zip --zip
    """
    if sum((listing, path is not None, into is not None)) > 1:
        raise UsageError("--list, --file and --to cannot be combined.", "Use only one of these options.")
    if form and into is None:
        raise UsageError(f"--{form} needs a destination.", f"Add --to PATH --{form}.")
    if version and path is None:
        raise UsageError("--stage needs a file.", "Add --file PATH.")
    if path is not None:
        _print_file(
            run_cli_command_at_desk(lambda desk: _read_file(desk, session, path, version or ""), only_reads=True)
        )
    elif into is not None:
        chosen_form = form or "folder"
        place = Path(session_handover_path_with_suffix(str(resolve_cli_path_argument(into)), chosen_form))
        _print_delivery(
            run_cli_command_at_desk(lambda desk: _export_project(desk, session, chosen_form, place)),
            chosen_form,
            as_json,
        )
    else:
        _print_versions(run_cli_command_at_desk(lambda desk: _versions(desk, session), only_reads=True), as_json)


async def _versions(desk: Roundtable, address: str) -> list[ProjectVersion]:
    id = await desk.sessions.find(address)
    return await desk.changes.project_versions(await desk.sessions.get(id), await desk.sessions.records(id))


async def _read_file(desk: Roundtable, address: str, path: str, version: str) -> bytes:
    return await desk.changes.read_project_file(await _versions(desk, address), path, version)


async def _export_project(desk: Roundtable, address: str, form: HandoverForm, into: Path) -> ProjectDelivered:
    id = await desk.sessions.find(address)
    return await desk.changes.hand_over_project(
        await desk.sessions.get(id), await desk.sessions.records(id), form, into
    )


def _print_file(data: bytes) -> None:
    """Print the exact bytes in a pipe, and sanitized text at a terminal."""
    if sys.stdout.isatty():
        click.echo(sanitize_text(data.decode(errors="replace")), nl=not data.endswith(b"\n"))
    else:
        sys.stdout.buffer.write(data)


def _print_versions(versions: list[ProjectVersion], as_json: bool) -> None:
    if as_json:
        print_json({"v": 1, "versions": [_version_fields(version) for version in versions]})
        return
    rows = [
        (version.name, change.path, change.kind, describe_file_contributions(change))
        for version in versions
        for change in version.changes
    ]
    print_table(("version", "file", "change", "contributions"), rows)


def _version_fields(version: ProjectVersion) -> dict[str, object]:
    files = [
        {**change._asdict(), "took": [{"symbol": part.symbol, "seat": part.seat} for part in change.took]}
        for change in version.changes
    ]
    return {
        "name": version.name,
        "stage": version.end.stage,
        "decision": version.end.id,
        "seat": version.seat,
        "files": files,
    }


def _print_delivery(delivered: ProjectDelivered, form: HandoverForm, as_json: bool) -> None:
    if as_json:
        print_json({"v": 1, "path": delivered.path, "form": form, "files": delivered.files, "commit": delivered.commit})
        return
    click.echo(delivered.path)
    if form == "git":
        print_note("To push the project to an empty repository:")
        print_note(f"  git -C {quote(delivered.path)} remote add origin URL")
        print_note(f"  git -C {quote(delivered.path)} push -u origin HEAD")
