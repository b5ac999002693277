"""`worktrees`: list and remove the folders in which seats work on candidates and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import NotFound
from roundtable.doors.cli.output import EXIT_NO_DECISION, print_note, run_cli_command_at_desk
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import ListedWorktree

_JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(invoke_without_command=True)
@_JSON_OPTION
@click.pass_context
def worktrees_group(context: click.Context, as_json: bool) -> None:
    """List and remove the worktrees of this workspace.

    A worktree is kept until you discard it or until all its changes are in the workspace.

    \b
    Examples:
      roundtable worktrees
      roundtable worktrees discard agents-gpt-login
      roundtable worktrees clean
    """
    if context.invoked_subcommand is None:
        _list_worktrees(as_json)


@worktrees_group.command("list")
@_JSON_OPTION
def list_worktrees_command(as_json: bool) -> None:
    """List worktrees with branch, first port, changes and why each is kept.

    \b
    Example:
      roundtable worktrees list --json
    """
    _list_worktrees(as_json)


@worktrees_group.command("discard")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def discard_worktree_command(name: str, yes: bool) -> None:
    """Remove a worktree and everything in it.

    \b
    Example:
      roundtable worktrees discard agents-gpt-login
    """

    listed = run_cli_command_at_desk(lambda desk: desk.changes.list_worktrees())
    listed_worktree = next((entry for entry in listed if entry.worktree.name == name), None)
    if listed_worktree is None:
        names = ", ".join(entry.worktree.name for entry in listed) or "none"
        raise NotFound(f"Worktree not found: {name}.", f"Existing worktrees: {names}.")
    if listed_worktree.needed:
        print_note(f"Worktree {name} is still needed: {listed_worktree.needed}.")
        if not yes and not click.confirm("Discard the worktree anyway?", default=False, err=True):
            print_note("The worktree was kept.")
            click.get_current_context().exit(EXIT_NO_DECISION)
    run_cli_command_at_desk(lambda desk: desk.changes.discard_worktree(name))
    print_note(f"Removed worktree {name}.")


@worktrees_group.command("clean")
@_JSON_OPTION
def clean_worktrees_command(as_json: bool) -> None:
    """Remove the worktrees that hold no unsaved work.

    The others are listed with the reason why they are kept.

    \b
    Example:
      roundtable worktrees clean
    """

    removed, kept = run_cli_command_at_desk(lambda desk: desk.changes.discard_unneeded_worktrees())
    if as_json:
        reasons = {entry.worktree.name: entry.needed for entry in kept}
        print_json({"v": 1, "gone": [entry.worktree.name for entry in removed], "kept": reasons})
        return
    for entry in removed:
        print_note(f"Worktree {entry.worktree.name} was removed; it held no unsaved work.")
    for entry in kept:
        print_note(f"Worktree {entry.worktree.name} is kept: {entry.needed}.")
    if not removed and not kept:
        print_note("This workspace has no worktrees.")


def _list_worktrees(as_json: bool) -> None:
    worktrees = run_cli_command_at_desk(lambda desk: desk.changes.list_worktrees(), only_reads=True)
    if as_json:
        print_json({"v": 1, "worktrees": [_worktree_fields(entry) for entry in worktrees]})
        return
    if not worktrees:
        print_note("This workspace has no worktrees.")
        return
    rows = [
        (
            entry.worktree.name,
            entry.worktree.branch or ("-" if entry.worktree.base else "copy"),
            str(entry.worktree.port),
            entry.needed or "not needed any more",
        )
        for entry in worktrees
    ]
    print_table(("name", "branch", "port", "kept because"), rows)


def _worktree_fields(entry: ListedWorktree) -> dict[str, object]:
    worktree = entry.worktree
    fields = {name: getattr(worktree, name) for name in ("name", "folder", "branch", "base", "port", "session")}
    return {**fields, "changed": entry.status.changed, "unmerged": entry.status.unmerged, "stays": entry.needed}
