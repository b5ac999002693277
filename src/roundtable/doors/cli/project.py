"""`project`: what a meeting in stages made, to be looked at and handed over.

`diff-sessions`: two lines of the same work, stage by stage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click
import msgspec

from roundtable.core.decide.stage_outcome import HandoverForm, path_for_handover_form
from roundtable.core.effects import ProjectDelivered
from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.doors.cli import complete_words
from roundtable.doors.cli.options import session_argument
from roundtable.doors.cli.output import print_note, resolve_typed_path, run_at_desk, shortest_session_address
from roundtable.doors.cli.tables import print_json, print_table
from roundtable.report.comparison import ComparedSession, SessionComparison, SessionDifference

if TYPE_CHECKING:
    from roundtable.app.desk import Roundtable
    from roundtable.app.records.session_project import ProjectVersion


@click.command()
@session_argument
@click.option("--list", "listing", is_flag=True, help="List every version of every file; so does no option at all.")
@click.option("--file", "path", metavar="PATH", help="Print one file of the project.")
@click.option(
    "--stage", "version", metavar="STAGE", help="As it was after this stage; STAGE/SEAT as that seat wrote it."
)
@click.option("--to", "into", metavar="PATH", help="Hand the project over there, where nothing is yet.")
@click.option("--git", "form", flag_value="git", help="With --to: as a repository with a commit for each stage.")
@click.option("--zip", "form", flag_value="zip", help="With --to: as a zip.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def project_command(
    session: str,
    listing: bool,
    path: str | None,
    version: str | None,
    into: str | None,
    form: HandoverForm | None,
    as_json: bool,
) -> None:
    """See what a meeting in stages made, and take it with you.

    Every version of every file is kept, with who contributed what. --to writes the last one to a new folder, or with
    --git to a repository that has a commit for each stage, and what was agreed in docs/decisions; nothing is ever
    written over.

    \b
    Examples:
      roundtable project last
      roundtable project last --file app.py --stage development/gpt
      roundtable project last --to ../todo --git
      roundtable project last --to todo.zip --zip
    """
    if sum((listing, path is not None, into is not None)) > 1:
        raise UsageError("--list, --file and --to are three different things.", "Give one of them.")
    if form and into is None:
        raise UsageError(f"--{form} does not say where to.", f"Add --to PATH --{form}.")
    if version and path is None:
        raise UsageError("--stage does not say which file.", "Add --file PATH.")
    if path is not None:
        _print(run_at_desk(lambda desk: _file(desk, session, path, version or ""), only_reads=True))
    elif into is not None:
        wanted = form or "folder"
        place = Path(path_for_handover_form(str(resolve_typed_path(into)), wanted))
        _told(run_at_desk(lambda desk: _handed_over(desk, session, wanted, place)), wanted, as_json)
    else:
        _show(run_at_desk(lambda desk: _versions(desk, session), only_reads=True), as_json)


async def _versions(desk: Roundtable, address: str) -> list[ProjectVersion]:
    from roundtable.app.records.session_project import list_project_versions, no_project_error

    id = await desk.find(address)
    found = await list_project_versions(desk.store, await desk.session(id), await desk.store.read(id))
    if not any(it.changes for it in found):
        raise no_project_error()
    return found


async def _file(desk: Roundtable, address: str, path: str, version: str) -> bytes:
    from roundtable.app.records.session_project import read_project_file

    return await read_project_file(desk.store, await _versions(desk, address), path, version)


async def _handed_over(desk: Roundtable, address: str, form: HandoverForm, into: Path) -> ProjectDelivered:
    from roundtable.app.records.session_project import hand_over_project

    id = await desk.find(address)
    return await hand_over_project(desk.store, await desk.session(id), await desk.store.read(id), form, into)


def _print(data: bytes) -> None:
    """In a pipe the very bytes; on a terminal nothing that it would obey."""
    if sys.stdout.isatty():
        click.echo(sanitize_text(data.decode(errors="replace")), nl=not data.endswith(b"\n"))
    else:
        sys.stdout.buffer.write(data)


def _show(found: list[ProjectVersion], as_json: bool) -> None:
    if as_json:
        print_json({"v": 1, "versions": [_shape(it) for it in found]})
        return
    rows = [(it.name, change.path, change.became, change.words) for it in found for change in it.changes]
    print_table(("version", "file", "became", "who contributed what"), rows)


def _shape(it: ProjectVersion) -> dict[str, object]:
    files = [
        {**change._asdict(), "took": [{"symbol": one.symbol, "seat": one.seat} for one in change.took]}
        for change in it.changes
    ]
    return {"name": it.name, "stage": it.end.stage, "decision": it.end.id, "seat": it.seat, "files": files}


def _told(done: ProjectDelivered, form: HandoverForm, as_json: bool) -> None:
    if as_json:
        print_json({"v": 1, "path": done.path, "form": form, "files": done.files, "commit": done.commit})
        return
    click.echo(done.path)
    if form == "git":
        print_note("To push it to an empty repository of yours:")
        print_note(f"  git -C {quote(done.path)} remote add origin URL")
        print_note(f"  git -C {quote(done.path)} push -u origin HEAD")


DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


@click.command("diff-sessions")
@click.argument("first", shell_complete=complete_words.complete_session_names)
@click.argument("second", shell_complete=complete_words.complete_session_names)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def diff_sessions_command(first: str, second: str, as_json: bool) -> None:
    """Compare two sessions: stages, decisions, files, costs.

    For a session and the line that left it (`roundtable rollback`, `roundtable branch`), or for
    any two. What stands in the first alone is marked with -, in the second alone with +.

    \b
    Examples:
      roundtable diff-sessions 2026-11-15-a-to-do-api last
      roundtable diff-sessions 2026-11-15-a-shop 2026-11-15-a-shop-2 --json
    """

    async def look(desk: Roundtable) -> tuple[SessionComparison, list[str]]:
        from roundtable.app.records.compare_sessions import compare_two_sessions

        states = [await desk.session(await desk.find(it)) for it in (first, second)]
        return await compare_two_sessions(desk, *states), [
            await shortest_session_address(desk, it.id, it.charter.slug) for it in states
        ]

    found, addresses = run_at_desk(look, only_reads=True)
    if as_json:
        print_json({"v": 1, **msgspec.to_builtins(found)})
        return
    _show_differences(found, addresses)


def _show_differences(found: SessionComparison, addresses: Sequence[str]) -> None:
    head = ("", "session", "outcome", "rounds", "tokens", "cost")
    sides = zip(("first", "second"), addresses, (found.first, found.second), strict=True)
    print_table(head, [(which, address, *_figures(side)) for which, address, side in sides])
    if found.shared:
        click.echo(f"\nThe first {found.shared} facts are the same; the lines part after them.")
    for it in (*found.stages, *([found.decision] if found.decision else ())):
        _tell(it)
    if found.files:
        click.echo()
        click.secho("Files that differ:", bold=True)
    for it in found.files:
        _tell(it)


def _figures(side: ComparedSession) -> tuple[str, ...]:
    return (side.outcome, str(side.rounds), f"{side.tokens:,}", side.cost)


def _tell(it: SessionDifference) -> None:
    ways = " → ".join(filter(None, (it.first, it.second))) if it.first != it.second else it.first
    click.echo()
    click.secho(f"{sanitize_line(it.name)}: {it.state}{f' ({sanitize_line(ways)})' if ways else ''}", bold=True)
    for line in it.diff:
        click.secho(f"  {sanitize_text(line)}", fg=DIFF_COLORS.get(line[:1]))
