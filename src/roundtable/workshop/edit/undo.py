"""Undoes a written change, byte by byte, through a journal of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from roundtable.core.faults import NotFound, UsageError
from roundtable.report.change_reasons import change_write_remark_sentence
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.journal import (
    DONE,
    UNDONE,
    Journal,
    JournalDraft,
    JournaledFile,
    JournalFolder,
    journal_folder_path,
    journal_timestamp,
    list_journals,
    make_journal_entries,
)
from roundtable.workshop.edit.journal_replay import (
    EditTarget,
    FileStates,
    execute_journal,
    lock_workspace_for_edits,
)
from roundtable.workshop.identity import os_user_name
from roundtable.workshop.repo.commits import DETACHED, RefUpdate, Repository
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath


class AlreadyUndone(UsageError):
    """The change has already been undone."""

    def __init__(self, change: Journal) -> None:
        super().__init__(
            f"Change {change.id} has already been undone.", "List the changes with: roundtable undo --list"
        )
        self.change = change


class UndoResult(msgspec.Struct, frozen=True):
    """The change that was undone, the result in one sentence, and files left alone because they had changed."""

    change: Journal
    how: str
    left: tuple[str, ...] = ()


def list_undoable_journals(workspace: Path, journals: Path) -> list[Journal]:
    """Return the changes of this workspace that can be undone, newest first; not those whose commits git has
    dropped."""
    done = [
        journal
        for journal in reversed(list_journals(journal_folder_path(journals, workspace), DONE))
        if not journal.undoes
    ]
    repository = Repository.open(workspace) if any(journal.ref for journal in done) else None
    return [journal for journal in done if _is_still_present(repository, journal)]


def undo_journaled_change(workspace: Path, journals: Path, id: str = "") -> UndoResult:
    """Undo a change, by default the newest: restore every file, and the ref if there was a commit."""
    with lock_workspace_for_edits(workspace, journals) as target:
        change = _find_change(target, id)
        before, after = (
            _journaled_states(target.journals, change, "after"),
            _journaled_states(target.journals, change, "before"),
        )
        _require_unchanged(target.tree, change, before)
        draft = target.journals.begin(content for content in (*before.values(), *after.values()) if content is not None)
        ref, summary = _plan_ref_update(target.repository, change, draft, before, after)
        created = (path for path, content in after.items() if content is not None)
        journal = Journal(
            id=draft.id,
            at=journal_timestamp(),
            key=change.key,
            entries=make_journal_entries(before, after),
            files=change.files,
            made=target.tree.missing_folders_for(created),
            unmade=change.made,
            ref=ref,
            branch=change.branch,
            undoes=change.id,
        )
        result = execute_journal(target, draft.save(journal))
        if result is None:
            raise UsageError("The branch moved during the undo; nothing was changed.", "Run the command again.")
        pending = f" {change_write_remark_sentence(result.pending)}" if result.pending else ""
        return UndoResult(change, f"{summary}{pending}", result.left)


def _is_still_present(repository: Repository | None, change: Journal) -> bool:
    """Whether the branch still contains the commit of a change; always true for a change without a commit."""
    if change.ref is None or repository is None:
        return True
    return repository.contains(repository.resolve(change.ref.name), change.ref.new)


def _find_change(target: EditTarget, id: str) -> Journal:
    done = [journal for journal in target.journals.read_journals(DONE) if not journal.undoes]
    if not id:
        newest = next((journal for journal in reversed(done) if _is_still_present(target.repository, journal)), None)
        if newest is None:
            raise NotFound(
                "There is nothing to undo in this workspace.", "Changes written by `apply` and `build` can be undone."
            )
        return newest
    if already_undone := next((journal for journal in target.journals.read_journals(UNDONE) if journal.id == id), None):
        raise AlreadyUndone(already_undone)
    change = next((journal for journal in done if journal.id == id), None)
    if change is None:
        raise NotFound(f"Change not found: {id}.", "List the changes with: roundtable undo --list")
    if change.ref and not _is_still_present(target.repository, change):
        short = change.ref.name.removeprefix("refs/heads/")
        raise UsageError(
            f"The branch {short} no longer contains the commit {change.ref.new[:12]} of change {id}.",
            "The branch was reset or rewritten. Undo the change with git.",
        )
    return change


def _journaled_states(journals_folder: JournalFolder, change: Journal, which: str) -> FileStates:
    states: Mapping[str, JournaledFile | None] = {entry.path: getattr(entry, which) for entry in change.entries}
    return {path: journals_folder.read_file(change, stored) if stored else None for path, stored in states.items()}


def _require_unchanged(tree: ConfinedFolder, change: Journal, expected: FileStates) -> None:
    for path, content in expected.items():
        try:
            unchanged = FileContent.are_same_for_git(tree.read(path), content)
        except UnsafePath:
            unchanged = False
        if not unchanged:
            raise UsageError(
                f"{path} has changed since change {change.id} was written, so that change cannot be undone.",
                "Undo the later changes to this file first, newest to oldest, or restore the file by hand.",
            )


def _plan_ref_update(
    repository: Repository | None, change: Journal, draft: JournalDraft, before: FileStates, after: FileStates
) -> tuple[RefUpdate | None, str]:
    """Return the ref update of an undo: back to the old commit if no other ref has the new one, else a reverting
    commit."""
    ref = change.ref
    if ref is None or repository is None:
        return None, "The files were restored."
    name = repository.current_ref() if ref.name == DETACHED else ref.name
    tip = repository.resolve(name)
    short = name.removeprefix("refs/heads/")
    if change.branch:
        if tip != ref.new:
            raise UsageError(
                f"The branch {short} has moved since change {change.id} was written.",
                "If you no longer need the branch, delete it with git.",
            )
        if ref.name in repository.worktree_branches():
            raise UsageError(f"The branch {short} is checked out.", "Switch to another branch first.")
        return RefUpdate(
            ref.name, ref.new, ""
        ), f"The branch {short} was deleted; the files in the workspace were never changed."
    if repository.current_ref() != name:
        raise UsageError(
            f"The change was committed on {short}, which is not checked out.", f"Run `git switch {short}` first."
        )
    repository.ensure_index_unlocked()
    if refused := repository.find_refusals(before, after, draft.store_bytes):
        raise UsageError(f"{refused[0].path} cannot be restored.", refusal_sentence(refused[0]))
    if tip == ref.new and not repository.is_in_other_ref(ref.new, name):
        return RefUpdate(name, ref.new, ref.old), f"The files were restored, and {short} is back at its earlier commit."
    old = repository.tree_entries(ref.old, list(before))
    entries = {path: old.get(path) for path in before}
    text = f"Undo change {change.id}: {repository.commit_subject(ref.new)}\n\nThis reverts commit {ref.new}.\n"
    new_commit = repository.create_commit(tip, entries, text, os_user_name(), draft.index)
    return RefUpdate(
        name, tip, new_commit
    ), f"The files were restored; commit {new_commit[:12]} on {short} reverts the change."
