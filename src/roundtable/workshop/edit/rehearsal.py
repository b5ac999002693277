"""The tree in which a change is rehearsed: the content of its future commit, and whether it holds every approved
hunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from roundtable.core.changeset import DraftFile, Hunk
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.workshop.edit.hunks import split_edits_into_hunks
from roundtable.workshop.repo.git import find_head_commit, open_git
from roundtable.workshop.repo.scratch_trees import (
    copy_working_tree_files,
    create_scratch_working_tree,
    export_git_commit_files,
    list_git_submodule_files,
    write_files_to_scratch_working_tree,
)
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath


def create_edit_rehearsal_tree(workspace: Path, tree: Path, files: Sequence[DraftFile] = ()) -> None:
    """Write the last commit, the submodules as they are in the workspace, and a draft; without git, copy the
    workspace."""
    head = find_head_commit(workspace)
    if head is None:
        create_scratch_working_tree(workspace, tree, files)
        return
    tree.mkdir(parents=True, exist_ok=True, mode=0o700)
    if head:
        export_git_commit_files(workspace, head, tree)
        copy_working_tree_files(workspace, tree, list_git_submodule_files(workspace))
    write_files_to_scratch_working_tree(tree, files)


def find_lost_hunks(tree: Path, files: Sequence[DraftFile]) -> tuple[str, ...]:
    """Return the hunks of a draft that are missing from a tree; all hunks of a file if it has other changes."""
    kept_paths = {file.path for file in files if file.after is not None}
    with ConfinedFolder.open(tree) as tree_folder:
        return tuple(id for file in files for id in _lost(tree_folder, file, kept_paths))


def _lost(tree_folder: ConfinedFolder, file: DraftFile, kept_paths: set[str]) -> Iterator[str]:
    approved = {_lines(hunk): hunk.id for hunk in split_edits_into_hunks((file,))}
    present = {_lines(hunk) for hunk in split_edits_into_hunks((_read_current(tree_folder, file, kept_paths),))}
    if present != approved.keys():
        yield from [id for lines, id in approved.items() if lines not in present] or approved.values()


def _lines(hunk: Hunk) -> tuple[object, ...]:
    """Return a hunk without its number, which depends on the hunks before it."""
    return hunk.first, hunk.before, hunk.after


def _read_current(tree_folder: ConfinedFolder, file: DraftFile, kept_paths: set[str]) -> DraftFile:
    try:
        content = tree_folder.read(file.path)
    except UnsafePath:
        content = None
    old_path_exists = file.was not in kept_paths and tree_folder.exists(file.was) if file.was else False
    return msgspec.structs.replace(
        file,
        after=None if content is None else content.data,
        executable=content is not None and content.executable,
        was="" if old_path_exists else file.was,
    )


def list_changed_files_outside_edit_draft(workspace: Path, files: Sequence[DraftFile]) -> tuple[str, ...]:
    """Return changed and untracked files of the workspace that the commit of a draft would not contain."""
    if find_head_commit(workspace) is None:
        return ()
    draft_paths = {name for file in files for name in (file.path, file.was)}
    with open_git(workspace) as git:
        return tuple(
            name for name in git.changed_files() if name not in draft_paths and not is_sensitive_file_name(name)
        )
