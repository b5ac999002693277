"""A draft written to the workspace: all of it or nothing.

First everything is put in a journal, and what has to be done is made from it; see `settling` and `undoing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roundtable.core.changeset import Refusal, RefusalKind
from roundtable.core.effects import ChangeApplied
from roundtable.core.faults import UsageError
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
    is_same_content,
    open_edit_target,
    recover_open_journals,
)
from roundtable.workshop.identity import current_user_name
from roundtable.workshop.repo.commits import CommitMessage, RefUpdate
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath

if TYPE_CHECKING:
    from roundtable.core.changeset import DraftFile

_RUNNABLE = 0o111


def apply_draft(
    workspace: Path,
    journals: Path,
    files: Sequence[DraftFile],
    *,
    key: str = "",
    commit: CommitMessage | None = None,
    branch: str = "",
) -> ChangeApplied | tuple[Refusal, ...]:
    """Write a draft, or say what stands against it. `key` is the step that asked; see `find_applied_change`.

    With a commit, and a repository to take it, the draft is committed too; with a branch it is only that: a new
    branch with that commit, while the files here stay as they are.
    """
    with open_edit_target(workspace, journals) as place:
        if branch and place.repository is None:
            raise UsageError("The workspace is not a git repository, so no branch can be created.", "Remove --branch.")
        refused, before = _standing(place, files)
        if refused:
            return refused
        draft = place.journals.begin(it for it in before.values() if it is not None)
        after = _wanted(files, before, draft)
        changed = [path for path in before if not is_same_content(before[path], after[path])]
        if not changed:
            raise UsageError("There is nothing to write: the files are as wanted already.")
        before, after = {path: before[path] for path in changed}, {path: after[path] for path in changed}
        if place.repository:
            place.repository.refuse_if_locked()
            if refused := tuple(place.repository.objections(before, after, draft.place)):
                return refused
        plan = Journal(
            draft.id,
            journal_timestamp(),
            entries=make_journal_entries(before, after),
            made=place.tree.folders_for(_coming(after)),
        )
        journal = _planned(place, plan, draft, files, after, commit, branch)
        named = tuple(dict.fromkeys(it.path for it in files if it.path in after))
        journal = draft.put(msgspec.structs.replace(journal, key=key, files=named))
        carried = execute_journal(place, journal)
        if carried is None:
            sentence = "The branch was moved while this was being written; nothing was changed."
            return (Refusal(changed[0], RefusalKind.STALE, sentence),)
        return _told(journal, carried)


def find_applied_change(workspace: Path, journals: Path, key: str) -> ChangeApplied | None:
    """What a step wrote before the process ended, once what it left half done is settled; None if it wrote nothing."""
    recover_open_journals(workspace, journals)
    found = (
        (it, part) for part in (DONE, UNDONE) for it in list_journals(journal_folder_path(journals, workspace), part)
    )
    written = next(((it, part) for it, part in found if it.key == key and not it.undoes), None)
    if written is None:
        return None
    journal, part = written
    return msgspec.structs.replace(_told(journal, JournalResult()), undone=part == UNDONE)


# --- what is to be done ----------------------------------------------------------------------------


def _standing(place: EditTarget, files: Sequence[DraftFile]) -> tuple[tuple[Refusal, ...], FileStates]:
    """What stands at every path of a draft, and what of that is not as the draft knew it."""
    known: dict[str, tuple[bytes, bool]] = {
        it.was or it.path: (it.before, it.was_executable) for it in files if it.before is not None
    }
    refused: list[Refusal] = []
    found: FileStates = {}
    for path in dict.fromkeys(name for it in files for name in (it.was, it.path) if name):
        try:
            found[path] = content = place.tree.read(path)
            if inner := _repository_on_the_way(place.tree, path):
                refused.append(Refusal(path, RefusalKind.REPOSITORY, f"{inner} is a repository of its own."))
        except UnsafePath as astray:
            refused.append(astray.refusal)
            continue
        standing = None if content is None else (content.data, content.executable)
        if standing != known.get(path):
            sentence = f"{path} was changed since this was drafted; draft it again."
            refused.append(Refusal(path, RefusalKind.STALE, sentence))
    return tuple(refused), found


def _repository_on_the_way(tree: ConfinedFolder, path: str) -> str:
    parts = path.split("/")[:-1]
    ways = ("/".join(parts[:number]) for number in range(1, len(parts) + 1))
    return next((way for way in ways if tree.has(f"{way}/.git")), "")


def _wanted(files: Sequence[DraftFile], before: FileStates, draft: JournalDraft) -> FileStates:
    """What is to stand at every path: a file keeps its permissions, but for whether it can be run."""
    after: FileStates = dict.fromkeys(before)
    for it in files:
        if it.after is not None:
            source = before.get(it.was or it.path)
            mode = source.mode if source else draft.usual_mode(executable=it.executable)
            if source and it.executable != source.executable:
                mode = mode | (mode & 0o444) >> 2 if it.executable else mode & ~_RUNNABLE
            after[it.path] = FileContent(it.after, mode, source.owner if source else None)
    return after


def _coming(after: FileStates) -> Iterable[str]:
    return (path for path, it in after.items() if it is not None)


def _planned(
    place: EditTarget,
    plan: Journal,
    draft: JournalDraft,
    files: Sequence[DraftFile],
    after: FileStates,
    commit: CommitMessage | None,
    branch: str,
) -> Journal:
    """The journal with its commit, where there is to be one: it is made already, and no ref has it yet."""
    repository = place.repository
    coming = {path: (draft.place(it.data), it.executable) for path, it in after.items() if it is not None}
    if repository is None or (commit is None and not branch):
        return plan
    name = repository.reserved_branch(branch) if branch else repository.checked_out()
    alike = {it.path: it.was or it.path for it in files if it.executable == it.was_executable}
    entries = {**dict.fromkeys(after), **repository.stored(repository.with_tracked_modes(coming, alike))}
    text = (commit or CommitMessage("")).text
    made = repository.committed(repository.head, entries, text, current_user_name(), draft.index)
    if branch:
        plan, move = Journal(plan.id, plan.at, branch=branch), RefUpdate(name, "", made)
    else:
        move = RefUpdate(name, repository.head, made)
    return msgspec.structs.replace(plan, ref=move, passed_over=repository.passed_over())


def _told(journal: Journal, carried: JournalResult) -> ChangeApplied:
    note = " ".join(filter(None, (carried.note, journal.passed_over)))
    return ChangeApplied(journal.id, journal.files, journal.commit, journal.branch, carried.left, note)
