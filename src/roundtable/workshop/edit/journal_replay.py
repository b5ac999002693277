"""Executes journals: moves the ref, replaces files by rename, and recovers interrupted changes.

The commit point is the ref update, or the journal itself if there is no ref. A change interrupted before that point is
rolled back by the next command in the workspace; one interrupted later is finished.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from roundtable.core.faults import RoundtableError
from roundtable.core.reasons import CleanupPending, FilesPending, WriteRemark
from roundtable.report.refusals import refusal_sentence
from roundtable.workshop.edit.journal import (
    OPEN,
    Journal,
    JournaledFile,
    JournalEntry,
    JournalFolder,
    has_open_journal,
    journal_folder_path,
)
from roundtable.workshop.repo.commits import GitFailed, RefUpdate, Repository, check_git_repository_writable
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath

FileStates = dict[str, FileContent | None]


class WriteFailed(RoundtableError):
    """The disk refused a write; the next command settles what is half done."""


class EditTarget(msgspec.Struct, frozen=True):
    """The journals, the workspace, and its repository if it has one."""

    journals: JournalFolder
    tree: ConfinedFolder
    repository: Repository | None


class JournalResult(msgspec.Struct, frozen=True):
    """The result of a journal: files left alone because they had changed, and the work that is unfinished."""

    left: tuple[str, ...] = ()
    pending: WriteRemark | None = None


class RecoveredChange(msgspec.Struct, frozen=True):
    """The outcome of an interrupted change as a sentence, and the undo that was finished, if it was one."""

    summary: str
    undo: Journal | None = None


@contextmanager
def lock_workspace_for_edits(workspace: Path, journals: Path) -> Generator[EditTarget]:
    """Lock a workspace for writing, after recovering interrupted changes."""
    try:
        with JournalFolder.lock(journals, workspace) as journals_folder, ConfinedFolder.open(workspace) as tree:
            assert journals_folder is not None
            target = EditTarget(journals_folder, tree, _open_repository(workspace))
            _recover_open(target)
            yield target
    except OSError as error:
        raise _write_failed(
            error, "Fix this problem and run the command again. It first finishes or rolls back the interrupted change."
        ) from None


def recover_open_journals(workspace: Path, journals: Path) -> tuple[RecoveredChange, ...]:
    """Finish or roll back the changes that a dead process left half done."""
    if not has_open_journal(journal_folder_path(journals, workspace)):
        return ()
    try:
        with (
            JournalFolder.lock(journals, workspace, wait=False) as journals_folder,
            ConfinedFolder.open(workspace) as tree,
        ):
            return (
                ()
                if journals_folder is None
                else tuple(_recover_open(EditTarget(journals_folder, tree, _open_repository(workspace))))
            )
    except (OSError, ValueError, msgspec.MsgspecError, RoundtableError) as error:
        return (RecoveredChange(f"An interrupted change cannot be recovered yet: {str(error).rstrip('.')}."),)


def execute_journal(target: EditTarget, journal: Journal) -> JournalResult | None:
    """Execute a journal; None if the ref has moved in the meantime.

    If the disk refuses a write, the change is rolled back at once; if that fails too, it counts and is finished later.
    """
    if journal.ref and not _pass_commit_point(target, journal, journal.ref):
        return None
    try:
        skipped = _write_files(target, journal)
    except OSError as error:
        if not _roll_back_all(target, journal):
            return JournalResult(pending=FilesPending(error.filename or "", error.strerror or ""))
        raise _write_failed(error, "Nothing was changed. Fix this problem and run the command again.") from None
    try:
        _close_journal(target, journal)
    except (OSError, GitFailed):
        return JournalResult(skipped, CleanupPending())
    return JournalResult(skipped)


def _open_repository(workspace: Path) -> Repository | None:
    repository = Repository.open(workspace)
    if repository is None and (trouble := check_git_repository_writable(workspace)):
        raise GitFailed(refusal_sentence(trouble), "Nothing was changed. Check the repository with `git status`.")
    return repository


def _write_failed(error: OSError, help: str) -> WriteFailed:
    return WriteFailed(f"{_reason(error)}.", help)


def _reason(error: OSError) -> str:
    return f"{error.filename or 'A file'} cannot be written: {error.strerror}"


def _pass_commit_point(target: EditTarget, journal: Journal, ref: RefUpdate) -> bool:
    """Pass the commit point; the journal is deleted if that fails."""
    try:
        moved = _move_ref(target, ref)
    except GitFailed:
        target.journals.drop(journal)
        raise
    if not moved:
        target.journals.drop(journal)
    return moved


def _roll_back_all(target: EditTarget, journal: Journal) -> bool:
    """Roll back behind the commit point; False if that is impossible."""
    try:
        if journal.ref and not _move_ref(target, RefUpdate(journal.ref.name, journal.ref.new, journal.ref.old)):
            return False
    except (OSError, RoundtableError):
        return False
    try:
        _roll_back_files(target, journal)
    except OSError:
        if journal.ref:
            raise
        return False
    return True


def _move_ref(target: EditTarget, ref: RefUpdate) -> bool:
    assert target.repository is not None
    return target.repository.update_ref(ref, "apply")


def _recover_open(target: EditTarget) -> list[RecoveredChange]:
    recovered: list[RecoveredChange] = []
    for journal in target.journals.read_journals(OPEN):
        change = f"The undo of change {journal.undoes}" if journal.undoes else f"Change {journal.id}"
        description = f"{change} ({', '.join(journal.files)}) was interrupted"
        if _is_committed(target, journal):
            skipped = _write_files(target, journal)
            _close_journal(target, journal)
            summary = f"{description} and is now finished.{_left_unchanged(skipped)}"
            recovered.append(RecoveredChange(summary, journal if journal.undoes else None))
        else:
            skipped = _roll_back_files(target, journal)
            as_before = "run it again" if journal.undoes else "the files are unchanged"
            recovered.append(
                RecoveredChange(f"{description} before it took effect: {as_before}.{_left_unchanged(skipped)}")
            )
    return recovered


def _left_unchanged(skipped: Sequence[str]) -> str:
    return f" Not touched, because they changed in the meantime: {', '.join(skipped)}." if skipped else ""


def _is_committed(target: EditTarget, journal: Journal) -> bool:
    """Whether the commit point was passed: the ref reached its new commit, wherever it moved afterwards."""
    if journal.ref is None:
        return True
    if target.repository is None:
        return False
    contains, ref = target.repository.contains, journal.ref
    tip = target.repository.resolve(ref.name)
    forward = contains(ref.new, ref.old)
    return contains(tip, ref.new) if forward else not contains(tip, ref.old)


def _write_files(target: EditTarget, journal: Journal) -> tuple[str, ...]:
    return _change_files(
        target, journal, [(entry, entry.before, entry.after) for entry in journal.entries], journal.unmade
    )


def _close_journal(target: EditTarget, journal: Journal) -> None:
    """Update the index for the commit, and mark the journal as done."""
    if journal.ref and target.repository and not journal.branch:
        target.repository.update_index(journal.ref.old, journal.ref.new, [entry.path for entry in journal.entries])
    target.journals.finish(journal)


def _roll_back_files(target: EditTarget, journal: Journal) -> tuple[str, ...]:
    skipped = _change_files(
        target, journal, [(entry, entry.after, entry.before) for entry in journal.entries], journal.made
    )
    target.journals.drop(journal)
    return skipped


def _change_files(
    target: EditTarget,
    journal: Journal,
    wanted: Sequence[tuple[JournalEntry, JournaledFile | None, JournaledFile | None]],
    unmade: Sequence[str],
) -> tuple[str, ...]:
    """Bring every file from one state to the other, removals first; files in neither state are left alone."""
    skipped: list[str] = []
    for entry, old, new in sorted(wanted, key=lambda change: change[2] is not None):
        try:
            target.tree.remove(f"{entry.path.rpartition('/')[0]}/{journal.draft}".removeprefix("/"))
            current = target.tree.read(entry.path)
            old_content, new_content = (
                target.journals.read_file(journal, stored) if stored else None for stored in (old, new)
            )
            if FileContent.are_same_for_git(current, new_content):
                continue
            if not FileContent.are_same_for_git(current, old_content):
                skipped.append(entry.path)
            else:
                _put_file(target.tree, entry.path, new_content, journal.draft)
        except UnsafePath:
            skipped.append(entry.path)
    for folder in reversed(unmade):
        target.tree.remove_folder(folder)
    return tuple(skipped)


def _put_file(tree: ConfinedFolder, path: str, target: FileContent | None, draft: str) -> None:
    """Write or remove a file; an error from the disk carries the file's name."""
    try:
        if target is None:
            tree.remove(path)
            return
        for folder in tree.missing_folders(path):
            tree.make_folder(folder)
        tree.write(path, target, draft)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
