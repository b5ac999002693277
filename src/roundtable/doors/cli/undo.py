"""`undo`: what the table wrote is taken back, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import UsageError
from roundtable.doors.cli.output import SHORT_ID_LENGTH, print_note, run_at_desk
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
        _show(as_json)
        return
    done = run_at_desk(lambda desk: desk.changes.undo(change))
    if as_json:
        told = {"v": 1, "change": done.change.id, "files": done.change.files, "how": done.how, "left": done.left}
        print_json({**told, "session": done.change.session})
        return
    for path in done.left:
        print_note(f"{path} changed during the undo and was left as it is.")
    print_note(f"Change {done.change.id} is undone ({', '.join(done.change.files)}). {done.how}")


def _show(as_json: bool) -> None:
    found = run_at_desk(lambda desk: desk.changes.list_undoable(), only_reads=True)
    if as_json:
        print_json({"v": 1, "changes": [_shape(it) for it in found]})
        return
    if not found:
        print_note("There is nothing to undo here.")
        return
    print_table(("change", "when", "commit", "session", "files", "task"), [_row(it) for it in found], cut=True)


def _shape(it: UndoableChange) -> dict[str, object]:
    fields = ("id", "at", "session", "files", "commit", "branch")
    return {**{name: getattr(it.change, name) for name in fields}, "task": it.session.question if it.session else ""}


def _row(it: UndoableChange) -> tuple[str, ...]:
    change, session = it
    where = change.branch or change.commit[:12] or "-"
    address, task = (session.slug, session.question) if session else (change.session[:SHORT_ID_LENGTH] or "-", "")
    return change.id, change.at, where, address, ", ".join(change.files), task
