"""`worktrees`: the folders in which candidates and tasks are worked on, and how they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roundtable.core.faults import NotFound
from roundtable.doors.cli.output import EXIT_NO_DECISION, print_note, run_at_desk
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import ListedWorktree

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(invoke_without_command=True)
@_JSON
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
        _show(as_json)


@worktrees_group.command("list")
@_JSON
def list_worktrees_command(as_json: bool) -> None:
    """List worktrees with branch, first port, changes and why each is kept.

    \b
    Example:
      roundtable worktrees list --json
    """
    _show(as_json)


@worktrees_group.command("discard")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def discard_worktree_command(name: str, yes: bool) -> None:
    """Remove a worktree and everything in it.

    \b
    Example:
      roundtable worktrees discard agents-gpt-login
    """

    every = run_at_desk(lambda desk: desk.changes.list_worktrees())
    found = next((it for it in every if it.worktree.name == name), None)
    if found is None:
        known = ", ".join(it.worktree.name for it in every) or "none"
        raise NotFound(f"There is no worktree {name} here.", f"Worktrees: {known}.")
    if found.needed:
        print_note(f"{name}: {found.needed}")
        if not yes and not click.confirm("Discard it anyway?", default=False, err=True):
            print_note("The worktree is kept; nothing was changed.")
            click.get_current_context().exit(EXIT_NO_DECISION)
    run_at_desk(lambda desk: desk.changes.discard_worktree(name))
    print_note(f"Removed {name}.")


@worktrees_group.command("clean")
@_JSON
def clean_worktrees_command(as_json: bool) -> None:
    """Remove the worktrees that hold no unsaved work.

    The others are listed with the reason why they are kept.

    \b
    Example:
      roundtable worktrees clean
    """

    gone, kept = run_at_desk(lambda desk: desk.changes.discard_unneeded_worktrees())
    if as_json:
        print_json(
            {"v": 1, "gone": [it.worktree.name for it in gone], "kept": {it.worktree.name: it.needed for it in kept}}
        )
        return
    for it in gone:
        print_note(f"{it.worktree.name} is removed: it held nothing that is not in the workspace.")
    for it in kept:
        print_note(f"{it.worktree.name} is kept: {it.needed}.")
    if not gone and not kept:
        print_note("There are no worktrees here.")


def _show(as_json: bool) -> None:
    found = run_at_desk(lambda desk: desk.changes.list_worktrees(), only_reads=True)
    if as_json:
        print_json({"v": 1, "worktrees": [_row(it) for it in found]})
        return
    if not found:
        print_note("There are no worktrees here.")
        return
    rows = [
        (it.worktree.name, it.worktree.branch or ("copy" if not it.worktree.base else "-"), str(it.worktree.port),
         it.needed or "nothing: it can be removed")
        for it in found
    ]  # fmt: skip
    print_table(("name", "branch", "port", "kept because"), rows)


def _row(it: ListedWorktree) -> dict[str, object]:
    tree = it.worktree
    told = {name: getattr(tree, name) for name in ("name", "folder", "branch", "base", "port", "session")}
    return {**told, "changed": it.status.changed, "unmerged": it.status.unmerged, "stays": it.needed}
