"""What was written, taken back byte for byte: through a journal of its own, as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from roundtable.core.faults import NotFound, UsageError
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
    is_same_content,
    open_edit_target,
)
from roundtable.workshop.identity import current_user_name
from roundtable.workshop.repo.commits import DETACHED, RefUpdate, Repository
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath


class AlreadyUndone(UsageError):
    """There is nothing left to take back of this change."""

    def __init__(self, change: Journal) -> None:
        super().__init__(f"Change {change.id} is undone already.", "`roundtable undo --list` shows what can be undone.")
        self.change = change


class UndoResult(msgspec.Struct, frozen=True):
    """What was taken back, for which step of which session, and how, in one sentence for people."""

    change: Journal
    how: str
    left: tuple[str, ...] = ()


def list_undoable_journals(workspace: Path, journals: Path) -> list[Journal]:
    """The changes of this workspace that can be undone, newest first; not those that git has thrown away since."""
    done = [it for it in reversed(list_journals(journal_folder_path(journals, workspace), DONE)) if not it.undoes]
    repository = Repository.of(workspace) if any(it.ref for it in done) else None
    return [it for it in done if _stands(repository, it)]


def undo_journaled_change(workspace: Path, journals: Path, id: str = "") -> UndoResult:
    """Take a change back, the newest if none is named: every file as it was, and the ref where there was a commit."""
    with open_edit_target(workspace, journals) as place:
        change = _found(place, id)
        before, after = _kept(place.journals, change, "after"), _kept(place.journals, change, "before")
        _refuse_if_changed(place.tree, change, before)
        draft = place.journals.begin(it for it in (*before.values(), *after.values()) if it is not None)
        ref, how = _way_back(place.repository, change, draft, before, after)
        coming = (path for path, it in after.items() if it is not None)
        journal = Journal(
            id=draft.id,
            at=journal_timestamp(),
            key=change.key,
            entries=make_journal_entries(before, after),
            files=change.files,
            made=place.tree.folders_for(coming),
            unmade=change.made,
            ref=ref,
            branch=change.branch,
            undoes=change.id,
        )
        carried = execute_journal(place, draft.put(journal))
        if carried is None:
            raise UsageError("The branch was moved while this was being undone.", "Say it again.")
        return UndoResult(change, f"{how} {carried.note}".strip(), carried.left)


def _stands(repository: Repository | None, change: Journal) -> bool:
    """Whether the branch still has the commit of a change; one without a commit stands until it is undone."""
    if change.ref is None or repository is None:
        return True
    return repository.contains(repository.resolve(change.ref.name), change.ref.new)


def _found(place: EditTarget, id: str) -> Journal:
    done = [it for it in place.journals.listed(DONE) if not it.undoes]
    if not id:
        newest = next((it for it in reversed(done) if _stands(place.repository, it)), None)
        if newest is None:
            raise NotFound(
                "There is nothing to undo here.", "What `apply` and `build` write from now on can be undone."
            )
        return newest
    if gone := next((it for it in place.journals.listed(UNDONE) if it.id == id), None):
        raise AlreadyUndone(gone)
    found = next((it for it in done if it.id == id), None)
    if found is None:
        raise NotFound(f"There is no change {id} to undo here.", "`roundtable undo --list` shows what can be undone.")
    if found.ref and not _stands(place.repository, found):
        short = found.ref.name.removeprefix("refs/heads/")
        raise UsageError(
            f"{short} no longer has the commit {found.ref.new[:12]} of change {id}.",
            "It was reset or rewritten since; what is left of it is git's to take back.",
        )
    return found


def _kept(books: JournalFolder, change: Journal, which: str) -> FileStates:
    states: Mapping[str, JournaledFile | None] = {it.path: getattr(it, which) for it in change.entries}
    return {path: books.content(change, it) if it else None for path, it in states.items()}


def _refuse_if_changed(tree: ConfinedFolder, change: Journal, expected: FileStates) -> None:
    for path, content in expected.items():
        try:
            unchanged = is_same_content(tree.read(path), content)
        except UnsafePath:
            unchanged = False
        if not unchanged:
            raise UsageError(
                f"{path} was changed since change {change.id} was written, so it is not undone.",
                "Undo the later changes first, newest first, or put that file back as it was.",
            )


def _way_back(
    repository: Repository | None, change: Journal, draft: JournalDraft, before: FileStates, after: FileStates
) -> tuple[RefUpdate | None, str]:
    """How the ref goes back: to where it was if nobody else has the commit, or on to a commit that takes it back."""
    ref = change.ref
    if ref is None or repository is None:
        return None, "The files are as they were."
    name = repository.checked_out() if ref.name == DETACHED else ref.name
    tip = repository.resolve(name)
    short = name.removeprefix("refs/heads/")
    if change.branch:
        if tip != ref.new:
            raise UsageError(f"The branch {short} has moved on since.", "Delete it yourself if it can go.")
        if ref.name in repository.worktree_branches():
            raise UsageError(f"The branch {short} is checked out.", "Switch to another one first.")
        return RefUpdate(ref.name, ref.new, ""), f"The branch {short} is gone; the files here were never touched."
    if repository.checked_out() != name:
        raise UsageError(f"The change was committed on {short}, and that is not checked out.", f"Switch to {short}.")
    repository.refuse_if_locked()
    if refused := repository.objections(before, after, draft.place):
        raise UsageError(f"{refused[0].path} cannot be put back.", refused[0].sentence)
    if tip == ref.new and not repository.elsewhere(ref.new, name):
        return RefUpdate(name, ref.new, ref.old), f"The files are as they were, and {short} is back where it was."
    old = repository.entries(ref.old, list(before))
    entries = {path: old.get(path) for path in before}
    text = f"Undo change {change.id}: {repository.subject(ref.new)}\n\nThis takes back commit {ref.new}.\n"
    made = repository.committed(tip, entries, text, current_user_name(), draft.index)
    return RefUpdate(name, tip, made), f"The files are as they were; commit {made[:12]} on {short} takes it back."
