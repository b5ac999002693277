"""Writes a draft to the workspace, completely or not at all, through a write-ahead journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roundtable.core.effects import ChangeApplied
from roundtable.core.faults import UsageError
from roundtable.core.reason_base import Said
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.edit.journal import (
    DONE,
    UNDONE,
    Journal,
    JournalDraft,
    journal_folder_path,
    journal_timestamp,
    list_journals,
    make_journal_entries,
)
from roundtable.workshop.edit.journal_replay import (
    EditTarget,
    FileStates,
    JournalResult,
    execute_journal,
    lock_workspace_for_edits,
    recover_open_journals,
)
from roundtable.workshop.identity import os_user_name
from roundtable.workshop.repo.commits import CommitMessage, RefUpdate
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath

if TYPE_CHECKING:
    from roundtable.core.changeset import DraftFile

_RUNNABLE = 0o111


def write_draft_to_workspace(
    workspace: Path,
    journals: Path,
    files: Sequence[DraftFile],
    *,
    key: str = "",
    commit: CommitMessage | None = None,
    branch: str = "",
) -> ChangeApplied | tuple[Refusal, ...]:
    """Write a draft, or return the refusals that forbid it. `key` is the step that asked; see `find_journaled_change`.

    With `commit`, and if there is a repository, the draft is also committed. With `branch`, it is only committed to a
    new branch, and the files in the workspace stay unchanged.
    """
    with lock_workspace_for_edits(workspace, journals) as target:
        if branch and target.repository is None:
            raise UsageError("The workspace is not a git repository, so no branch can be created.", "Remove --branch.")
        refused, before = _read_current(target, files)
        if refused:
            return refused
        draft = target.journals.begin(content for content in before.values() if content is not None)
        after = _wanted_files(files, before, draft)
        changed = [path for path in before if not FileContent.are_same_for_git(before[path], after[path])]
        if not changed:
            raise UsageError("There is nothing to write: the files already have this content.")
        before, after = {path: before[path] for path in changed}, {path: after[path] for path in changed}
        if target.repository:
            target.repository.ensure_index_unlocked()
            if refused := tuple(target.repository.find_refusals(before, after, draft.store_bytes)):
                return refused
        plan = Journal(
            draft.id,
            journal_timestamp(),
            entries=make_journal_entries(before, after),
            made=target.tree.missing_folders_for(_created_paths(after)),
        )
        journal = _plan_commit(target, plan, draft, files, after, commit, branch)
        changed_files = tuple(dict.fromkeys(file.path for file in files if file.path in after))
        journal = draft.save(msgspec.structs.replace(journal, key=key, files=changed_files))
        result = execute_journal(target, journal)
        if result is None:
            return (Refusal.of(changed[0], RefusalCode.BRANCH_MOVED),)
        return _applied_change(journal, result)


def find_journaled_change(workspace: Path, journals: Path, key: str) -> ChangeApplied | None:
    """Return what a step wrote before its process ended, after recovering open journals; None if it wrote nothing."""
    recover_open_journals(workspace, journals)
    journals_by_state = (
        (journal, state)
        for state in (DONE, UNDONE)
        for journal in list_journals(journal_folder_path(journals, workspace), state)
    )
    written = next(
        ((entry, state) for entry, state in journals_by_state if entry.key == key and not entry.undoes), None
    )
    if written is None:
        return None
    journal, state = written
    return msgspec.structs.replace(_applied_change(journal, JournalResult()), undone=state == UNDONE)


# --- what is to be done ----------------------------------------------------------------------------


def _read_current(target: EditTarget, files: Sequence[DraftFile]) -> tuple[tuple[Refusal, ...], FileStates]:
    """Return the current files at every path of a draft, and a refusal for each that differs from the draft's base."""
    base: dict[str, tuple[bytes, bool]] = {
        file.was or file.path: (file.before, file.was_executable) for file in files if file.before is not None
    }
    refused: list[Refusal] = []
    current: FileStates = {}
    for path in dict.fromkeys(name for file in files for name in (file.was, file.path) if name):
        try:
            current[path] = content = target.tree.read(path)
            if inner := _inner_repository(target.tree, path):
                refused.append(Refusal.of(path, RefusalCode.INNER_REPOSITORY, folder=inner))
        except UnsafePath as astray:
            refused.append(astray.refusal)
            continue
        content_now = None if content is None else (content.data, content.executable)
        if content_now != base.get(path):
            refused.append(Refusal.of(path, RefusalCode.FILE_STALE))
    return tuple(refused), current


def _inner_repository(tree: ConfinedFolder, path: str) -> str:
    parts = path.split("/")[:-1]
    folders = ("/".join(parts[:number]) for number in range(1, len(parts) + 1))
    return next((folder for folder in folders if tree.exists(f"{folder}/.git")), "")


def _wanted_files(files: Sequence[DraftFile], before: FileStates, draft: JournalDraft) -> FileStates:
    """Return the wanted file at every path; a file keeps its permissions except for the executable bit."""
    after: FileStates = dict.fromkeys(before)
    for file in files:
        if file.after is not None:
            source = before.get(file.was or file.path)
            mode = source.mode if source else draft.default_mode(executable=file.executable)
            if source and file.executable != source.executable:
                mode = mode | (mode & 0o444) >> 2 if file.executable else mode & ~_RUNNABLE
            after[file.path] = FileContent(file.after, mode, source.owner if source else None)
    return after


def _created_paths(after: FileStates) -> Iterable[str]:
    return (path for path, content in after.items() if content is not None)


def _plan_commit(
    target: EditTarget,
    plan: Journal,
    draft: JournalDraft,
    files: Sequence[DraftFile],
    after: FileStates,
    commit: CommitMessage | None,
    branch: str,
) -> Journal:
    """Return the journal with the commit to make, if any; the commit exists already, but no ref points to it."""
    repository = target.repository
    new_files = {
        path: (draft.store_bytes(content.data), content.executable)
        for path, content in after.items()
        if content is not None
    }
    if repository is None or (commit is None and not branch):
        return plan
    name = repository.new_branch_ref(branch) if branch else repository.current_ref()
    mode_sources = {file.path: file.was or file.path for file in files if file.executable == file.was_executable}
    entries = {**dict.fromkeys(after), **repository.store_files(repository.with_tracked_modes(new_files, mode_sources))}
    text = (commit or CommitMessage("")).text
    new_commit = repository.create_commit(repository.head, entries, text, os_user_name(), draft.index)
    if branch:
        plan, move = Journal(plan.id, plan.at, branch=branch), RefUpdate(name, "", new_commit)
    else:
        move = RefUpdate(name, repository.head, new_commit)
    return msgspec.structs.replace(plan, ref=move, skipped=repository.find_skipped_steps())


def _applied_change(journal: Journal, result: JournalResult) -> ChangeApplied:
    skipped = journal.skipped or (Said(journal.passed_over) if journal.passed_over else None)
    remarks = tuple(filter(None, (result.pending, skipped)))
    return ChangeApplied(journal.id, journal.files, journal.commit, journal.branch, result.left, remarks)
