"""`undo`: list and undo the changes that Roundtable wrote to this workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.doors.cli.output import SHORT_ID_LENGTH, print_note, run_cli_command_at_desk
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import UndoableChange


@click.command()
@click.argument("change", default="")
@click.option("--list", "only_list", is_flag=True, help="List the changes that can be undone, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def undo_command(change: str, only_list: bool, as_json: bool) -> None:
    """Undo a change that Roundtable wrote here, byte for byte.

    CHANGE is the number that `apply` or `build` printed; the default is the newest change. Files get
    their earlier bytes and permissions back, including files that git does not track. A commit that exists
    nowhere else is removed; otherwise a new commit reverts it. If one of the files has changed since,
    nothing is touched.

    \b
    Examples:
      roundtable undo
      roundtable undo --list
      roundtable undo 3
    """
    if only_list and change:
        raise UsageError(
            "--list cannot be combined with a change.", "Use `roundtable undo --list` or `roundtable undo CHANGE`."
        )
    if only_list:
        _list_changes(as_json)
        return
    undone = run_cli_command_at_desk(lambda desk: desk.changes.undo(change))
    if as_json:
        fields = {
            "v": 1,
            "change": undone.change.id,
            "files": undone.change.files,
            "how": undone.how,
            "left": undone.left,
        }
        print_json({**fields, "session": undone.change.session})
        return
    for path in undone.left:
        print_note(f"{path} changed during the undo and was not restored.")
    print_note(f"Change {undone.change.id} is undone ({', '.join(undone.change.files)}). {undone.how}")


def _list_changes(as_json: bool) -> None:
    changes = run_cli_command_at_desk(lambda desk: desk.changes.list_undoable(), only_reads=True)
    if as_json:
        print_json({"v": 1, "changes": [_change_fields(change) for change in changes]})
        return
    if not changes:
        print_note("There is nothing to undo in this workspace.")
        return
    print_table(
        ("change", "when", "commit", "session", "files", "task"), [_change_row(change) for change in changes], cut=True
    )


def _change_fields(undoable: UndoableChange) -> dict[str, object]:
    names = ("id", "at", "session", "files", "commit", "branch")
    task = undoable.session.question if undoable.session else ""
    return {**{name: getattr(undoable.change, name) for name in names}, "task": task}


def _change_row(undoable: UndoableChange) -> tuple[str, ...]:
    change, session = undoable
    destination = change.branch or change.commit[:12] or "-"
    address, task = (session.slug, session.question) if session else (change.session[:SHORT_ID_LENGTH] or "-", "")
    return change.id, change.at, destination, address, ", ".join(change.files), task
