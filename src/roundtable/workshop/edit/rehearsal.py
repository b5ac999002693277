"""The tree a change is rehearsed on: what its commit would hold, and whether all that was approved stands there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from roundtable.core.changeset import DraftFile, Hunk
from roundtable.core.file_kinds import is_sensitive_path
from roundtable.workshop.edit.hunks import split_draft_into_hunks
from roundtable.workshop.repo.git import find_head_commit, open_git
from roundtable.workshop.repo.scratch_trees import (
    copy_files_to_tree,
    create_scratch_tree,
    export_commit_files,
    list_submodule_files,
    overlay_draft,
)
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath


def create_rehearsal_tree(workspace: Path, into: Path, files: Sequence[DraftFile] = ()) -> None:
    """Write out the last commit, submodules as they are here, and a draft on top; without git, the workspace as is."""
    head = find_head_commit(workspace)
    if head is None:
        create_scratch_tree(workspace, into, files)
        return
    into.mkdir(parents=True, exist_ok=True, mode=0o700)
    if head:
        export_commit_files(workspace, head, into)
        copy_files_to_tree(workspace, into, list_submodule_files(workspace))
    overlay_draft(into, files)


def find_lost_hunks(tree: Path, files: Sequence[DraftFile]) -> tuple[str, ...]:
    """The hunks of a draft that do not stand in a tree; where more than they changed in a file, all of that file's."""
    kept = {it.path for it in files if it.after is not None}
    with ConfinedFolder.of(tree) as below:
        return tuple(id for it in files for id in _lost(below, it, kept))


def _lost(below: ConfinedFolder, file: DraftFile, kept: set[str]) -> Iterator[str]:
    approved = {_lines(it): it.id for it in split_draft_into_hunks((file,))}
    standing = {_lines(it) for it in split_draft_into_hunks((_as_it_stands(below, file, kept),))}
    if standing != approved.keys():
        yield from [id for lines, id in approved.items() if lines not in standing] or approved.values()


def _lines(it: Hunk) -> tuple[object, ...]:
    """A hunk without its number, which depends on how many stand before it."""
    return it.first, it.before, it.after


def _as_it_stands(below: ConfinedFolder, file: DraftFile, kept: set[str]) -> DraftFile:
    try:
        found = below.read(file.path)
    except UnsafePath:
        found = None
    left_behind = file.was not in kept and below.has(file.was) if file.was else False
    return msgspec.structs.replace(
        file,
        after=None if found is None else found.data,
        executable=found is not None and found.executable,
        was="" if left_behind else file.was,
    )


def list_other_uncommitted_files(workspace: Path, files: Sequence[DraftFile]) -> tuple[str, ...]:
    """What the working tree has and the commit of a draft would not: other files that are changed or new."""
    if find_head_commit(workspace) is None:
        return ()
    own = {name for it in files for name in (it.path, it.was)}
    with open_git(workspace) as git:
        return tuple(name for name in git.differing() if name not in own and not is_sensitive_path(name))
